"""The trust regions by name.

=============  ================================================================================
name           how it changes
=============  ================================================================================
True           ours: grows after three improvements in a row, shrinks after as many trials
               without one as there are parameters, begins anew where the model expects most
casmopolitan   shrinks after 40 such trials, begins anew where the confidence bound of a model of
               the best trials of the regions before is highest (Wan et al., 2021)
bounce         shrinks with what is left of a budget (Papenmeier et al., 2023)
False          none: everywhere
=============  ================================================================================
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from heat_plugins.history import History
from heat_plugins.search.budgeted_region import BudgetedRegionRules, Stage, replay_budget
from heat_plugins.search.trust_region import TrustRegion, TrustRegionRules, replay
from heat_plugins.space import Array, Space

__all__ = ["RegionName", "RegionRules", "region_after", "rules_of"]

RegionName = Literal["casmopolitan", "bounce"]
RegionRules = TrustRegionRules | BudgetedRegionRules


def rules_of(trust_region: bool | RegionName) -> RegionRules | None:
    """Return the rules of a region; None for no region.

    Raises:
        ValueError: If there is no region of this name.
        TypeError: If it is neither a name nor True or False.
    """
    if trust_region == "casmopolitan":
        return TrustRegionRules(failures_to_shrink=40, restarts_by_bound=True)
    if trust_region == "bounce":
        return BudgetedRegionRules()
    if not isinstance(trust_region, bool | np.bool_):
        error = ValueError if isinstance(trust_region, str) else TypeError
        raise error(
            f"trust_region must be True or False, or one of {get_args(RegionName)}, "
            f"got {trust_region!r}"
        )
    return TrustRegionRules() if trust_region else None


def region_after(
    history: History,
    ranking: Array,
    space: Space,
    rules: RegionRules | None,
    stages: Sequence[Stage] = (),
    *,
    counts_failures: bool = True,
) -> TrustRegion:
    """Return the region after the trials of a history, by their constrained ranking (n, M).

    Args:
        history: What is known.
        ranking: Minimised.
        space: The space of the points.
        rules: When the region changes; None for everywhere.
        stages: Stages of a space that grows.
        counts_failures: Whether trials without a value count.
    """
    if rules is None:
        return TrustRegion()
    failed_after = history.failed_after if counts_failures else None
    trials = history.points, ranking, history.region_ids, space
    if isinstance(rules, BudgetedRegionRules):
        return replay_budget(*trials, rules, stages, failed_after)
    return replay(*trials, rules, failed_after, history.failed_region_ids)
