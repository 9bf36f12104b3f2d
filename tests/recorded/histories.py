"""Studies and experiments of every kind, whose suggestions are recorded.

Most begin with trials at random points, so that one suggestion that changes does not change all
that follow; a few are run from the start, so that trust regions move and restart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import optuna

from heat_plugins import (
    Additive,
    Anchors,
    HeatSampler,
    InteractionOrders,
    PermutationInvariant,
    RandomDecomposition,
)

__all__ = ["AX_CASES", "CASES", "AxCase", "Case"]

LETTERS = tuple("abcdefghij")
Objective = Callable[[Any], Any]


@dataclass(frozen=True)
class Case:
    """One study: random trials first, then suggestions of the sampler."""

    objective: Objective
    settings: dict[str, Any] = field(default_factory=dict)
    n_random: int = 20
    n_suggested: int = 3
    n_objectives: int = 1
    n_pending: int = 0
    enqueued: dict[str, Any] | None = None

    def suggestions(self) -> Iterator[dict[str, Any]]:
        """Yield the parameters of the suggested trials."""
        directions = ["minimize"] * self.n_objectives
        study = optuna.create_study(directions=directions)
        study.sampler = optuna.samplers.RandomSampler(seed=1)
        study.optimize(self.objective, n_trials=self.n_random, catch=(FloatingPointError,))
        for _ in range(self.n_pending):
            self.objective_params(study.ask())
        study.sampler = HeatSampler(seed=7, **self.settings)
        if self.enqueued is not None:
            study.enqueue_trial(self.enqueued)
        n_before = len(study.trials)
        study.optimize(self.objective, n_trials=self.n_suggested, catch=(FloatingPointError,))
        yield from (trial.params for trial in study.trials[n_before:])

    def objective_params(self, trial: optuna.Trial) -> None:
        """Ask for the parameters of a trial that stays unfinished."""
        try:
            self.objective(trial)
        except (FloatingPointError, optuna.TrialPruned):
            return


# ----------------------------------------------------------------------------- objectives


def letters(n: int, k: int) -> Objective:
    """Parameters with the same choices, neighbours interact."""

    def objective(trial: optuna.Trial) -> float:
        x = [trial.suggest_categorical(f"x{i:02}", LETTERS[:k]) for i in range(n)]
        single = sum((ord(c) * (i + 3)) % 11 for i, c in enumerate(x))
        return float(single + sum(2 * (c == x[i - 1]) for i, c in enumerate(x)))

    return objective


def binary(n: int) -> Objective:
    """Switches."""

    def objective(trial: optuna.Trial) -> float:
        x = [trial.suggest_categorical(f"x{i:03}", (0, 1)) for i in range(n)]
        single = sum((i % 7 - 3) * v for i, v in enumerate(x))
        return float(single + sum(x[i] * x[(5 * i + 1) % n] for i in range(n)))

    return objective


def many_choices(trial: optuna.Trial) -> float:
    """Two parameters with 300 choices each, and a switch."""
    x = [trial.suggest_categorical(f"x{i}", tuple(range(300))) for i in range(2)]
    return abs(x[0] - 40) + abs(x[1] - 250) + trial.suggest_categorical("s", (0, 1))


def noisy(trial: optuna.Trial) -> float:
    """The letters with noise that depends on the trial alone."""
    rng = np.random.default_rng(trial.number)
    return float(letters(8, 4)(trial) + 3.0 * rng.standard_normal())


def mixed(trial: optuna.Trial) -> float:
    """Choices, floats, a logarithmic one, integers and steps."""
    x = [trial.suggest_categorical(f"x{i}", LETTERS[:5]) for i in range(4)]
    rate = math.log10(trial.suggest_float("rate", 1e-5, 1.0, log=True)) + 3.0
    u = trial.suggest_float("u", -1.0, 1.0)
    step = trial.suggest_float("step", 0.0, 2.0, step=0.25)
    n, m = trial.suggest_int("n", 1, 64), trial.suggest_int("m", 1, 1024, log=True)
    single = sum((ord(c) * (i + 3)) % 7 for i, c in enumerate(x))
    return float(single + rate**2 + u * u + (step - 1.5) ** 2 + abs(n - 20) / 10 + m / 500)


def numbers(trial: optuna.Trial) -> float:
    """Floats alone."""
    x = [trial.suggest_float(f"x{i}", -2.0, 2.0) for i in range(4)]
    return float(sum((v - 0.3 * i) ** 2 for i, v in enumerate(x)) + x[0] * x[1])


def integers(trial: optuna.Trial) -> float:
    """Small integers alone."""
    x = [trial.suggest_int(f"x{i}", 0, 7) for i in range(5)]
    return float(sum((v - i) ** 2 for i, v in enumerate(x)))


def quantities(trial: optuna.Trial) -> float:
    """Choices that are numbers, and an order."""
    block = trial.suggest_categorical("block", (16, 32, 64, 128, 256))
    unroll = trial.suggest_categorical("unroll", (1, 2, 3, 4))
    size = trial.suggest_categorical("size", ("S", "M", "L", "XL"))
    kind = trial.suggest_categorical("kind", LETTERS[:3])
    rank = ("S", "M", "L", "XL").index(size)
    return abs(math.log2(block) - 6) + (unroll - 3) ** 2 + abs(rank - 2) + (kind == "a")


def conditional(trial: optuna.Trial) -> float:
    """Branches with parameters of their own."""
    model = trial.suggest_categorical("model", ("forest", "svm", "linear"))
    scale = trial.suggest_categorical("scale", (False, True))
    if model == "forest":
        return 0.5 + abs(trial.suggest_int("trees", 10, 500, log=True) - 100) / 500 + scale
    if model == "linear":
        return 0.7 + trial.suggest_float("penalty", 0.0, 1.0)
    loss = abs(math.log10(trial.suggest_float("cost", 1e-3, 1e3, log=True)) - 1.0)
    if trial.suggest_categorical("kernel", ("linear", "rbf")) == "rbf":
        return 0.2 * loss + abs(math.log10(trial.suggest_float("gamma", 1e-4, 1.0, log=True)) + 2)
    return 0.2 * loss + 0.4


def layers(trial: optuna.Trial) -> float:
    """A number that decides how many others there are."""
    n = trial.suggest_int("layers", 1, 4)
    units = [trial.suggest_categorical(f"units{i}", (8, 16, 32)) for i in range(n)]
    return abs(n - 3) + sum(abs(u - 16) for u in units) / 16


def failing_branch(trial: optuna.Trial) -> float:
    """One branch fails."""
    model = trial.suggest_categorical("model", ("svm", "tree", "gpu"))
    if model == "gpu":
        trial.suggest_int("blocks", 1, 8)
        raise FloatingPointError("no such device")
    if model == "svm":
        return trial.suggest_float("cost", 0.0, 1.0)
    return 0.5 + trial.suggest_int("depth", 1, 9) / 10


def failing(trial: optuna.Trial) -> float:
    """Some combinations do not run."""
    value = letters(6, 4)(trial)
    if trial.params["x00"] == trial.params["x01"]:
        raise FloatingPointError("does not fit")
    return float(value)


def pruned(trial: optuna.Trial) -> float:
    """Bad trials are pruned, with a report."""
    value = float(letters(6, 4)(trial))
    trial.report(value, 0)
    if value > 36.0:
        raise optuna.TrialPruned
    return value


def constrained(trial: optuna.Trial) -> float:
    """Two constraints."""
    value = letters(8, 4)(trial)
    x = [*trial.params.values()]
    trial.set_constraint("a", x.count("a") - 3.0)
    trial.set_constraint("b", 1.0 - x.count("b"))
    return -float(value)


def constrained_mixed(trial: optuna.Trial) -> float:
    """A constraint in a mixed space."""
    value = mixed(trial)
    trial.set_constraint("u", 0.5 - trial.params["u"])
    return value


def two(trial: optuna.Trial) -> tuple[float, float]:
    """Two objectives that disagree."""
    value = letters(8, 4)(trial)
    return float(value), float(sum(c == "a" for c in trial.params.values()))


def two_mixed(trial: optuna.Trial) -> tuple[float, float]:
    """Two objectives in a mixed space."""
    value = mixed(trial)
    return value, trial.params["u"] + trial.params["n"] / 64


def three_constrained(trial: optuna.Trial) -> tuple[float, float, float]:
    """Three objectives and a constraint."""
    first, second = two(trial)
    trial.set_constraint("c", second - 5.0)
    return first, second, -first + second**2


def conditional_constrained_two(trial: optuna.Trial) -> tuple[float, float]:
    """Conditions, a constraint and two objectives."""
    value = conditional(trial)
    trial.set_constraint("c", value - 1.5)
    return value, float(trial.params["scale"]) + value**2


def no_repeats(params: dict[str, Any]) -> bool:
    """Say whether neighbours differ."""
    values = [params[name] for name in sorted(params)]
    return all(left != right for left, right in zip(values, values[1:], strict=False))


def _grid(n: int) -> list[list[int]]:
    return [[int(abs(i - j) == 1) for j in range(n)] for i in range(n)]


def laplace(r: Any) -> Any:
    """A kernel of one's own."""
    return np.exp(-r)


