"""What failures depend on is found, and chance is called chance."""

import numpy as np
import pytest

from heat_plugins.gp.outcome_data import ModelBudget
from heat_plugins.history import History
from heat_plugins.insight.failure_effects import failure_effects
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.space import Categorical, Float, Space
from heat_plugins.space.trial_conditions import conditions_from
from heat_plugins.spec.model import Model
from heat_plugins.spec.structures import Additive, PermutationInvariant

SPACE = Space(
    (Categorical("a", "xyz"), Categorical("b", "xyz"), Categorical("c", "xyz"), Float("u", 0, 1))
)
NUMBERS = Space(tuple(Float(name, 0, 1) for name in "uvw"))


def history_of(points, has_failed):
    values = np.zeros(np.count_nonzero(~has_failed))
    after = np.cumsum(~has_failed)[has_failed]
    return History(
        points[~has_failed],
        values,
        np.full(len(values), -1),
        points[:0],
        points[has_failed],
        failed_after=after,
    )


def effects_of(space, points, has_failed, model=None):
    history = history_of(points, has_failed)
    conditions = conditions_from(space, history.points, history.failed)
    builder = KernelBuilder(space, Model() if model is None else model, conditions)
    return failure_effects(builder, conditions, history, ModelBudget())


def test_without_failures_there_is_nothing_to_say():
    points = SPACE.sample(10, np.random.default_rng(0))
    assert effects_of(SPACE, points, np.zeros(10, dtype=bool)) is None


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("structure", [None, Additive(), "auto"], ids=["product", "sum", "auto"])
def test_a_choice_that_fails_is_named(seed, structure):
    rng = np.random.default_rng(seed)
    points = SPACE.sample(60, rng)
    has_failed = np.where(points[:, 1] == 2.0, rng.random(60) < 0.9, rng.random(60) < 0.05)
    found = effects_of(SPACE, points, has_failed, Model(structure=structure))
    assert found.depends and 0.4 < found.explained < 1.0
    assert (found.n_failed, found.n_complete) == (has_failed.sum(), (~has_failed).sum())
    assert max(found.shares, key=found.shares.get) == "b" and found.shares["b"] > 0.7
    rows = {row.value: row for row in found.probabilities["b"]}
    assert rows["z"].low < 0.9 < rows["z"].high + 0.05 and rows["z"].probability > 0.7
    for value in "xy":
        assert rows[value].low <= 0.05 <= rows[value].high and rows[value].probability < 0.2
    for rows in found.probabilities.values():
        assert all(0.0 <= row.low <= row.probability <= row.high <= 1.0 for row in rows)
    assert [row.value for row in found.probabilities["a"]] == ["x", "y", "z"]


def test_random_failures_are_called_chance():
    rng = np.random.default_rng(0)
    n_found = 0
    for _ in range(20):
        points = SPACE.sample(60, rng)
        found = effects_of(SPACE, points, rng.random(60) < 0.3)
        n_found += found.depends
    assert n_found <= 2


def test_the_probability_of_random_failures_is_how_often_they_happen():
    """And not the probability that failure is more likely than not, which is next to nothing."""
    points = SPACE.sample(90, np.random.default_rng(0))
    found = effects_of(SPACE, points, np.arange(90) % 3 == 1)
    assert not found.depends
    for rows in found.probabilities.values():
        assert np.mean([row.probability for row in rows]) == pytest.approx(1.0 / 3.0, abs=0.1)
        assert all(row.low < 1.0 / 3.0 < row.high for row in rows)


def test_intervals_cover_the_truth():
    """Trials fail with probability 0.8 where a is x and u is large, with 0.1 elsewhere."""
    n_covered = n_rows = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        points = SPACE.sample(80, rng)
        probability = np.where((points[:, 0] == 0.0) & (points[:, 3] > 0.5), 0.8, 0.1)
        found = effects_of(SPACE, points, rng.random(80) < probability)
        for row, truth in zip(found.probabilities["a"], [0.45, 0.1, 0.1], strict=True):
            n_rows += 1
            n_covered += row.low <= truth <= row.high
    assert n_covered >= 0.85 * n_rows


