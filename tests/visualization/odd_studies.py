"""Studies that are unusual in some way, each made by adding trials: nothing is searched."""

import math
from collections.abc import Callable
from datetime import datetime, timedelta

import numpy as np
import optuna
from optuna.distributions import (
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import TrialState, create_trial

BEGIN = datetime(2026, 1, 1)
UGLY = '<b>"name"</b> & <a href="javascript:alert(1)">%{x}</a></script><script>alert(2)</script>'
MIXED = {
    "optimizer": CategoricalDistribution(["adam", "sgd", "rmsprop", None]),
    "rate": FloatDistribution(1e-5, 1e-1, log=True),
    "layers": IntDistribution(1, 4),
    "units": IntDistribution(8, 512, log=True),
    "dropout": FloatDistribution(0.0, 0.9),
}


def drawn(distribution, rng):
    """Return a random value of a distribution, as Optuna has it."""
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[int(rng.integers(len(distribution.choices)))]
    if isinstance(distribution, IntDistribution):
        return int(rng.integers(distribution.low, distribution.high + 1))
    low, high = distribution.low, distribution.high
    if distribution.log:
        return float(np.exp(rng.uniform(np.log(low), np.log(high))))
    return float(rng.uniform(low, high))


def random_study(
    space, value_of, n=40, directions=("minimize",), failing=None, limit=None, seed=0
):
    """Return a study of random trials.

    Args:
        space: Distributions by name, or what returns them for a number and a generator.
        value_of: Values of parameters.
        n: How many trials.
        directions: Of the objectives.
        failing: Tells of parameters whether they fail.
        limit: A constraint of parameters, as Optuna 5 stores it.
        seed: Of everything random.
    """
    rng = np.random.default_rng(seed)
    study = optuna.create_study(directions=list(directions))
    for number in range(n):
        distributions = space(rng) if callable(space) else space
        if isinstance(distributions, tuple):
            params, distributions = distributions
        else:
            params = {name: drawn(dist, rng) for name, dist in distributions.items()}
        has_failed = failing is not None and failing(params)
        trial = create_trial(
            state=TrialState.FAIL if has_failed else TrialState.COMPLETE,
            values=None if has_failed else list(np.atleast_1d(value_of(params, rng))),
            params=params,
            distributions=distributions,
            system_attrs={} if limit is None else {"constraints:limit": float(limit(params))},
        )
        trial.datetime_start = BEGIN + timedelta(seconds=number - number % 2)
        trial.datetime_complete = trial.datetime_start + timedelta(seconds=2.0)
        study.add_trial(trial)
    return study


def mixed_value(params, rng=None):
    """A loss that falls with the learning rate up to a point, and depends on the optimizer."""
    rate = (math.log10(params["rate"]) + 3.0) ** 2
    factor = {"adam": 0.5, "sgd": 1.5, "rmsprop": 0.8, None: 2.0}[params["optimizer"]]
    noise = 0.0 if rng is None else 0.05 * rng.standard_normal()
    return factor * rate + 0.2 * params["layers"] + (params["dropout"] - 0.3) ** 2 + noise


def mixed():
    return random_study(
        MIXED,
        mixed_value,
        n=80,
        failing=lambda p: p["optimizer"] == "sgd" and p["rate"] > 3e-3,
        limit=lambda p: p["units"] * p["layers"] / 200.0 - 4.0,
    )


def maximised():
    return random_study(MIXED, lambda p, rng: 1.0 - 0.1 * mixed_value(p, rng), 50, ["maximize"])


def empty():
    return optuna.create_study()


def one_trial():
    return random_study(MIXED, mixed_value, n=1)


def constant():
    return random_study(MIXED, lambda p, rng: 1.0, n=15)


def all_failed():
    return random_study(MIXED, mixed_value, n=12, failing=lambda p: True)


def infinite():
    """Some values are infinite, one is very bad."""

    def value(params, rng):
        if params["optimizer"] is None:
            return math.inf
        return 1e9 if params["layers"] == 4 else mixed_value(params, rng)

    return random_study(MIXED, value, n=40)


def only_infinite():
    return random_study(MIXED, lambda p, rng: math.inf, n=6)


def conditional():
    """A pipeline whose parameters depend on the model; one model always fails."""

    def space(rng):
        model = ["tree", "net", "line", "crash"][int(rng.integers(4))]
        distributions = {
            "model": CategoricalDistribution(["tree", "net", "line", "crash"]),
            "size": IntDistribution(1, 9),
        }
        if model == "tree":
            distributions["depth"] = IntDistribution(1, 30)
        if model == "net":
            distributions["rate"] = FloatDistribution(1e-4, 1e-1, log=True)
        if model == "crash":
            distributions["speed"] = FloatDistribution(0.0, 1.0)
        params = {name: drawn(dist, rng) for name, dist in distributions.items()}
        return {**params, "model": model}, distributions

    def value(params, rng):
        found = 0.2 * abs(params["size"] - 5) + {"tree": 0.0, "net": 0.4, "line": 1.0}.get(
            params["model"], 0.0
        )
        found += 0.03 * abs(params.get("depth", 12) - 12)
        return found + abs(math.log10(params.get("rate", 1e-2)) + 2.0)

    return random_study(space, value, n=60, failing=lambda p: p["model"] == "crash")


def many_parameters():
    space = {f"x{i:03d}": CategoricalDistribution([0, 1]) for i in range(200)}
    return random_study(
        space, lambda p, rng: 2 * p["x000"] - p["x001"] * p["x002"] + 0.1 * p["x003"], n=60
    )


def two_objectives():
    def values(params, rng):
        loss = mixed_value(params, rng) - 0.4 * math.log2(params["units"])
        return loss, params["units"] * params["layers"] / 100.0

    return random_study(MIXED, values, 60, ["minimize", "minimize"])


def three_objectives():
    def values(params, rng):
        return mixed_value(params, rng), params["dropout"], params["layers"] + params["units"] / 99

    return random_study(
        MIXED,
        values,
        30,
        ["minimize", "maximize", "minimize"],
        limit=lambda p: p["units"] - 400.0,
        failing=lambda p: p["layers"] == 4 and p["units"] < 100,
    )


def one_parameter():
    space = {"x": FloatDistribution(-1.0, 1.0)}
    return random_study(space, lambda p, rng: p["x"] ** 2, n=12, failing=lambda p: p["x"] > 0.7)


def no_parameters():
    return random_study({}, lambda p, rng: float(rng.random()), n=5)


def ugly_names():
    """Names and choices that are long, not ASCII, markup, or equal to each other as text."""
    space = {
        UGLY: CategoricalDistribution([UGLY, "</script>", "&lt;i&gt;", "<br>line<br>", "$x^2$"]),
        "Größe (日本語) \U0001f600": CategoricalDistribution(["ä", "ß", "日本", "\u202e"]),
        "a_very_long_name_" * 8: CategoricalDistribution(
            ["choice_" * 20 + str(i) for i in range(9)]
        ),
        "same text": CategoricalDistribution([1, "1", "True", None, "None"]),
        "line\nbreak\ttab": FloatDistribution(0.0, 1.0),
        "": IntDistribution(-(2**60), 2**60),
        "many": CategoricalDistribution([f"choice {i}" for i in range(300)]),
    }
    return random_study(
        space,
        lambda p, rng: len(str(p[UGLY])) / 30.0 + p["line\nbreak\ttab"] + (p["same text"] == "1"),
        n=50,
        failing=lambda p: p[UGLY] == "</script>",
    )


ODD_STUDIES: dict[str, Callable[[], optuna.Study]] = {
    study.__name__: study
    for study in (
        mixed,
        maximised,
        empty,
        one_trial,
        constant,
        all_failed,
        infinite,
        only_infinite,
        conditional,
        many_parameters,
        two_objectives,
        three_objectives,
        one_parameter,
        no_parameters,
        ugly_names,
    )
}
