"""Explanation of a study, in the user's parameters and units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from optuna.study import Study, StudyDirection
from optuna.trial import TrialState

from heat_plugins.gp.fit import FitCache
from heat_plugins.gp.outcome_transform import scale_of
from heat_plugins.insight.effects import order_shares, single_effects
from heat_plugins.optuna.earlier_studies import EarlierStudies
from heat_plugins.optuna.explanation_html import as_html
from heat_plugins.optuna.study_reader import ReadingRules, StudyReader
from heat_plugins.optuna.union_search_space import FINISHED, UnionSearchSpace
from heat_plugins.runtime.floating_point import usual_errors
from heat_plugins.runtime.threads import one_blas_thread
from heat_plugins.space import Space
from heat_plugins.space.infer_conditions import learn_conditions
from heat_plugins.space.trial_conditions import conditions_from
from heat_plugins.suggest import History, Settings, canonical, outcome_of, study_similarities

if TYPE_CHECKING:  # with SciPy's statistics, which take a while
    from heat_plugins.insight.failure_effects import FailureEffects, FailureProbability

__all__ = ["Explanation", "explain", "explain_failures", "explain_study"]

# In the text: parameters and values at the most, and the least share of a parameter.
MOST_PARAMETERS = 5
MOST_VALUES = 5
LEAST_SHARE = 0.05


class Share(NamedTuple):
    """Sobol indices of a parameter: shares of the variance of the posterior mean.

    Args:
        alone: By itself: its first-order Sobol' index.
        total: By itself and with others: its total Sobol' index.
    """

    alone: float
    total: float


@dataclass(frozen=True)
class Explanation:
    """Explanation of a study by its model.

    Args:
        structure: How it combines the parameters: ``"product"``, ``"additive"``,
            ``"interactions"`` or ``"decomposition"``.
        evidence: Log evidence of the structures that were compared; empty if none were.
        order_shares: Share of the expected variance that comes from single parameters (1),
            pairs (2), ...; the last one may stand for all higher orders. None for kernels
            that do not split in this way.
        effects: For each parameter its values, each with the change of the expected objective
            when the parameter has that value and the others are anything.
        shares: For each parameter its shares of the variance of the expected objective over the
            space, estimated; known for every kernel.
        failures: What failures depend on; None where no trial has failed, or where they are not
            modelled (``consider_failed_trials=False``).
        similarities: How alike each earlier study is, from 0 to 1: the learnt correlation of its
            function with the present one. Empty without earlier studies, or as long as no
            value is known; a study that has nothing in common is not in it.
    """

    structure: str
    evidence: Mapping[str, float]
    order_shares: Mapping[int, float] | None
    effects: Mapping[str, tuple[tuple[Any, float], ...]]
    shares: Mapping[str, Share] = field(default_factory=dict)
    failures: FailureEffects | None = None
    similarities: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        """Return a table for people: the parameters with the largest effects first."""
        lines = [f"structure: {self.structure}"]
        if self.evidence:
            found = ", ".join(f"{name} {value:.1f}" for name, value in self.evidence.items())
            lines.append(f"log evidence: {found}")
        if self.order_shares is not None:
            found = ", ".join(f"{order}: {s:.0%}" for order, s in self.order_shares.items())
            lines.append(f"share of variance by order: {found}")
        elif any(share.total > 0.0 for share in self.shares.values()):
            lines += _lines_of_shares(self.shares)
        lines.append("effects of single parameters:")
        for name, rows in sorted(self.effects.items(), key=lambda item: -_range(item[1])):
            row = ", ".join(f"{_written(value)} {effect:+.3g}" for value, effect in rows)
            lines.append(f"  {name}: {row}")
        if self.failures is not None:
            lines += _lines_of_failures(self.failures)
        if self.similarities:
            lines.append("earlier studies (how alike, from 0 to 1):")
            ranked = sorted(self.similarities.items(), key=lambda item: -item[1])
            lines += [f"  {name}: {rho:.2f}" for name, rho in ranked]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return tables for notebooks."""
        return as_html(self)


def _lines_of_shares(shares: Mapping[str, Share]) -> list[str]:
    """Return estimated shares, for people: the parameters that matter most first."""
    single = min(sum(share.alone for share in shares.values()), 1.0)
    ranked = sorted(shares.items(), key=lambda item: -item[1].total)
    found = [f"{name} {s.alone:.0%} / {s.total:.0%}" for name, s in ranked[:MOST_PARAMETERS]]
    more = ", ..." if len(ranked) > MOST_PARAMETERS else ""
    return [
        f"share of variance by order, estimated: 1: {single:.0%}, 2 and more: {1 - single:.0%}",
        f"by parameter, estimated (alone / with others): {', '.join(found)}{more}",
    ]


def _lines_of_failures(failures: FailureEffects) -> list[str]:
    """Return what failures depend on, for people: the choices that fail most first."""
    n_trials = failures.n_failed + failures.n_complete
    counted = f"failures: {failures.n_failed} of {n_trials} trials"
    unplaced = []
    if failures.n_unplaced:
        unplaced = [f"  {failures.n_unplaced} of them had not asked for all parameters yet"]
    if failures.n_unplaced == failures.n_failed:
        return [f"{counted}; what they depend on is not known", *unplaced]
    if not failures.depends:
        said = "they look like chance: no parameter is seen to make a difference"
        return [f"{counted}; {said}", *unplaced]
    ranked = sorted(failures.shares.items(), key=lambda item: -item[1])[:MOST_PARAMETERS]
    named = [(name, share) for name, share in ranked if share >= LEAST_SHARE]
    mostly = _listed([f"{name} ({share:.2f})" for name, share in named])
    lines = [f"{counted}; they depend mostly on {mostly}", *unplaced]
    rest = "the rest is chance, or not learnt yet"
    lines.append(f"  share explained by parameters: {failures.explained:.0%} ({rest})")
    lines.append("probability of failure (with its 95% interval):")
    return lines + [f"  {name}: {_worst(failures.probabilities[name])}" for name, _ in named]


