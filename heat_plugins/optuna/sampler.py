"""``HeatSampler``: how Optuna asks for points."""

from __future__ import annotations

import threading
import time
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.samplers import BaseSampler
from optuna.samplers._base import _process_constraints_after_trial
from optuna.storages import BaseStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from heat_plugins.acquisition.builder import AcquisitionName
from heat_plugins.gp.fit import FitCache
from heat_plugins.history import History
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.optuna.arguments import check_arguments
from heat_plugins.optuna.distributions import as_given, space_of
from heat_plugins.optuna.earlier_studies import EarlierStudies, Previous
from heat_plugins.optuna.explanation import Explanation, explain_study
from heat_plugins.optuna.feasible import FeasiblePoints, IsFeasible
from heat_plugins.optuna.notices import Notices
from heat_plugins.optuna.random_values import RandomValues, native, spare_values
from heat_plugins.optuna.reservation_record import doubtful_params
from heat_plugins.optuna.reservations import Reservations, reserved_suggestion
from heat_plugins.optuna.study_reader import ReadingRules, StudyReader
from heat_plugins.optuna.trial_attributes import write_ambiguous_choices, write_record
from heat_plugins.optuna.union_search_space import FINISHED, UnionSearchSpace, common_params
from heat_plugins.optuna.wrappers import fixed_by
from heat_plugins.runtime.forks import renew_in_children
from heat_plugins.runtime.threads import one_blas_thread
from heat_plugins.search.nested_bins import Embedding
from heat_plugins.search.regions import RegionName
from heat_plugins.search.searches import SearchName
from heat_plugins.space import Array
from heat_plugins.spec.model import Learning, Mixing, NumericChoices, Scale, Structures
from heat_plugins.suggest import NoFeasiblePoint, Problem, Settings, Suggestion, suggest

if TYPE_CHECKING:
    from heat_plugins.insight.study_data import StudyData

__all__ = ["HeatSampler"]

_MOST_OBJECTIVES = 4
_ASKED_BY_AX = ("gen", "gen_single_trial", "current_generator_run_limit")


