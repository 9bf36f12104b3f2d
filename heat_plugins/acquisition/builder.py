"""Builds the acquisition function from models, constraints and failures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from heat_plugins.acquisition.average import LogMean
from heat_plugins.acquisition.component_bound import ComponentBound
from heat_plugins.acquisition.confidence_bound import ConfidenceBound, exploration
from heat_plugins.acquisition.constrained_ranking import constrained_ranking, violations
from heat_plugins.acquisition.feasibility import LogFeasibility, Sum
from heat_plugins.acquisition.log_ehvi import LogHypervolumeImprovement
from heat_plugins.acquisition.log_ei import LogExpectedImprovement
from heat_plugins.acquisition.pareto import crowding_distances, non_dominated, reference_point
from heat_plugins.acquisition.sample_path import SamplePath
from heat_plugins.batch_function import BatchFunction
from heat_plugins.gp.exact_gp import Surrogate
from heat_plugins.gp.outcome_transform import standardise, standardised_value
from heat_plugins.gp.outcomes import Outcome, Outcomes
from heat_plugins.history import History
from heat_plugins.search.trust_region import TrustRegion
from heat_plugins.space import Array

__all__ = ["AcquisitionBuilder", "AcquisitionName", "Draw", "distance_to_reference"]

AcquisitionName = Literal["log-ei", "ucb", "thompson"]

# Exponent of the probability of success in the acquisition: a trial that fails costs as much as
# any other and tells less.
SUCCESS_POWER = 2.0
N_ANCHORS = 500  # points on which a sample of the posterior is exact


@dataclass(frozen=True, eq=False)
class Draw:
    """Inputs of a posterior sample: points that the search may meet, and randomness."""

    points: Callable[[int], Array]  # so many, (n, d)
    rng: np.random.Generator


class AcquisitionBuilder:
    """Builds the acquisition function for one objective or several, feasible trials first.

    Args:
        history: What is known.
        reference: (M,) the worst values of interest, NaN where there are none; None for none.
        acquisition: What makes a point worth trying.
        by_components: Whether the confidence bound is that of each term of the model, where it is
            a sum and nothing else is to be considered.
        restarts_by_bound: Whether a region without trials is searched by the confidence bound of a
            model of the best trials of the regions before, and nothing else.
    """

    def __init__(
        self,
        history: History,
        reference: Array | None = None,
        acquisition: AcquisitionName = "log-ei",
        *,
        by_components: bool = False,
        restarts_by_bound: bool = False,
    ) -> None:
        self._acquisition = acquisition
        self._by_components = by_components
        self._restarts_by_bound = restarts_by_bound
        self._points = history.points
        violation = violations(history.constraint_values)
        self.is_feasible = violation <= 0.0
        self.ranking = constrained_ranking(history.objectives, violation)  # (n, M)
        self.has_one_objective = self.ranking.shape[1] == 1
        self._reference: Array | None = None
        self.distance_to_reference = np.zeros(len(violation))  # (n,)
        if reference is not None:
            self._set_reference(reference, history.objectives)

    def _set_reference(self, reference: Array, objectives: Array) -> None:
        """Find the place of the reference (M,), and how far the trials are from reaching it."""
        if reference.shape != objectives.shape[1:]:
            raise ValueError(
                f"reference must have shape {objectives.shape[1:]}, got {reference.shape}"
            )
        if self.has_one_objective or np.isnan(reference).all():
            return
        columns = [standardise(column) for column in objectives.T]
        pairs = zip(reference, objectives.T, columns, strict=True)
        self._reference = np.array(
            [standardised_value(r, raw, column) for r, raw, column in pairs]
        )
        values = np.column_stack(columns)
        # Where an infinite value has its place does not say that it reaches anything.
        values[np.isposinf(objectives)] = np.finfo(float).max
        self.distance_to_reference = np.full(len(values), np.inf)
        if self.is_feasible.any():
            feasible = values[self.is_feasible]
            self.distance_to_reference[self.is_feasible] = distance_to_reference(
                feasible, self._reference
            )

    def choose_centre(self, region: TrustRegion, rng: np.random.Generator) -> TrustRegion:
        """Return the region around one of its best trials.

        Of several that are not comparable, those whose neighbours are far away are the most
        likely: gaps of the front are searched more often.
        """
        if self.has_one_objective or not region.front:
            return region
        trials = np.array(region.front)
        # With a reference, those that reach it; failing that, those that come closest.
        distances = self.distance_to_reference[trials]
        trials = trials[distances == distances.min()]
        front = np.column_stack([standardise(column) for column in self.ranking.T])
        likely = 1.0 / len(trials) + crowding_distances(front[trials])
        trial = rng.choice(trials, p=likely / likely.sum())
        return replace(region, centre=self._points[trial])

    def acquisition(
        self, outcomes: Outcomes, region: TrustRegion, draw: Draw | None = None
    ) -> BatchFunction:
        """Return what the next point should maximise.

        Args:
            outcomes: The models.
            region: The trust region.
            draw: For samples of the posterior.
        """
        terms: list[BatchFunction] = []
        weights: list[float] = []
        samples = outcomes.by_sample()
        if (
            draw is not None and self._acquisition == "thompson"
        ):  # one function, so also one set of hyperparameters
            samples = [samples[int(draw.rng.integers(len(samples)))]]
        improvements = [self._improvement(each, region, draw) for each in samples]
        found = [each for each in improvements if each is not None]
        if self.is_improvement and len(found) > 1:
            found = [LogMean(found)]
        terms += found
        weights += [1.0 / len(found) for _ in found]  # none while nothing is feasible
        if outcomes.constraints:
            surrogates = [outcome.surrogate for outcome in outcomes.constraints]
            terms.append(LogFeasibility(surrogates, [each.zero for each in outcomes.constraints]))
            weights.append(1.0)
        if outcomes.log_success is not None:
            terms.append(outcomes.log_success)
            weights.append(SUCCESS_POWER)
        return terms[0] if len(terms) == 1 else Sum(terms, weights)

    @property
    def is_improvement(self) -> bool:
        """Whether the acquisition is the log of an expected improvement."""
        return self._acquisition == "log-ei"

    def _improvement(
        self, outcomes: Outcomes, region: TrustRegion, draw: Draw | None
    ) -> BatchFunction | None:
        """Return what makes a point worth trying; None while nothing feasible is known."""
        if self.has_one_objective:
            outcome = outcomes.objectives[0]
            best = outcome.incumbent(self.is_feasible, region.front[0] if region.front else None)
            if best is None:
                return None
            if self._restarts_by_bound and region.ended and region.centre is None:
                return self._bound_of_ended(outcome, region)
            if self._acquisition == "thompson":
                assert draw is not None
                return SamplePath(outcome.surrogate, draw.points(N_ANCHORS), draw.rng)
            if self._acquisition == "ucb":
                return self._confidence_bound(outcomes)
            return LogExpectedImprovement(outcome.surrogate, best)
        if not self.is_feasible.any():
            return None
        values = np.column_stack([outcome.believed for outcome in outcomes.objectives])
        values = values[self.is_feasible]
        if len(outcomes.pending):
            # Points under evaluation count as what is expected of them.
            expected = [each.surrogate.mean(outcomes.pending) for each in outcomes.objectives]
            values = np.concatenate([values, np.column_stack(expected)])
        # Beyond the worst that was seen, not the worst of the front: the ends of a front grow
        # only if what lies beyond them counts.
        reference = reference_point(values)
        if self._reference is not None:
            reference = self._within_reach(values, reference)
        front = values[non_dominated(values)]
        surrogates = [outcome.surrogate for outcome in outcomes.objectives]
        return LogHypervolumeImprovement(surrogates, front, reference)

    def _bound_of_ended(self, outcome: Outcome, region: TrustRegion) -> BatchFunction:
        """Return the confidence bound of a model of the best trials of the regions before."""
        rows = np.isin(outcome.rows, region.ended)
        if not rows.any():
            rows[:] = True
        known = Surrogate(
            outcome.kernel_fit.kernel,
            outcome.kernel_fit.hyperparameters,
            self._points[outcome.rows[rows]],
            outcome.believed[rows],
        )
        return ConfidenceBound(known, exploration(len(self._points)))

    def _confidence_bound(self, outcomes: Outcomes) -> BatchFunction:
        """Return the upper confidence bound of the only objective."""
        surrogate, weight = outcomes.objectives[0].surrogate, exploration(len(self._points))
        is_alone = not outcomes.constraints and outcomes.log_success is None
        terms = surrogate.terms() if self._by_components and is_alone else []
        return ComponentBound(terms, weight) if terms else ConfidenceBound(surrogate, weight)

    def _within_reach(self, values: Array, usual: Array) -> Array:
        """Return a reference (M,) that is worth searching below.

        The user's, and the usual one (M,) where there is none. As long as none of the values
        (n, M) is better in all objectives, the user's is moved back to

            r'_j = max(r_j, min_i y_ij) + t,  t = min_i max_j (y_ij - max(r_j, min_i y_ij)):

        to the best that was seen of each objective, and from there by the same t in each of
        them to where some value reaches it. What is better than that is closer to the user's.
        Below one far away nothing would be expected anywhere, and the search would go where
        the least is known.
        """
        assert self._reference is not None
        nearest = np.maximum(self._reference, values.min(axis=0))  # NaN stays
        reference = nearest + distance_to_reference(values, self._reference).min()
        return np.where(np.isnan(reference), usual, reference)


def distance_to_reference(values: Array, reference: Array) -> Array:
    """Return the Chebyshev distance (n,) by which values (n, M) miss a reference (M,).

    0 where they are better in all objectives; those without a reference, NaN, do not count.
    An objective that is far from its reference at all values must not be the only one that
    counts, so all are measured from the best that was seen if that is not good enough.
    """
    given = ~np.isnan(reference)
    values, reference = values[:, given], reference[given]
    distance: Array = np.max(values - np.maximum(reference, values.min(axis=0)), axis=1)
    return np.maximum(distance, 0.0)
