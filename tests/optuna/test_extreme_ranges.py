"""Ranges at the ends of what floats are: whoever asks for one does not stop the study."""

import optuna
import pytest
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState, create_trial

from heat_plugins import HeatImportanceEvaluator, HeatSampler

RANGES: dict[str, tuple[IntDistribution | FloatDistribution, float]] = {
    "infinite length": (FloatDistribution(-1.7e308, 1.7e308), 1.0),
    "infinite length with steps": (FloatDistribution(-1.7e308, 1.7e308, step=1e307), -1.7e308),
    "subnormal": (FloatDistribution(0.0, 5e-324), 5e-324),
    "subnormal on a log scale": (FloatDistribution(5e-324, 1e-310, log=True), 1e-320),
    "all floats on a log scale": (FloatDistribution(1e-300, 1e300, log=True), 1e100),
    "few floats": (FloatDistribution(1.0, 1.0 + 1e-15), 1.0),
    "beyond 2^53": (IntDistribution(2**53 + 1, 2**60 + 1), 2**55),
    "next to 2^53": (IntDistribution(2**53 + 1, 2**53 + 5), 2**53 + 2),
    "narrow on a log scale": (IntDistribution(10**15, 10**15 + 1000, log=True), 10**15 + 3),
    "hardly any float": (IntDistribution(1, 10**300, log=True), 10**250),
    "no float at all": (IntDistribution(0, 10**400), 3),
}
# Optuna itself cannot draw whole numbers that are no floats.
DRAWN = {name: pair[0] for name, pair in RANGES.items() if name != "no float at all"}
EACH = pytest.mark.parametrize(("distribution", "value"), RANGES.values(), ids=RANGES.keys())


def study_with(distribution: BaseDistribution, value: float) -> optuna.Study:
    """Return a study that somebody has added a trial with such a parameter to."""
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=3))
    small = FloatDistribution(0.0, 1.0)
    study.add_trial(
        create_trial(
            params={"x": 0.5, "odd": value},
            distributions={"x": small, "odd": distribution},
            value=1.0,
        )
    )
    return study


@EACH
def test_a_foreign_trial_does_not_stop_the_others(
    distribution: BaseDistribution, value: float
) -> None:
    study = study_with(distribution, value)
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=6)
    assert all(trial.state == TrialState.COMPLETE for trial in study.trials)
    assert len({trial.params["x"] for trial in study.trials}) == 7


@pytest.mark.parametrize("distribution", DRAWN.values(), ids=DRAWN.keys())
def test_values_are_in_range_also_when_they_are_stored(
    distribution: IntDistribution | FloatDistribution,
) -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=0, n_startup_trials=3))
    for _ in range(12):
        trial = study.ask({"odd": distribution, "x": FloatDistribution(0.0, 1.0)})
        assert distribution.low <= trial.params["odd"] <= distribution.high
        study.tell(trial, trial.params["x"])
    for stored in study.trials:
        assert distribution.low <= stored.params["odd"] <= distribution.high
    assert len({tuple(trial.params.items()) for trial in study.trials}) == 12


@pytest.mark.parametrize(
    ("low", "step", "n_values"), [(2**53, 1, 3), (2**53 + 1, 1, 2), (-(2**60) - 1024, 2, 3)]
)
def test_all_values_that_can_be_stored_are_visited_before_any_is_repeated(
    low: int, step: int, n_values: int
) -> None:
    width = 4 if low > 0 else 1024
    study = optuna.create_study(sampler=HeatSampler(seed=0, deterministic_objective=True))

    def objective(trial: optuna.Trial) -> float:
        return float(trial.suggest_int("odd", low, low + width, step=step) % 1000)

    study.optimize(objective, n_trials=n_values + 3)  # the sampler stops it
    found = [trial.params["odd"] for trial in study.trials]
    assert len(found) == len(set(found)) >= n_values
    assert all(low <= value <= low + width for value in found)


@EACH
def test_what_was_learnt_can_be_shown(distribution: BaseDistribution, value: float) -> None:
    study = study_with(distribution, value)
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=4)
    assert isinstance(study.sampler, HeatSampler)
    study.sampler.explain(study)
    for trial in study.trials[1:3]:
        params = {**trial.params, "odd": value}
        distributions = {**trial.distributions, "odd": distribution}
        study.add_trial(create_trial(params=params, distributions=distributions, value=0.0))
    found = HeatImportanceEvaluator().evaluate(study, params=["odd", "x"])
    assert found.keys() == {"odd", "x"}


@pytest.mark.parametrize("seed", range(3))
def test_all_floats_of_a_range_that_has_few_are_tried(seed: int) -> None:
    study = optuna.create_study(sampler=HeatSampler(seed=seed, n_startup_trials=3))
    study.optimize(lambda trial: trial.suggest_float("x", 1e15, 1e15 + 1.0) - 1e15, n_trials=9)
    assert {trial.value for trial in study.trials} == {i / 8 for i in range(9)}
