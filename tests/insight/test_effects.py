"""What the model says it has learnt is what there was to learn."""

import itertools

import numpy as np
import pytest

from heat_plugins.gp.exact_gp import Hyperparameters, Surrogate
from heat_plugins.gp.fit import FitCache, KernelFit, select_model
from heat_plugins.gp.outcome_data import OutcomeData
from heat_plugins.gp.outcome_transform import scale_of, standardise
from heat_plugins.insight.effects import LONGEST_ORDER, order_shares, single_effects
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.space import Categorical, Float, Integer, Ordinal, Space
from heat_plugins.spec.model import Model
from heat_plugins.spec.structures import (
    Additive,
    Anchors,
    InteractionOrders,
    PermutationInvariant,
    RandomDecomposition,
)

SPACE = Space(
    (
        Categorical("colour", ("red", "green", "blue")),
        Ordinal("size", ("s", "m", "l")),
        Float("rate", 0.0, 2.0),
        Integer("steps", 1, 100),
        Categorical("idle", (False, True)),
    )
)
EFFECTS = {"red": 3.0, "green": 0.0, "blue": -3.0, "s": -1.0, "m": 0.0, "l": 1.0}


def objective(values):
    return EFFECTS[values["colour"]] + EFFECTS[values["size"]] + 2.0 * values["rate"]


def effects_of(model, n=90):
    """Effects in the units of the objective, from a model of random points."""
    points = SPACE.sample(n, np.random.default_rng(0))
    values = np.array([objective(SPACE.decode(point)) for point in points])
    builder = KernelBuilder(SPACE, model)
    kernel_fit = select_model(
        builder, OutcomeData(points, values, deterministic=True), 300, FitCache()
    )
    surrogate = Surrogate(
        kernel_fit.kernel, kernel_fit.hyperparameters, points, standardise(values)
    )
    unit = scale_of(values)
    return {
        name: {value: unit * effect for value, effect in rows}
        for name, rows in single_effects(SPACE, surrogate).items()
    }


@pytest.mark.parametrize("structure", [None, Additive()], ids=["product", "additive"])
def test_effects_of_an_additive_function_are_recovered(structure):
    effects = effects_of(Model(structure=structure))
    assert set(effects) == set(SPACE.names)
    for name in ("colour", "size"):
        found = effects[name]
        centre = np.mean(list(found.values()))
        for value, effect in found.items():
            assert effect - centre == pytest.approx(EFFECTS[value], abs=0.25)
    rates = np.array(list(effects["rate"].items()))
    np.testing.assert_allclose(rates[:, 0], np.linspace(0.0, 2.0, 11), atol=1e-12)
    slope = np.polyfit(rates[:, 0], rates[:, 1], 1)[0]
    assert slope == pytest.approx(2.0, abs=0.2)
    for name in ("idle", "steps"):
        assert np.ptp(list(effects[name].values())) < 0.4
    assert list(effects["idle"]) == [False, True]
    assert (
        list(effects["steps"]) == [1, 11, 21, 31, 41, 50, 60, 70, 80, 90, 100]
        or len(effects["steps"]) == 11
    )


def test_every_choice_is_reported_and_effects_of_a_parameter_have_no_mean():
    """The others being anything includes the parameter itself: its effects average to zero."""
    space = Space((Categorical("many", range(20)), Integer("few", 0, 3)))
    points = space.sample(40, np.random.default_rng(1))
    kernel = KernelBuilder(space, Model()).kernel()
    hyperparameters = Hyperparameters(kernel.start(1.0), np.log(1e-2))
    effects = single_effects(
        space, Surrogate(kernel, hyperparameters, points, standardise(points[:, 0]))
    )
    assert [value for value, _ in effects["many"]] == list(range(20))
    assert [value for value, _ in effects["few"]] == [0, 1, 2, 3]
    assert np.mean([effect for _, effect in effects["few"]]) == pytest.approx(0.0, abs=0.05)


