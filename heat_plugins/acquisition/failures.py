"""Where trials fail: the probability of success, from the Gaussian process of labels.

Labels (-1 for a complete trial, 1 for a failed one) are treated like a noisy constraint that is
kept where the expected label is below 0. Where failures do not depend on the parameters the
probability is the same everywhere, and nothing is lost.
"""

from __future__ import annotations

from heat_plugins.acquisition.feasibility import LogFeasibility
from heat_plugins.gp.failure_model import FailureModel

__all__ = ["log_success"]


def log_success(failures: FailureModel | None) -> LogFeasibility | None:
    """Return the log probability that a trial does not fail; None where none has failed."""
    if failures is None:
        return None
    return LogFeasibility([failures.surrogate], [failures.boundary])
