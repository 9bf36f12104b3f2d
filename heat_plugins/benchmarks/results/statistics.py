"""What the studies add up to: means, ranks, tests, evaluations and time. Numbers only.

Some tasks want small scores and some large ones. Everything that compares two scores takes them
as *losses*: the scores themselves, or their negatives where large ones are better.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np
from scipy import stats

from heat_plugins.benchmarks.results.raw_lines import StudyLine

__all__ = [
    "Estimate",
    "Facts",
    "Paired",
    "Results",
    "average_ranks",
    "difference_of_means",
    "estimate",
    "evaluations_to",
    "friedman",
    "holm",
    "is_as_good",
    "larger_seems_better",
    "median_evaluations",
    "paired",
    "rank_sum_test",
    "ranks",
    "sign_test",
    "signed_rank_test",
    "time_after",
    "within",
]

MIN_SEEDS = 5  # the least p-value of a signed-rank test is 0.0625 then, with six 0.031

Name = TypeVar("Name", bound=Hashable)


# ------------------------------------------------------------------ numbers of one sample
class Estimate(NamedTuple):
    """A mean over seeds.

    Args:
        mean: The mean; infinite where one of the values is, and no number where there are
            infinite ones of both signs.
        error: Its standard error; None where it is unknown: for one seed, or without a mean.
        n: Number of seeds.
        n_infinite: Number of seeds without a finite value.
    """

    mean: float
    error: float | None
    n: int
    n_infinite: int = 0


def estimate(values: Iterable[float]) -> Estimate:
    """Return the mean and its standard error; an infinite value makes the mean infinite.

    Raises:
        ValueError: Without values.
    """
    array = np.array([*values], dtype=float)
    if not array.size:
        raise ValueError("values must not be empty")
    infinite = ~np.isfinite(array)
    if infinite.any():
        mean = float(array[infinite][0]) if len({*array[infinite]}) == 1 else math.nan
        return Estimate(mean, None, array.size, int(infinite.sum()))
    if array.min() == array.max():  # exactly, where sums and their roots would be rounded
        return Estimate(float(array[0]), 0.0 if array.size > 1 else None, array.size)
    error = float(array.std(ddof=1) / math.sqrt(array.size))
    return Estimate(float(array.mean()), error, array.size)


def is_as_good(loss: Estimate, best: Estimate) -> bool:
    """Return whether a mean loss is within one standard error of the smallest one.

    It is where it is not larger by more than the larger of the two standard errors. Without
    standard errors only the smallest itself is.
    """
    if not math.isfinite(loss.mean):
        return loss.mean == best.mean
    return loss.mean - best.mean <= max(loss.error or 0.0, best.error or 0.0)


def difference_of_means(first: Estimate, second: Estimate) -> Estimate:
    """Return the mean of the first less that of the second, of samples that are independent."""
    difference = first.mean - second.mean
    if first.error is None or second.error is None:
        error = None
    else:
        error = math.hypot(first.error, second.error)
    return Estimate(0.0 if math.isnan(difference) else difference, error, min(first.n, second.n))


# ----------------------------------------------------------------------------- ranks
def ranks(losses: Mapping[Name, float]) -> dict[Name, float]:
    """Return 1 for the smallest, and so on; those that are equal share the mean of their ranks."""
    return dict(zip(losses, stats.rankdata([*losses.values()]).tolist(), strict=True))


def average_ranks(
    losses: Mapping[str, Mapping[str, float]],
) -> tuple[dict[str, float], list[str]]:
    """Return each method's mean rank over the problems that all of them have, and those.

    A method that has few problems would leave no problem that all have. While fewer than a
    third of the problems are common, the method with the fewest is left out.

    Args:
        losses: For each problem the mean loss of each method.
    """
    methods = [*dict.fromkeys(method for row in losses.values() for method in row)]

    def common() -> list[str]:
        return [problem for problem, row in losses.items() if all(m in row for m in methods)]

    while len(methods) > 2 and 3 * len(common()) < len(losses):
        fewest = min(methods[::-1], key=lambda method: sum(method in r for r in losses.values()))
        methods.remove(fewest)
    problems = common()
    of_problems = [ranks({m: losses[problem][m] for m in methods}) for problem in problems]
    if not problems:
        return {}, []
    return {m: float(np.mean([rank[m] for rank in of_problems])) for m in methods}, problems


# ----------------------------------------------------------------------------- tests
class Paired(NamedTuple):
    """A method against another on the seeds that both have.

    Args:
        lead: How much smaller the loss of the first is, mean over the seeds.
        p: Of the signed-rank test, two-sided; None with too few seeds.
    """

    lead: Estimate
    p: float | None


def paired(ours: Mapping[int, float], theirs: Mapping[int, float]) -> Paired | None:
    """Compare the losses of two methods by seed; None without a common seed."""
    seeds = sorted(ours.keys() & theirs.keys())
    if not seeds:
        return None
    # Two infinite losses are equal: neither has found anything.
    leads = [0.0 if ours[s] == theirs[s] else theirs[s] - ours[s] for s in seeds]
    p = signed_rank_test(leads) if len(seeds) >= MIN_SEEDS else None
    return Paired(estimate(leads), p)


def signed_rank_test(differences: Sequence[float]) -> float:
    """Return the two-sided p-value of Wilcoxon's signed-rank test, exact with ties too.

    Differences of zero are left out, and equal sizes share the mean of their ranks, as in SciPy;
    but the exact distribution of SciPy is the one without ties, and this one is of the ranks
    that are there. Twice such a rank is whole, so that the sums can be counted one by one.
    """
    nonzero = np.array([d for d in differences if d != 0.0])
    if not nonzero.size:
        return 1.0
    doubled = np.rint(2.0 * stats.rankdata(np.abs(nonzero))).astype(int)
    # The probability of each sum of the ranks with a positive sign, when signs are by chance.
    chances = np.zeros(int(doubled.sum()) + 1)
    chances[0] = 1.0
    for rank in doubled:
        with_it = np.zeros_like(chances)
        with_it[rank:] = chances[:-rank]
        chances = 0.5 * (chances + with_it)
    seen = int(doubled[nonzero > 0.0].sum())
    tail = min(chances[: seen + 1].sum(), chances[seen:].sum())
    return min(1.0, 2.0 * float(tail))


def sign_test(n_better: int, n_worse: int) -> float | None:
    """Return the two-sided p-value of so many better and worse cases; None without any."""
    if n_better + n_worse == 0:
        return None
    return float(stats.binomtest(n_better, n_better + n_worse).pvalue)


def rank_sum_test(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return the two-sided p-value of Mann and Whitney's test of two independent samples."""
    if min(len(first), len(second)) < MIN_SEEDS:
        return None
    if len({*first, *second}) == 1:
        return 1.0
    return float(stats.mannwhitneyu(first, second).pvalue)


