"""The adapters: between an experiment of Ax and ``suggest``.

Two of them, which choose arms in the same way: one for the first trials, and one that can also
predict, explain and be cross-validated, for which Ax wants data of at least two arms.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from ax.adapter.base import Adapter, BaseGenArgs, GenResults
from ax.adapter.data_utils import ExperimentData
from ax.adapter.torch import TorchAdapter
from ax.core.observation import ObservationData, ObservationFeatures
from ax.core.optimization_config import MultiObjectiveOptimizationConfig, OptimizationConfig
from ax.core.search_space import SearchSpace
from ax.core.types import TParameterization
from ax.exceptions.core import DataRequiredError, SearchSpaceExhausted, UserInputError
from ax.exceptions.generation_strategy import OptimizationConfigRequired
from ax.generators.types import TConfig
from ax.utils.common.constants import Keys
from ax.utils.common.logger import get_logger

from heat_plugins.ax.arms import arms_without_data, distinct, number_of_arms
from heat_plugins.ax.codes import HeatCodes
from heat_plugins.ax.earlier_experiments import earlier_study
from heat_plugins.ax.experiment_data import (
    REGION_KEY,
    Aim,
    history_of,
    in_order_of_completion,
    sides_of,
)
from heat_plugins.ax.fixed import FIXED_KEY, fixed_values
from heat_plugins.ax.generator import HeatGenerator, HeatStartGenerator
from heat_plugins.ax.limits import Limits, limits_of
from heat_plugins.ax.search_space import complete_model
from heat_plugins.gp.fit import KernelFit
from heat_plugins.history import NO_REGION, EarlierStudy, History
from heat_plugins.runtime.floating_point import usual_errors
from heat_plugins.runtime.threads import one_blas_thread
from heat_plugins.space import Array
from heat_plugins.spec.model import Model
from heat_plugins.suggest import NoFeasiblePoint, Problem, Settings, Suggestion, suggest

__all__ = ["HeatAdapter", "HeatStartAdapter", "StudyParts"]

logger = get_logger(__name__)

LARGEST_VALUE = 1e150  # that a model predicts


class StudyParts(NamedTuple):
    """What an adapter knows of an experiment.

    Args:
        codes: How parameters become columns.
        observed: Arms and observations, transformed, in order of completion.
        aim: What counts; None where nothing can be known about it.
        history: The arms as points.
        settings: Of the models.
        limits: Where arms may be.
    """

    codes: HeatCodes
    observed: ExperimentData
    aim: Aim | None
    history: History
    settings: Settings
    limits: Limits


class HeatStartAdapter(Adapter):
    """Adapter that suggests the next arms."""

    generator: HeatStartGenerator | HeatGenerator
    _observed: ExperimentData
    _limits: Limits
    _model: Model
    _fixed: TParameterization
    _judged: dict[str, bool]
    _is_waiting: bool = False
    _judged_in: SearchSpace | None = None

    @property
    def _codes(self) -> HeatCodes:
        codes = self.transforms["HeatCodes"]
        assert isinstance(codes, HeatCodes)
        return codes

    @property
    def _has_one_arm(self) -> bool:
        """Whether there is no parameter that can be tuned."""
        return not len(self._codes.space)

    @usual_errors
    def _fit(
        self, search_space: SearchSpace, experiment_data: ExperimentData, **kwargs: Any
    ) -> None:
        """Keep the data for suggestions, and check that the settings fit the parameters."""
        codes, generator = self._codes, self.generator
        self._model = complete_model(generator.model, self._model_space)
        try:
            builder = generator.cache.builder_for(codes.space, self._model, codes.conditions)
            if not self._has_one_arm:
                builder.kernel(self._model.combination)
        except ValueError as error:
            raise UserInputError(str(error)) from error
        if experiment_data.observation_data.index.nlevels > 2:  # values over time: the last ones
            experiment_data = experiment_data.filter_latest_observations()
        self._observed = in_order_of_completion(experiment_data)

    def _compute_in_design(
        self, search_space: SearchSpace, experiment_data: ExperimentData
    ) -> list[bool]:
        """Return which arms are in the search space, as Ax does, but look at each only once."""
        if self._judged_in is not search_space:
            self._judged_in, self._judged = search_space, {}
        arms = self._experiment.arms_by_name
        names = [name for _, name in experiment_data.arm_data.index]
        for name in {*names} - self._judged.keys():
            parameters = arms[name].parameters if name in arms else {}
            if not search_space.parameters.keys() <= parameters.keys():
                # Something is to be filled in first, which Ax does for all arms together.
                return super()._compute_in_design(search_space, experiment_data)
            self._judged[name] = search_space.check_membership(parameters)
        return [self._judged[name] for name in names]

    def _get_transformed_gen_args(
        self,
        search_space: SearchSpace,
        optimization_config: OptimizationConfig | None = None,
        pending_observations: dict[str, list[ObservationFeatures]] | None = None,
        fixed_features: ObservationFeatures | None = None,
    ) -> BaseGenArgs:
        """Note the limits too, which do not go through transforms.

        Constraints relative to a status quo of which nothing is known yet cannot be followed:
        until it is, arms are chosen as at the beginning.
        """
        self._fixed = fixed_values(search_space, fixed_features)
        config = optimization_config or self._optimization_config
        self._is_waiting = False
        if config is not None and not self._knows_control(config):
            self._is_waiting = True
            optimization_config = _without_constraints(config)
            if self.can_predict:
                logger.warning(
                    "Constraints relative to the status quo cannot be followed before it has "
                    "data. Until then arms are chosen at random."
                )
        args = super()._get_transformed_gen_args(
            search_space, optimization_config, pending_observations, fixed_features
        )
        self._limits = limits_of(search_space, self._codes.space, args.search_space)
        return args

    def _knows_control(self, config: OptimizationConfig) -> bool:
        """Whether the status quo has values of all metrics that constraints are relative to."""
        relative = [constraint for constraint in config.all_constraints if constraint.relative]
        if not relative:
            return True
        if self.status_quo is None or not self.can_predict:
            return False
        data = self.status_quo.data
        known = dict(zip(data.metric_signatures, data.means, strict=True))
        needed = {metric for constraint in relative for metric in constraint.metric_signatures}
        return all(abs(known.get(metric, np.nan)) < LARGEST_VALUE for metric in needed)

    @usual_errors
    def _gen(
        self,
        n: int,
        search_space: SearchSpace,
        optimization_config: OptimizationConfig | None,
        pending_observations: dict[str, list[ObservationFeatures]],
        fixed_features: ObservationFeatures | None,
        model_gen_options: TConfig | None = None,
    ) -> GenResults:
        """Ask ``suggest`` for points, one after the other, each aware of those before it."""
        if optimization_config is None:
            raise OptimizationConfigRequired(
                f"{type(self).__name__} requires an OptimizationConfig to be specified"
            )
        try:
            objective = optimization_config.objective
            self.generator.settings.check_objectives(2 if objective.is_multi_objective else 1)
        except ValueError as error:
            raise UserInputError(str(error)) from error
        metrics = sorted(self._observed.metric_signatures)
        aim = None if self._is_waiting else Aim.of(optimization_config, metrics)
        pending = [features.parameters for features in distinct(pending_observations)]
        history = self._history(aim, pending)
        if not self._is_waiting:
            history = replace(history, earlier=self._earlier(optimization_config, metrics))
        fixed = self._fixed_columns(fixed_features)
        number = number_of_arms(self._experiment, pending_observations)
        suggestions: list[Suggestion] = []
        for _ in range(n):
            suggestion = self._suggest(history, aim, fixed, number + len(suggestions))
            suggestions.append(suggestion)
            pending_now = np.concatenate([history.pending, suggestion.point[None]])
            history = replace(history, pending=pending_now)
        has_region = self.generator.settings.trust_region is not None and not fixed
        return GenResults(
            observation_features=[
                ObservationFeatures(
                    parameters=self._codes.coordinates(suggestion.point),
                    metadata={
                        REGION_KEY: suggestion.region_id if has_region else NO_REGION,
                        FIXED_KEY: self._fixed,
                    },
                )
                for suggestion in suggestions
            ],
            weights=[1.0] * n,
            best_observation_features=self._best(
                search_space, optimization_config, pending_observations, fixed_features, aim
            ),
            gen_metadata={Keys.EXPECTED_ACQF_VAL: [s.acquisition for s in suggestions]},
        )

    def _history(self, aim: Aim | None, pending: Sequence[TParameterization]) -> History:
        """Return the history, with transformed parameters that are pending."""
        failed, others = arms_without_data(self, set(self._observed.arm_data.index))
        return history_of(
            self._codes,
            self._observed,
            aim,
            self._points([*pending, *others]),
            self._points([arm.parameters for arm in failed]),
            [arm.time for arm in failed],
            [arm.metadata for arm in failed],
        )

    @usual_errors
    def study_parts(self) -> StudyParts:
        """Return what is known of the experiment, for models and pictures."""
        args = self._get_transformed_gen_args(self._search_space)
        config = args.optimization_config
        aim = None
        if config is not None and not self._is_waiting:
            aim = Aim.of(config, sorted(self._observed.metric_signatures))
        return StudyParts(
            codes=self._codes,
            observed=self._observed,
            aim=aim,
            history=self._history(aim, []),
            settings=replace(self.generator.settings, model=self._model),
            limits=self._limits,
        )

    def _earlier(
        self, config: OptimizationConfig, metrics: Sequence[str]
    ) -> tuple[EarlierStudy, ...]:
        """Return the earlier experiments, by what counts in this one.

        Not where they lack what counts: then there is nothing to compare.
        """
        found = []
        for experiment in self.generator.previous:
            theirs = {metric for means in experiment.means for metric in means}
            aim = Aim.of(config, sorted({*metrics, *theirs}))
            if aim is not None:
                logit = self.transforms.get("Logit")
                found.append(earlier_study(experiment, self._codes, aim, logit))
        return tuple(study for study in found if study is not None)

    def _suggest(
        self, history: History, aim: Aim | None, fixed: Mapping[int, float], number: int
    ) -> Suggestion:
        if self._has_one_arm:
            suggestion = Suggestion(np.empty(0), NO_REGION, is_new=number == 0)
        else:
            suggestion = self._ask_core(history, aim, fixed, number)
        if suggestion.leaves_out_constraints:
            self.generator.warn_unmodelled_constraints()
        if not suggestion.is_new and self.generator.settings.deterministic:
            which = "with these fixed values" if fixed else "of the search space"
            raise SearchSpaceExhausted(
                f"All parameterizations {which} have been tried. With "
                "`deterministic_objective=False` they would be repeated."
            )
        return suggestion

    def _ask_core(
        self, history: History, aim: Aim | None, fixed: Mapping[int, float], number: int
    ) -> Suggestion:
        generator = self.generator
        rng = np.random.default_rng([generator.seed, number, zlib.crc32(b"")])
        try:
            with one_blas_thread():
                problem = Problem(
                    self._codes.space,
                    fixed,
                    self._limits.allowed,
                    self._limits.linear,
                    self._codes.conditions,
                    None if aim is None else aim.reference,
                )
                settings = replace(generator.settings, model=self._model)
                fits = {} if aim is None else self._fits(history, aim)
                return suggest(problem, history, settings, rng, generator.cache, fits)
        except NoFeasiblePoint as error:
            raise SearchSpaceExhausted(
                "No parameterization was found that satisfies the parameter constraints."
            ) from error

    def _fits(self, history: History, aim: Aim) -> dict[int, KernelFit]:
        """Return the kernels that predict metrics, for outcomes that are one metric each.

        Not where some values came with an error and others without: whoever predicts learns the
        noise of all then, whoever chooses only that which is not known.
        """
        fits: dict[int, KernelFit] = {}
        if history.earlier:  # which whoever predicts does not know
            return fits
        for index in range(len(aim.objectives) + len(aim.constraints)):
            metric, noise = aim.metric_of(index), history.noise_of(index)
            if metric is not None and (noise is None or not np.isnan(noise).any()):
                fit = self.generator.kernel_of(metric)
                if fit is not None:
                    fits[index] = fit
        return fits

    def _points(self, parameterizations: list[Any]) -> Array:
        """Return points (p, d) of transformed parameterizations."""
        codes = self._codes
        return codes.space.stack([codes.point(parameters) for parameters in parameterizations])

    def _fixed_columns(self, fixed_features: ObservationFeatures | None) -> dict[int, float]:
        """Return the coordinates that are given, by column.

        Only of what was fixed: Ax fills in all parameters that exist under some choices.
        """
        given: Mapping[str, Any] = {} if fixed_features is None else fixed_features.parameters
        column = self._codes.space.column
        return {column[name]: float(given[name]) for name in self._fixed if name in column}

    def _best(self, *args: Any, **kwargs: Any) -> ObservationFeatures | None:
        """Return what the model takes for the best arm so far; None where there is no such arm."""
        return None


class HeatAdapter(HeatStartAdapter, TorchAdapter):  # type: ignore[misc]  # order of arguments
    """Adapter whose fitted HeatGPs also predict."""

    generator: HeatGenerator

    @usual_errors
    def _fit(
        self, search_space: SearchSpace, experiment_data: ExperimentData, **kwargs: Any
    ) -> None:
        """Fit the model that predicts, too."""
        HeatStartAdapter._fit(self, search_space, experiment_data)
        codes = self._codes
        if self._has_one_arm:  # and nothing to predict
            return
        self.generator.sides = sides_of(self._optimization_config)
        with one_blas_thread():
            TorchAdapter._fit(
                self,
                search_space,
                _finite(self._observed),
                space=codes.space,
                conditions=codes.conditions,
                model=self._model,
                **kwargs,
            )

    @usual_errors
    def _cross_validate(
        self,
        search_space: SearchSpace,
        cv_training_data: ExperimentData,
        cv_test_points: list[ObservationFeatures],
        use_posterior_predictive: bool = False,
    ) -> list[ObservationData]:
        """Predict test points from the training data, of which the same counts as in a fit."""
        known = _finite(cv_training_data)
        told = known.observation_data["mean"].notna().any()
        if not self.can_predict or not told.reindex(self.outcomes, fill_value=False).all():
            raise DataRequiredError(
                "Cross-validation requires finite values of every metric in more than one arm."
            )
        return TorchAdapter._cross_validate(
            self, search_space, known, cv_test_points, use_posterior_predictive
        )

    def _best(
        self,
        search_space: SearchSpace,
        optimization_config: OptimizationConfig,
        pending_observations: dict[str, list[ObservationFeatures]],
        fixed_features: ObservationFeatures | None,
        aim: Aim | None,
    ) -> ObservationFeatures | None:
        """Return what the model takes for the best arm so far; None where there is no such arm."""
        if aim is None or len(aim.objectives) > 1 or not self.can_predict:
            return None
        try:
            digest, config = self._get_transformed_model_gen_args(
                search_space, pending_observations, fixed_features, None, optimization_config
            )
        except DataRequiredError:  # all values of a metric are infinite so far
            return None
        best = self.generator.best_point(digest, config)
        if best is None:
            return None
        return ObservationFeatures(dict(zip(self.parameters, best.tolist(), strict=True)))


def _without_constraints(config: OptimizationConfig) -> OptimizationConfig:
    """Return the objectives alone."""
    several = config.objective.is_multi_objective
    kind = MultiObjectiveOptimizationConfig if several else OptimizationConfig
    return kind(config.objective.clone())


def _finite(data: ExperimentData) -> ExperimentData:
    """Return the data without infinite values and errors, and without those whose squares are.

    ``suggest`` knows what to do with them; a model that predicts in their units does not.
    """
    values = data.observation_data.copy()
    if "mean" in values:
        is_told = values["mean"].abs() < LARGEST_VALUE
        # A value without an error is known; one with an infinite error is not.
        is_told &= ~(values["sem"].abs() >= LARGEST_VALUE)
        values["mean"] = values["mean"].where(is_told)
    return ExperimentData(data.arm_data, values)