def _worst(rows: Sequence[FailureProbability]) -> str:
    """Return the values that fail most, with how often they do."""
    ranked = sorted(rows, key=lambda row: -row.probability)
    found = [
        f"{_written(row.value)} {row.probability:.0%} ({row.low:.0%} to {row.high:.0%})"
        for row in ranked[:MOST_VALUES]
    ]
    return ", ".join(found) + (", ..." if len(ranked) > MOST_VALUES else "")


def _listed(words: Sequence[str]) -> str:
    """Return words as a sentence has them: a, b and c."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _written(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else repr(value)


def _range(rows: tuple[tuple[Any, float], ...]) -> float:
    effects = [effect for _, effect in rows]
    return max(effects) - min(effects)


def explain_study(
    study: Study,
    settings: Settings,
    rules: ReadingRules,
    objective: int = 0,
    earlier: EarlierStudies | None = None,
) -> Explanation:
    """Return what a model has learnt from a study about an objective, and from its failures."""
    directions = study.directions
    if not 0 <= objective < len(directions):
        raise ValueError(f"objective must be one of 0 .. {len(directions) - 1}, got {objective}")
    space, history = _read_afresh(study, rules, rules.observed, earlier)
    with one_blas_thread():
        alone = replace(history, earlier=())
        found = explain(space, alone, settings, directions[objective], objective)
        similar = study_similarities(space, history, settings, objective)
        # Failed trials may have parameters that no complete one has.
        failures = explain_failures(*_read_afresh(study, rules, FINISHED), settings)
    return replace(found, failures=failures, similarities=similar)


def _read_afresh(
    study: Study,
    rules: ReadingRules,
    states: tuple[TrialState, ...],
    earlier: EarlierStudies | None = None,
) -> tuple[Space, History]:
    """Return the parameters that trials of some states have, and all trials in these."""
    search_space = UnionSearchSpace(states).calculate(study)
    search_space = {name: dist for name, dist in search_space.items() if not dist.single()}
    reader = StudyReader(search_space, rules=rules)
    if earlier is not None:
        earlier.of_reader(study, reader, rules)
    trials = study.get_trials(deepcopy=False)
    return reader.space, reader.read(trials, study.directions, None, {})


@usual_errors
def explain(
    space: Space,
    history: History,
    settings: Settings,
    direction: StudyDirection,
    objective: int = 0,
) -> Explanation:
    """Return what the model of a history has learnt about an objective."""
    if not len(history.points) or not len(space):
        raise ValueError(
            "study must have at least 1 complete trial with parameters that all complete "
            f"trials share, got {len(history.points)}"
        )
    cache = FitCache()
    conditions = learn_conditions(space, history.points)
    builder = cache.builder_for(space, settings.model, conditions)
    history = canonical(history.drop_incomplete(builder.optional), builder.symmetry())
    model = outcome_of(builder, history, settings, cache, objective)
    # Loaded here: SciPy's statistics take a while, and a sampler seldom explains.
    from heat_plugins.insight.sobol import FEW_EVALUATIONS, fit_everywhere, scaled, sobol_indices

    # A model for suggestions knows the best part of the space well; effects are everywhere.
    values = history.objectives[:, objective]
    known = np.isfinite(values)
    effects: dict[str, tuple[tuple[Any, float], ...]] = {}
    shares: dict[str, Share] = {}
    if known.any():
        everywhere = scaled(values[known])
        scale = scale_of(values[known], everywhere)
        if direction == StudyDirection.MAXIMIZE:
            scale = -scale  # the model minimises
        surrogate = fit_everywhere(builder, history.points[known], everywhere)
        effects = {
            name: tuple((value, scale * effect) for value, effect in rows)
            for name, rows in single_effects(space, surrogate, conditions).items()
        }
        rng = np.random.default_rng(0)
        indices = sobol_indices(space, surrogate.mean, rng, conditions, FEW_EVALUATIONS)
        columns = zip(*(index.tolist() for index in indices), strict=True)
        shares = {name: Share(*both) for name, both in zip(space.names, columns, strict=True)}
    orders = order_shares(builder, model.kernel_fit)
    return Explanation(model.kernel_fit.name, model.kernel_fit.evidence, orders, effects, shares)


@usual_errors
def explain_failures(space: Space, history: History, settings: Settings) -> FailureEffects | None:
    """Return what failures depend on, if some trial failed and failures are modelled.

    The space and the history have all parameters, also those of failed trials alone.
    """
    if not settings.models_failures or not len(history.failed):
        return None
    from heat_plugins.insight.failure_effects import failure_effects

    conditions = conditions_from(space, history.points, history.failed)
    builder = FitCache().builder_for(space, settings.model, conditions)
    return failure_effects(builder, conditions, history, settings.model_budget(builder))
