"""``HeatSampler``: the door through which Optuna asks the core for points."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.samplers import BaseSampler, RandomSampler
from optuna.search_space import IntersectionSearchSpace
from optuna.storages import BaseStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from heat_plugins.core.learn import CLEAR_EVIDENCE, PREFERRED, Chosen, FitMemo
from heat_plugins.core.suggest import Settings, suggest
from heat_plugins.core.threads import one_blas_thread
from heat_plugins.core.trust_region import NO_REGION, TrustRegionRules
from heat_plugins.model import Mixing, Model, Scale, Structures
from heat_plugins.optuna.distributions import (
    ambiguous_choices,
    choice_key,
    is_container,
    is_same_when_stored,
)
from heat_plugins.optuna.explanation import Explanation, explain
from heat_plugins.optuna.history import REGION_KEY, StudyReader, common_params, is_repeat

__all__ = ["HeatSampler"]

# Below Optuna's own root, so that optuna.logging.set_verbosity and its handlers apply.
_logger = optuna.logging.get_logger("optuna.heat_plugins")

_RANDOM_DRAWS = 20  # tries for a value that does not make a trial the same as another


class HeatSampler(BaseSampler):
    """Bayesian optimisation with heat kernels, for categorical and mixed search spaces.

    A Gaussian process whose kernel is the heat kernel on the graph of choices (times an RBF
    kernel on numbers) is fitted to the finished trials; a genetic algorithm maximises the
    log expected improvement inside a trust region around the best trial. See Doumont et
    al., "Omnipresent Yet Overlooked: Heat Kernels in Combinatorial Bayesian Optimization",
    NeurIPS 2025.

    No point is proposed twice while an unseen one exists. Once every point of a finite space
    has been tried, a study of a deterministic objective is stopped; otherwise points are
    repeated, since another value of a noisy objective is worth having.

    Example:
        .. code-block:: python

            study = optuna.create_study(sampler=HeatSampler())
            study.optimize(objective, n_trials=100)

    Args:
        seed: Seed for everything random. The same seed gives the same trials, in any process
            and after resuming a stored study. None for a new one each time.
        n_startup_trials: Number of complete trials before the model is used.
        deterministic_objective: Whether the objective returns the same value for the same
            parameters every time. The model then fits the values closely.
        independent_sampler: Sampler for the start-up trials and for parameters outside the
            common search space. By default random values, different points at start-up.
        warn_independent_sampling: Whether to warn, once for each parameter, that a value came
            from the independent sampler although the model was ready.
        trust_region: Whether to search around the best trial, at a distance that adapts to
            successes and failures, rather than everywhere.
        kernel: Name of the kernel, or a function of the distance sqrt(h). The default is right
            for most; see ``docs/kernels.md``.
        structure: What is known about the objective: ``PermutationInvariant``, ``Additive``,
            ``InteractionOrders``, ``RandomDecomposition``, ``Anchors``, several of them, or
            ``"auto"``, which chooses between product, sum and interactions.
        ard: Whether each parameter has a rate of its own; None for yes where the kernel can.
        graphs: Which choices are next to each other, by parameter name: ``"path"``,
            ``"cycle"``, an adjacency matrix or a networkx graph.
        order: Choices in their order, by parameter name.
        quantitative: Names of categorical parameters whose choices are numbers with
            meaningful distances, perhaps with the scale ``"linear"`` or ``"log"``.
        mixing: How numeric parameters combine with categorical ones: ``"product"``, ``"sum"``
            or ``"mixture"``.
    """

    def __init__(
        self,
        *,
        seed: int | None = None,
        n_startup_trials: int = 10,
        deterministic_objective: bool = False,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        trust_region: bool = True,
        kernel: str | Callable[[Any], Any] = "heat",
        structure: Structures = None,
        ard: bool | None = None,
        graphs: Mapping[str, Any] | None = None,
        order: Mapping[str, Sequence[Any]] | None = None,
        quantitative: Mapping[str, Scale] | Sequence[str] = (),
        mixing: Mixing = "product",
    ) -> None:
        if seed is not None and (not isinstance(seed, (int, np.integer)) or seed < 0):
            raise ValueError(f"seed must be None or a non-negative integer, got {seed!r}")
        if not isinstance(n_startup_trials, (int, np.integer)) or n_startup_trials < 0:
            raise ValueError(
                f"n_startup_trials must be a non-negative integer, got {n_startup_trials!r}"
            )
        self._seed = _fresh_seed() if seed is None else int(seed)
        self._settings = Settings(
            n_startup_trials=int(n_startup_trials),
            deterministic=deterministic_objective,
            trust_region=TrustRegionRules() if trust_region else None,
            model=Model(
                kernel=kernel,
                ard=ard,
                structure=structure,
                graphs=graphs or {},
                order=order or {},
                quantitative=quantitative,
                mixing=mixing,
            ),
        )
        self._independent_sampler = independent_sampler
        self._warn_independent_sampling = warn_independent_sampling
        self._warned_parameters: set[str] = set()  # as sampled independently
        self._warned_names: set[str] = set()  # as named but not there
        self._given: dict[str, CategoricalDistribution] = {}
        self._lock = threading.RLock()
        self._forget()

    def _forget(self) -> None:
        """Drop what only saves time; the history of the study has all that matters."""
        self._home: tuple[BaseStorage, int] | None = None  # storage and id of the study
        self._intersection = IntersectionSearchSpace()
        self._reader: StudyReader | None = None
        self._memo = FitMemo()
        self._asked: dict[int, dict[str, Any]] = {}  # by id, trials of this process
        self._said_exhausted = False
        self._said_combination = ""

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the lock, which cannot be pickled, and what can be made again."""
        kept = ("_seed", "_settings", "_independent_sampler", "_warn_independent_sampling")
        said = ("_warned_parameters", "_warned_names", "_given")
        return {name: vars(self)[name] for name in (*kept, *said)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the settings and begin with nothing remembered."""
        vars(self).update(state)
        self._lock = threading.RLock()
        self._forget()

    @contextmanager
    def _alone_with(self, study: Study) -> Iterator[None]:
        """Let one thread in at a time, and forget what belongs to another study."""
        with self._lock:
            home = (study._storage, study._study_id)
            if self._home != home:
                self._forget()
                self._home = home
            yield

    def reseed_rng(self) -> None:
        """Draw a new seed."""
        self._seed = _fresh_seed()
        if self._independent_sampler is not None:
            self._independent_sampler.reseed_rng()

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """Return the parameters that all complete trials have in common."""
        with self._alone_with(study):
            common = self._intersection.calculate(study)
            if not common:
                # Failed and running trials tell at least what need not be tried again.
                common = common_params(study.get_trials(deepcopy=False), trial)
            given = {name: self._as_given(name, dist) for name, dist in common.items()}
        # Optuna itself gives single-valued parameters their value.
        return {n: dist for n, dist in given.items() if dist is not None and not dist.single()}

    def _as_given(self, name: str, distribution: BaseDistribution) -> BaseDistribution | None:
        """Return a distribution as the objective has it; None where that is not known.

        Tuples come back from a storage as lists, which Optuna then refuses as other choices.
        """
        if not isinstance(distribution, CategoricalDistribution):
            return distribution
        given = self._given.get(name)
        if given is not None and is_same_when_stored(given, distribution):
            return given
        return None if any(map(is_container, distribution.choices)) else distribution

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return the values of the next point."""
        self._raise_error_if_multi_objective(study)
        if not search_space:
            return {}
        # One at a time: the next thread must know of the point that this one chooses.
        with self._alone_with(study):
            reader = self._reader_for(search_space)
            trials = study.get_trials(deepcopy=False)
            history = reader.read(trials, study.direction, trial, self._asked)
            is_startup = len(history.points) < self._settings.n_startup_trials
            if is_startup and self._independent_sampler is not None:
                return {}
            self._warn_of_unknown_names(trials)
            held = reader.held(trial)
            with one_blas_thread():
                suggestion = suggest(
                    reader.space, history, self._settings, self._rng(trial), held, self._memo
                )
            params = reader.space.decode(suggestion.point)
            self._say_combination(suggestion.chosen)
            self._asked[trial._trial_id] = params
            if not suggestion.is_new and reader.is_exhausted(trials, self._asked):
                self._say_exhausted("further trials repeat points")
        # A point that was partly given says nothing about the region it did not choose.
        if self._settings.trust_region is not None and not held:
            if suggestion.asked_from != NO_REGION:
                _note(study, trial, REGION_KEY, suggestion.asked_from)
        for name, position in ambiguous_choices(search_space, params).items():
            _note(study, trial, choice_key(name), position)
        return params

    def explain(self, study: Study) -> Explanation:
        """Return what the model has learnt from a study: effects, orders, and its structure.

        Args:
            study: A study of this sampler's search space with at least one complete trial.
        """
        self._raise_error_if_multi_objective(study)
        trials = study.get_trials(deepcopy=False)
        search_space = IntersectionSearchSpace().calculate(study)
        reader = StudyReader(
            {name: dist for name, dist in search_space.items() if not dist.single()},
            self._settings.model,
        )
        history = reader.read(trials, study.direction, None, {})
        with one_blas_thread():
            return explain(reader.space, history, self._settings, study.direction)

    def _reader_for(self, search_space: dict[str, BaseDistribution]) -> StudyReader:
        if self._reader is None or self._reader.search_space != search_space:
            self._reader = StudyReader(search_space, self._settings.model)
            self._memo = FitMemo()
        return self._reader

    def _rng(self, trial: FrozenTrial, purpose: str = "") -> np.random.Generator:
        """Derive randomness from the seed and the trial, so that no state has to be kept."""
        return np.random.default_rng([self._seed, trial.number, zlib.crc32(purpose.encode())])

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """Return the value of a parameter that is not part of the relative search space."""
        self._raise_error_if_multi_objective(study)
        sampler = self._independent_sampler
        with self._alone_with(study):
            self._warn_of_independent_sampling(study, trial, param_name)
            if isinstance(param_distribution, CategoricalDistribution):
                self._given[param_name] = param_distribution
            if sampler is None:
                value = self._sample_at_random(study, trial, param_name, param_distribution)
                self._asked.setdefault(trial._trial_id, {})[param_name] = value
        if sampler is not None:
            value = sampler.sample_independent(study, trial, param_name, param_distribution)
        for name, position in ambiguous_choices(
            {param_name: param_distribution}, {param_name: value}
        ).items():
            _note(study, trial, choice_key(name), position)
        return value

    def _sample_at_random(
        self, study: Study, trial: FrozenTrial, name: str, distribution: BaseDistribution
    ) -> Any:
        """Return a random value, if possible one that does not make the trial a repetition."""
        sampler = RandomSampler(seed=int(self._rng(trial, name).integers(2**32)))
        trials = study.get_trials(deepcopy=False)
        for _ in range(_RANDOM_DRAWS):
            value = sampler.sample_independent(study, trial, name, distribution)
            if not is_repeat(trials, trial, {**trial.params, name: value}, self._asked):
                break
        return value

    def _warn_of_independent_sampling(
        self, study: Study, trial: FrozenTrial, param_name: str
    ) -> None:
        if not self._warn_independent_sampling or param_name in self._warned_parameters:
            return
        complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        if len(complete) < max(self._settings.n_startup_trials, 1):
            return
        self._warned_parameters.add(param_name)
        _logger.warning(
            f"The parameter '{param_name}' in trial#{trial.number} is sampled independently, "
            "not by the model of `HeatSampler`, because not all complete trials have it with "
            "the same distribution. This is said once for each parameter; set "
            "`warn_independent_sampling=False` to silence it."
        )

    def _warn_of_unknown_names(self, trials: Sequence[FrozenTrial]) -> None:
        """Warn, once for each, of parameters that the model names and no trial has."""
        named = set(self._settings.model.named) - self._warned_names
        if not named:
            return
        known = {name for trial in trials for name in dict(trial.distributions)}
        for name in sorted(named - known):
            self._warned_names.add(name)
            _logger.warning(
                f"The parameter '{name}' is named in `structure`, `graphs`, `order` or "
                f"`quantitative`, but no trial has it; the parameters so far are {sorted(known)}."
            )

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Let the independent sampler prepare itself."""
        if self._independent_sampler is not None:
            self._independent_sampler.before_trial(study, trial)

    def after_trial(
        self,
        study: Study,
        trial: FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,
    ) -> None:
        """Forget the pending point; stop the study when nothing is left to try."""
        with self._alone_with(study):
            self._asked.pop(trial._trial_id, None)
            if self._settings.deterministic and self._reader is not None:
                if self._reader.is_exhausted(study.get_trials(deepcopy=False), self._asked):
                    self._stop(study)
        if self._independent_sampler is not None:
            self._independent_sampler.after_trial(study, trial, state, values)

    def _stop(self, study: Study) -> None:
        try:
            study.stop()
            self._say_exhausted(
                "`HeatSampler` stops the study, for the objective is deterministic"
            )
        except RuntimeError:  # asked and told by hand: there is no loop to stop
            self._say_exhausted("further trials repeat points")

    def _say_combination(self, chosen: Chosen | None) -> None:
        """Tell which structure the evidence chose, whenever that changes."""
        if chosen is None or not chosen.evidence or chosen.name == self._said_combination:
            return
        self._said_combination = chosen.name
        evidence = ", ".join(f"{name} {value:.1f}" for name, value in chosen.evidence.items())
        _logger.info(
            f"`HeatSampler` models the parameters with the structure '{chosen.name}' (log "
            f"evidence: {evidence}; '{PREFERRED}' unless another is ahead by more than "
            f"{CLEAR_EVIDENCE:g})."
        )

    def _say_exhausted(self, consequence: str) -> None:
        if not self._said_exhausted:
            self._said_exhausted = True
            _logger.warning(f"Every point of the search space has been tried: {consequence}.")


def _note(study: Study, trial: FrozenTrial, key: str, value: int) -> None:
    """Write an attribute of a trial. Optuna has no public way for what users need not see."""
    study._storage.set_trial_system_attr(trial._trial_id, key, value)


def _fresh_seed() -> int:
    return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