class HeatSampler(BaseSampler):
    """Bayesian optimisation with heat kernels, for categorical and mixed search spaces.

    A Gaussian process whose kernel is the heat kernel on the graph of choices (times a Matérn
    kernel on numbers) is fitted to the finished trials; a genetic algorithm maximises the
    log expected improvement inside a trust region around the best trial. See Doumont et
    al., "Omnipresent Yet Overlooked: Heat Kernels in Combinatorial Bayesian Optimization",
    NeurIPS 2025.

    Parameters that exist under some choices only are modelled together with the others, and
    when they exist is learnt from the trials. Studies with several objectives are searched by
    expected hypervolume improvement. Constraints, of ``Trial.set_constraint`` or
    ``constraints_func``, are modelled too and enter as the probability that they hold.

    Where trials fail, or are pruned without a report, is learnt too, and the probability that
    they succeed enters in the same way.

    No point is proposed twice while an unseen one exists, nor by two workers at once. Once
    every point of a finite space has been tried, a study of a deterministic objective is
    stopped; otherwise points are repeated, since another value of a noisy objective is worth
    having.

    Example:
        .. code-block:: python

            study = optuna.create_study(sampler=HeatSampler())
            study.optimize(objective, n_trials=100)

    Args:
        seed: Seed for everything random. The same seed gives the same trials, in any process
            and after resuming a stored study. None for a new one each time.
        n_startup_trials: Number of trials before the model is used, failed ones included. None
            for as many as there are parameters, from 5 to 10.
        deterministic_objective: Whether the objective returns the same value for the same
            parameters every time. The model then fits the values closely.
        independent_sampler: Sampler for the start-up trials and for parameters outside the
            common search space. By default random values, different points at start-up.
        warn_independent_sampling: Whether to warn, once for each parameter, that a value came
            from the independent sampler although the model was ready.
        constraints_func: Function of a finished trial that returns its constraints; a trial is
            feasible where all are at most 0. ``Trial.set_constraint`` of Optuna 5 does the same
            without it.
        is_feasible: Function of the parameters of a trial, as a dictionary, that tells whether
            they may be tried at all. Nothing else is proposed. (In the first trial the
            parameters are not known in advance; it is held to this as far as possible.)
        consider_pruned_trials: Whether pruned trials count, with the last value that they
            reported, but as no better than the middle one of the complete trials.
        consider_failed_trials: Whether failed trials say where trials fail: what they depend on is
            learnt, and avoided. Points that failed are never proposed again in any case.
        pending_timeout: Age in seconds at which a running trial is taken for dead and no longer
            counts as under evaluation. By default ten times as long as the longest finished
            trial took, and at least ten minutes.
        record: Whether to write to each trial, as the user attribute ``heat_plugins``, how it
            came about: trust region, structure, acquisition value, seconds.
        trust_region: Whether to search around the best trial, at a distance that adapts to
            successes and failures, rather than everywhere; ``"casmopolitan"`` and ``"bounce"`` for
            the rules of these.
        kernel: Name of the kernel, or a function of the distance sqrt(h), which
            ``register_kernel`` can give a name. The default is right for most; see
            ``docs/kernels.md``.
        structure: What is known about the objective: ``PermutationInvariant``,
            ``LabelledGraph``, ``Additive``, ``InteractionOrders``, ``RandomDecomposition``,
            ``Anchors``, several of them, or ``"auto"``, which chooses between product, sum and
            interactions. Where nothing is said, effects multiply, unless most parameters are
            numbers and the evidence is clearly for a sum; ``"product"`` rules that out.
        ard: Whether each parameter has a rate of its own; None for yes where the kernel can.
        graphs: Which choices are next to each other, by parameter name: ``"path"``,
            ``"cycle"``, an adjacency matrix or a networkx graph.
        order: Choices in their order, by parameter name.
        quantitative: Names of categorical parameters whose choices are numbers with
            meaningful distances, perhaps with the scale ``"linear"`` or ``"log"``.
        mixing: How numeric parameters combine with categorical ones: ``"product"``, ``"sum"``
            or ``"mixture"``.
        numeric_choices: What to make of choices that are all numbers, of which nothing else is
            said. ``"auto"``: the evidence decides whether their distances mean something, on a
            linear or a logarithmic scale; 0, 1, 2, ... are taken for mere labels.
            ``"unordered"``: all of them are.
        acquisition: What makes a point worth trying: ``"log-ei"``, the expected improvement, or
            ``"ucb"``, the upper confidence bound, or ``"thompson"``, a sample of the posterior
            (both for one objective).
        hyperparameters: How those of the kernel are learnt: ``"map"``, the most likely ones;
            ``"maximum-likelihood"``, the same without their priors; ``"slice-sampling"``, eight
            samples of their posterior distribution, over which the acquisition is averaged.
        search: How the point that is worth most is looked for: ``"genetic"``,
            ``"hill-climbing"``, ``"interleaved"``, ``"message-passing"``, ``"bandit"`` or
            ``"pool"``; see ``docs/pipelines.md``.
        previous: Studies, or pairs of the name of a study and its storage, that this one goes on
            from: of another data set, with fewer choices, and so on. How alike they are is
            learnt. They are read once, at the first suggestion; see ``docs/transfer.md``.
        embedding: ``"nested"``, or a ``NestedEmbedding``, for a search that begins with few bins
            of parameters that move together, and splits them; None for all parameters at once.
    """

    def __init__(
        self,
        *,
        seed: int | None = None,
        n_startup_trials: int | None = None,
        deterministic_objective: bool = False,
        independent_sampler: BaseSampler | None = None,
        warn_independent_sampling: bool = True,
        constraints_func: Callable[[FrozenTrial], Sequence[float]] | None = None,
        is_feasible: IsFeasible | None = None,
        consider_pruned_trials: bool = True,
        consider_failed_trials: bool = True,
        pending_timeout: float | None = None,
        record: bool = False,
        trust_region: bool | RegionName = True,
        kernel: str | Callable[[Any], Any] = "heat",
        structure: Structures = None,
        ard: bool | None = None,
        graphs: Mapping[str, Any] | None = None,
        order: Mapping[str, Sequence[Any]] | None = None,
        quantitative: Mapping[str, Scale] | Sequence[str] = (),
        mixing: Mixing = "product",
        numeric_choices: NumericChoices = "auto",
        acquisition: AcquisitionName = "log-ei",
        hyperparameters: Learning = "map",
        search: SearchName = "genetic",
        embedding: Embedding = None,
        previous: Previous = (),
    ) -> None:
        check_arguments(
            {
                "seed": seed,
                "n_startup_trials": n_startup_trials,
                "deterministic_objective": deterministic_objective,
                "independent_sampler": independent_sampler,
                "warn_independent_sampling": warn_independent_sampling,
                "constraints_func": constraints_func,
                "is_feasible": is_feasible,
                "consider_pruned_trials": consider_pruned_trials,
                "consider_failed_trials": consider_failed_trials,
                "pending_timeout": pending_timeout,
                "record": record,
            }
        )
        if constraints_func is not None and hasattr(optuna.trial.Trial, "set_constraint"):
            warnings.warn(
                "`constraints_func` has been deprecated in v5.0.0 of Optuna. Use "
                "`optuna.trial.Trial.set_constraint` instead.",
                FutureWarning,
                stacklevel=2,
            )
        self._seed = _fresh_seed() if seed is None else int(seed)
        self._settings = Settings.of(
            self._seed,
            n_startup_trials=n_startup_trials,
            deterministic_objective=deterministic_objective,
            consider_failed_trials=consider_failed_trials,
            trust_region=trust_region,
            kernel=kernel,
            structure=structure,
            ard=ard,
            graphs=graphs,
            order=order,
            quantitative=quantitative,
            mixing=mixing,
            numeric_choices=numeric_choices,
            acquisition=acquisition,
            hyperparameters=hyperparameters,
            search=search,
            embedding=embedding,
        )
        self._independent_sampler = independent_sampler
        self._warn_independent_sampling = warn_independent_sampling
        self._constraints_func = constraints_func
        self._is_feasible = is_feasible
        self._rules = ReadingRules(consider_pruned_trials, pending_timeout)
        self._record = record
        self._notices = Notices()
        self._earlier = EarlierStudies(previous, self._notices)
        self._given: dict[str, BaseDistribution] = {}  # what the objective asked for
        self._begin()

    def _begin(self) -> None:
        """Make the lock, in this process and in those that will be forked from it."""
        self._lock = threading.RLock()
        self._forget()
        renew_in_children(self)

    def _forget(self) -> None:
        """Drop what only saves time; the history of the study has all that matters."""
        self._home: tuple[BaseStorage, int] | None = None  # storage and id of the study
        # Failed trials, too, have parameters that others may not have.
        self._union = UnionSearchSpace(FINISHED)
        self._reader: StudyReader | None = None
        self._allowed: FeasiblePoints | None = None
        self._cache = FitCache()
        self._asked: dict[int, dict[str, Any]] = {}  # by id, trials of this process
        self._prepared: set[int] = set()  # ids of trials that had parameters before they began
        # What settings name, as the last trial of this process had it; None before the first.
        self._own: dict[str, BaseDistribution | None] | None = None
        self._inferred: dict[str, BaseDistribution] = {}  # for the last trial that began
        self._last_params: dict[str, Any] = {}  # of the last trial of this process that ended
        self._settings_error: Exception | None = None  # in the settings, found inside an objective
        self._notices.forget_study()

    def after_fork(self) -> None:
        """Begin anew in a forked process: another thread may have had the lock."""
        home, asked = self._home, self._asked
        self._lock = threading.RLock()
        self._forget()
        self._home, self._asked = home, asked  # trials of this process before the fork

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the lock, which cannot be pickled, and what can be made again."""
        forgotten = {"_lock", "_home", "_union", "_reader", "_allowed", "_cache", "_asked"}
        forgotten |= {"_own", "_inferred", "_last_params", "_prepared", "_settings_error"}
        return {name: value for name, value in vars(self).items() if name not in forgotten}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the settings and begin with nothing remembered."""
        vars(self).update(state)
        if "_earlier" not in state:  # pickled by 0.1.0
            self._earlier = EarlierStudies((), self._notices)
        self._begin()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Tell whoever hands the sampler to Ax what Ax wants instead."""
            if name in _ASKED_BY_AX:
                raise TypeError(
                    "HeatSampler is a sampler for Optuna; Ax wants a generation strategy: "
                    "client.set_generation_strategy(heat_plugins.heat_generation_strategy())"
                )
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

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
        """Return the parameters that trials have had, each as the latest of them had it."""
        with self._alone_with(study):
            found = self._union.calculate(study)
            self._notices.parameters_left_out(self._union.left_out)
            if not found and self._is_feasible is None:
                # Failed and running trials tell at least what need not be tried again.
                found = common_params(study.get_trials(deepcopy=False), trial)
            doubtful = doubtful_params(study.get_trials(deepcopy=False), trial)
            found = {name: dist for name, dist in found.items() if name not in doubtful}
            given = {name: self._as_given(name, dist) for name, dist in found.items()}
            # Optuna itself gives single-valued parameters their value.
            self._inferred = {
                n: dist for n, dist in given.items() if dist is not None and not dist.single()
            }
            return dict(self._inferred)

    def _as_given(self, name: str, distribution: BaseDistribution) -> BaseDistribution | None:
        """Return a distribution as the objective has it; None where that is not known."""
        given = self._given.get(name)
        if name in self._union.ambiguous:
            return given
        return as_given(distribution, given, (self._own or {}).get(name))

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return the values of the next point."""
        self._check_objectives(study)
        if not search_space:
            return {}
        # One at a time: the next thread must know of the point that this one chooses.
        with self._alone_with(study):
            began = time.perf_counter()
            wrapped = self._fixed_by_wrapper(study, search_space)
            try:
                reader = self._reader_for(search_space | {n: self._inferred[n] for n in wrapped})
            except ValueError as error:
                # Perhaps it is trials from elsewhere that the settings do not fit.
                if self._own is None or None in self._own.values():
                    return {}
                self._settings_error = error
                raise
            fixed = reader.encode(wrapped) | reader.fixed_columns(trial)
            trials = study.get_trials(deepcopy=False)
            self._earlier.of_reader(study, reader, self._rules)
            history = reader.read(trials, study.directions, trial, self._asked)
            is_startup = self._settings.is_starting_up_after(history)
            if is_startup and self._independent_sampler is not None:
                return {}
            suggestion = reserved_suggestion(
                Reservations(study, trial, reader, self._asked),
                history,
                self._settings,
                fixed,
                partial(self._suggest, reader, trial),
            )
            self._notify(trials, reader, suggestion)
            params = self._with_spare_values(trial, reader, suggestion.point)
        params = {name: value for name, value in params.items() if name in search_space}
        write_ambiguous_choices(study, trial, search_space, params)
        if self._record:
            seconds, earlier = time.perf_counter() - began, self._earlier.names(study)
            write_record(study, trial, suggestion, reader.space, seconds, earlier)
        return params

    def _with_spare_values(
        self, trial: FrozenTrial, reader: StudyReader, point: Array
    ) -> dict[str, Any]:
        """Decode a point, filling inactive parameters with random values.

        The objective may yet ask for it. Any value will do, unless the user's rule looked for it.
        """
        rng, params = self._rng(trial, "spare"), reader.space.decode(point)
        rule = self._is_feasible
        if self._allowed is None or not self._allowed.is_unsettled(point):
            rule = None
        known = {**self._union.fixed_values(), **params}
        return params | spare_values(reader.space, point, rng, rule, known)

    def _fixed_by_wrapper(
        self, study: Study, search_space: Mapping[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Return the parameters that a wrapper keeps for itself, with their values.

        Those of the last trial where it does not tell them. Without them the model would mix up
        branches that they decide on.
        """
        names = self._inferred.keys() - search_space.keys()
        known = {**self._last_params, **fixed_by(study.sampler)}
        return {name: value for name, value in known.items() if name in names}

    def _suggest(
        self,
        reader: StudyReader,
        trial: FrozenTrial,
        history: History,
        settings: Settings,
        purpose: str,
        fixed: Mapping[int, float],
    ) -> Suggestion:
        """Ask ``suggest`` for a point."""
        rng = self._rng(trial, purpose)
        with one_blas_thread():
            try:
                problem = Problem(reader.space, fixed, self._allowed)
                return suggest(problem, history, settings, rng, self._cache)
            except NoFeasiblePoint:
                if fixed:  # whoever enqueues a value wants it, whatever else was said
                    problem = Problem(reader.space, fixed)
                    return suggest(problem, history, settings, rng, self._cache)
        self._settings_error = ValueError(
            "`is_feasible` must allow at least one point of the search space, but none was found "
            f"among the values of {sorted(reader.search_space)}"
        )
        raise self._settings_error

    def _notify(
        self, trials: Sequence[FrozenTrial], reader: StudyReader, suggestion: Suggestion
    ) -> None:
        """Notify the user of what is remarkable about a suggestion."""
        self._notices.suggestion(self._settings.model, trials, reader.space, suggestion)
        if not suggestion.is_new and reader.is_exhausted(trials, self._asked):
            self._notices.exhausted("further trials repeat points")

    def explain(self, study: Study, objective: int = 0) -> Explanation:
        """Return what the model has learnt from a study.

        That is effects, orders, its structure, what failures depend on, where trials failed, and
        how alike earlier studies are.

        Args:
            study: A study of this sampler's search space with at least one complete trial.
            objective: Which objective, if there are several.
        """
        with self._lock:
            return explain_study(study, self._settings, self._rules, objective, self._earlier)

    def study_data(self, study: Study) -> StudyData:
        """Return what is known of a study, for models with the settings of this sampler.

        Args:
            study: A study of this sampler's search space.
        """
        from heat_plugins.optuna.study_facts import study_data

        return study_data(study, self._settings, self._rules, self._is_feasible)

    def _reader_for(self, search_space: dict[str, BaseDistribution]) -> StudyReader:
        if self._reader is None or self._reader.search_space != search_space:
            cache = FitCache()
            builder = cache.builder_for(space_of(search_space), self._settings.model)
            self._reader = StudyReader(search_space, builder.symmetry(), self._rules)
            self._cache = cache
            self._allowed = None
            if self._is_feasible is not None:
                self._allowed = FeasiblePoints(
                    self._is_feasible,
                    self._reader.space,
                    self._union.fixed_values(),
                    self._notices.missing_in_rule,
                    partial(setattr, self, "_settings_error"),
                )
                self._reader.obey(self._allowed)
        return self._reader

    def _raise_settings_error(self, trial: FrozenTrial) -> None:
        """Raise an error in the settings, as soon as a trial has shown its parameters.

        Here, after the objective, ``catch`` of ``optimize`` does not take it for a failure of
        the objective, one trial after the other.
        """
        error, self._settings_error = self._settings_error, None
        if error is not None:
            raise error
        if trial._trial_id in self._prepared:
            self._prepared.discard(trial._trial_id)
            return
        model = self._settings.model
        named = {name: trial.distributions.get(name) for name in model.named}
        if named != self._own:
            self._own = named
            found = {n: self._as_given(n, d) for n, d in named.items() if d is not None}
            KernelBuilder(space_of({n: d for n, d in found.items() if d is not None}), model)

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
        self._check_objectives(study)
        sampler = self._independent_sampler
        with self._alone_with(study):
            if self._warn_independent_sampling and self._was_modelled(study, param_name):
                self._notices.independent(param_name, trial)
            self._given[param_name] = param_distribution
            if sampler is None:
                known = {**self._inferred, **trial.distributions, param_name: param_distribution}
                values = RandomValues(study, trial, known, self._asked, self._is_feasible)
                given = self._recommended(study, trial, param_name, param_distribution)
                value = values.draw(param_name, self._rng(trial, param_name), given)
                self._asked.setdefault(trial._trial_id, {})[param_name] = value
        if sampler is not None:
            value = sampler.sample_independent(study, trial, param_name, param_distribution)
        if not isinstance(param_distribution, CategoricalDistribution):
            value = native(value)
        write_ambiguous_choices(
            study, trial, {param_name: param_distribution}, {param_name: value}
        )
        return value

    def _recommended(
        self, study: Study, trial: FrozenTrial, name: str, distribution: BaseDistribution
    ) -> tuple[Any, ...]:
        """Return the value that earlier studies recommend to the first trial, if they do.

        The first trial has to show what it asks for before the model can be asked.
        """
        if not self._earlier or trial.number or self._settings.n_startup_trials:
            return ()
        return self._earlier.recommended(
            study, name, distribution, self._is_feasible, self._settings
        )

    def _was_modelled(self, study: Study, param_name: str) -> bool:
        """Whether the model was ready to choose the value of a parameter.

        Not where the objective has to show first in which form it asks for it.
        """
        complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        if self._settings.is_starting_up(len(self._inferred), len(complete)):
            return False
        return param_name in self._inferred

    def _check_objectives(self, study: Study) -> None:
        """Refuse a study with more objectives than there may be."""
        n = len(study.directions)
        if n > _MOST_OBJECTIVES:
            raise ValueError(
                f"`HeatSampler` takes at most {_MOST_OBJECTIVES} objectives, the study has {n}"
            )
        self._settings.check_objectives(n)

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Let the independent sampler prepare itself."""
        if trial.distributions:  # stored with the trial, whatever the objective will ask for
            with self._alone_with(study):
                self._prepared.add(trial._trial_id)
        if self._independent_sampler is not None:
            self._independent_sampler.before_trial(study, trial)

    def after_trial(
        self,
        study: Study,
        trial: FrozenTrial,
        state: TrialState,
        values: Sequence[float] | None,
    ) -> None:
        """Note constraints, forget the pending point, stop when nothing is left to try.

        Raises:
            ValueError: If the settings do not fit the parameters that the trial has.
        """
        self._check_objectives(study)
        if self._constraints_func is not None:
            _process_constraints_after_trial(self._constraints_func, study, trial, state)
        with self._alone_with(study):
            self._asked.pop(trial._trial_id, None)
            self._last_params = dict(trial.params)
            self._raise_settings_error(trial)
            if self._settings.deterministic and self._is_last(study, trial):
                self._stop(study)
        if self._independent_sampler is not None:
            self._independent_sampler.after_trial(study, trial, state, values)

    def _is_last(self, study: Study, trial: FrozenTrial) -> bool:
        """Whether nothing is left to try after a trial that has ended."""
        if self._reader is None:  # all its values were given, so that nobody has asked for any
            search_space = self.infer_relative_search_space(study, trial)
            if not search_space:
                return False
            try:
                self._reader_for(search_space)
            except ValueError:  # settings that do not fit trials from elsewhere
                return False
        assert self._reader is not None
        trials = study.get_trials(deepcopy=False)
        return self._reader.is_exhausted(trials, self._asked, ended=trial)

    def _stop(self, study: Study) -> None:
        try:
            study.stop()
            self._notices.exhausted(
                "`HeatSampler` stops the study, for the objective is deterministic"
            )
        except RuntimeError:  # asked and told by hand: there is no loop to stop
            self._notices.exhausted("further trials repeat points")


def _fresh_seed() -> int:
    return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