NAMES = [f"x{i:02}" for i in range(6)]
CYCLE = [[1, 2, 3, 4, 5, 0]]
KERNELS = (
    ("heat", "casmopolitan", "combo", "one-hot-rbf", "matern", "rational-quadratic")
    + ("graph-matern", "inverse-polynomial", "hed", "ssk")
)  # fmt: skip
EXACT = {"deterministic_objective": True}


def _structures() -> dict[str, Case]:
    invariant = {
        f"invariant, {method}": Case(
            letters(6, 3), {"structure": PermutationInvariant(NAMES, method=method)}
        )
        for method in ("sort", "padded-sort", "product", "sum")
    }
    some = PermutationInvariant(NAMES[:4], method="sum")
    return invariant | {
        "invariant, cyclic": Case(
            letters(6, 3),
            {"structure": PermutationInvariant(NAMES, method="sum", permutations=CYCLE)},
        ),
        "invariant, numbers": Case(
            integers, {"structure": PermutationInvariant([f"x{i}" for i in range(5)], "sort")}
        ),
        "invariant and additive": Case(letters(7, 3), {"structure": [some, Additive()]}),
        "additive": Case(letters(8, 4), {"structure": Additive()}),
        "additive, mixed": Case(mixed, {"structure": Additive()}),
        "additive, without remainder": Case(
            letters(8, 4), {"structure": Additive(remainder=False)}
        ),
        "orders": Case(letters(8, 4), {"structure": InteractionOrders(2)}),
        "orders, not orthogonal": Case(
            letters(8, 4), {"structure": InteractionOrders(3, orthogonal=False)}
        ),
        "orders, mixed": Case(mixed, {"structure": InteractionOrders(2)}),
        "orders, pending": Case(letters(8, 4), {"structure": InteractionOrders(2)}, n_pending=3),
        "decomposition": Case(letters(8, 4), {"structure": RandomDecomposition()}),
        "decomposition, mixed": Case(mixed, {"structure": RandomDecomposition(seed=3)}),
        "anchors": Case(
            letters(6, 3), {"structure": Anchors([dict.fromkeys(NAMES, "a"), {"x00": "b"}])}
        ),
        "auto": Case(letters(8, 4), {"structure": "auto"}, n_random=30),
        "auto, mixed": Case(mixed, {"structure": "auto"}),
        "auto, conditional": Case(conditional, {"structure": "auto"}),
        "auto, two objectives": Case(two, {"structure": "auto"}, n_objectives=2),
    }


