"""Pairs of related problems."""

import numpy as np
import pytest

from heat_plugins.benchmarks.problems.mixed import svm
from heat_plugins.benchmarks.problems.related import DEVIATION, RELATED, perturbed
from heat_plugins.benchmarks.problems.tasks import Choice, Result, Task

SQUARES = Task(
    "squares",
    "squares of which one does not run",
    (Choice("a", tuple(range(30))),),
    lambda params: Result(() if params["a"] == 3 else (float(params["a"] ** 2),)),
)


def test_a_perturbed_task_is_the_same_up_to_a_factor_and_noise_of_its_own() -> None:
    variant = perturbed(SQUARES, 7)
    assert variant.evaluate({"a": 3}).has_failed
    places = [a for a in range(30) if a != 3]
    values = np.array([variant.evaluate({"a": a}).values[0] for a in places])
    assert values.tolist() == [variant.evaluate({"a": a}).values[0] for a in places]
    ratios = np.log(values / [a**2 + 1.0 for a in places])
    assert 0.5 * DEVIATION < ratios.std() < 1.5 * DEVIATION
    other = perturbed(SQUARES, 8)
    assert other.evaluate({"a": 2}).values != variant.evaluate({"a": 2}).values


def test_the_other_patients_are_others() -> None:
    pytest.importorskip("sklearn")
    earlier, present = RELATED["svm"](0)
    params = {p.name: 1 if p.name.startswith("feature") else 0.1 for p in present.parameters}
    assert [p.name for p in earlier.parameters] == [p.name for p in present.parameters]
    assert present.evaluate(params) == svm().evaluate(params) != earlier.evaluate(params)
