"""Settings of the pipeline, for all integrations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict, Unpack, get_args

from heat_plugins.acquisition.builder import AcquisitionName
from heat_plugins.gp.outcome_data import ModelBudget
from heat_plugins.history import History
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.search.nested_bins import Embedding, NestedEmbedding
from heat_plugins.search.regions import RegionName, RegionRules, rules_of
from heat_plugins.search.search_task import SearchBudget
from heat_plugins.search.searches import SEARCHES, SearchName
from heat_plugins.search.trust_region import TrustRegionRules
from heat_plugins.spec.checks import check_bool, check_one_of, check_whole
from heat_plugins.spec.model import Learning, Mixing, Model, NumericChoices, Scale, Structures
from heat_plugins.spec.registry import KernelFunction
from heat_plugins.spec.structures import RandomDecomposition

__all__ = ["SettingArguments", "Settings"]

FEWEST_STARTUP, MOST_STARTUP = 5, 10  # random points at first


class SettingArguments(TypedDict, total=False):
    """The settings by the names of arguments, which they have in all integrations."""

    n_startup_trials: int | None
    deterministic_objective: bool
    consider_failed_trials: bool
    trust_region: bool | RegionName
    kernel: str | KernelFunction
    structure: Structures
    ard: bool | None
    graphs: Mapping[str, Any] | None
    order: Mapping[str, Sequence[Any]] | None
    quantitative: Mapping[str, Scale] | Sequence[str]
    mixing: Mixing
    numeric_choices: NumericChoices
    acquisition: AcquisitionName
    hyperparameters: Learning
    search: SearchName
    embedding: Embedding


@dataclass(frozen=True)
class Settings:
    """Settings of the pipeline.

    Args:
        n_startup_trials: Random points before the first one that the model chooses, failed
            ones included; None for as many as there are parameters, from 5 to 10.
        deterministic: Whether the same point always has the same value.
        trust_region: When the trust region changes; None for no trust region.
        search: How much work the search for the next point may do.
        max_model_points: Observations that the surrogate uses at the most.
        max_fit_points: Observations that its hyperparameters are fitted to at the most.
        model: The kernel and the structure of the surrogate.
        models_failures: Whether failed trials say where trials fail.
        acquisition: What makes a point worth trying: ``"log-ei"``, the expected improvement, or
            ``"ucb"``, the confidence bound, or ``"thompson"``, a sample of the posterior, both of
            one objective.
        search_by: How the next point is looked for (search/searches.py).
        embedding: Subspaces that the search begins in; None for the space as it is.
    """

    n_startup_trials: int | None = None
    deterministic: bool = False
    trust_region: RegionRules | None = field(default_factory=TrustRegionRules)
    search: SearchBudget = field(default_factory=SearchBudget)
    max_model_points: int = ModelBudget.model_points
    max_fit_points: int = ModelBudget.fit_points
    model: Model = field(default_factory=Model)
    models_failures: bool = True
    acquisition: AcquisitionName = "log-ei"
    search_by: SearchName = "genetic"
    embedding: NestedEmbedding | None = None

    def __post_init__(self) -> None:
        check_one_of("acquisition", self.acquisition, get_args(AcquisitionName))
        check_one_of("search", self.search_by, get_args(SearchName))
        if SEARCHES[self.search_by].needs_components:
            self._check_components()
        if self.embedding is not None and not SEARCHES[self.search_by].works_embedded:
            raise ValueError(
                f"embedding must be None for search {self.search_by!r}, which looks at parameters "
                f"one by one, got {self.embedding!r}"
            )

    @staticmethod
    def of(seed: int, **arguments: Unpack[SettingArguments]) -> Settings:
        """Return the settings that arguments of an integration stand for.

        Args:
            seed: Seed of the bins of an embedding that has none of its own.
            **arguments: Whatever is not the default.

        Raises:
            TypeError, ValueError: If an argument is not what it should be.
        """
        given: dict[str, Any] = {**arguments}
        n_startup_trials = given.pop("n_startup_trials", None)
        deterministic = given.pop("deterministic_objective", False)
        models_failures = given.pop("consider_failed_trials", True)
        check_whole("n_startup_trials", n_startup_trials, optional=True)
        check_bool("deterministic_objective", deterministic)
        check_bool("consider_failed_trials", models_failures)
        return Settings(
            n_startup_trials=None if n_startup_trials is None else int(n_startup_trials),
            deterministic=bool(deterministic),
            trust_region=rules_of(given.pop("trust_region", True)),
            models_failures=bool(models_failures),
            acquisition=given.pop("acquisition", "log-ei"),
            search_by=given.pop("search", "genetic"),
            embedding=NestedEmbedding.of(given.pop("embedding", None), seed),
            model=Model(
                graphs=given.pop("graphs", None) or {},
                order=given.pop("order", None) or {},
                **given,
            ),
        )

    def _check_components(self) -> None:
        """Refuse a search over the parts of a sum where there is none."""
        model = self.model
        if self.acquisition != "ucb" or model.hyperparameters == "slice-sampling":
            raise ValueError(
                f"search {self.search_by!r} needs acquisition='ucb' and one set of "
                f"hyperparameters, got acquisition={self.acquisition!r} and "
                f"hyperparameters={model.hyperparameters!r}"
            )
        if model.structures != (model.combination,) or not isinstance(
            model.combination, RandomDecomposition
        ):
            raise ValueError(
                f"search {self.search_by!r} needs structure=RandomDecomposition() and no other, "
                f"got {model.structure!r}"
            )

    def check_objectives(self, n: int) -> None:
        """Refuse what is not made for so many objectives.

        Raises:
            ValueError: If the acquisition is for one objective only.
        """
        if n > 1 and self.acquisition != "log-ei":
            raise ValueError(
                f"acquisition must be 'log-ei' for {n} objectives, got {self.acquisition!r}"
            )

    def is_starting_up(
        self,
        n_parameters: int,
        n_complete: int,
        n_failed: int = 0,
        *,
        has_earlier: bool = False,
    ) -> bool:
        """Whether the next point is random: as long as too little, or no value, is known.

        Where earlier studies have values, only if a number of random points is given.
        """
        if has_earlier:
            return n_complete + n_failed < (self.n_startup_trials or 0)
        return n_complete == 0 or n_complete + n_failed < self.n_startup(n_parameters)

    def is_starting_up_after(self, history: History) -> bool:
        """Whether the point after a history is random, whatever earlier studies may tell."""
        has_earlier = any(study.has_values for study in history.earlier)
        points, n_failed = history.points, len(history.failed)
        n_parameters = points.shape[1]
        return self.is_starting_up(n_parameters, len(points), n_failed, has_earlier=has_earlier)

    def n_startup(self, n_parameters: int) -> int:
        """Return how many points are random."""
        if self.n_startup_trials is not None:
            return self.n_startup_trials
        return min(max(n_parameters, FEWEST_STARTUP), MOST_STARTUP)

    def model_budget(self, builder: KernelBuilder) -> ModelBudget:
        """Return how many observations a model may have, in the space of a builder."""
        return ModelBudget(builder.fit_points(self.max_fit_points), self.max_model_points)
