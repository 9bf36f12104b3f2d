"""What a pruned trial tells: its last report, but nothing better than what is usual."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState, create_trial

from heat_plugins import HeatSampler
from heat_plugins.history import NO_REGION, History
from heat_plugins.optuna.study_reader import ReadingRules, StudyReader

SPACE: dict[str, BaseDistribution] = {"k": IntDistribution(0, 99)}


def complete(k: int, value: float) -> FrozenTrial:
    return create_trial(params={"k": k}, distributions=SPACE, value=value)


def pruned(k: int, reports: Mapping[int, float], **fields: Any) -> FrozenTrial:
    return create_trial(
        state=TrialState.PRUNED,
        params={"k": k},
        distributions=SPACE,
        intermediate_values=dict(reports),
        **fields,
    )


def read(
    trials: list[FrozenTrial], *directions: str, consider_pruned: bool = True
) -> tuple[dict[int, Any], set[int]]:
    """Return the values that count, and the points that are merely known, by ``k``."""
    study = optuna.create_study(directions=directions or ("minimize",))
    study.add_trials(trials)
    reader = StudyReader(SPACE, rules=ReadingRules(consider_pruned))
    history: History = reader.read(study.trials, study.directions, None, {})

    def ks(points: Any) -> list[int]:
        return [reader.space.decode(point)["k"] for point in points]

    values = dict(zip(ks(history.points), history.values.tolist(), strict=True))
    return values, set(ks(history.failed))


THREE = [complete(1, 1.0), complete(2, 2.0), complete(3, 3.0)]


@pytest.mark.parametrize(
    ("reported", "counts_as"),
    [(9.0, 9.0), (2.5, 2.5), (2.0, 2.0), (0.5, 2.0), (-math.inf, 2.0), (math.inf, math.inf)],
)
def test_the_last_report_counts_but_is_no_better_than_the_middle(
    reported: float, counts_as: float
) -> None:
    values, others = read([*THREE, pruned(7, {1: 0.0, 5: reported})])
    assert values == {1: 1.0, 2: 2.0, 3: 3.0, 7: counts_as}
    assert not others


@pytest.mark.parametrize(("reported", "counts_as"), [(0.5, -0.5), (2.5, -2.0), (9.0, -2.0)])
def test_where_values_are_maximised_the_middle_is_the_best_as_well(
    reported: float, counts_as: float
) -> None:
    values, _ = read([*THREE, pruned(7, {1: reported})], "maximize")
    assert values == {1: -1.0, 2: -2.0, 3: -3.0, 7: counts_as}


def test_the_last_report_is_that_of_the_last_step() -> None:
    values, _ = read([*THREE, pruned(7, {9: 5.0, 3: 4.0, 4: 8.0})])
    assert values[7] == 5.0


@pytest.mark.parametrize(
    ("low", "high", "middle"),
    [
        (-math.inf, math.inf, math.inf),
        (-math.inf, 3.0, 3.0),
        (1.5e308, 1.7e308, 1.6e308),
        (2.0, 5.0, 3.5),
    ],
)
def test_the_middle_of_values_that_have_no_mean_is_a_number(
    low: float, high: float, middle: float
) -> None:
    values, _ = read([complete(1, low), complete(2, high), pruned(7, {0: -9.0})])
    assert values[7] == pytest.approx(middle)


def test_pruned_trials_do_not_move_the_middle() -> None:
    values, _ = read([*THREE, *(pruned(k, {0: 50.0}) for k in range(10, 20)), pruned(7, {0: 0.0})])
    assert values[7] == 2.0


def test_without_a_complete_trial_reports_count_as_they_are() -> None:
    assert read([pruned(7, {0: 0.5}), pruned(8, {0: 3.0})])[0] == {7: 0.5, 8: 3.0}


@pytest.mark.parametrize("reports", [{}, {0: math.nan}, {0: 1.0, 1: math.nan}])
def test_without_a_number_a_pruned_trial_is_merely_known(reports: dict[int, float]) -> None:
    values, others = read([*THREE, pruned(7, reports)])
    assert 7 not in values and others == {7}
    # Optuna stores the last report as a value as well, which is nothing more.
    assert read([*THREE, pruned(7, {}, value=-5.0)])[1] == {7}


def test_pruned_trials_can_be_left_out() -> None:
    values, others = read([*THREE, pruned(7, {0: 9.0})], consider_pruned=False)
    assert values == {1: 1.0, 2: 2.0, 3: 3.0} and others == {7}


def test_with_several_objectives_reports_do_not_count() -> None:
    """Optuna has none there; a trial may still be told to be pruned."""
    two = create_trial(params={"k": 1}, distributions=SPACE, values=[1.0, 2.0])
    values, others = read([two, pruned(7, {0: 9.0})], "minimize", "maximize")
    assert values == {1: [1.0, -2.0]} and others == {7}


def test_trials_count_in_the_order_in_which_they_ended() -> None:
    trials = [complete(1, 1.0), pruned(2, {0: 5.0}), complete(3, 3.0), pruned(4, {0: 6.0})]
    assert list(read(trials)[0]) == [1, 2, 3, 4]


# ------------------------------------------------------------------------- in a study
def cut(trial: optuna.Trial) -> float:
    """All words with an "a" at the beginning are given up after their first bad report."""
    letters = [trial.suggest_categorical(f"x{i}", ("a", "b", "c")) for i in range(5)]
    wrong = float(sum(letter != "c" for letter in letters))
    if letters[0] == "a":
        trial.report(10.0 + wrong, 0)
        raise optuna.TrialPruned
    return wrong


def test_what_is_pruned_with_bad_reports_is_avoided() -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=8))
    study.optimize(cut, n_trials=28)
    assert study.best_value == 0.0
    assert sum(trial.params["x0"] == "a" for trial in study.trials[12:]) <= 3


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_good_reports_of_pruned_trials_do_not_lead_the_search_astray(direction: str) -> None:
    """Early reports are not values: these would be far better than any."""
    sign = 1.0 if direction == "minimize" else -1.0
    study = optuna.create_study(
        direction=direction, sampler=HeatSampler(seed=0, n_startup_trials=8)
    )

    def objective(trial: optuna.Trial) -> float:
        letters = [trial.suggest_categorical(f"x{i}", ("a", "b", "c")) for i in range(5)]
        if letters[0] == "a":
            trial.report(sign * -100.0, 0)
            raise optuna.TrialPruned
        return sign * sum(letter != "c" for letter in letters)

    study.optimize(objective, n_trials=20)
    assert study.best_value == 0.0


@pytest.mark.parametrize("consider", [True, False])
def test_the_model_begins_with_what_counts(consider: bool) -> None:
    study = optuna.create_study(
        sampler=HeatSampler(seed=0, n_startup_trials=4, consider_pruned_trials=consider)
    )
    space: dict[str, BaseDistribution] = {
        name: CategoricalDistribution(range(6)) for name in ("x", "y")
    }
    for _ in range(4):
        trial = study.ask(space)
        trial.report(1.0 + trial.params["x"], 0)
        study.tell(trial, state=TrialState.PRUNED)
    study.tell(study.ask(space), 1.0)
    region = study.trials[-1].system_attrs["heat_plugins:asked"]["region"]
    assert region == (0 if consider else NO_REGION)


def test_a_study_of_pruned_trials_alone_goes_on() -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=3))

    def objective(trial: optuna.Trial) -> float:
        trial.report(abs(trial.suggest_int("k", 0, 99) - 70), 0)
        raise optuna.TrialPruned

    study.optimize(objective, n_trials=16)
    found = [trial.params["k"] for trial in study.trials]
    assert len(set(found)) == 16
    assert min(abs(k - 70) for k in found) <= 5  # their reports are all there is to learn from


@pytest.mark.parametrize("consider_pruned", [False, True])
def test_pruned_trials_teach_parameters_whether_or_not_their_values_count(
    consider_pruned: bool,
) -> None:
    sampler = HeatSampler(consider_pruned_trials=consider_pruned)
    study = optuna.create_study(sampler=sampler)
    study.add_trials([complete(1, 1.0), complete(2, 2.0)])
    other: dict[str, BaseDistribution] = {"other": IntDistribution(0, 9)}
    study.add_trial(
        create_trial(
            state=TrialState.PRUNED,
            params={"other": 1},
            distributions=other,
            intermediate_values={0: 1.0},
        )
    )
    current = create_trial(state=TrialState.RUNNING)
    assert list(study.sampler.infer_relative_search_space(study, current)) == ["k", "other"]


def test_constraints_of_pruned_trials_count_too() -> None:
    study = optuna.create_study()
    study.add_trials(
        [
            complete(1, 1.0),
            pruned(2, {0: 3.0}, system_attrs={"constraints": [4.0]}),
            pruned(3, {}, system_attrs={"constraints": [5.0]}),
        ]
    )
    history = StudyReader(SPACE).read(study.trials, [StudyDirection.MINIMIZE], None, {})
    np.testing.assert_array_equal(history.constraints, [[math.nan], [4.0]])