def test_a_few_failures_make_nothing_certain():
    rng = np.random.default_rng(0)
    points = SPACE.sample(30, rng)
    points[:, 0] = np.where(np.arange(30) % 10 == 0, 2.0, points[:, 0] % 2)
    found = effects_of(SPACE, points, points[:, 0] == 2.0)
    worst = found.probabilities["a"][2]
    assert found.n_failed == 3 and found.depends
    assert worst.probability > 0.9 and worst.low < 0.95


def test_failures_among_numbers():
    points = NUMBERS.sample(80, np.random.default_rng(0))
    found = effects_of(NUMBERS, points, points[:, 0] > 0.7)
    assert found.depends and found.shares["u"] > 0.9 > 0.1 > found.shares["v"]
    rows = found.probabilities["u"]
    assert rows[0].value == 0.0 and rows[0].probability < 0.1
    assert rows[-1].value == 1.0 and rows[-1].probability > 0.9


def test_failures_in_a_branch():
    """Parameter u exists where a is not z; trials with z fail, and so do some with a large u."""
    rng = np.random.default_rng(0)
    points = SPACE.sample(80, rng)
    has_failed = (points[:, 0] == 2.0) | (points[:, 3] > 0.8)
    points[points[:, 0] == 2.0, 3] = np.nan
    found = effects_of(SPACE, points, has_failed)
    assert found.depends and found.n_unplaced == 0
    shares = found.shares
    assert shares["a"] > shares["u"] > 5.0 * max(shares["b"], shares["c"])
    assert found.probabilities["a"][2].probability > 0.9
    assert found.probabilities["u"][-1].probability > 0.7
    assert found.probabilities["u"][0].probability < 0.2


def test_interchangeable_parameters_fail_alike():
    points = SPACE.sample(80, np.random.default_rng(0))
    has_failed = (points[:, 0] == 2.0) | (points[:, 1] == 2.0)
    model = Model(structure=PermutationInvariant(["a", "b"]))
    found = effects_of(SPACE, points, has_failed, model)
    assert found.depends
    for name in "ab":
        assert found.shares[name] > 0.3
        assert found.probabilities[name][2].probability > 0.8


def test_trials_that_failed_half_way_are_counted_apart():
    rng = np.random.default_rng(0)
    points = SPACE.sample(20, rng)
    has_failed = np.arange(20) % 4 == 0
    points[has_failed, 3] = np.nan
    found = effects_of(SPACE, points, has_failed)
    assert (found.n_failed, found.n_complete, found.n_unplaced) == (5, 15, 5)
    assert not found.depends and not found.shares and not found.probabilities


@pytest.mark.parametrize("n", [2, 3, 6, 20])
@pytest.mark.parametrize("turn", [False, True], ids=["one failed", "all but one failed"])
def test_one_of_a_kind_looks_like_chance(n, turn):
    points = SPACE.sample(n, np.random.default_rng(0))
    has_failed = (np.arange(n) == n // 2) != turn
    found = effects_of(SPACE, points, has_failed)
    assert not found.depends
    assert all(0.0 <= row.low <= row.high <= 1.0 for row in found.probabilities["a"])
    assert all(np.isfinite(share) for share in found.shares.values())


def test_pending_points_change_nothing():
    points = SPACE.sample(30, np.random.default_rng(0))
    history = history_of(points, points[:, 1] == 2.0)
    builder = KernelBuilder(SPACE, Model())
    with_pending = History.of(
        SPACE, history.points, history.values, pending=points[:5], failed=history.failed
    )
    without = History.of(SPACE, history.points, history.values, failed=history.failed)
    found, same = (
        failure_effects(builder, None, some, ModelBudget()) for some in (with_pending, without)
    )
    assert found == same


def test_of_very_many_trials_some_are_cross_validated():
    points = SPACE.sample(700, np.random.default_rng(0))
    found = effects_of(SPACE, points, points[:, 1] == 2.0)
    assert found.depends and found.explained > 0.95
