"""What is read of a study for pictures, also where others wrote to it."""

import math

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.trial import TrialState, create_trial

from heat_plugins import HeatSampler
from heat_plugins.history import NO_REGION
from heat_plugins.insight.study_model import StudyModel
from heat_plugins.optuna.study_facts import facts_of, study_data

SPACE = {"a": CategoricalDistribution(["x", "y"]), "u": FloatDistribution(0.0, 1.0)}


def trial(value=None, state=TrialState.COMPLETE, u=0.5, **arguments):
    params = {"a": "x", "u": u}
    return create_trial(value=value, state=state, params=params, distributions=SPACE, **arguments)


def test_values_and_models_are_as_users_know_them():
    study = optuna.create_study(direction="maximize")
    study.add_trials([trial(u, u=u) for u in (0.1, 0.4, 0.6, 0.9, 0.7)])
    data = study_data(study)
    assert data.objectives[0].is_maximised and data.objectives[0].name == "Objective value"
    assert [facts.values for facts in data.trials] == [(0.1,), (0.4,), (0.6,), (0.9,), (0.7,)]
    model = StudyModel(data)
    assert data.numbers[model.best] == 3
    means, _ = model.objective(0).posterior(model.history.points)
    observed = -data.history.objectives[:, 0]
    assert means == pytest.approx(observed, abs=0.05)
    everywhere = model.everywhere(0)
    assert everywhere is not None
    assert np.corrcoef(everywhere.mean(model.history.points), observed)[0, 1] > 0.9


@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_metric_names_are_names_of_objectives():
    study = optuna.create_study(directions=["minimize", "maximize"])
    assert [o.name for o in study_data(study).objectives] == ["Objective 0", "Objective 1"]
    study.set_metric_names(["loss", "speed"])
    assert [o.name for o in study_data(study).objectives] == ["loss", "speed"]


def test_pruned_failed_and_running_trials_are_told_apart():
    study = optuna.create_study()
    study.add_trials(
        [
            trial(1.0),
            trial(state=TrialState.PRUNED, intermediate_values={1: 5.0, 3: 4.0}),
            trial(state=TrialState.FAIL),
            trial(state=TrialState.WAITING),
        ]
    )
    study.ask()
    data = study_data(study)
    assert [facts.state for facts in data.trials] == ["complete", "pruned", "failed", "running"]
    assert [facts.values for facts in data.trials] == [(1.0,), (4.0,), None, None]
    assert data.numbers == (0, 1)


def test_parameters_of_failed_trials_alone_are_in_their_space():
    study = optuna.create_study()
    study.add_trials([trial(1.0), trial(2.0, u=0.1)])
    params, distributions = {"v": 0.3}, {"v": FloatDistribution(0.0, 1.0)}
    study.add_trial(
        create_trial(state=TrialState.FAIL, params=params, distributions=distributions)
    )
    data = study_data(study)
    assert data.space.names == ("a", "u")
    assert data.failure_space.names == ("a", "u", "v")
    assert len(data.failure_history.failed) == 1


@pytest.mark.parametrize(
    "record",
    [
        7,
        {"scale": "large", "acquisition": True, "worker": 3},
        {"scale": math.nan, "acquisition": 10**400, "worker": None},
        {"scale": math.inf, "acquisition": [1.0], "worker": ["a"]},
    ],
)
def test_records_that_others_wrote_are_passed_over(record):
    facts = facts_of(trial(1.0, user_attrs={"heat_plugins": record}))
    assert (facts.scale, facts.acquisition, facts.worker) == (None, None, "")


def test_records_of_the_sampler_are_read():
    sampler = HeatSampler(seed=0, n_startup_trials=2, record=True)
    study = optuna.create_study(sampler=sampler)
    study.optimize(
        lambda t: t.suggest_float("u", 0, 1) + t.suggest_categorical("c", [0, 1]), n_trials=5
    )
    data = sampler.study_data(study)
    first, *others = data.trials
    assert (first.region, first.worker) == (NO_REGION, "")
    assert all(facts.worker for facts in others)
    assert all(facts.scale and facts.acquisition is not None for facts in data.trials[3:])


def test_the_rule_of_the_sampler_is_that_of_the_points():
    sampler = HeatSampler(is_feasible=lambda params: params["u"] < 0.5)
    study = optuna.create_study(sampler=sampler)
    study.add_trials([trial(1.0, u=0.1), trial(2.0, u=0.2)])
    data = sampler.study_data(study)
    assert data.allowed is not None
    points = np.array([[0.0, 0.2], [0.0, 0.8]])
    assert data.allowed(points).tolist() == [True, False]
    assert study_data(study).allowed is None


def test_explanations_are_tables_in_notebooks_with_everything_escaped():
    ugly = "<script>alert(1)</script>"
    study = optuna.create_study()
    space = {ugly: CategoricalDistribution([ugly, "b", 1, "1"])}
    for i in range(16):
        has_failed = i % 4 == 1
        params = {ugly: [ugly, "b", 1, "1"][i % 4]}
        study.add_trial(
            create_trial(
                state=TrialState.FAIL if has_failed else TrialState.COMPLETE,
                value=None if has_failed else float(i % 4),
                params=params,
                distributions=space,
            )
        )
    text = HeatSampler().explain(study)._repr_html_()
    assert "<script" not in text and "&lt;script&gt;" in text
    assert "Failures: 4 of 16 trials" in text
    assert "1: " in text and "&#x27;1&#x27;: " in text
    assert text.count("<td") == text.count("</td>")
