"""Generators of Ax: the settings of a user, and the model for predictions."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import gpytorch
import numpy as np
import torch
from ax.core.search_space import SearchSpaceDigest
from ax.core.types import TCandidateMetadata
from ax.exceptions.core import DataRequiredError, UserInputError
from ax.generators.base import Generator
from ax.generators.torch.botorch_modular.generator import BoTorchGenerator
from ax.generators.torch.botorch_modular.surrogate import (
    SurrogateSpec,
    submodel_input_constructor,
)
from ax.generators.torch.botorch_modular.utils import ModelConfig, fit_botorch_model
from ax.generators.torch_base import TorchOptConfig
from ax.utils.common.logger import get_logger
from botorch.models.model import ModelList
from botorch.utils.datasets import SupervisedDataset

from heat_plugins.acquisition.builder import AcquisitionName
from heat_plugins.ax.earlier_experiments import read_previous
from heat_plugins.ax.experiment_data import Side
from heat_plugins.botorch import HeatGP
from heat_plugins.gp.fit import FitCache, KernelFit
from heat_plugins.insight.sobol import total_effects
from heat_plugins.search.nested_bins import NestedEmbedding
from heat_plugins.search.regions import RegionName, rules_of
from heat_plugins.search.searches import SearchName
from heat_plugins.space import Array
from heat_plugins.spec.checks import check_bool, check_whole
from heat_plugins.spec.model import Model
from heat_plugins.suggest import Settings

__all__ = ["HeatGenerator", "HeatStartGenerator", "check_arguments"]

logger = get_logger(__name__)


def check_arguments(
    seed: Any, n_startup_trials: Any, deterministic_objective: Any, consider_failed_trials: Any
) -> None:
    """Refuse arguments that are not what they should be; those of the model check themselves."""
    check_whole("seed", seed)
    check_whole("n_startup_trials", n_startup_trials, optional=True)
    check_bool("deterministic_objective", deterministic_objective)
    check_bool("consider_failed_trials", consider_failed_trials)


class _Caches(dict[str, FitCache]):
    """Caches of fits, by metric; stays one object when Ax copies the options of a model."""

    def __deepcopy__(self, cache: dict[int, Any]) -> _Caches:
        return self


class HeatStartGenerator(Generator):
    """Generator without a model, used before data.

    It keeps the settings; :class:`~heat_plugins.ax.adapter.HeatStartAdapter` does the rest.

    All arguments are those of ``heat_generation_strategy``, which makes them, and can be stored as
    JSON: ``model`` comes from ``Model.to_json``, ``embedding`` has the fields of one, and
    ``previous`` comes from ``write_previous``.
    """

    def __init__(
        self,
        seed: int = 0,
        n_startup_trials: int | None = None,
        deterministic_objective: bool = False,
        trust_region: bool | RegionName = True,
        model: str | None = None,
        consider_failed_trials: bool = True,
        acquisition: AcquisitionName = "log-ei",
        search: SearchName = "genetic",
        embedding: Mapping[str, Any] | None = None,
        previous: str | None = None,
    ) -> None:
        try:
            check_arguments(
                seed, n_startup_trials, deterministic_objective, consider_failed_trials
            )
            self.seed = int(seed)
            self.model = Model() if model is None else Model.from_json(model)
            self.settings = Settings(
                n_startup_trials=None if n_startup_trials is None else int(n_startup_trials),
                deterministic=bool(deterministic_objective),
                trust_region=rules_of(trust_region),
                model=self.model,
                models_failures=bool(consider_failed_trials),
                acquisition=acquisition,
                search_by=search,
                embedding=None if embedding is None else NestedEmbedding(**embedding),
            )
            self.previous = read_previous(previous)
        except (TypeError, ValueError, KeyError) as error:
            raise UserInputError(f"Settings of heat_plugins cannot be read: {error}") from error
        self.cache = FitCache()  # of suggestions
        self._left_out_constraints = False
        self._make_model()

    def _make_model(self) -> None:
        """Make the model that Ax can ask: none here."""

    def warn_unmodelled_constraints(self) -> None:
        """Warn, once, of outcome constraints that are not modelled."""
        if not self._left_out_constraints:
            self._left_out_constraints = True
            logger.warning(
                "Not all outcome constraints that arms violate are modelled: some are known for "
                "too few arms, or there are very many and others are violated more often. Arms "
                "that violate them still count as infeasible."
            )

    def kernel_of(self, metric: str) -> KernelFit | None:
        """Return the kernel of a metric; None where it has to be fitted yet."""
        return None

    @property
    def can_predict(self) -> bool:
        """Whether there is a model that Ax can ask."""
        return False

    @property
    def can_model_in_sample(self) -> bool:
        """The same for points that have been seen."""
        return self.can_predict


class HeatGenerator(HeatStartGenerator, BoTorchGenerator):
    """Keeps the settings, and a :class:`~heat_plugins.botorch.HeatGP` for each metric.

    Everything that Ax does with a model goes through these: predictions, cross-validation,
    sensitivities, best points. The next arms are chosen with the same kernels. There is no other
    ``__init__``, because Ax finds the names of the arguments in its signature.
    """

    def _make_model(self) -> None:
        self._caches = _Caches()
        self.sides: Mapping[str, Side] = {}  # the bad ones of metrics
        self._doubted: set[str] = set()  # metrics whose standard errors are too small
        config = ModelConfig(
            botorch_model_class=HeatGP, input_transform_classes=None, name="HeatGP"
        )
        # To fit again from scratch takes no longer than from the last state.
        BoTorchGenerator.__init__(
            self, surrogate_spec=SurrogateSpec(model_configs=[config]), warm_start_refit=False
        )

    @property
    def can_predict(self) -> bool:
        """Whether there were any data to learn from."""
        return self._surrogate is not None

    def fit(
        self,
        datasets: Sequence[SupervisedDataset],
        search_space_digest: SearchSpaceDigest,
        candidate_metadata: list[list[TCandidateMetadata]] | None = None,
        state_dict: OrderedDict[str, torch.Tensor] | None = None,
        refit: bool = True,
        **additional_model_inputs: Any,
    ) -> None:
        """Fit one model a metric, if there are any data yet."""
        if datasets:
            super().fit(
                datasets,
                search_space_digest,
                candidate_metadata,
                state_dict,
                refit,
                deterministic=self.settings.deterministic,
                learns_noise=[d.outcome_names[0] for d in datasets if _has_unknown_noise(d)],
                caches=self._caches,
                sides=self.sides,
                slopes_of_codes=True,
                **additional_model_inputs,
            )
            self._warn_small_errors()

    def _warn_small_errors(self) -> None:
        """Say once of each metric that its standard errors are too small."""
        for metric, gp in zip(self.surrogate.outcomes, self._gps, strict=True):
            if gp.has_more_noise and metric not in self._doubted:
                self._doubted.add(metric)
                logger.warning(
                    f"The standard errors of metric `{metric}` are too small: values of one "
                    "arm, or of arms that are nearly the same, differ by more. The rest of the "
                    "noise is learnt from the data."
                )

    @property
    def _gps(self) -> list[HeatGP]:
        """The models of all metrics."""
        model = self.surrogate.model
        models: Any = model.models if isinstance(model, ModelList) else [model]
        return list(models)

    def kernel_of(self, metric: str) -> KernelFit | None:
        """Return the kernel of a metric as the data have it; None where there is none."""
        if not self.can_predict or metric not in self.surrogate.outcomes:
            return None
        return self._gps[self.surrogate.outcomes.index(metric)].kernel_fit

    def best_point(
        self, search_space_digest: SearchSpaceDigest, torch_opt_config: TorchOptConfig
    ) -> torch.Tensor | None:
        """Return the observed point (d,) whose predicted objective is the best.

        Without constraints that is one look at the means; else Ax finds it.
        """
        (x, *others) = self.surrogate.Xs
        has_rivals = torch_opt_config.outcome_constraints or torch_opt_config.fixed_features
        if has_rivals or any(not torch.equal(x, other) for other in others):
            return super().best_point(search_space_digest, torch_opt_config)
        means, _ = self.predict(x)
        return x[torch.argmax(means @ torch_opt_config.objective_weights[0])]

    def predict(
        self,
        X: torch.Tensor,
        use_posterior_predictive: bool = False,  # noqa: N803
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Return means (n, m) and covariances (n, m, m) at points (n, d).

        They have the units of the metric, in which a variance may be as small as it likes:
        GPyTorch would round it up to 1e-10, and warn.

        Raises:
            DataRequiredError: If no arm has data of the metrics yet.
        """
        if not self.can_predict:
            raise DataRequiredError("Predictions need data: no arm has values of the metrics yet.")
        with gpytorch.settings.min_variance(double_value=0.0):
            predicted: tuple[torch.Tensor, torch.Tensor] = super().predict(
                X, use_posterior_predictive
            )
        return predicted

    def feature_importances(self) -> Array:
        """Return the shares (m, 1, d) of each metric's variation that parameters account for."""
        return np.stack([self._shares(gp)[None] for gp in self._gps])

    def _shares(self, gp: HeatGP) -> Array:
        """Return the total effects (d,) on the mean of a model, as shares of their sum."""

        def mean(points: Array) -> Array:
            with torch.no_grad():
                # One by one: together they would have a covariance matrix.
                posterior = gp.posterior(torch.from_numpy(points)[:, None])
            predicted: Array = posterior.mean[:, 0, 0].numpy()
            return predicted

        effects = total_effects(gp.space, mean, np.random.default_rng(self.seed))
        # Where nothing varies, nothing is known to matter more than anything else.
        total = effects.sum()
        return effects / total if total > 0.0 else np.full_like(effects, 1.0 / len(effects))