def _kernels() -> dict[str, Case]:
    return (
        {f"kernel {name}": Case(letters(8, 4), {"kernel": name}) for name in KERNELS}
        | {
            f"kernel {name}, isotropic": Case(letters(8, 4), {"kernel": name, "ard": False})
            for name in KERNELS[:6]
        }
        | {f"kernel {name}, mixed": Case(mixed, {"kernel": name}) for name in KERNELS[2:]}
        | {
            "kernel of one's own": Case(letters(8, 4), {"kernel": laplace}),
            "mixing by a sum": Case(mixed, {"mixing": "sum"}),
            "mixing by both": Case(mixed, {"mixing": "mixture"}),
        }
    )


def _spaces() -> dict[str, Case]:
    told = {"quantitative": {"block": "log", "unroll": "linear"}, "order": {}}
    return {
        "binary": Case(binary(25)),
        "binary, exact": Case(binary(60), EXACT),
        "letters": Case(letters(20, 5), n_random=40),
        "letters, exact": Case(letters(20, 5), EXACT, n_random=40),
        "letters, no region": Case(letters(8, 4), {"trust_region": False}),
        "letters, pending": Case(letters(8, 4), n_pending=4),
        "letters, enqueued": Case(letters(8, 4), enqueued={"x00": "c", "x03": "a"}),
        "letters, feasible": Case(letters(6, 4), {"is_feasible": no_repeats}, n_random=15),
        "many choices": Case(many_choices),
        "noisy": Case(noisy, n_random=60),
        "numbers": Case(numbers),
        "numbers, exact": Case(numbers, EXACT),
        "integers": Case(integers),
        "mixed": Case(mixed),
        "mixed, exact": Case(mixed, EXACT, n_random=40),
        "mixed, pending": Case(mixed, n_pending=3),
        "quantities": Case(quantities),
        "quantities, declared": Case(quantities, told),
        "order": Case(quantities, {"order": {"size": ["S", "M", "L", "XL"]}}),
        "graph": Case(letters(6, 5), {"graphs": {"x00": _grid(5), "x01": "cycle"}}),
        "graph, combo": Case(letters(6, 5), {"graphs": {"x00": "path"}, "kernel": "combo"}),
        "conditional": Case(conditional, n_random=30),
        "conditional, exact": Case(conditional, EXACT, n_random=30),
        "conditional, layers": Case(layers),
        "conditional, matern": Case(conditional, {"kernel": "matern"}),
        "failing branch": Case(failing_branch),
        "failing": Case(failing, n_random=30),
        "pruned": Case(pruned, n_random=30),
        "constrained": Case(constrained, n_random=30),
        "constrained, mixed": Case(constrained_mixed, n_random=30),
        "two objectives": Case(two, n_objectives=2),
        "two objectives, mixed": Case(two_mixed, n_objectives=2),
        "three objectives, constrained": Case(three_constrained, n_objectives=3),
        "conditions, constraint, two objectives": Case(
            conditional_constrained_two, n_objectives=2, n_random=30
        ),
    }