# ------------------------------------------------------------------- shares of orders
CHOICES = Space(tuple(Categorical(f"x{i}", range(2 + i % 3)) for i in range(6)))


def kernel_fit_of(space, model, theta=None):
    builder = KernelBuilder(space, model)
    kernel = builder.kernel(model.combination)
    theta = kernel.start(2.0) if theta is None else theta
    return builder, KernelFit(kernel, Hyperparameters(theta, -5.0), "any")


def test_shares_of_a_product_are_those_of_all_orders():
    """The heat kernel is the orthogonal kernel of all orders, so its shares are the same."""
    log_weights = np.array([-1.0, 0.3, -2.0, 0.9, 0.1, -0.4])
    shares = order_shares(*kernel_fit_of(CHOICES, Model(), np.append(log_weights, 0.0)))
    structure = InteractionOrders(6)
    same = order_shares(
        *kernel_fit_of(CHOICES, Model(structure=structure), np.append(log_weights, np.zeros(7)))
    )
    assert list(shares) == list(same) == [1, 2, 3, 4, 5]
    for order in shares:
        assert shares[order] == pytest.approx(same[order], rel=1e-9)
    rho, g = np.exp(-np.exp(log_weights)), CHOICES.n_levels
    own = (1 - rho) * (1 - 1 / g) / (rho + (1 - rho) / g)
    variances = [
        sum(np.prod(own[list(some)]) for some in itertools.combinations(range(6), q))
        for q in range(1, 7)
    ]
    np.testing.assert_allclose(
        [shares[q] for q in range(1, 5)], np.array(variances[:4]) / sum(variances), rtol=1e-10
    )
    assert shares[5] == pytest.approx(sum(variances[4:]) / sum(variances), rel=1e-8)


@pytest.mark.parametrize("space", [CHOICES, SPACE], ids=["choices", "mixed"])
@pytest.mark.parametrize(
    "model",
    [
        Model(),
        Model(ard=False),
        Model(structure=Additive()),
        Model(structure=InteractionOrders(2)),
        Model(structure=InteractionOrders(6)),
    ],
    ids=["product", "isotropic", "additive", "pairs", "all"],
)
def test_shares_add_up_to_one(space, model):
    shares = order_shares(*kernel_fit_of(space, model))
    if space is SPACE and model.combination is None:
        assert shares is None  # two numbers have one distance, which does not split
        return
    assert sum(shares.values()) == pytest.approx(1.0, abs=1e-12)
    assert all(share >= 0.0 for share in shares.values())
    assert list(shares) == list(range(1, len(shares) + 1))
    assert len(shares) <= LONGEST_ORDER + 1


@pytest.mark.parametrize("weight", [0.05, 0.4, 2.0])
def test_shares_of_graphs_are_those_of_all_orders(weight):
    """The same weights in both kernels; what a graph does not say counts, too."""
    space = Space((*SPACE.parameters[:2], SPACE.parameters[-1], Ordinal("place", range(4))))
    builder, kernel_fit = kernel_fit_of(space, Model())
    product = kernel_fit.kernel
    theta = product.start(weight * product.n_weights)
    assert product.names.count("size") == 2
    shares = order_shares(builder, KernelFit(product, Hyperparameters(theta, -5.0), "any"))
    orders = Model(structure=InteractionOrders(len(space)))
    builder, kernel_fit = kernel_fit_of(space, orders)
    theta = kernel_fit.kernel.start(weight * len(space))
    same = order_shares(builder, KernelFit(kernel_fit.kernel, Hyperparameters(theta, -5.0), "any"))
    assert list(shares) == list(same) == [1, 2, 3, 4]
    for order in shares:
        assert shares[order] == pytest.approx(same[order], rel=1e-8)


