"""Stored trials are read quickly, and no choice is taken for another one."""

from typing import Any

import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.study import StudyDirection

from heat_plugins.optuna.distributions import params_of, positions_by_choice
from heat_plugins.optuna.study_reader import StudyReader

CHOICES = st.sampled_from(
    [None, "a", "", "1", 0, 1, 2, 0.5, -1.5, True, 1.0, (1, 2), float("nan")]
)


def test_choices_that_can_be_looked_up():
    plain = CategoricalDistribution((None, "a", 1, 0.5))
    assert positions_by_choice(plain) == {None: 0, "a": 1, 1: 2, 0.5: 3}


@pytest.mark.filterwarnings("ignore:Choices for a categorical distribution")
@pytest.mark.parametrize("choices", [(1, True), (0, 1.0, 1), (0.5, float("nan")), ((1, 2), "a")])
def test_choices_that_could_be_taken_for_others(choices: tuple[Any, ...]):
    assert positions_by_choice(CategoricalDistribution(choices)) is None


def test_numbers_have_no_choices():
    assert positions_by_choice(FloatDistribution(0.0, 1.0)) is None


@pytest.mark.filterwarnings("ignore:Choices for a categorical distribution")
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_a_trial_lies_where_its_values_are_one_by_one(data: st.DataObject):
    def distribution() -> CategoricalDistribution:
        return CategoricalDistribution(tuple(data.draw(st.lists(CHOICES, min_size=1, max_size=4))))

    search_space = {"a": distribution(), "b": distribution(), "u": FloatDistribution(0.0, 1.0)}
    # Trials that were added may have had other choices, or lack a parameter.
    own = search_space | ({"b": distribution()} if data.draw(st.booleans()) else {})
    names = data.draw(st.lists(st.sampled_from(sorted(own)), min_size=1, unique=True))
    params = {
        name: 0.25 if name == "u" else data.draw(st.sampled_from(own[name].choices))
        for name in names
    }
    trial = optuna.trial.create_trial(
        params=params, distributions={name: own[name] for name in names}, value=0.0
    )
    reader = StudyReader(search_space)
    history = reader.read([trial], [StudyDirection.MINIMIZE], None, {})
    expected = reader._encode(params_of(search_space, trial))
    points = np.empty((0, 3)) if expected is None else expected[None]
    np.testing.assert_array_equal(history.points, points)
