"""A bandit for every choice, and a continuous step for the numbers (CoCaBO, Ru et al., 2020).

Every parameter with choices is a bandit whose arms are the choices. EXP3 (Auer et al., 2002) plays
each of them:

    p_c = (1 - gamma) w_c / sum_b w_b + gamma / C

and after a trial with the choice c and the reward g the weight of this choice becomes

    w_c exp(gamma g / (C p_c)),   gamma = min(1, sqrt(C log C / ((e - 1) n))).

The reward is the share of the n trials that are not better, so that infinite values and outliers
have a place. Weights are not stored: they follow from the trials in order of completion. The
choices of the next point are drawn, and its numbers maximise the acquisition next to them.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from heat_plugins.search.genetic import genetic
from heat_plugins.search.mutation import mutate
from heat_plugins.search.search_task import Past, SearchTask
from heat_plugins.space import Array

__all__ = ["arm_probabilities", "bandit", "rewards"]

N_DRAWS = 200
MOST_SEARCHES = 5  # over the numbers, next to as many draws of choices


def bandit(task: SearchTask) -> Array:
    """Return points (k, d) with drawn choices; without numbers in the order of the draws."""
    domain = task.domain
    if not len(domain.free_discrete):  # no arms: numbers alone
        return genetic(task)
    points = _drawn(task)
    if not len(domain.free_numeric):
        if task.avoid.contains(points).all():  # the bandits have settled on old points
            points = domain.project(mutate(points, domain, 1.0, task.rng), task.rng)
        return task.ranked(points, np.where(task.avoid.contains(points), -np.inf, 0.0))
    for point in points[:MOST_SEARCHES]:
        # What the choices of this draw take away does not exist next to them.
        codes = {int(c): point[c] for c in domain.free_discrete if not np.isnan(point[c])}
        found = genetic(replace(task, domain=replace(domain, fixed={**domain.fixed, **codes})))
        if len(found):
            return found
    return points[:0]


def _drawn(task: SearchTask) -> Array:
    """Return points (N, d) whose choices the bandits have drawn, inside the domain."""
    domain, rng = task.domain, task.rng
    points = domain.sample(N_DRAWS, rng)
    gains = None if task.past is None or not len(task.past.points) else rewards(task.past)
    for column in domain.free_discrete:
        n_arms = int(domain.space.n_levels[column])
        chances = np.full(n_arms, 1.0 / n_arms)
        if gains is not None and task.past is not None:
            chances = arm_probabilities(task.past.points[:, column], gains, n_arms)
        drawn = rng.choice(n_arms, size=N_DRAWS, p=chances)
        points[:, column] = np.where(np.isnan(points[:, column]), np.nan, drawn)
    return domain.project(points, rng)


def rewards(past: Past) -> Array:
    """Return (n,) the share of the trials that are not better, the mean over objectives."""
    ranking = past.ranking.reshape(len(past.points), -1)
    shares = [np.mean(column[:, None] <= column[None, :], axis=1) for column in ranking.T]
    mean: Array = np.mean(shares, axis=0)
    return mean


def arm_probabilities(codes: Array, gains: Array, n_arms: int) -> Array:
    """Return (C,) how likely EXP3 draws each arm after trials with codes (n,) and gains (n,).

    Trials that lack the parameter, NaN, tell nothing.
    """
    known = ~np.isnan(codes)
    arms, gains = codes[known].astype(np.int64), gains[known]
    n = len(arms)
    if n_arms == 1 or not n:
        return np.full(n_arms, 1.0 / n_arms)
    gamma = min(1.0, math.sqrt(n_arms * math.log(n_arms) / ((math.e - 1.0) * n)))
    log_weights = np.zeros(n_arms)

    def chances() -> Array:
        weights = np.exp(log_weights - log_weights.max())
        shares: Array = (1.0 - gamma) * weights / weights.sum() + gamma / n_arms
        return shares

    for arm, gain in zip(arms.tolist(), gains.tolist(), strict=True):
        log_weights[arm] += gamma * gain / (n_arms * chances()[arm])
    return chances()