def friedman(losses: Sequence[Sequence[float]]) -> float | None:
    """Return the p-value of Friedman's test that methods do not differ.

    Args:
        losses: For each method one loss a seed, the seeds in the same order. Two methods are
            compared by the signed-rank test.
    """
    if len(losses) < 2 or len(losses[0]) < MIN_SEEDS:
        return None
    if all(len({*of_seed}) == 1 for of_seed in zip(*losses, strict=True)):
        return 1.0  # nothing but ties, of which the statistic is 0/0
    if len(losses) == 2:
        pairs = zip(*losses, strict=True)
        return signed_rank_test([0.0 if a == b else a - b for a, b in pairs])
    return float(stats.friedmanchisquare(*losses).pvalue)


def holm(p_values: Mapping[Name, float | None]) -> dict[Name, float | None]:
    """Return p-values corrected for their number, after Holm; missing ones stay missing."""
    known = sorted((p, i) for i, p in enumerate(p_values.values()) if p is not None)
    corrected: dict[int, float] = {}
    largest = 0.0
    for position, (p, i) in enumerate(known):
        largest = max(largest, min(1.0, (len(known) - position) * p))
        corrected[i] = largest
    return {name: corrected.get(i) for i, name in enumerate(p_values)}


# -------------------------------------------------------------- evaluations and time
def evaluations_to(losses: Sequence[float], target: float) -> float:
    """Return after how many evaluations a loss is at most the target; infinity for never."""
    return next((i + 1.0 for i, loss in enumerate(losses) if loss <= target), math.inf)


