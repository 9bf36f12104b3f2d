"""Choices and numbers together: Ackley's function of 53 variables, and a support vector machine.

Both have the shape of problems that CASMOPOLITAN (Wan et al., 2021) and Bounce (Papenmeier et
al., 2023) were compared on: many switches and three numbers.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from heat_plugins._extras import require
from heat_plugins.benchmarks.problems.problem import RELOCATION_SEED
from heat_plugins.benchmarks.problems.published import ackley_value
from heat_plugins.benchmarks.problems.tasks import Choice, Number, Params, Result, Task

__all__ = ["ackley53", "svm"]


# -------------------------------------------------------------------------- Ackley
N_SWITCHES = 50
N_NUMBERS = 3
SWITCHES = tuple(f"switch_{i:02d}" for i in range(N_SWITCHES))
NUMBERS = tuple(f"number_{i}" for i in range(N_NUMBERS))


def ackley53(relocated: bool = False) -> Task:
    """Ackley's function of 50 switches, 0 or 1, and three numbers from -1 to 1.

    Args:
        relocated: Whether the optimum is at a random place instead of where all are 0.
    """
    flipped: NDArray[np.int64] = np.zeros(N_SWITCHES, dtype=np.int64)
    middle = np.zeros(N_NUMBERS)
    if relocated:
        rng = np.random.RandomState(RELOCATION_SEED)
        flipped = rng.randint(0, 2, size=N_SWITCHES)
        # The function is shifted and the range is not, so the optimum stays within the range.
        middle = rng.uniform(-1.0, 1.0, size=N_NUMBERS)

    def evaluate(params: Params) -> Result:
        switches = np.array([params[name] for name in SWITCHES], dtype=np.int64)
        numbers = np.array([params[name] for name in NUMBERS], dtype=np.float64)
        point = np.concatenate([switches ^ flipped, numbers - middle])  # (53,)
        return Result((ackley_value(point),))

    return Task(
        "ackley53-relocated" if relocated else "ackley53",
        f"Ackley's function of {N_SWITCHES} switches and {N_NUMBERS} numbers"
        + ("; relocated" if relocated else ""),
        (
            *(Choice(name, (0, 1)) for name in SWITCHES),
            *(Number(name, -1.0, 1.0) for name in NUMBERS),
        ),
        evaluate,
        best_known=0.0,
    )


# ---------------------------------------------------------- a support vector machine
N_PATIENTS = 200
N_MEASUREMENTS = 10  # of each patient; as many features again are noise
N_FOLDS = 3
FEATURES = tuple(f"feature_{i:02d}" for i in range(2 * N_MEASUREMENTS))


class _Regression(NamedTuple):
    inputs: NDArray[np.float64]  # (200, 20), each column with mean 0 and deviation 1
    targets: NDArray[np.float64]  # (200,), the same
    folds: tuple[tuple[NDArray[np.int64], NDArray[np.int64]], ...]  # those fitted, those tested


@cache
def _patients(others: bool = False) -> _Regression:
    """Return diabetes patients, or others, with their measurements and as much noise.

    The noise is the measurements again, each in an order of its own: it looks like them column
    by column and says nothing about the target.
    """
    datasets = require("sklearn.datasets", "benchmarks")
    measurements, targets = datasets.load_diabetes(return_X_y=True)
    rng = np.random.RandomState(0)
    order = rng.permutation(len(targets))
    some = order[N_PATIENTS : 2 * N_PATIENTS] if others else order[:N_PATIENTS]
    measurements, targets = measurements[some], targets[some]
    noise = np.column_stack([rng.permutation(column) for column in measurements.T])
    inputs = np.column_stack([measurements, noise])
    inputs = (inputs - inputs.mean(axis=0)) / inputs.std(axis=0)
    selection = require("sklearn.model_selection", "benchmarks")
    folds = selection.KFold(N_FOLDS, shuffle=True, random_state=0).split(inputs)
    return _Regression(inputs, (targets - targets.mean()) / targets.std(), tuple(folds))


def _cross_validated_error(params: Params, others: bool = False) -> float:
    """Return the root mean square error of patients that the machine was not fitted to."""
    inputs, targets, folds = _patients(others)
    used = np.flatnonzero([params[name] for name in FEATURES])
    squares = 0.0
    for fitted, tested in folds:
        if len(used) == 0:  # nothing to predict from: all are predicted alike
            predicted = np.full(len(tested), targets[fitted].mean())
        else:
            machine = require("sklearn.svm", "benchmarks").SVR(
                C=params["C"], epsilon=params["epsilon"], gamma=params["gamma"]
            )
            machine.fit(inputs[np.ix_(fitted, used)], targets[fitted])
            predicted = machine.predict(inputs[np.ix_(tested, used)])
        squares += float(np.sum((predicted - targets[tested]) ** 2))
    return float(np.sqrt(squares / len(targets)))


def svm(others: bool = False) -> Task:
    """Which of 20 features a support vector regression uses, and its three parameters.

    The published problem takes 50 features of a data set that has to be downloaded; this one
    takes a data set that comes with scikit-learn. A machine that predicts nothing has about 1.

    Args:
        others: Whether the patients are as many of the others.
    """
    _patients(others)  # says at once when scikit-learn is missing
    return Task(
        "svm-others" if others else "svm",
        f"support vector regression: {len(FEATURES)} features in or out and 3 parameters, "
        f"error of {N_FOLDS} folds",
        (
            *(Choice(name, (0, 1)) for name in FEATURES),
            Number("C", 1e-2, 1e2, log=True),
            Number("epsilon", 1e-2, 1.0, log=True),
            Number("gamma", 1e-3, 1e1, log=True),
        ),
        lambda params: Result((_cross_validated_error(params, others),)),
    )
