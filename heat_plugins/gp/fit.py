"""Hyperparameter fitting and structure selection.

Fitting happens in two stages, so that most suggestions are cheap and all depend on the
history alone. The full search runs on the first ``n0`` observations, where ``n0`` stays the
same for a number of suggestions; a few further steps take in the observations since then.
Both are functions of the history; the cache only avoids repeating the first.

With structure "auto" the full search runs for every candidate. The sum of single effects
has a remainder that can grow into the product, so it is right in both cases, and it is
left only for a candidate whose evidence is clearly higher: to change the model back and
forth with every small difference costs more than a slightly less likely model does.
Where nothing is said and most parameters are numbers, the product is left for the sum in the
same way.

Unless the user says that the objective is deterministic, two models are fitted: one with next to
no noise, and one whose noise is learnt. Where noise is not more likely, there is none. Where it
is far more likely and large, there is. In between nobody can tell noise from ruggedness, and
either mistake is costly: assuming noise hides small differences among the best values, all that
is left to gain; assuming none trusts lucky values. So there the two take turns, and the model
without noise has two of three.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple
from zlib import crc32

import numpy as np

from heat_plugins.gp.exact_gp import (
    LOG_NOISE_BOUNDS,
    Hyperparameters,
    NegativeLogDensity,
    fit,
    log_prior_of_no_noise,
)
from heat_plugins.gp.outcome_data import OutcomeData
from heat_plugins.gp.slice_sampling import slice_samples
from heat_plugins.gp.transfer_kernel import EarlierModel, transferred
from heat_plugins.kernels.base import Kernel
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.space import Space
from heat_plugins.space.conditions import Conditions
from heat_plugins.spec.model import Model
from heat_plugins.spec.structures import (
    Additive,
    Combination,
    InteractionOrders,
    RandomDecomposition,
)

__all__ = ["CLEAR_EVIDENCE", "Candidates", "FitCache", "KernelFit", "sampled", "select_model"]

CLEAR_EVIDENCE = 5.0  # difference of log densities
# By how much noise must be more likely than none before values may, and must, have it.
SOME_NOISE = 2.0
CLEAR_NOISE = 25.0
# As shares of the signal variance: the least that is called noise, and the least that cannot be
# a rugged objective instead, which looks noisy too the more trials there are.
LEAST_NOISE = 1e-3
MUCH_NOISE = 0.15
TURN_OF_NOISE = 3  # every how many trials, where nobody can tell
# Of hyperparameters, and sweeps before the first: the chain begins at the most likely ones.
N_SAMPLES, N_BURN = 8, 2


class Candidates(NamedTuple):
    """Candidate structures and the default one."""

    combinations: Mapping[str, Combination | None]
    preferred: str

    @staticmethod
    def of(builder: KernelBuilder) -> Candidates:
        """Return the structure that the user asked for, or those to select from."""
        choices: dict[str, Combination | None] = {"product": None, "additive": Additive()}
        if builder.model.is_auto:
            choices["interactions"] = InteractionOrders(max_order=2)
            return Candidates(choices, "additive")
        if builder.may_be_sum:
            return Candidates(choices, "product")
        name = _name(builder.model.combination)
        return Candidates({name: builder.model.combination}, name)


@dataclass(frozen=True, eq=False)
class KernelFit:
    """A kernel with fitted hyperparameters, and the evidence that selected it.

    Args:
        kernel: The kernel.
        hyperparameters: What was learnt.
        name: How its base kernels combine: a name of the candidates.
        evidence: Log posterior density of each candidate, where there was a choice.
        preferred: The candidate that is left only where another is clearly more likely.
        is_noise_free: Whether the values are taken for exact: because the user says that they
            are, or because they look like it.
        noisy_alternative: The same kernel with noise, where that is neither unlikely nor certain.
        learns_extra_noise: Whether noise is learnt on top of what was reported.
    """

    kernel: Kernel
    hyperparameters: Hyperparameters
    name: str
    evidence: Mapping[str, float] = field(default_factory=dict)
    preferred: str = ""
    is_noise_free: bool = False
    noisy_alternative: KernelFit | None = None
    learns_extra_noise: bool = False


@dataclass
class FitCache:
    """Remembers the last full fit, so that it need not be made again for the next point."""

    key: tuple[bytes, ...] | None = None
    candidates: tuple[KernelFit, ...] = ()
    builder: KernelBuilder | None = None
    others: dict[int, FitCache] = field(default_factory=dict)
    earlier: tuple[EarlierModel, ...] | None = None  # what earlier studies know of this outcome
    studies: tuple[Hashable, ...] = ()  # fingerprints of these

    def builder_for(
        self, space: Space, model: Model, conditions: Conditions | None = None
    ) -> KernelBuilder:
        """Return the builder of kernels, a new one where something it is made from is."""
        known = self.builder
        if known is None or not known.is_for(space, model, conditions):
            self.builder = known = KernelBuilder(space, model, conditions)
            self.key = self.earlier = None
            self.others.clear()
        return known

    def begin_with(self, studies: tuple[Hashable, ...]) -> None:
        """Forget what is known of other earlier studies than these, by their fingerprints."""
        if self.studies != studies:
            self.studies, self.earlier = studies, None
            self.others.clear()

    def of_outcome(self, index: int) -> FitCache:
        """Return the cache of one objective or constraint; the first is this one."""
        return self if index == 0 else self.others.setdefault(index, FitCache())


def select_model(
    builder: KernelBuilder,
    data: OutcomeData,
    max_points: int,
    cache: FitCache,
    earlier: Sequence[EarlierModel] = (),
) -> KernelFit:
    """Select and fit the kernel of one outcome, on at most ``max_points`` observations.

    Args:
        builder: Makes the kernels.
        data: What the trials tell; no value is missing.
        max_points: Observations that are fitted to at the most.
        cache: Where the last full fit is kept.
        earlier: What earlier studies know of this outcome.
    """
    n = len(data)
    stride = 2 ** max(0, math.floor(math.log2(n / 8)))
    n0 = n - n % stride
    before = data if n0 == n else data.at(slice(n0))
    key = (
        before.points.tobytes(),
        before.values.tobytes(),
        b"" if before.noise is None else before.noise.tobytes(),
        f"{data.deterministic} {max_points} {data.learns_extra_noise}".encode(),
        *(model.key for model in earlier),
    )
    if cache.key != key:
        cache.key, cache.candidates = key, _candidates(builder, before, max_points, earlier)
    start = _choose(cache.candidates)
    if start.noisy_alternative is not None and n % TURN_OF_NOISE == TURN_OF_NOISE - 1:
        start = start.noisy_alternative
    if n0 == n:
        return start
    kernel = start.kernel
    if isinstance(builder.model.combination, RandomDecomposition):
        kernel = transferred(builder.kernel(builder.model.combination, n), earlier)
    some = data.to_fit(max_points)
    more = fit(
        kernel,
        some.points,
        some.values,
        deterministic=start.is_noise_free,
        start=start.hyperparameters,
        known_noise=some.noise,
        learns_extra_noise=data.learns_extra_noise,
        has_prior=_has_prior(builder),
    )
    return replace(start, kernel=kernel, hyperparameters=more.hyperparameters)


def sampled(kernel_fit: KernelFit, data: OutcomeData, max_points: int) -> list[Hyperparameters]:
    """Return posterior samples of the hyperparameters of a kernel.

    They depend on the observations alone, as the most likely hyperparameters do.
    """
    some, most_likely = data.to_fit(max_points), kernel_fit.hyperparameters
    density = NegativeLogDensity(kernel_fit.kernel, some.points, some.values, some.noise)
    is_known = some.noise is not None and not np.isnan(some.noise).any()
    is_fixed = kernel_fit.is_noise_free or (is_known and not data.learns_extra_noise)
    noise_bounds = (most_likely.log_noise,) * 2 if is_fixed else LOG_NOISE_BOUNDS
    samples = slice_samples(
        lambda vector: -density.value(Hyperparameters.from_vector(vector)),
        most_likely.to_vector(),
        np.concatenate([kernel_fit.kernel.bounds, [noise_bounds]]),
        N_SAMPLES,
        N_BURN,
        np.random.default_rng([len(data), crc32(data.values.tobytes())]),
    )
    return [Hyperparameters.from_vector(vector) for vector in samples]


def _has_prior(builder: KernelBuilder) -> bool:
    """Whether the priors of hyperparameters count, rather than the likelihood alone."""
    return builder.model.hyperparameters != "maximum-likelihood"


def _choose(candidates: Sequence[KernelFit]) -> KernelFit:
    """Select the default candidate, unless another is clearly more likely."""
    if len(candidates) == 1:
        return candidates[0]
    by_name = {candidate.name: candidate for candidate in candidates}
    evidence, preferred = candidates[0].evidence, candidates[0].preferred
    best = max(evidence, key=evidence.__getitem__)
    behind = evidence[best] - evidence[preferred]
    return by_name[best] if behind > CLEAR_EVIDENCE else by_name[preferred]


def _candidates(
    builder: KernelBuilder,
    data: OutcomeData,
    max_points: int,
    earlier: Sequence[EarlierModel] = (),
) -> tuple[KernelFit, ...]:
    """Fit the kernel that the user asked for, or all that the evidence may choose from."""
    some = data.to_fit(max_points)

    def fit_to(combination: Combination | None) -> tuple[KernelFit, float]:
        kernel = transferred(builder.kernel(combination, len(data)), earlier)
        name = _name(combination)

        def fit_with(*, is_noise_free: bool) -> tuple[KernelFit, float]:
            result = fit(
                kernel,
                some.points,
                some.values,
                deterministic=is_noise_free,
                known_noise=some.noise,
                learns_extra_noise=data.learns_extra_noise,
                has_prior=_has_prior(builder),
            )
            kernel_fit = KernelFit(
                kernel,
                result.hyperparameters,
                name,
                is_noise_free=is_noise_free,
                learns_extra_noise=data.learns_extra_noise,
            )
            return kernel_fit, -result.negative_log_density

        if data.deterministic is not None or some.noise is not None:
            return fit_with(is_noise_free=bool(data.deterministic))
        exact, density = fit_with(is_noise_free=True)
        noisy, noisy_density = fit_with(is_noise_free=False)
        evidence = noisy_density - density
        if _has_prior(builder):
            evidence -= log_prior_of_no_noise()
        noise = noisy.hyperparameters.noise
        if evidence > CLEAR_NOISE and noise > MUCH_NOISE:
            return noisy, noisy_density
        if evidence > SOME_NOISE and noise >= LEAST_NOISE:
            exact = replace(exact, noisy_alternative=noisy)
        return exact, max(density, noisy_density)

    combinations, preferred = Candidates.of(builder)
    fits = {name: fit_to(combination) for name, combination in combinations.items()}
    if len(fits) == 1:
        return (fits[preferred][0],)
    evidence = {
        name: float(np.nan_to_num(density, nan=-np.inf))  # a fit gone wrong
        for name, (_, density) in fits.items()
    }

    def with_evidence(kernel_fit: KernelFit) -> KernelFit:
        noisy = kernel_fit.noisy_alternative
        return replace(
            kernel_fit,
            evidence=evidence,
            preferred=preferred,
            noisy_alternative=None if noisy is None else with_evidence(noisy),
        )

    return tuple(with_evidence(kernel_fit) for kernel_fit, _ in fits.values())


def _name(combination: Combination | None) -> str:
    if combination is None:
        return "product"
    if isinstance(combination, Additive):
        return "additive"
    return "interactions" if isinstance(combination, InteractionOrders) else "decomposition"
