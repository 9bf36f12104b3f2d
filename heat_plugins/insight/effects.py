"""Main effects and shares of the orders of interaction, from the surrogate.

Notation
    ===========  =====================================================================
    effect       of a value of a parameter: how much the expected objective changes when
                 the parameter has that value, the others being anything
    share        of an order: how much of the variance that the model expects comes from
                 single parameters, from pairs, ...
    ===========  =====================================================================
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from heat_plugins.gp.exact_gp import Surrogate
from heat_plugins.gp.fit import KernelFit
from heat_plugins.kernels.additive import OrdersKernel
from heat_plugins.kernels.base import Kernel
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.kernels.composite import Combined
from heat_plugins.kernels.distance import DistanceKernel
from heat_plugins.kernels.order_terms import elementary_symmetric
from heat_plugins.runtime.floating_point import usual_errors
from heat_plugins.space import Array, Space
from heat_plugins.space.conditions import Conditions

__all__ = ["Effects", "order_shares", "settings_of", "single_effects"]

N_BACKGROUND = 256  # random points that stand for "the others being anything"
N_PLACES = 11  # of a continuous parameter at which its effect is reported
LONGEST_ORDER = 4  # orders beyond are reported together

Effects = Mapping[str, tuple[tuple[object, float], ...]]


@usual_errors
def single_effects(
    space: Space, surrogate: Surrogate, conditions: Conditions | None = None
) -> Effects:
    """Return the effect of every value of every parameter, in standardised units.

    The effect of a parameter that exists under some conditions is that where it does.
    """
    effects: dict[str, tuple[tuple[object, float], ...]] = {}
    everywhere = space.sample(N_BACKGROUND, np.random.default_rng(0))
    for name, background, settled in settings_of(space, conditions, everywhere):
        middle = float(surrogate.mean(background).mean())
        effects[name] = tuple(
            (value, float(surrogate.mean(points).mean()) - middle) for value, points in settled
        )
    return effects


def settings_of(
    space: Space, conditions: Conditions | None, everywhere: Array
) -> Iterator[tuple[str, Array, list[tuple[object, Array]]]]:
    """Yield what it takes to see what a parameter does, the others being anything.

    Args:
        space: The parameters.
        conditions: When each parameter exists; None where all always do.
        everywhere: (n, d) points that stand for all of the space.

    Yields:
        The name of a parameter; the background (B, d), those of the points where the
        parameter exists; and some of its values, each with the background (B, d) after the
        parameter has been set to it. Of a continuous parameter N_PLACES values stand for all.
    """
    if conditions is not None:
        everywhere = conditions.deactivate(everywhere)
    spare = space.sample(len(everywhere), np.random.default_rng(1))
    for column, parameter in enumerate(space.parameters):
        background = everywhere[~np.isnan(everywhere[:, column])]
        if not len(background):
            continue
        if parameter.n_levels <= N_PLACES or space.is_discrete[column]:
            places = parameter.levels()
        else:
            places = np.unique(parameter.snap(np.linspace(0.0, 1.0, N_PLACES)))
        settled: list[tuple[object, Array]] = []
        for place in places:
            moved = background.copy()
            moved[:, column] = place
            if conditions is not None:
                moved = conditions.fill(moved, spare[: len(moved)])
            settled.append((parameter.decode(float(place)), moved))
        yield parameter.name, background, settled


@usual_errors
def order_shares(builder: KernelBuilder, kernel_fit: KernelFit) -> dict[int, float] | None:
    """Return the share of each order in the prior variance, the constant left out.

    None for kernels that do not split into orders: those of groups of parameters, of the
    Hamming distance other than heat kernels, of several numbers, of decompositions.
    """
    kernel, theta = kernel_fit.kernel, kernel_fit.hyperparameters.theta
    if isinstance(kernel, OrdersKernel):
        shares = kernel.order_shares(theta)
    elif builder.is_plain_product and _is_product(kernel):
        shares = _shares_of_product(builder, kernel, theta)
    else:
        return None
    varying = shares[1:] / shares[1:].sum()
    listed = {order: float(share) for order, share in enumerate(varying[:LONGEST_ORDER], 1)}
    if len(varying) > LONGEST_ORDER:
        listed[LONGEST_ORDER + 1] = float(varying[LONGEST_ORDER:].sum())
    return listed


def _is_product(kernel: Kernel) -> bool:
    if isinstance(kernel, Combined):
        return kernel.how == "product" and all(map(_is_product, kernel.children))
    return isinstance(kernel, DistanceKernel)


def _shares_of_product(builder: KernelBuilder, kernel: Kernel, theta: Array) -> Array:
    """Return (Q + 1,) shares; the product kernel is the orthogonal one of all orders."""
    columns = range(len(builder.space))
    own = np.array([builder.own_variance(column, kernel, theta) for column in columns])
    longest = min(len(own), LONGEST_ORDER)
    powers = [np.array([float((own**s).sum())]) for s in range(1, longest + 1)]
    shares = np.array([float(e[0]) for e in elementary_symmetric(powers)])
    rest = float(np.prod(1.0 + own)) - shares.sum()
    return np.concatenate([shares, [max(rest, 0.0)] * (len(own) > longest)])