def median_evaluations(counts: Sequence[float]) -> float:
    """Return the median, in which studies that never reach the target count as infinite."""
    middle = sorted(counts)[(len(counts) - 1) // 2 : len(counts) // 2 + 1]
    return sum(middle) / len(middle)


def time_after(line: StudyLine, objective_seconds: float) -> list[float]:
    """Return the seconds a study takes up to the end of each evaluation."""
    each = np.asarray(line.seconds, dtype=float) + objective_seconds
    return [float(seconds) for seconds in np.cumsum(each)]


def within(line: StudyLine, objective_seconds: float, budget: float) -> int:
    """Return how many evaluations of a study end within a time."""
    # Sums of the same numbers in another order differ by rounding.
    limit = budget * (1.0 + 1e-9)
    return sum(seconds <= limit for seconds in time_after(line, objective_seconds))


# --------------------------------------------------------------------- all the studies
@dataclass(frozen=True)
class Facts:
    """What is known of a task beyond the studies of it.

    Args:
        description: One line for people; empty where it is not known.
        larger_is_better: Whether scores should be large.
        best_known: The best score known, where one is.
        target: A score that is worth reaching, where there is one.
    """

    description: str = ""
    larger_is_better: bool = False
    best_known: float | None = None
    target: float | None = None


def larger_seems_better(lines: Iterable[StudyLine]) -> bool:
    """Return which scores are better, told from how they change: they never get worse."""
    steps = [line.scores[-1] - line.scores[0] for line in lines if line.scores]
    finite = [step for step in steps if math.isfinite(step)]
    return sum(finite) > 0.0


class Results:
    """Studies by problem, method and seed, in a fixed order.

    Args:
        lines: The studies.
        facts: What is known of problems; of one that is missing, what its studies show.
        problem_order: Names that come first, in this order; others follow by the alphabet.
        method_order: The same for methods.
    """

    def __init__(
        self,
        lines: Iterable[StudyLine],
        facts: Mapping[str, Facts],
        problem_order: Sequence[str] = (),
        method_order: Sequence[str] = (),
    ) -> None:
        by_key = {line.key: line for line in lines if line.scores}
        problems = {problem for problem, _, _ in by_key}
        methods = {method for _, method, _ in by_key}
        self.problems = _ordered(problems, problem_order)
        self.methods = _ordered(methods, method_order)
        self._studies: dict[str, dict[str, dict[int, StudyLine]]] = {
            problem: {} for problem in self.problems
        }
        positions = {method: i for i, method in enumerate(self.methods)}
        for key in sorted(by_key, key=lambda key: (key[0], positions[key[1]], key[2])):
            problem, method, seed = key
            self._studies[problem].setdefault(method, {})[seed] = by_key[key]
        self._facts = {}
        for problem in self.problems:
            of_problem = [s for seeds in self._studies[problem].values() for s in seeds.values()]
            guess = Facts(larger_is_better=larger_seems_better(of_problem))
            self._facts[problem] = facts.get(problem, guess)
            self._replace_missing(problem)

    def _replace_missing(self, problem: str) -> None:
        """Let a score that is no number count as nothing found."""
        worst = -math.inf if self._facts[problem].larger_is_better else math.inf
        for seeds in self._studies[problem].values():
            for seed, line in seeds.items():
                if any(math.isnan(score) for score in line.scores):
                    scores = [worst if math.isnan(score) else score for score in line.scores]
                    seeds[seed] = replace(line, scores=scores)

    def __iter__(self) -> Iterator[StudyLine]:
        for of_problem in self._studies.values():
            for seeds in of_problem.values():
                yield from seeds.values()

    def facts(self, problem: str) -> Facts:
        """Return what is known of a problem."""
        return self._facts.get(problem, Facts())

    def sign(self, problem: str) -> float:
        """Return what makes a loss of a score."""
        return -1.0 if self.facts(problem).larger_is_better else 1.0

    def methods_of(self, problem: str) -> list[str]:
        """Return the methods that have studies of a problem."""
        return [*self._studies.get(problem, {})]

    def studies(self, problem: str, method: str) -> dict[int, StudyLine]:
        """Return the studies by seed; none where there are none."""
        return self._studies.get(problem, {}).get(method, {})

    def length(self, problem: str, method: str) -> int:
        """Return the largest number of evaluations that at least half of the seeds have."""
        lengths = sorted(line.n_trials for line in self.studies(problem, method).values())
        return lengths[len(lengths) // 2] if lengths else 0

    def n_first(self, problem: str) -> int:
        """Return how many first points were given on a problem.

        A method that takes none chooses as many by itself, without a model.
        """
        of_problem = self._studies.get(problem, {}).values()
        return max((line.n_first for seeds in of_problem for line in seeds.values()), default=0)

    def losses(self, problem: str, method: str, n: int) -> dict[int, float]:
        """Return the loss after ``n`` evaluations of each seed that has so many."""
        sign = self.sign(problem)
        return {
            seed: sign * line.scores[n - 1]
            for seed, line in self.studies(problem, method).items()
            if 1 <= n <= line.n_trials
        }

    def loss(self, problem: str, method: str, n: int) -> Estimate | None:
        """Return the mean loss after ``n`` evaluations; None where no study has so many."""
        losses = self.losses(problem, method, n)
        return estimate(losses.values()) if losses else None

    def seconds(self, problem: str, method: str, n: int) -> Estimate | None:
        """Return the CPU seconds of all suggestions of ``n`` evaluations, mean over seeds."""
        studies = self.studies(problem, method).values()
        totals = [sum(line.seconds[:n]) for line in studies if line.n_trials >= n]
        return estimate(totals) if totals else None

    def seconds_a_suggestion(self, problem: str, method: str) -> float | None:
        """Return the mean CPU seconds of a suggestion after the first points."""
        first = self.n_first(problem)
        studies = self.studies(problem, method).values()
        means = [float(np.mean(line.seconds[first:])) for line in studies if line.seconds[first:]]
        return float(np.mean(means)) if means else None


def _ordered(names: Iterable[str], order: Sequence[str]) -> list[str]:
    position = {name: i for i, name in enumerate(order)}
    return sorted(names, key=lambda name: (position.get(name, len(position)), name))
