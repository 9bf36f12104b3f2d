"""Runs the experiment of a case and notes the arms that it got."""

import tempfile
import traceback
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ax.api.client import Client
from ax.core.data import Data
from ax.core.experiment import Experiment
from ax.exceptions.core import DataRequiredError, SearchSpaceExhausted, UnsupportedError
from ax_case import AxCase, AxStep, random_ax_value
from ax_space import Params
from draw import Draw
from pandas import DataFrame
from watch import Report, watched

import heat_plugins
from heat_plugins.ax import heat_generation_strategy

__all__ = ["ArmEvent", "AxRun", "run_ax"]

# Warnings that are not ours, each with its reason.
ALLOWED = (
    "DeprecationWarning",  # Ax calls what it, or pandas, has deprecated
    "AxParameterWarning",  # about parameters that leave something to Ax
    "ax/utils/stats",  # its measure of a fit divides by the error, which can be none
    "To copy construct from a tensor",  # Ax, of its own tensors
    "PerformanceWarning",  # pandas, of Ax's tables
)


@dataclass
class ArmEvent:
    """An arm that an experiment came to know of.

    Attributes:
        params: Its values.
        fixed: Those that were given.
        is_generated: Whether we chose it.
    """

    params: Params
    fixed: Params = field(default_factory=dict)
    is_generated: bool = True


@dataclass
class AxRun:
    """What came of a run."""

    report: Report
    events: list[ArmEvent]
    error: str = ""
    is_over: bool = False  # because the space is exhausted
    n_wanted: int = 0  # arms that were asked for at last
    fixed: Params = field(default_factory=dict)  # and what they were to have


def run_ax(case: AxCase) -> AxRun:
    """Run the experiment of a case."""
    with (
        tempfile.TemporaryDirectory(prefix="heat-fuzz-") as folder,
        watched(["ax"], ALLOWED) as report,
    ):
        result = AxRun(report, [])
        try:
            _AxPlayer(case, Path(folder), result).play()
        except SearchSpaceExhausted:
            result.is_over = True
        except Exception as error:
            # Ax itself does not get along with arms that lack a parameter which a constraint
            # is about: none can be attached, nor any trial be asked for while one is running.
            if "not present in param_dict" not in str(error) or _is_ours(error):
                result.error = traceback.format_exc()
    return result


def _is_ours(error: Exception) -> bool:
    """Whether an exception came through our own code."""
    package = str(Path(heat_plugins.__file__).parent)
    frames = traceback.extract_tb(error.__traceback__)
    return any(frame.filename.startswith(package) for frame in frames)


class _AxPlayer:
    """Does the steps of a case one after the other."""

    def __init__(self, case: AxCase, folder: Path, result: AxRun) -> None:
        self.case = case
        self.folder = folder
        self.result = result
        self.client = Client()
        experiment = Experiment(search_space=case.space.make(), name="fuzz")
        self.client.set_experiment(experiment)
        self.client.configure_optimization(
            objective=case.objective, outcome_constraints=list(case.outcome_constraints)
        )
        self.client.set_generation_strategy(heat_generation_strategy(**case.settings))

    def play(self) -> None:
        if self.case.has_baseline:
            draw = Draw(self.case.seed, "baseline")
            params = self._arm(draw)
            index = self.client.attach_baseline(params)
            self._note(params, is_generated=False)
            if draw.chance(0.9):
                self._complete(index, params)
        for step in self.case.steps:
            self.result.n_wanted, self.result.fixed = step.count, dict(step.fixed)
            getattr(self, step.kind)(step)

    def _note(self, params: Params, *, fixed: Any = (), is_generated: bool = True) -> None:
        self.result.events.append(ArmEvent(dict(params), dict(fixed), is_generated))

    def _arm(self, draw: Draw) -> Params:
        """Return some arm of the search space; Ax refuses others."""
        space = self.case.space
        while True:
            params = {p.name: random_ax_value(draw, p) for p in space.parameters}
            params = {n: value for n, value in params.items() if n in space.active(params)}
            if not space.wrong_values(params):
                return params

    def _complete(self, index: int, params: Params) -> None:
        self.client.complete_trial(
            index, raw_data=self.case.values(params, len(self.result.events))
        )

    def next(self, step: AxStep) -> None:
        draw = Draw(step.seed, "next")
        get = self.result.report.timed(self.client.get_next_trials)
        trials = get(max_trials=step.count, fixed_parameters=dict(step.fixed) or None)
        for params in trials.values():
            self._note(params, fixed=step.fixed)
        for index, params in trials.items():
            fate = draw.choices(["complete", "fail", "abandon", "run"], [16, 2, 1, 1])[0]
            if fate == "complete":
                self._complete(index, params)
            elif fate == "fail":
                self.client.mark_trial_failed(index)
            elif fate == "abandon":
                self.client.mark_trial_abandoned(index)

    def batch(self, step: AxStep) -> None:
        experiment, strategy = self.client._experiment, self.client._generation_strategy
        ((run,),) = self.result.report.timed(strategy.gen)(experiment, n=step.count, num_trials=1)
        trial = experiment.new_batch_trial(generator_runs=[run])
        trial.mark_running(no_runner_required=True)
        rows = []
        for arm in trial.arms:
            params = dict(arm.parameters)
            self._note(params)
            for metric, value in self.case.values(params, len(self.result.events)).items():
                mean, sem = value if isinstance(value, tuple) else (value, float("nan"))
                rows.append(
                    {
                        "arm_name": arm.name,
                        "metric_name": metric,
                        "metric_signature": metric,
                        "mean": mean,
                        "sem": sem,
                        "trial_index": trial.index,
                    }
                )
        if rows:
            experiment.attach_data(Data(df=DataFrame.from_records(rows)))
        trial.mark_completed()

    def attach(self, step: AxStep) -> None:
        draw = Draw(step.seed, "attach")
        params = self._arm(draw)
        index = self.client.attach_trial(params)
        self._note(params, is_generated=False)
        if draw.chance(0.8):
            self._complete(index, params)

    def save(self, _: AxStep) -> None:
        path = str(self.folder / "experiment.json")
        self.client.save_to_json_file(path)
        try:
            self.client = Client.load_from_json_file(path)
        except UnsupportedError as error:
            # Ax cannot load a batch that has the status quo among its arms.
            if "Status quo arm" not in str(error):
                raise

    def ask(self, _: AxStep) -> None:
        """Ask for what users look at in between."""
        client = self.client
        try:
            if self.case.space.has_very_many_integers:
                pass  # Ax lists them all where a constraint is relative, which fills the memory
            elif "," not in self.case.objective:
                client.get_best_parameterization()
            else:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # a model of Ax's own finds the frontier
                    client.get_pareto_frontier()
            client.predict([event.params for event in self.result.events[:2]])
        except DataRequiredError:
            return
        except Exception as error:
            # Ax says so where there are no data, or no arm is known to be feasible.
            if _is_ours(error):
                raise
