"""Which studies the evidence consists of: problems x methods x seeds, block by block."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from heat_plugins.benchmarks.methods.graph_methods import GRAPH_METHODS
from heat_plugins.benchmarks.methods.method_list import (
    HEAT_AND_HAMMING,
    OTHER_KERNELS,
    PIPELINE_METHODS,
)
from heat_plugins.benchmarks.problems.cells import CELLS
from heat_plugins.benchmarks.problems.ehrlich import EHRLICH
from heat_plugins.benchmarks.problems.numbers import NUMBERS
from heat_plugins.benchmarks.problems.tables import TABLES
from heat_plugins.benchmarks.run.runner import N_FIRST, Job

__all__ = [
    "FAST_PEERS",
    "PAPER",
    "PLAN",
    "QUICK",
    "RELOCATED",
    "SMALL",
    "SFU_NAMES",
    "SLOW_PEERS",
    "USERS",
    "Block",
    "jobs_of",
]

PAPER = ("pest", "contamination", "labs", "maxsat", "cluster")
SFU_NAMES = ("ackley", "rastrigin", "schwefel", "sphere", "styblinski-tang")
USERS = ("ackley53-relocated", "svm", "pipeline", "features")
RELOCATED = tuple(f"{name}-relocated" for name in (*PAPER, *SFU_NAMES, "rna"))

LOGIC = ("aig-multiplier-relocated", "aig-sine-relocated", "aig-epfl-i2c-relocated")

# Slices of the posterior, and a dictionary of anchors: more than 0.2 s a suggestion.
_SLOW_PIPELINES = ("pipeline-combo", "pipeline-bodi")
_FAST_PIPELINES = tuple(name for name in PIPELINE_METHODS if name not in _SLOW_PIPELINES)

SMALL = (*TABLES, *NUMBERS)

FAST_PEERS = ("Random", "TPE", "NSGA-II", "CatCMAwM")
SLOW_PEERS = ("Ax-default", "Ax-mixed", "HEBO")  # seconds a suggestion


@dataclass(frozen=True)
class Block:
    """Every problem with every method and the seeds 0, 1, ...

    Args:
        problems: Names of tasks.
        methods: Names of methods.
        n_seeds: Number of seeds.
        n_trials: Evaluations a study.
        n_first: Random points, the same for all methods, that a study begins with.
    """

    problems: tuple[str, ...]
    methods: tuple[str, ...]
    n_seeds: int = 10
    n_trials: int = 200
    n_first: int = N_FIRST


# Problems whose evaluations take no time to speak of.
_CHEAP = tuple(f"{name}-relocated" for name in (*PAPER, *SFU_NAMES, "ackley53"))
_BOTH = tuple(name for problem in PAPER for name in (problem, f"{problem}-relocated"))

PLAN: tuple[Block, ...] = (
    Block((*RELOCATED, *USERS), ("HeatSampler", *FAST_PEERS)),
    # As many evaluations as it could make in our time, if they cost nothing.
    Block(_CHEAP, ("CatCMAwM",), n_trials=10_000),
    Block((*RELOCATED, *USERS), ("SMAC3", "GPSampler"), n_seeds=5),
    Block(_BOTH, (*HEAT_AND_HAMMING, *OTHER_KERNELS)),
    # The systems that the paper compares, made of parts.
    Block((*_BOTH, "ackley-relocated"), _FAST_PIPELINES),
    Block((*_BOTH, "ackley-relocated"), _SLOW_PIPELINES, n_seeds=5),
    Block(SFU_NAMES, ("heat", "sort", "padded-sort", "ssk")),
    Block(tuple(f"{name}-relocated" for name in SFU_NAMES), ("heat", "ssk")),
    Block(("rna",), ("heat", "cocabo", "rducb", "additive", "interactions-2", "auto"), n_seeds=20),
    # Folding is chaotic, and no other problem's results are spread so much.
    Block(("rna-relocated",), ("HeatSampler", *FAST_PEERS), n_seeds=30),
    Block(("rna-relocated",), ("GPSampler",), n_seeds=10),
    Block(("antibody", "antibody-relocated"), ("HeatSampler", "Random", "TPE")),
    Block(("antibody-relocated",), ("GPSampler",), n_seeds=5),
    # Seconds an evaluation, in which a suggestion hardly counts.
    Block(LOGIC, ("HeatSampler", "Random", "TPE", "GPSampler"), n_seeds=5),
    Block(tuple(f"{name}-relocated" for name in PAPER), SLOW_PEERS, n_seeds=2, n_trials=100),
    # As users have them: few evaluations, and each method begins by itself.
    Block(SMALL, ("HeatSampler", "TPE", "Random", "CatCMAwM"), n_trials=100, n_first=0),
    Block(SMALL, ("GPSampler", "SMAC3"), n_trials=100, n_first=0),
    Block((*EHRLICH,), ("HeatSampler", "TPE", "Random"), n_trials=300, n_first=0),
    # As the paper has it, five at once.
    Block((*CELLS,), (*GRAPH_METHODS,), n_seeds=20, n_trials=150, n_first=10),
)

# A few minutes: enough to see that everything works and in which direction it points.
QUICK: tuple[Block, ...] = (
    Block(
        ("pest-relocated", "labs-relocated", "ackley53-relocated"),
        ("HeatSampler", "TPE", "Random"),
        n_seeds=2,
        n_trials=100,
    ),
    Block(("pest-relocated",), ("GPSampler",), n_seeds=1, n_trials=100),
)


def jobs_of(
    plan: Sequence[Block],
    problems: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
    n_trials: int | None = None,
) -> list[Job]:
    """Return the studies of a plan, perhaps of some problems and methods only.

    The first seed of everything comes first, so that what is there when time is up can be
    compared. Where blocks overlap, the longer study counts.

    Args:
        plan: The blocks.
        problems: Names, all of the plan where None.
        methods: Names, all of the plan where None.
        seeds: Instead of those of the plan.
        n_trials: Instead of that of the plan.
    """
    jobs: dict[tuple[str, str, int], Job] = {}
    for job in _all_jobs(plan, seeds, n_trials):
        wanted = (problems is None or job.problem in problems) and (
            methods is None or job.method in methods
        )
        if wanted and (job.key not in jobs or jobs[job.key].n_trials < job.n_trials):
            jobs[job.key] = job
    return sorted(jobs.values(), key=lambda job: job.seed)


def _all_jobs(
    plan: Sequence[Block], seeds: Sequence[int] | None, n_trials: int | None
) -> Iterator[Job]:
    for block in plan:
        for seed in range(block.n_seeds) if seeds is None else seeds:
            for problem in block.problems:
                for method in block.methods:
                    yield Job(problem, method, seed, n_trials or block.n_trials, block.n_first)
