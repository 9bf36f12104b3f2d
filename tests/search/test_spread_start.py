"""The first points take values that were seldom tried."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heat_plugins.history import History
from heat_plugins.search.domain import Domain
from heat_plugins.search.spread_start import MOST_KNOWN, spread_points
from heat_plugins.space import Categorical, Float, Integer, Ordinal, Space
from heat_plugins.space.infer_conditions import learn_conditions
from heat_plugins.suggest import Problem, Settings, suggest

NAN = np.nan
SPACE = Space(
    (
        Categorical("letter", "abcd"),
        Ordinal("size", "SML"),
        Integer("layers", 1, 6),
        Float("rate", 1e-4, 1.0, log=True),
    )
)


def grown(domain: Domain, n: int, seed: int) -> np.ndarray:
    """Return points (n, d) that were added one by one."""
    rng = np.random.default_rng(seed)
    points = np.empty((0, len(domain.space)))
    for _ in range(n):
        points = np.concatenate([points, spread_points(domain, points, 1, rng)])
    return points


@pytest.mark.parametrize("seed", range(5))
def test_all_values_are_tried_equally_often(seed):
    points = grown(Domain(SPACE), 12, seed)
    for column, n_levels in enumerate([4, 3, 6]):
        _, counts = np.unique(points[:, column], return_counts=True)
        assert counts.tolist() == [12 // n_levels] * n_levels


@pytest.mark.parametrize("seed", range(5))
def test_numbers_are_farther_apart_than_random_ones(seed):
    rates = np.sort(grown(Domain(SPACE), 12, seed)[:, 3])
    gaps = np.diff(np.append(rates, 1.0 + rates[0]))
    assert 0.2 / 12 < gaps.min() and gaps.max() < 2.5 / 12


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32), st.integers(0, 30))
def test_points_are_values_of_the_parameters_and_keep_what_is_fixed(seed, n_known):
    rng = np.random.default_rng(seed)
    domain = Domain(SPACE, fixed={0: 2.0, 3: 0.5})
    points = spread_points(domain, SPACE.sample(n_known, rng), 7, rng)
    assert points.shape == (7, 4)
    np.testing.assert_array_equal(points[:, [0, 3]], [[2.0, 0.5]] * 7)
    np.testing.assert_array_equal(SPACE.snap(points), points)


def test_parameters_exist_where_their_conditions_say():
    space = Space((Categorical("model", "ab"), Categorical("kernel", "pqr")))
    known = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, NAN], [1.0, NAN]])
    conditions = learn_conditions(space, known)
    points = spread_points(
        Domain(space, conditions=conditions), known, 20, np.random.default_rng(0)
    )
    np.testing.assert_array_equal(np.isnan(points[:, 1]), points[:, 0] == 1.0)
    assert set(points[points[:, 0] == 0.0, 1]) == {2.0}


def test_of_very_many_points_the_last_ones_count():
    known = np.zeros((MOST_KNOWN + 5, 1))
    known[:5] = 1.0
    space = Space((Categorical("letter", "ab"),))
    points = spread_points(Domain(space), known, 10, np.random.default_rng(0))
    np.testing.assert_array_equal(points, 1.0)


def test_the_start_can_be_random():
    space = Space((Categorical("letter", "ab"), Float("rate", 0.0, 1.0)))
    known = np.array([[0.0, 0.1]])
    history = History.of(space, known, np.zeros(1))

    def letters(options: Settings) -> set[float]:
        rngs = map(np.random.default_rng, range(20))
        return {suggest(Problem(space), history, options, rng).point[0] for rng in rngs}

    assert letters(Settings()) == {1.0}
    assert letters(Settings(spreads_start=False)) == {0.0, 1.0}
