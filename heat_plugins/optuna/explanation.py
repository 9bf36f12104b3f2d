"""What a sampler has learnt from a study, in the user's words and units."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.study import StudyDirection

from heat_plugins.gp.fit import FitCache
from heat_plugins.gp.outcome_transform import value_of_one
from heat_plugins.insight.effects import order_shares, single_effects
from heat_plugins.runtime.floating_point import usual_errors
from heat_plugins.space import Space
from heat_plugins.space.infer_conditions import learn_conditions
from heat_plugins.suggest import History, Settings, canonical, outcome_of

__all__ = ["Explanation", "explain"]


@dataclass(frozen=True)
class Explanation:
    """What the model has learnt.

    Args:
        structure: How it combines the parameters: ``"product"``, ``"additive"``,
            ``"interactions"`` or ``"decomposition"``.
        evidence: Log evidence of the structures that were compared; empty if none were.
        order_shares: Share of the expected variance that comes from single parameters (1),
            pairs (2), ...; the last one may stand for all higher orders. None for kernels
            that do not split in this way.
        effects: For each parameter its values, each with the change of the expected objective
            when the parameter has that value and the others are anything.
    """

    structure: str
    evidence: Mapping[str, float]
    order_shares: Mapping[int, float] | None
    effects: Mapping[str, tuple[tuple[Any, float], ...]]

    def __str__(self) -> str:
        """Return a table for people: the parameters with the largest effects first."""
        lines = [f"structure: {self.structure}"]
        if self.evidence:
            found = ", ".join(f"{name} {value:.1f}" for name, value in self.evidence.items())
            lines.append(f"log evidence: {found}")
        if self.order_shares is not None:
            found = ", ".join(f"{order}: {s:.0%}" for order, s in self.order_shares.items())
            lines.append(f"share of variance by order: {found}")
        lines.append("effects of single parameters:")
        for name, rows in sorted(self.effects.items(), key=lambda item: -_range(item[1])):
            row = ", ".join(f"{_written(value)} {effect:+.3g}" for value, effect in rows)
            lines.append(f"  {name}: {row}")
        return "\n".join(lines)


def _written(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else repr(value)


def _range(rows: tuple[tuple[Any, float], ...]) -> float:
    effects = [effect for _, effect in rows]
    return max(effects) - min(effects)


@usual_errors
def explain(
    space: Space,
    history: History,
    settings: Settings,
    direction: StudyDirection,
    objective: int = 0,
) -> Explanation:
    """Return what the model of a history has learnt."""
    if not len(history.points) or not len(space):
        raise ValueError(
            "study must have at least 1 complete trial with parameters that all complete "
            f"trials share, got {len(history.points)}"
        )
    cache = FitCache()
    conditions = learn_conditions(space, history.points)
    builder = cache.builder_for(space, settings.model, conditions)
    history = canonical(history.without_halves(builder.optional), builder.symmetry())
    model = outcome_of(builder, history, settings, cache, objective)
    # Loaded here: SciPy's statistics take a while, and a sampler seldom explains.
    from heat_plugins.insight.sobol import fit_everywhere, scaled

    # A model for suggestions knows the best part of the space well; effects are everywhere.
    values = history.objectives[:, objective]
    known = np.isfinite(values)
    effects: dict[str, tuple[tuple[Any, float], ...]] = {}
    if known.any():
        everywhere = scaled(values[known])
        unit = value_of_one(values[known], everywhere)
        if direction == StudyDirection.MAXIMIZE:
            unit = -unit  # the core minimises
        surrogate = fit_everywhere(builder, history.points[known], everywhere)
        effects = {
            name: tuple((value, unit * effect) for value, effect in rows)
            for name, rows in single_effects(space, surrogate, conditions).items()
        }
    return Explanation(
        model.chosen.name, model.chosen.evidence, order_shares(builder, model.chosen), effects
    )