def _runs() -> dict[str, Case]:
    start = {"n_startup_trials": 10}
    return {
        "run, binary": Case(binary(25), start, 0, 60),
        "run, letters": Case(letters(15, 5), start | EXACT, 0, 60),
        "run, mixed": Case(mixed, start, 0, 40),
        "run, conditional": Case(conditional, start | EXACT, 0, 60),
        "run, failing": Case(failing, start, 0, 40),
        "run, constrained": Case(constrained, start, 0, 40),
        "run, two objectives": Case(two, start, 0, 30, n_objectives=2),
        "run, auto": Case(letters(10, 4), start | {"structure": "auto"}, 0, 30),
    }


CASES: dict[str, Case] = _spaces() | _kernels() | _structures() | _runs()


# ------------------------------------------------------------------------------------ Ax


@dataclass(frozen=True)
class AxCase:
    """One experiment: arms that were attached, then arms of the strategy, and a prediction."""

    settings: dict[str, Any] = field(default_factory=dict)
    objective: str = "-loss"
    outcome_constraints: tuple[str, ...] = ()
    sem: float | None = None
    has_numbers: bool = True
    n_attached: int = 15
    n_suggested: int = 3

    def suggestions(self) -> Iterator[dict[str, Any]]:
        """Yield the arms that were suggested, then predictions of the best ones."""
        from ax.api.client import Client
        from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig

        from heat_plugins import heat_generation_strategy

        client = Client()
        parameters: list[Any] = [
            ChoiceParameterConfig(
                name=f"x{i}",
                values=[*LETTERS[:4]],
                parameter_type="str",
                is_ordered=False,
            )
            for i in range(5)
        ]
        if self.has_numbers:
            parameters += [
                RangeParameterConfig(name="u", bounds=(-1.0, 1.0), parameter_type="float"),
                RangeParameterConfig(
                    name="rate", bounds=(1e-4, 1.0), parameter_type="float", scaling="log"
                ),
            ]
        client.configure_experiment(parameters=parameters)
        client.configure_optimization(
            objective=self.objective, outcome_constraints=[*self.outcome_constraints]
        )
        client.set_generation_strategy(heat_generation_strategy(seed=7, **self.settings))
        rng = np.random.default_rng(0)
        for _ in range(self.n_attached):
            params: dict[str, Any] = {f"x{i}": LETTERS[rng.integers(4)] for i in range(5)}
            if self.has_numbers:
                params |= {"u": float(rng.uniform(-1, 1)), "rate": float(10 ** rng.uniform(-4, 0))}
            index = client.attach_trial(parameters=params)
            client.complete_trial(trial_index=index, raw_data=self._data(params))
        arms = []
        for _ in range(self.n_suggested):
            for index, params in client.get_next_trials(max_trials=1).items():
                arms.append(dict(params))
                client.complete_trial(trial_index=index, raw_data=self._data(arms[-1]))
        yield from arms
        for predicted in client.predict(arms[:2]):
            yield {name: [float(number) for number in pair] for name, pair in predicted.items()}

    def _data(self, params: dict[str, Any]) -> Any:
        x = [str(params[f"x{i}"]) for i in range(5)]
        loss = float(sum((ord(c) * (i + 3)) % 11 for i, c in enumerate(x)))
        if self.has_numbers:
            loss += float(params["u"]) ** 2 + (math.log10(params["rate"]) + 2.0) ** 2
        data = {"loss": loss, "size": float(x.count("a"))}
        names = [n for n in data if n in f"{self.objective} {self.outcome_constraints}"]
        return {n: data[n] if self.sem is None else (data[n], self.sem) for n in names}


AX_CASES: dict[str, AxCase] = {
    "Ax, mixed": AxCase(),
    "Ax, choices": AxCase(has_numbers=False),
    "Ax, exact": AxCase({"deterministic_objective": True}),
    "Ax, standard errors": AxCase(sem=0.5),
    "Ax, additive": AxCase({"structure": Additive()}),
    "Ax, matern": AxCase({"kernel": "matern"}),
    "Ax, constrained": AxCase(outcome_constraints=("size <= 1",)),
    "Ax, two objectives": AxCase(objective="-loss, -size"),
}