def test_shares_of_one_number_among_choices_are_known():
    space = Space((SPACE.parameters[0], SPACE.parameters[2], SPACE.parameters[-1]))
    builder, kernel_fit = kernel_fit_of(space, Model())
    own = [
        builder.own_variance(i, kernel_fit.kernel, kernel_fit.hyperparameters.theta)
        for i in range(3)
    ]
    shares = order_shares(builder, kernel_fit)
    assert shares[3] == pytest.approx(np.prod(own) / (np.prod(1.0 + np.array(own)) - 1.0))


def test_own_variance_is_that_of_the_factor_without_its_mean():
    """From the kernel of all values of a parameter, the others being anything."""
    builder, kernel_fit = kernel_fit_of(SPACE, Model())
    kernel, theta = kernel_fit.kernel, kernel_fit.hyperparameters.theta
    some = SPACE.sample(1, np.random.default_rng(0))
    for name in ("colour", "size", "idle"):
        column = SPACE.column[name]
        g = int(SPACE.n_levels[column])
        points = np.repeat(some, g, axis=0)
        points[:, column] = np.arange(g)
        factor = kernel.matrix(theta, kernel.prepare(points))
        mean = factor.mean()
        centred = factor / mean - np.outer(factor.mean(0), factor.mean(1)) / mean**2
        assert builder.own_variance(column, kernel, theta) == pytest.approx(np.trace(centred) / g)
    points = np.repeat(some, 2000, axis=0)
    points[:, SPACE.column["rate"]] = (np.arange(2000) + 0.5) / 2000
    factor = kernel.matrix(theta, kernel.prepare(points))
    mean = factor.mean()
    expected = 1.0 / mean - np.mean(factor.mean(0) ** 2) / mean**2
    found = builder.own_variance(SPACE.column["rate"], kernel, theta)
    assert found == pytest.approx(expected, rel=1e-5)


def test_shares_know_what_a_parameter_does_beyond_its_graph():
    space = Space((Ordinal("o", range(5)), Categorical("a", range(3)), Categorical("b", range(3))))
    builder, kernel_fit = kernel_fit_of(space, Model())
    moved = kernel_fit.hyperparameters.theta.copy()
    moved[kernel_fit.kernel.names.index("o")] += 4.0
    more = KernelFit(kernel_fit.kernel, Hyperparameters(moved, -5.0), "any")
    assert order_shares(builder, more)[2] != pytest.approx(order_shares(builder, kernel_fit)[2])
    before, after = (
        [builder.own_variance(column, c.kernel, c.hyperparameters.theta) for column in range(3)]
        for c in (kernel_fit, more)
    )
    assert after[0] > before[0] + 0.05 and after[1:] == pytest.approx(before[1:], rel=1e-12)


def test_additive_kernels_have_single_effects_only():
    strict = Model(structure=Additive(remainder=False))
    assert order_shares(*kernel_fit_of(CHOICES, strict)) == {1: 1.0}
    shares = order_shares(*kernel_fit_of(CHOICES, Model(structure=Additive())))
    assert list(shares) == [1, 2] and sum(shares.values()) == pytest.approx(1.0)
    assert 0.0 < shares[2] < 0.1  # what does not add up, expected to be little


def test_smooth_products_are_mostly_additive_and_rough_ones_are_not():
    smooth = order_shares(*kernel_fit_of(CHOICES, Model(), np.append(np.full(6, -4.0), 0.0)))
    rough = order_shares(*kernel_fit_of(CHOICES, Model(), np.append(np.full(6, 2.0), 0.0)))
    assert smooth[1] > 0.9 and rough[1] < 0.3


@pytest.mark.parametrize(
    "model",
    [
        Model(structure=PermutationInvariant(["x0", "x3"])),
        Model(structure=Anchors(({"x0": 1},))),
        Model("matern"),
        Model("graph-matern"),
        Model("ssk"),
        Model(structure=RandomDecomposition()),
    ],
    ids=["group", "anchors", "matern", "graph-matern", "ssk", "decomposition"],
)
def test_other_kernels_do_not_split_into_orders(model):
    assert order_shares(*kernel_fit_of(CHOICES, model)) is None
