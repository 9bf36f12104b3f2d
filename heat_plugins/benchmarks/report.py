"""Pages of tables and figures, made of raw results.

The same results give the same pages, letter by letter, whenever a report is written. (Where the
data or the package of a problem are missing, its description and its best known value are too.)
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from heat_plugins.benchmarks import figures as drawing
from heat_plugins.benchmarks import raw_lines
from heat_plugins.benchmarks.claims import (
    BIOLOGY,
    Claim,
    all_claims,
    claims_page,
    summary_table,
)
from heat_plugins.benchmarks.functions import SFU
from heat_plugins.benchmarks.markdown import (
    loss_text,
    marked,
    mean_text,
    number,
    p_text,
    seconds_text,
    table,
    write_page,
)
from heat_plugins.benchmarks.methods import HEAT_AND_HAMMING, OTHER_KERNELS, STRUCTURES
from heat_plugins.benchmarks.statistics import (
    MIN_SEEDS,
    Estimate,
    Facts,
    Paired,
    Results,
    average_ranks,
    evaluations_to,
    holm,
    is_as_good,
    median_evaluations,
    paired,
    sign_test,
)
from heat_plugins.benchmarks.time_tables import (
    OBJECTIVE_SECONDS,
    equal_time_table,
    ratios,
    seconds_table,
)
from heat_plugins.model import KERNELS

__all__ = ["OURS", "load", "peers_of", "write"]

OURS = "HeatSampler"
CHECKPOINTS = (50, 100, 200)
FULL, HALF = 200, 100  # evaluations of the two main tables
N_FOR_TIME = 4  # problems in the figure of values over time
SPEED_FILE = "speed.jsonl"

# Problems in the order in which readers look for them; others follow as the catalogue has them.
FIRST_PROBLEMS = ("pest", "contamination", "labs", "maxsat", "cluster", *SFU, "rna")
VARIANTS = ("", "-relocated", "-relabelled")


# ------------------------------------------------------------------------ what there is
def load(paths: Sequence[Path]) -> Results:
    """Read studies, and what the catalogue knows about their problems."""
    lines = raw_lines.read(path for path in paths if path.name != SPEED_FILE)
    tasks, methods = _catalogue()
    facts = {}
    for problem in sorted({problem for problem, _, _ in lines}):
        known = _facts_of(tasks.get(problem))
        if known is not None:
            facts[problem] = known
    first = [name + variant for name in FIRST_PROBLEMS for variant in VARIANTS]
    return Results(lines.values(), facts, [*dict.fromkeys([*first, *tasks])], methods)


def _catalogue() -> tuple[Mapping[str, Callable[[], Any]], Sequence[str]]:
    from heat_plugins.benchmarks.catalogue import METHODS, TASKS

    return TASKS, [*METHODS]


def _facts_of(make: Callable[[], Any] | None) -> Facts | None:
    """Return what a task says of itself; None where it cannot be made here."""
    if make is None:
        return None
    try:
        task = make()
    except (FileNotFoundError, ImportError) as error:
        print(f"without description, best known value and target: {error}", file=sys.stderr)
        return None
    return Facts(task.description, task.larger_is_better, task.best_known, task.target)


def peers_of(results: Results) -> list[str]:
    """Return the methods that are not ours."""
    ours = {*HEAT_AND_HAMMING, *OTHER_KERNELS, *STRUCTURES, *KERNELS, "Ax-heat"}
    return [
        name
        for name in results.methods
        if name not in ours
        and "+" not in name  # a kernel with a structure
        and not name.startswith(OURS)
        and not name.endswith("-workers")  # who have less to go by: a comparison of its own
    ]


def _main_problems(results: Results) -> list[str]:
    """Return the problems of the main tables: the relocated and those without such a twin."""
    tasks, _ = _catalogue()
    known = {*tasks, *results.problems}
    return [
        problem
        for problem in results.problems
        if f"{problem}-relocated" not in known and not problem.endswith("-relabelled")
    ]


def read_speed(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """Return the rows about the speed of kernels that lie beside the studies."""
    rows = []
    for folder in dict.fromkeys(path.parent for path in paths):
        file = folder / SPEED_FILE
        for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else []:
            try:
                rows.append(json.loads(line))
            except json.JSONDecodeError:
                continue  # half a line: its writer was killed
    return rows


# ---------------------------------------------------------------------- a table a problem
def problem_table(results: Results, problem: str) -> str:
    """Return how all methods do on a problem."""
    facts, sign, methods = (
        results.facts(problem),
        results.sign(problem),
        results.methods_of(problem),
    )
    columns = []
    for n in CHECKPOINTS:
        losses = {m: loss for m in methods if (loss := results.loss(problem, m, n)) is not None}
        texts = {
            m: loss_text(loss, sign, len(results.studies(problem, m)))
            for m, loss in losses.items()
        }
        columns.append(marked(losses, texts))
    header = ["method", "seeds", "evaluations", *(f"after {n}" for n in CHECKPOINTS)]
    if facts.target is not None:
        header.append(f"evaluations to {number(facts.target)}")
    header += ["CPU s a suggestion", "repeats"]
    rows = []
    for method in methods:
        row = [
            method,
            str(len(results.studies(problem, method))),
            _lengths(results, problem, method),
        ]
        row += [column.get(method, "") for column in columns]
        if facts.target is not None:
            row.append(_to_target(results, problem, method, facts.target))
        row.append(seconds_text(results.seconds_a_suggestion(problem, method)))
        row.append(_repeats(results, problem, method))
        rows.append(row)
    return table(header, rows)


def _lengths(results: Results, problem: str, method: str) -> str:
    lengths = sorted({line.n_trials for line in results.studies(problem, method).values()})
    return str(lengths[0]) if len(lengths) == 1 else f"{lengths[0]} to {lengths[-1]}"


def _to_target(results: Results, problem: str, method: str, target: float) -> str:
    sign = results.sign(problem)
    counts = [
        evaluations_to([sign * score for score in line.scores[:FULL]], sign * target)
        for line in results.studies(problem, method).values()
    ]
    n_reached = sum(map(math.isfinite, counts))
    return f"{number(median_evaluations(counts))} ({n_reached} of {len(counts)})"


def _repeats(results: Results, problem: str, method: str) -> str:
    repeats = [line.n_repeats for line in results.studies(problem, method).values()]
    return f"{sum(repeats) / len(repeats):.3g}"


# ------------------------------------------------------------------------- the main tables
def full_lengths(results: Results, problems: Iterable[str]) -> dict[str, int]:
    """Return after how many evaluations each problem is looked at: 200, or all there are."""
    return {p: min(FULL, results.length(p, OURS)) for p in problems if results.studies(p, OURS)}


class MainTable(NamedTuple):
    """A main table, and the problems in it on which we are not as good as the best."""

    text: str
    lost: list[str]  # a line each
    few: list[str]  # problems with too few seeds of ours for a test
    few_of: list[str]  # peers with too few seeds on some problem

    @property
    def caution(self) -> str:
        """What to bear in mind where seeds are few; nothing where they are not."""
        parts = []
        if self.few:
            parts.append(f"problems {', '.join(self.few)}")
        if self.few_of:
            parts.append(f"methods {', '.join(self.few_of)} (some or all problems)")
        if not parts:
            return ""
        return (
            f"Fewer than {MIN_SEEDS} seeds, so that a mean is a first impression and no test is "
            f"made: {'; '.join(parts)}."
        )


def main_table(results: Results, evaluations: Mapping[str, int]) -> MainTable | None:
    """Return us against every peer, a row a problem.

    Args:
        results: All studies.
        evaluations: The problems, and after how many evaluations to look.
    """
    losses: dict[str, dict[str, Estimate]] = {}
    for problem, n in evaluations.items():
        row = {
            method: loss
            for method in (OURS, *peers_of(results))
            if results.length(problem, method) >= n
            and (loss := results.loss(problem, method, n)) is not None
        }
        if OURS in row and len(row) > 1:
            losses[problem] = row
    if not losses:
        return None
    methods = [m for m in (OURS, *peers_of(results)) if any(m in row for row in losses.values())]
    counts = dict.fromkeys(methods, 0)
    rows, lost = [], []
    for problem, row in losses.items():
        n_seeds = row[OURS].n
        texts = {m: loss_text(loss, results.sign(problem), n_seeds) for m, loss in row.items()}
        cells = marked(row, texts)
        best = min(row, key=lambda m: row[m].mean)
        for method, loss in row.items():
            counts[method] += math.isfinite(loss.mean) and is_as_good(loss, row[best])
        if row[OURS].mean == row[best].mean:
            standing = "best"
        elif is_as_good(row[OURS], row[best]):
            standing = "as good"
        else:
            standing = f"behind {best}"
            lost.append(_loss_line(results, problem, best, evaluations[problem]))
        link = f"[{problem}](problems.md#{problem})"
        start = [link, str(evaluations[problem]), str(n_seeds)]
        rows.append([*start, *(cells.get(m, "") for m in methods), standing])
    means = {p: {m: loss.mean for m, loss in row.items()} for p, row in losses.items()}
    mean_ranks, ranked = average_ranks(means)
    rank_cells = [f"{mean_ranks[m]:.2f}" if m in mean_ranks else "" for m in methods]
    n_of = {m: sum(m in row for row in losses.values()) for m in methods}
    best_cells = [f"{counts[m]} of {n_of[m]}" for m in methods]
    rows.append([f"average rank ({len(ranked)} problems)", "", "", *_bold_least(rank_cells), ""])
    rows.append(["best or as good", "", "", *best_cells, ""])
    header = ["problem", "evaluations", "seeds", *methods, f"{OURS} is"]
    few = [problem for problem, row in losses.items() if row[OURS].n < MIN_SEEDS]
    few_of = [
        method
        for method in methods[1:]
        if any(method in row and row[method].n < MIN_SEEDS for row in losses.values())
    ]
    return MainTable(table(header, rows), lost, few, few_of)


def _loss_line(results: Results, problem: str, best: str, n: int) -> str:
    """Return by how much we are behind, on the seeds that both have."""
    outcome = paired(results.losses(problem, OURS, n), results.losses(problem, best, n))
    line = f"- {problem}: {best} has the best mean"
    if outcome is None:
        return line
    lead, p = outcome
    where = "ahead" if lead.mean > 0.0 else "behind"
    size = mean_text(abs(lead.mean), lead.error)
    test = f"p {p_text(p)}" if p is not None else "too few for a test"
    return f"{line}; `{OURS}` is {where} by {size} on {lead.n} common seeds ({test})"


def _bold_least(cells: Sequence[str]) -> list[str]:
    least = min((float(cell) for cell in cells if cell), default=None)
    return [f"**{cell}**" if cell and float(cell) == least else cell for cell in cells]


# ---------------------------------------------------------------------------- paired tests
@dataclass(frozen=True)
class Duel:
    """We against a peer on one problem.

    Args:
        n: After how many evaluations.
        outcome: Our lead and the p-value of it.
        corrected: The p-value corrected for the number of problems with this peer.
    """

    n: int
    outcome: Paired
    corrected: float | None


def duels(results: Results) -> dict[str, dict[str, Duel]]:
    """Return us against each peer on each problem, on the seeds that both have."""
    all_duels: dict[str, dict[str, Duel]] = {}
    for peer in peers_of(results):
        outcomes: dict[str, tuple[int, Paired]] = {}
        for problem in results.problems:
            n = min(FULL, *(results.length(problem, method) for method in (OURS, peer)))
            ours, theirs = (results.losses(problem, method, n) for method in (OURS, peer))
            outcome = paired(ours, theirs)
            if outcome is not None:
                outcomes[problem] = n, outcome
        corrected = holm({problem: outcome.p for problem, (_, outcome) in outcomes.items()})
        all_duels[peer] = {
            problem: Duel(n, outcome, corrected[problem])
            for problem, (n, outcome) in outcomes.items()
        }
    return all_duels


def duel_summary(all_duels: Mapping[str, Mapping[str, Duel]]) -> str:
    """Return on how many problems we are ahead of each peer, and behind."""
    rows = []
    for peer, by_problem in all_duels.items():
        if not by_problem:
            continue
        leads = [duel.outcome.lead.mean for duel in by_problem.values()]
        n_ahead, n_behind = sum(lead > 0 for lead in leads), sum(lead < 0 for lead in leads)
        surely = [
            duel.outcome.lead.mean
            for duel in by_problem.values()
            if duel.corrected is not None and duel.corrected < 0.05
        ]
        # Of n seeds the least two-sided p-value is 2^(1 - n).
        can_tell = any(2.0 ** (1 - duel.outcome.lead.n) < 0.05 for duel in by_problem.values())
        rows.append(
            [
                peer,
                str(len(leads)),
                str(n_ahead),
                str(n_behind),
                p_text(sign_test(n_ahead, n_behind)),
                str(sum(lead > 0 for lead in surely)) if can_tell else "-",
                str(sum(lead < 0 for lead in surely)) if can_tell else "-",
            ]
        )
    header = ["against", "problems", "ahead", "behind", "sign test p"]
    header += ["ahead, Holm p < 0.05", "behind, Holm p < 0.05"]
    return table(header, rows)


def duel_table(all_duels: Mapping[str, Mapping[str, Duel]], problem: str) -> str:
    """Return our lead over each peer on a problem; nothing where there is no peer."""
    rows = []
    for peer, by_problem in all_duels.items():
        if problem not in by_problem:
            continue
        duel = by_problem[problem]
        lead, p = duel.outcome
        text = mean_text(lead.mean, lead.error)
        rows.append([peer, str(duel.n), str(lead.n), text, p_text(p), p_text(duel.corrected)])
    if not rows:
        return ""
    return table([f"{OURS} against", "evaluations", "seeds", "ahead by", "p", "Holm p"], rows)


# --------------------------------------------------------------------------------- figures
class Picture(NamedTuple):
    """A figure of curves.

    Args:
        name: Of the file, without its ending.
        caption: What it shows.
        grid: Problems, rows of panels.
        methods: Methods, in the order of the legend.
        dotted: Those with dotted lines.
    """

    name: str
    caption: str
    grid: list[list[str]]
    methods: list[str]
    dotted: tuple[str, ...] = ()


def pictures(results: Results) -> list[Picture]:
    """Return the figures of curves that these studies can fill."""
    rivals = [OURS, *peers_of(results)]
    main = _with_two_of(results, _main_problems(results), rivals)
    kernels = [*HEAT_AND_HAMMING, *OTHER_KERNELS]
    invariant = ["heat", "sort", "padded-sort", "ssk"]
    additive = ["heat", "cocabo", "rducb", "additive", "interactions-2", "auto"]
    others = [p for p in results.problems if not p.startswith((*SFU, *BIOLOGY))]
    biology = [p for p in results.problems if p.startswith(BIOLOGY)]
    functions = [name + variant for name in SFU for variant in VARIANTS]
    found = [
        Picture(
            "methods",
            f"`{OURS}` and its peers: mean and standard error of the best value so far. Dashed: "
            "the best known value, where it is near.",
            _in_rows_of_three(main),
            rivals,
        ),
        Picture(
            "methods-both",
            "The same on problems as published (left) and relocated (right).",
            _twins(_with_two_of(results, results.problems, rivals), complete=True),
            rivals,
        ),
        Picture(
            "kernels",
            "Kernels under the same search, problems as published (left) and relocated (right). "
            "Solid: heat and Hamming kernels. Dotted: others.",
            _twins(_with_two_of(results, others, kernels)),
            kernels,
            tuple(OTHER_KERNELS),
        ),
        Picture(
            "invariant",
            "Functions that do not change when variables change places.",
            _by_variant(_with_two_of(results, functions, invariant)),
            invariant,
            ("ssk",),
        ),
        Picture(
            "additive",
            "Additive kernels on biological problems.",
            _in_rows_of_three(_with_two_of(results, biology, additive)),
            additive,
        ),
    ]
    return [picture for picture in found if picture.grid]


def _with_two_of(results: Results, problems: Iterable[str], methods: Sequence[str]) -> list[str]:
    """Return the problems on which at least two of the methods can be compared."""
    return [p for p in problems if sum(bool(results.studies(p, m)) for m in methods) > 1]


def _in_rows_of_three(problems: Sequence[str]) -> list[list[str]]:
    return [[*problems[i : i + 3]] for i in range(0, len(problems), 3)]


def _twins(problems: Sequence[str], complete: bool = False) -> list[list[str]]:
    """Return rows of a problem and its relocated twin, perhaps only those that have both."""
    bases = dict.fromkeys(problem.removesuffix("-relocated") for problem in problems)
    rows = [[base, f"{base}-relocated"] for base in bases]
    return [row for row in rows if not complete or {*row} <= {*problems}]


def _by_variant(problems: Sequence[str]) -> list[list[str]]:
    """Return a row for each function, a column for each variant that any of them has."""
    names = [name for name in SFU if any(name + variant in problems for variant in VARIANTS)]
    variants = [v for v in VARIANTS if any(name + v in problems for name in names)]
    return [[name + variant for variant in variants] for name in names]


def _draw(results: Results, folder: Path, html: bool) -> None:
    for picture in pictures(results):
        arguments = picture.grid, picture.methods
        drawing.curves(results, *arguments, folder / f"{picture.name}.png", picture.dotted)
        if html:
            page = folder / "html" / f"{picture.name}.html"
            drawing.curves_html(results, *arguments, page, picture.dotted)
            # Not worth keeping under version control: megabytes, and made in seconds.
            (page.parent / ".gitignore").write_text("*\n", encoding="utf-8")
    evaluations = full_lengths(results, _main_problems(results))
    times = ratios(results, evaluations)
    if times is not None:
        multiples = {method: ratio for method, (ratio, _) in times.ratios.items()}
        label = f"CPU seconds of suggestions, times those of {times.fastest}"
        most = max(n for _, n in times.ratios.values())
        notes = {
            m: f"  ({n} problem{'s' * (n > 1)})" for m, (_, n) in times.ratios.items() if n < most
        }
        drawing.bars(multiples, notes, label, folder / "seconds.png")
    drawing.curves_over_time(
        results,
        _for_time(results, evaluations),
        [OURS, *peers_of(results)],
        OBJECTIVE_SECONDS,
        folder / "equal-time.png",
    )


def _for_time(results: Results, evaluations: Mapping[str, int]) -> list[str]:
    """Return a few problems on which most peers were run."""
    rivals = [OURS, *peers_of(results)]
    n_methods = {p: sum(bool(results.studies(p, m)) for m in rivals) for p in evaluations}
    most = sorted((p for p in n_methods if n_methods[p] > 1), key=lambda p: -n_methods[p])
    return [problem for problem in evaluations if problem in most[:N_FOR_TIME]]


# ----------------------------------------------------------------------------------- pages
def write(
    paths: Sequence[Path],
    folder: Path,
    figures: bool = True,
    html: bool = False,
    readme: Path | None = None,
) -> None:
    """Write the pages of a report: README.md, problems.md, claims.md and time.md.

    Args:
        paths: Files of raw results; ``speed.jsonl`` beside them is read too.
        folder: Where the pages go.
        figures: Whether to draw figures, as PNG, beside the pages; old ones stay otherwise.
        html: Whether to write figures to zoom in too, into ``html`` below the folder.
        readme: A page that shows the main table too, between two comments.
    """
    results = load(paths)
    folder.mkdir(parents=True, exist_ok=True)
    if figures:
        _draw(results, folder, html)
    all_duels = duels(results)
    claims = all_claims(results, read_speed(paths))
    write_page(folder / "README.md", _main_page(results, all_duels, claims, folder))
    write_page(folder / "problems.md", _problems_page(results, all_duels))
    write_page(folder / "claims.md", claims_page(claims))
    write_page(folder / "time.md", _time_page(results, folder))
    if readme is not None:
        _show_in(readme, results, folder)


BEGIN, END = "<!-- the main table: make results writes it -->", "<!-- end of the main table -->"


def _show_in(readme: Path, results: Results, folder: Path) -> None:
    """Put the main table between the two comments of a page."""
    main = main_table(results, full_lengths(results, _main_problems(results)))
    before, _, rest = readme.read_text(encoding="utf-8").partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found or main is None:
        raise ValueError(
            f"{readme} must have the lines {BEGIN!r} and {END!r}, and results a table"
        )
    place = folder.resolve().relative_to(readme.resolve().parent).as_posix()
    text = main.text.replace("](problems.md", f"]({place}/problems.md")
    if main.caution:
        text += f"\n\n{main.caution}"
    readme.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")


def _figure(folder: Path, name: str, caption: str) -> str:
    """Return a figure with its caption, if it has been drawn."""
    return f"![{name}]({name}.png)\n\n{caption}" if (folder / f"{name}.png").exists() else ""


_LEGEND = (
    "Mean ± standard error over the seeds. **Bold**: the best mean. ≈: within one standard error "
    "of it, that is, not worse by more than the larger of the two standard errors. ∞: some seeds "
    "found nothing that meets the constraints. A number in brackets: so many seeds, where it is "
    "not the usual number."
)
_RANKS = (
    "Ranks are those of the means, ties averaged, over the problems that all ranked methods have; "
    "a method with too few problems is not ranked."
)
_DUELS = (
    f"`{OURS}` against each peer on the seeds that both have. The first columns count the "
    "problems on which the mean is ahead or behind, with the p-value of a sign test; the last "
    "ones those where "
    "Wilcoxon's signed-rank test (exact, two-sided, five seeds or more) says so after Holm's "
    "correction for the number of problems; a dash where there are too few seeds for any such "
    "p-value. The single tests are in [problems.md](problems.md)."
)


def _main_page(
    results: Results,
    all_duels: Mapping[str, Mapping[str, Duel]],
    claims: Sequence[Claim],
    folder: Path,
) -> list[str]:
    evaluations = full_lengths(results, _main_problems(results))
    parts = ["# Results", *_sources(results)]
    parts += [f"## `{OURS}` and its peers", f"{_LEGEND} {_RANKS}"]
    parts += _main_table_parts(main_table(results, evaluations))
    shorter = {problem: HALF for problem, n in evaluations.items() if n > HALF}
    if _some_are_short(results, evaluations):
        parts += ["### After 100 evaluations", "With those whose studies are not longer."]
        parts += _main_table_parts(main_table(results, shorter))
    parts += ["## Seed by seed", _DUELS, duel_summary(all_duels)]
    parts += ["## Time", *_time_summary(results, evaluations, folder)]
    parts += [
        "## What the paper says",
        "Details are in [claims.md](claims.md).",
        summary_table(claims),
    ]
    parts += ["## Figures"]
    parts += [_figure(folder, picture.name, picture.caption) for picture in pictures(results)]
    return parts


_SECONDS = (
    "CPU seconds of all suggestions of a study, without its evaluations, as multiples of those of "
    "the fastest method with a model: ratios by problem, and their mean over the problems."
)


def _time_summary(results: Results, evaluations: Mapping[str, int], folder: Path) -> list[str]:
    times = ratios(results, evaluations)
    if times is None:
        return ["No study is long enough."]
    about = f"{_SECONDS} Here that is {times.fastest}. Tables are in [time.md](time.md)."
    return [about, _figure(folder, "seconds", "CPU seconds of suggestions, as multiples.")]


def _time_page(results: Results, folder: Path) -> list[str]:
    evaluations = full_lengths(results, _main_problems(results))
    parts = ["# Time", "## Seconds of suggestions"]
    parts.append(
        f"{_SECONDS} TPE counts as a method with a model; those without one are shown for "
        "reference. Seconds are means over seeds, all threads together."
    )
    parts += [
        "Studies as long as in the [main table](README.md):",
        seconds_table(results, evaluations),
    ]
    parts.append(_figure(folder, "seconds", "The first column as bars."))
    if _some_are_short(results, evaluations):
        shorter = {problem: HALF for problem, n in evaluations.items() if n > HALF}
        parts += ["The first 100 evaluations:", seconds_table(results, shorter)]
    parts += ["## The same time for all", _EQUAL_TIME]
    for seconds in OBJECTIVE_SECONDS:
        parts.append(f"### An evaluation takes {seconds:g} s")
        rivals = [OURS, *peers_of(results)]
        parts.append(equal_time_table(results, evaluations, rivals, seconds))
    caption = f"The best value over time. Dashed: when `{OURS}` has ended."
    parts.append(_figure(folder, "equal-time", caption))
    return parts


_EQUAL_TIME = (
    f"What methods have reached when `{OURS}` ends its study (200 evaluations, or all it has), if "
    "an evaluation takes 0, 1 or 10 seconds: the time of a study is that of its evaluations and "
    "the CPU seconds of its suggestions. In square brackets how many evaluations that were; +: "
    "the study ended earlier, with time left in which it might have found something better. "
    "A seed has as much time as the same seed of "
    f"`{OURS}`. The other signs are those of the [main table](README.md)."
)


def _main_table_parts(main: MainTable | None) -> list[str]:
    if main is None:
        return [f"No problem has studies of `{OURS}` and of another method."]
    parts = [main.text]
    if main.caution:
        parts.append(main.caution)
    if main.lost:
        parts.append("\n".join([f"Where `{OURS}` is behind the best:\n", *main.lost]))
    else:
        parts.append(f"`{OURS}` is the best or as good as the best on all of these.")
    return parts


def _some_are_short(results: Results, evaluations: Mapping[str, int]) -> bool:
    """Return whether a peer has studies that reach the second main table but not the first."""
    return any(
        n > HALF and HALF <= results.length(problem, peer) < n
        for problem, n in evaluations.items()
        for peer in peers_of(results)
    )


def _sources(results: Results) -> list[str]:
    """Return where the numbers come from: studies, machines, releases and dates."""
    lines = [*results]
    if not lines:
        return ["There are no studies."]
    machines = sorted({line.machine for line in lines})
    dates = sorted(line.finished[:10] for line in lines)
    releases: dict[str, set[str]] = {}
    for line in lines:
        for package, release in line.versions.items():
            releases.setdefault(package, set()).add(release)
    when = dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"
    listed = [f"{name} {' and '.join(sorted(found))}" for name, found in sorted(releases.items())]
    text = (
        f"{len(lines)} studies of {len(results.methods)} methods on {len(results.problems)} "
        f"problems, {when}. "
    )
    text += (
        f"Machine: {machines[0]}."
        if len(machines) == 1
        else (f"Machines, whose seconds do not compare: {'; '.join(machines)}.")
    )
    own = sorted({s.method for s in lines if not s.n_first and results.n_first(s.problem)})
    first = "All methods of a seed begin with the same random points"
    first += f", except {', '.join(own)}: they choose their own." if own else "."
    return [text, f"Releases: {', '.join(listed)}.", first]


def _problems_page(results: Results, all_duels: Mapping[str, Mapping[str, Duel]]) -> list[str]:
    parts = ["# Problem by problem", _LEGEND]
    parts.append(
        "Evaluations to a target: the median over seeds, one that does not reach it within 200 "
        "counting as infinite; in brackets how many do. CPU seconds a suggestion: after the first "
        "points, all threads together. Repeats: evaluations of a study at the parameters of an "
        f"earlier one. Ahead by: how much better `{OURS}` is, mean over the common seeds; p: "
        "Wilcoxon's signed-rank test, exact and two-sided, a dash below five seeds; Holm p: the "
        "same corrected for the number of problems with this peer."
    )
    for problem in results.problems:
        facts = results.facts(problem)
        best = "" if facts.best_known is None else f" (best known {number(facts.best_known)})"
        about = f"{facts.description}." if facts.description else ""
        direction = "Large scores are better." if facts.larger_is_better else ""
        parts += [f'<a id="{problem}"></a>', f"## {problem}{best}", f"{about} {direction}".strip()]
        parts += [problem_table(results, problem), duel_table(all_duels, problem)]
    return parts
