"""Parameters that exist under some choices only."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from heat_plugins._extras import require
from heat_plugins.benchmarks.problems.tasks import Choice, Number, Params, Result, Task

__all__ = ["CONDITIONAL", "methods", "pipeline", "tree"]


# --------------------------------------------------------- a pipeline of scikit-learn
N_DIGITS = 300
N_FOLDS = 3
MAX_LAYERS = 3

PREPARATION = (
    Choice("scaler", ("none", "standard", "minmax", "quantile")),
    Choice("reduction", ("none", "best", "pca")),
    Number("n_best", 4, 64, log=True, integer=True, when={"reduction": ("best",)}),
    Number("n_components", 2, 40, log=True, integer=True, when={"reduction": ("pca",)}),
    Choice("model", ("logistic", "vectors", "forest", "neighbours", "network")),
)

LOGISTIC = {"model": ("logistic",)}
LOGISTIC_PARAMETERS = (
    Number("logistic_C", 1e-3, 1e3, log=True, when=LOGISTIC),
    Choice("logistic_intercept", (True, False), when=LOGISTIC),
)

VECTORS = {"model": ("vectors",)}
VECTORS_PARAMETERS = (
    Number("vectors_C", 1e-2, 1e3, log=True, when=VECTORS),
    Choice("vectors_kernel", ("linear", "rbf", "poly"), when=VECTORS),
    Number("vectors_gamma", 1e-4, 1e1, log=True, when={"vectors_kernel": ("rbf", "poly")}),
    Number("vectors_degree", 2, 4, integer=True, when={"vectors_kernel": ("poly",)}),
)

FOREST = {"model": ("forest",)}
FOREST_PARAMETERS = (
    Number("forest_depth", 2, 16, integer=True, when=FOREST),
    Number("forest_features", 0.05, 1.0, log=True, when=FOREST),
    Choice("forest_criterion", ("gini", "entropy"), when=FOREST),
)

NEIGHBOURS = {"model": ("neighbours",)}
NEIGHBOURS_PARAMETERS = (
    Number("neighbours_n", 1, 50, log=True, integer=True, when=NEIGHBOURS),
    Choice("neighbours_weights", ("uniform", "distance"), when=NEIGHBOURS),
    Choice("neighbours_p", (1, 2), when=NEIGHBOURS),
)

NETWORK = {"model": ("network",)}
NETWORK_PARAMETERS = (
    Number("network_layers", 1, MAX_LAYERS, integer=True, when=NETWORK),
    *(
        Number(
            f"network_units_{i}",
            4,
            64,
            log=True,
            integer=True,
            # Layer i is there when there are more than i of them.
            when={"network_layers": tuple(range(i + 1, MAX_LAYERS + 1))},
        )
        for i in range(MAX_LAYERS)
    ),
    Number("network_alpha", 1e-6, 1e1, log=True, when=NETWORK),
    Number("network_rate", 1e-4, 1e-1, log=True, when=NETWORK),
)


def _logistic(params: Params) -> Any:
    return require("sklearn.linear_model", "benchmarks").LogisticRegression(
        C=params["logistic_C"], fit_intercept=params["logistic_intercept"], max_iter=100
    )


def _vectors(params: Params) -> Any:
    machine = require("sklearn.svm", "benchmarks").SVC(
        C=params["vectors_C"],
        kernel=params["vectors_kernel"],
        gamma=params.get("vectors_gamma", "scale"),
        degree=params.get("vectors_degree", 3),
        max_iter=2000,
    )
    # Its decisions become probabilities, which the log loss needs.
    calibration = require("sklearn.calibration", "benchmarks")
    return calibration.CalibratedClassifierCV(machine, ensemble=False, cv=2)


def _forest(params: Params) -> Any:
    return require("sklearn.ensemble", "benchmarks").RandomForestClassifier(
        20,
        max_depth=params["forest_depth"],
        max_features=params["forest_features"],
        criterion=params["forest_criterion"],
        random_state=0,
    )


def _neighbours(params: Params) -> Any:
    return require("sklearn.neighbors", "benchmarks").KNeighborsClassifier(
        params["neighbours_n"],
        weights=params["neighbours_weights"],
        p=params["neighbours_p"],
    )


def _network(params: Params) -> Any:
    units = [params[f"network_units_{i}"] for i in range(params["network_layers"])]
    return require("sklearn.neural_network", "benchmarks").MLPClassifier(
        units,
        alpha=params["network_alpha"],
        learning_rate_init=params["network_rate"],
        max_iter=30,
        random_state=0,
    )


_MODELS: dict[str, Callable[[Params], Any]] = {
    "logistic": _logistic,
    "vectors": _vectors,
    "forest": _forest,
    "neighbours": _neighbours,
    "network": _network,
}


def _steps(params: Params) -> list[Any]:
    """Return what comes before the model."""
    preprocessing = require("sklearn.preprocessing", "benchmarks")
    scalers: dict[str, list[Any]] = {
        "none": [],
        "standard": [preprocessing.StandardScaler()],
        "minmax": [preprocessing.MinMaxScaler()],
        "quantile": [preprocessing.QuantileTransformer(n_quantiles=50)],
    }
    steps = scalers[params["scaler"]]
    if params["reduction"] == "best":
        selection = require("sklearn.feature_selection", "benchmarks")
        steps.append(selection.SelectKBest(k=params["n_best"]))
    elif params["reduction"] == "pca":
        decomposition = require("sklearn.decomposition", "benchmarks")
        steps.append(decomposition.PCA(params["n_components"], random_state=0))
    return steps


@cache
def _digits() -> tuple[Any, Any]:
    images, labels = require("sklearn.datasets", "benchmarks").load_digits(return_X_y=True)
    some = np.random.default_rng(0).permutation(len(labels))[:N_DIGITS]
    return images[some], labels[some]


@cache
def _log_loss(items: tuple[tuple[str, Any], ...]) -> float:
    params = dict(items)
    selection = require("sklearn.model_selection", "benchmarks")
    model = _MODELS[params["model"]](params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of iterations that end before they converge
        scores = selection.cross_val_score(
            require("sklearn.pipeline", "benchmarks").make_pipeline(*_steps(params), model),
            *_digits(),
            scoring="neg_log_loss",
            cv=selection.StratifiedKFold(N_FOLDS, shuffle=True, random_state=0),
        )
    return -float(np.mean(scores))


def pipeline() -> Task:
    """Scaling, selection of features and one of five models, each with its own parameters."""
    _digits()  # says at once when scikit-learn is missing
    return Task(
        "pipeline",
        f"scikit-learn pipelines on {N_DIGITS} digits: log loss of {N_FOLDS} folds",
        (
            *PREPARATION,
            *LOGISTIC_PARAMETERS,
            *VECTORS_PARAMETERS,
            *FOREST_PARAMETERS,
            *NEIGHBOURS_PARAMETERS,
            *NETWORK_PARAMETERS,
        ),
        lambda params: Result((_log_loss(tuple(sorted(params.items()))),)),
    )


# ----------------------------------------------------------------------------- trees
# How far above 0 each of the leaves ends.
_SHIFTS = {"x4": 0.1, "x5": 0.2, "x6": 0.3, "x7": 0.4}


def tree() -> Task:
    """Three choices lead to one of four numbers; another number is shared by two of them.

    The function of Jenatton, Archambeau, Gonzalez and Seeger, "Bayesian Optimization with
    Tree-structured Dependencies", ICML 2017.
    """

    def evaluate(params: Params) -> Result:
        leaf = next(name for name in _SHIFTS if name in params)
        shared = params["r8" if "r8" in params else "r9"]
        return Result((params[leaf] ** 2 + _SHIFTS[leaf] + shared,))

    left, right = {"x1": (0,)}, {"x1": (1,)}
    return Task(
        "tree",
        "a tree with four leaves",
        (
            Choice("x1", (0, 1)),
            Number("r8", 0.0, 1.0, when=left),
            Number("r9", 0.0, 1.0, when=right),
            Choice("x2", (0, 1), when=left),
            Choice("x3", (0, 1), when=right),
            Number("x4", -1.0, 1.0, when={"x2": (0,)}),
            Number("x5", -1.0, 1.0, when={"x2": (1,)}),
            Number("x6", -1.0, 1.0, when={"x3": (0,)}),
            Number("x7", -1.0, 1.0, when={"x3": (1,)}),
        ),
        evaluate,
        best_known=0.1,
    )


# --------------------------------------------------------------------------- methods
N_METHODS = 5
N_SHARED = 6
N_OWN = 5
N_CHOICES = 4
MAX_ROUNDS = 8


def _parameters_of_method(method: int) -> tuple[Choice | Number, ...]:
    chosen = {"method": (method,)}
    refined = {f"refined_{method}": (True,)}
    return (
        *(Choice(f"own_{method}_{i}", tuple(range(N_CHOICES)), when=chosen) for i in range(N_OWN)),
        Number(f"level_{method}", 0.0, 1.0, when=chosen),
        Choice(f"refined_{method}", (False, True), when=chosen),
        Number(f"rounds_{method}", 1, MAX_ROUNDS, integer=True, when=refined),
    )


def methods(seed: int = 0) -> Task:
    """One of five methods, each with choices and numbers of its own; all effects add up.

    What is shared has an effect of its own and another one, half as large, with each method. A
    method can be refined, which is worth something with the right number of rounds.
    """
    rng = np.random.default_rng([seed, N_METHODS])
    offsets = rng.standard_normal(N_METHODS)
    shared = rng.standard_normal((1, N_SHARED, N_CHOICES))
    shared = shared + 0.5 * rng.standard_normal((N_METHODS, N_SHARED, N_CHOICES))
    own = rng.standard_normal((N_METHODS, N_OWN, N_CHOICES))
    levels = rng.random(N_METHODS)
    rounds = rng.integers(1, MAX_ROUNDS + 1, N_METHODS)

    def evaluate(params: Params) -> Result:
        m = params["method"]
        value = offsets[m] + 8.0 * (params[f"level_{m}"] - levels[m]) ** 2
        value += sum(shared[m, i, params[f"shared_{i}"]] for i in range(N_SHARED))
        value += sum(own[m, i, params[f"own_{m}_{i}"]] for i in range(N_OWN))
        if params[f"refined_{m}"]:
            value += 0.2 * (params[f"rounds_{m}"] - rounds[m]) ** 2 - 1.0
        return Result((float(value),))

    best = offsets + shared.min(axis=2).sum(axis=1) + own.min(axis=2).sum(axis=1) - 1.0
    parameters: list[Choice | Number] = [
        Choice(f"shared_{i}", tuple(range(N_CHOICES))) for i in range(N_SHARED)
    ]
    parameters.append(Choice("method", tuple(range(N_METHODS))))
    for method in range(N_METHODS):
        parameters.extend(_parameters_of_method(method))
    return Task(
        "methods",
        f"one of {N_METHODS} methods, each with its own choices and numbers",
        tuple(parameters),
        evaluate,
        best_known=float(best.min()),
    )


CONDITIONAL: dict[str, Callable[[], Task]] = {
    "pipeline": pipeline,
    "tree": tree,
    "methods": methods,
}