@submodel_input_constructor.register(HeatGP)  # type: ignore[untyped-decorator]
def _inputs_of_heat_gp(
    botorch_model_class: type[HeatGP],
    model_config: ModelConfig,
    dataset: SupervisedDataset,
    search_space_digest: SearchSpaceDigest,
    surrogate: Any,
) -> dict[str, Any]:
    options = dict(model_config.model_options)
    # Not what this part of the data says: cross-validation must leave the model as it is.
    (metric,) = dataset.outcome_names
    learns_noise = metric in options.pop("learns_noise")
    side = options.pop("sides").get(metric, Side(maximise=True))
    return {
        "train_X": dataset.X,
        "train_Y": dataset.Y,
        "train_Yvar": None if learns_noise else dataset.Yvar,
        "maximise": side.maximise,
        "boundary": side.boundary,
        "cache": options.pop("caches").setdefault(metric, FitCache()),
        **options,
    }


def _has_unknown_noise(dataset: SupervisedDataset) -> bool:
    """Whether some value came without a standard error; then the noise of all is learnt."""
    return dataset.Yvar is None or bool(dataset.Yvar.isnan().any())


@fit_botorch_model.register(HeatGP)  # type: ignore[untyped-decorator]
def _fit_heat_gp(
    model: HeatGP, mll_class: Any, mll_options: Mapping[str, Any] | None = None
) -> None:
    model.fit()
