"""Pages of tables and figures, made of raw results.

The same results give the same pages, letter by letter, whenever and wherever a report is written:
what the catalogue knows about their problems is kept beside the pages, for those without the data
or the package of each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from heat_plugins.benchmarks.claims.all_claims import all_claims, claims_page, summary_table
from heat_plugins.benchmarks.claims.claim import Claim
from heat_plugins.benchmarks.report.duels import Duel, duel_summary, duel_table, duels
from heat_plugins.benchmarks.report.main_table import MainTable, main_table
from heat_plugins.benchmarks.report.pictures import draw_all, n_steps, pictures
from heat_plugins.benchmarks.report.problem_table import problem_table
from heat_plugins.benchmarks.report.readme_table import readme_table
from heat_plugins.benchmarks.report.small_tables import SMALL_LENGTHS, failures_table, lengths_at
from heat_plugins.benchmarks.report.time_tables import (
    OBJECTIVE_SECONDS,
    equal_time_table,
    seconds_table,
)
from heat_plugins.benchmarks.results.evidence import (
    HALF,
    OURS,
    full_lengths,
    load,
    main_problems,
    peers_of,
    read_speed,
    small_problems,
    write_facts,
)
from heat_plugins.benchmarks.results.markdown import number, write_page
from heat_plugins.benchmarks.results.statistics import Results
from heat_plugins.benchmarks.results.time_ratios import time_ratios

__all__ = ["OnStep", "write"]

OnStep = Callable[[str, int], None]  # what begins, and how many steps there are


def write(
    paths: Sequence[Path],
    folder: Path,
    figures: bool = True,
    html: bool = False,
    readme: Path | None = None,
    on_step: OnStep = lambda step, n: None,
) -> None:
    """Write the pages of a report and facts.json.

    README.md, problems.md, claims.md, time.md, and small.md if there are such problems.

    Args:
        paths: Files of raw results; ``speed.jsonl`` and ``facts.json`` beside them are read too.
        folder: Where the pages go.
        figures: Whether to draw figures, as PNG, beside the pages; old ones stay otherwise.
        html: Whether to write figures to zoom in too, into ``html`` below the folder.
        readme: A page with a short table of all results, between two comments.
        on_step: Called before each step, with what it is and how many there are, as far as is
            known by then.
    """
    on_step("reading results", 1)
    results = load(paths)
    n_all = 2 + (n_steps(results) if figures else 0)
    folder.mkdir(parents=True, exist_ok=True)
    write_facts(results, folder)
    speed_rows = read_speed(paths)
    if figures:
        draw_all(results, speed_rows, folder, html, lambda name: on_step(f"drawing {name}", n_all))
    on_step("writing pages", n_all)
    all_duels = duels(results)
    claims = all_claims(results, speed_rows)
    write_page(folder / "README.md", _main_page(results, all_duels, claims, folder))
    write_page(folder / "problems.md", _problems_page(results, all_duels))
    write_page(folder / "claims.md", claims_page(claims))
    write_page(folder / "time.md", _time_page(results, folder))
    if small_problems(results):
        write_page(folder / "small.md", _small_page(results))
    if readme is not None:
        _show_in(readme, results)


BEGIN, END = "<!-- the table: make results writes it -->", "<!-- end of the table -->"


def _show_in(readme: Path, results: Results) -> None:
    """Put the table of the README between the two comments of a page."""
    text = readme_table(results)
    before, _, rest = readme.read_text(encoding="utf-8").partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found or text is None:
        raise ValueError(
            f"{readme} must have the lines {BEGIN!r} and {END!r}, and results a table"
        )
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
    evaluations = full_lengths(results, main_problems(results))
    parts = ["# Results", *_sources(results)]
    parts += [f"## `{OURS}` and its peers", f"{_LEGEND} {_RANKS}"]
    parts += _main_table_parts(main_table(results, evaluations))
    shorter = {problem: HALF for problem, n in evaluations.items() if n > HALF}
    if _some_are_short(results, evaluations):
        parts += ["### After 100 evaluations", "With those whose studies are not longer."]
        parts += _main_table_parts(main_table(results, shorter))
    parts += _small_summary(results)
    parts += ["## Seed by seed", _DUELS, duel_summary(all_duels)]
    parts += ["## Time", *_time_summary(results, evaluations, folder)]
    parts += [
        "## What the paper says",
        "Details are in [claims.md](claims.md).",
        summary_table(claims),
    ]
    parts += ["## Figures"]
    parts += [_figure(folder, picture.name, picture.caption) for picture in pictures(results)]
    parts += [_figure(folder, name, caption) for name, caption in _OTHER_FIGURES.items()]
    return parts


_OTHER_FIGURES = {
    "cell-predictions": "How well kernels predict the errors of cells that they do not know.",
    "pipeline-seconds": "CPU seconds of the suggestions of pipelines, made of our parts.",
}


_SECONDS = (
    "CPU seconds of all suggestions of a study, without its evaluations, as multiples of those of "
    "the fastest method with a model: ratios by problem, and their mean over the problems."
)


def _time_summary(results: Results, evaluations: Mapping[str, int], folder: Path) -> list[str]:
    times = time_ratios(results, evaluations)
    if times is None:
        return ["No study is long enough."]
    about = f"{_SECONDS} Here that is {times.fastest}. Tables are in [time.md](time.md)."
    return [about, _figure(folder, "seconds", "CPU seconds of suggestions, as multiples.")]


def _time_page(results: Results, folder: Path) -> list[str]:
    evaluations = full_lengths(results, main_problems(results))
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


def _small_summary(results: Results) -> list[str]:
    """Return on how many small problems we are the best or as good, by number of evaluations."""
    if not small_problems(results):
        return []
    parts = [
        "## The first evaluations",
        "On small problems, where each method begins by itself ([tables](small.md)):",
    ]
    tables = {n: main_table(results, lengths_at(results, n)) for n in SMALL_LENGTHS}
    parts += [
        f"- after {n}: the best or as good on {found.n_problems - len(found.lost)} of "
        f"{found.n_problems}"
        for n, found in tables.items()
        if found is not None
    ]
    return [*parts[:2], "\n".join(parts[2:])]


def _small_page(results: Results) -> list[str]:
    parts = [
        "# The first evaluations",
        "Tables of real measurements, functions of numbers and sequences. Each method begins by "
        "itself, and a trial that does not run is told as failed to methods that know such a "
        f"thing. {_LEGEND} {_RANKS}",
    ]
    for n in SMALL_LENGTHS:
        found = main_table(results, lengths_at(results, n))
        if found is not None:
            parts += [f"## After {n} evaluations", *_main_table_parts(found)]
    failures = failures_table(results)
    if failures is not None:
        parts += ["## Trials that fail", "Mean number in a study.", failures]
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
