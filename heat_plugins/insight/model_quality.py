"""How well a model predicts values that it has not seen: cross-validation and calibration.

Notation
    ===========  =====================================================================
    y            values, standardised
    mu, s        prediction and its deviation, by a model of the other folds; s has the noise
                 of a measurement in it, since y has
    z            (y - mu) / s, standard normal for a model that knows how much it knows
    ===========  =====================================================================

Hyperparameters are learnt anew without each fold: those that have seen a value know too much.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special, stats

from heat_plugins.gp.exact_gp import Surrogate, fit
from heat_plugins.gp.outcomes import Outcome
from heat_plugins.runtime.floating_point import usual_errors
from heat_plugins.space import Array, Indices

__all__ = ["LeftOut", "left_out_predictions"]

N_FOLDS = 5
FEWEST_TRIALS = 4
MOST_TRIALS = 300


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Predictions of values that were left out, standardised.

    Args:
        rows: (k,) the trials, as rows of the history.
        values: (k,) y.
        means: (k,) mu.
        deviations: (k,) s.
    """

    rows: Indices
    values: Array
    means: Array
    deviations: Array

    @property
    def explained(self) -> float:
        """Share of the variance of the values that is predicted; below 0 for worse than none."""
        total = float(np.sum((self.values - self.values.mean()) ** 2))
        missed = float(np.sum((self.values - self.means) ** 2))
        return 1.0 - missed / total if total > 0.0 else 0.0

    @property
    def rank_correlation(self) -> float:
        """Spearman's rank correlation of values and predictions; 0 where one does not vary."""
        if np.ptp(self.values) == 0.0 or np.ptp(self.means) == 0.0:
            return 0.0
        return float(stats.spearmanr(self.values, self.means).statistic)

    def coverage(self, levels: Array) -> Array:
        """Return the share (l,) of values that lies in the central interval of each level."""
        z = np.abs(self.values - self.means) / self.deviations
        # Mass of the normal distribution within |z|.
        mass = 1.0 - 2.0 * special.ndtr(-z)
        covered: Array = np.mean(mass[:, None] <= levels, axis=0)
        return covered


@usual_errors
def left_out_predictions(outcome: Outcome) -> LeftOut | None:
    """Predict each fifth of the values by a model of the others; None for too few values."""
    # As the surrogate has them: of very many, some.
    is_modelled = np.isin(outcome.rows, outcome.modelled)
    points, values = outcome.points, outcome.values[is_modelled]
    rng = np.random.default_rng(0)
    some = rng.permutation(len(values))[:MOST_TRIALS]
    if len(some) < FEWEST_TRIALS:
        return None
    points, values, rows = points[some], values[some], outcome.modelled[some]
    folds = np.arange(len(some)) % N_FOLDS
    means, deviations = np.zeros((2, len(some)))
    kernel = outcome.kernel_fit.kernel
    for fold in range(min(N_FOLDS, len(some))):
        out = folds == fold
        known = values[~out]
        middle, spread = known.mean(), known.std() or 1.0
        standardised = (known - middle) / spread
        found = fit(
            kernel,
            points[~out],
            standardised,
            deterministic=outcome.kernel_fit.is_noise_free,
        ).hyperparameters
        surrogate = Surrogate(kernel, found, points[~out], standardised)
        mean, variance = surrogate.posterior(points[out])
        means[out] = middle + spread * mean
        noise = surrogate.variance * found.noise
        deviations[out] = spread * np.sqrt(variance + noise)
    return LeftOut(rows, values, means, deviations)
