"""From names and words to kernels, and what is refused on the way."""

import math

import numpy as np
import pytest

from heat_plugins.kernels.additive import OrdersKernel
from heat_plugins.kernels.base import STARTING_TOTALS
from heat_plugins.kernels.baselines.decomposition import DecompositionKernel
from heat_plugins.kernels.baselines.spectral import SpectralKernel
from heat_plugins.kernels.baselines.string import StringKernel
from heat_plugins.kernels.build import LARGEST_GROUP, KernelBuilder
from heat_plugins.kernels.composite import Combined
from heat_plugins.kernels.distance import DistanceKernel
from heat_plugins.kernels.features import FeatureMap
from heat_plugins.kernels.group_average import (
    MOST_PARAMETERS,
    GivenPermutations,
    GroupAverageKernel,
)
from heat_plugins.kernels.profiles import Matern52
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
        *(Categorical(f"x{i}", range(4)) for i in range(4)),
        Categorical("c", ("s", "m", "l")),
        Categorical("q", (1, 10, 100)),
        Ordinal("o", "abcde"),
        Float("f", 0, 1),
        Integer("i", 0, 5),
    )
)
NAMES = ["x0", "x1", "x2", "x3"]


def build(space=SPACE, **model):
    model = Model(**model)
    return KernelBuilder(space, model).kernel(model.combination)


# ---------------------------------------------------------------------------- errors
REFUSED = {
    "graph of wrong size": (
        {"graphs": {"c": np.ones((4, 4)) - np.eye(4)}},
        r"graph of 'c' must have 3 vertices.* shape \(4, 4\)",
    ),
    "order misses a choice": (
        {"order": {"c": ["s", "m"]}},
        r"order of 'c' must hold each of \('s', 'm', 'l'\) once, got \('s', 'm'\)",
    ),
    "order repeats a choice": (
        {"order": {"c": ["s", "m", "m", "l"]}},
        r"order of 'c' must have each choice once, got 'm' twice",
    ),
    "order has something else": (
        {"order": {"c": ["s", "m", "xl"]}},
        r"order of 'c' must hold each of .* once, got .*'xl'",
    ),
    "quantities that are no numbers": (
        {"quantitative": ["c"]},
        r"quantitative parameter 'c' must be numbers, got \('s', 'm', 'l'\)",
    ),
    "logarithm of zero": (
        {"quantitative": {"x0": "log"}},
        r"quantitative parameter 'x0' must be positive numbers, got \(0, 1, 2, 3\)",
    ),
    "graph of a number": (
        {"graphs": {"f": "path"}},
        r"parameter 'f' must have listed choices .* got Float",
    ),
    "order of a number": ({"order": {"i": [0, 1]}}, r"parameter 'i' must have listed choices"),
    "quantitative number": ({"quantitative": ["f"]}, r"parameter 'f' must have listed choices"),
    "unequal choices in a group": (
        {"structure": PermutationInvariant(["x0", "c"])},
        r"'x0' has \[0, 1, 2, 3\], 'c' has \['s', 'm', 'l'\]",
    ),
    "unequal ranges in a group": (
        {"structure": PermutationInvariant(["f", "i"], "sort")},
        r"same choices or range: 'f' has \('Float', 0, 1.*'i' has \('Integer', 0, 5",
    ),
    "unequal choices in an orbit": (
        {"structure": PermutationInvariant(["x0", "c", "x1"], "sum", permutations=[[1, 0, 2]])},
        r"'x0' has .*'c' has",
    ),
    "padded sort of numbers": (
        {"structure": PermutationInvariant(["i", "j"])},
        r"method 'padded-sort' needs unordered choices.*\['i', 'j'\].*use the method 'sort'",
    ),
    "sum over graphs": (
        {"structure": PermutationInvariant(NAMES, "sum"), "graphs": dict.fromkeys(NAMES, "path")},
        r"interchangeable parameters must have neither graphs nor orders, "
        r"\['x0', 'x1', 'x2', 'x3'\] have",
    ),
    "sort over a graph": (
        {"structure": PermutationInvariant(NAMES, "sort"), "graphs": {"x2": "cycle"}},
        r"must have neither graphs nor orders, \['x2'\] have",
    ),
    "order of one of a group": (
        {"structure": PermutationInvariant(NAMES), "order": {"x1": [3, 2, 1, 0]}},
        r"must have neither graphs nor orders, \['x1'\] have",
    ),
    "padded sort of quantities": (
        {"structure": PermutationInvariant(NAMES), "quantitative": NAMES},
        r"method 'padded-sort' needs unordered choices.*use the method 'sort'",
    ),
    "sum of ordinals": (
        {"structure": PermutationInvariant(["o", "p"], "sum")},
        r"method 'sum' needs unordered choices.*\['o', 'p'\].*use the method 'sort'",
    ),
    "anchor at a number": (
        {"structure": Anchors(({"f": 0.5},))},
        r"points of Anchors must name parameters with listed choices, 'f' is Float",
    ),
    "anchor at no choice": (
        {"structure": Anchors(({"c": "xl"},))},
        r"points of Anchors .* value of 'c' must be one of .*, got 'xl'",
    ),
}


@pytest.mark.parametrize(("model", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_is_refused_by_name(model, message):
    space = Space((*SPACE.parameters, Integer("j", 0, 5), Ordinal("p", "abcde")))
    with pytest.raises(ValueError, match=message):
        build(space, **model)


def test_very_large_group_shapes_the_kernel_alone():
    names = [f"x{i}" for i in range(9)]
    space = Space(tuple(Categorical(name, range(3)) for name in names))
    rotation, swap = [*range(1, 9), 0], [1, 0, *range(2, 9)]
    structure = PermutationInvariant(names, "sum", permutations=[rotation, swap])
    assert math.factorial(9) > LARGEST_GROUP
    builder = KernelBuilder(space, Model(structure=structure))
    assert builder.symmetry() is None
    kernel = builder.kernel()
    points = space.sample(6, np.random.default_rng(0))
    matrix = kernel.matrix(kernel.start(2.0), kernel.prepare(points))
    assert np.linalg.eigvalsh(matrix).min() > -1e-10
    np.testing.assert_allclose(np.diagonal(matrix), 1.0)


def test_sum_over_all_permutations_of_very_many_parameters_is_refused():
    names = [f"x{i}" for i in range(MOST_PARAMETERS + 1)]
    space = Space(tuple(Categorical(name, range(3)) for name in names))
    with pytest.raises(ValueError, match=f"at most {MOST_PARAMETERS} parameters, got 151; use"):
        build(space, structure=PermutationInvariant(names, "sum"))
    # of one less everything is finite, even for a point that all permutations leave alone
    kernel = build(space, structure=PermutationInvariant(names[1:], "sum"))
    points = space.sample(5, np.random.default_rng(4))
    points[0] = 1.0
    for total in STARTING_TOTALS:
        matrix, pullback = kernel.matrix_and_pullback(kernel.start(total), kernel.prepare(points))
        assert np.all((matrix >= 0.0) & (matrix <= 1.0 + 1e-12))
        assert np.all(np.isfinite(pullback(np.ones((5, 5)))))
    assert build(space, structure=PermutationInvariant(names)).n_hyperparameters > 0


def test_members_of_no_common_orbit_need_not_be_alike():
    structure = PermutationInvariant(["x0", "x1", "c"], "product", permutations=[[1, 0, 2]])
    assert build(structure=structure).n_hyperparameters > 0


def test_names_that_are_not_in_the_space_are_ignored():
    space = Space(SPACE.parameters[:3])
    plain = build(space)
    other = build(
        space,
        graphs={"nowhere": "path"},
        order={"missing": [1, 2]},
        quantitative=["absent"],
        structure=[PermutationInvariant(["gone", "x0"]), Anchors(({"away": 1},))],
    )
    assert other.names == plain.names
    assert (
        KernelBuilder(space, Model(structure=PermutationInvariant(["gone", "x0"]))).symmetry()
        is None
    )
    points = space.sample(9, np.random.default_rng(0))
    theta = plain.start(2.0)
    np.testing.assert_array_equal(
        other.matrix(theta, other.prepare(points)), plain.matrix(theta, plain.prepare(points))
    )


# ---------------------------------------------------------------------- which kernel
def test_default_is_one_distance_of_choices_and_one_of_numbers():
    kernel = build()
    assert isinstance(kernel, Combined) and kernel.how == "product"
    choices, numbers = kernel.children
    assert [graph.name for graph in choices.graphs] == ["o"]
    assert set(choices.names) == set(SPACE.names) - {"f", "i"}
    assert numbers.names == ("f", "i") and isinstance(numbers.profile, Matern52)
    kernel = build(kernel="combo")
    assert kernel.children[0].names == (*NAMES, "c", "q", "o")
    assert kernel.n_hyperparameters == len(SPACE) + 2


# ------------------------------------------------------------ choices that are numbers
def places(*choices):
    """Return the places of numbers among choices, in the order of the choices."""
    space = Space((Categorical("q", choices),))
    kernel = build(space, numeric_choices="auto")
    _, part = kernel.feature_map.parts
    return (part(np.arange(len(choices), dtype=float)[:, None])[:, 0] + 0.5).tolist()


def has_places(*choices, **model):
    kernel = build(Space((Categorical("q", choices),)), **{"numeric_choices": "auto", **model})
    return len(kernel.feature_map.parts) == 2


def test_numbers_among_choices_have_places_where_they_are_spread_evenly():
    assert places(0, 1, 2, 4) == pytest.approx([0.0, 0.25, 0.5, 1.0])
    assert places(10, 20, 30, 40) == pytest.approx([0.0, 1 / 3, 2 / 3, 1.0])
    assert places(16, 64, 32) == pytest.approx([0.0, 1.0, 0.5])
    assert places(0.0, 0.3, 0.6) == pytest.approx([0.0, 0.5, 1.0])
    assert places(1e-4, 1e-3, 1e-2, 1e-1) == pytest.approx([0.0, 1 / 3, 2 / 3, 1.0])
    assert places(-1.7e308, 0, 1.7e308) == pytest.approx([0.0, 0.5, 1.0])


def test_other_choices_have_no_places():
    assert has_places(1, 2, 3)
    for choices in (
        ("1", "2", "3"),
        (1, 2, "3"),
        (1, 2, None),
        (True, 2, 3),
        (1, 2),
        (1, 2, math.inf),
        (1, 2, math.nan),
        (1, 2, 10**400),
        (1, 1.0, 2),
        (0, 1, 2, 3),
        (2.0, 0.0, 1.0),
    ):
        assert not has_places(*choices), choices
    assert not has_places(1, 2, 3, numeric_choices="unordered")
    assert not has_places(1, 2, 3, graphs={"q": "complete"})
    assert not has_places(1, 2, 3, kernel="combo")
    assert not has_places(1, 2, 3, ard=False)


def test_the_distance_of_numbers_among_choices_is_that_they_differ_and_how_much():
    space = Space((Categorical("q", (1, 10, 100)), Categorical("c", "ab")))
    kernel = build(space, numeric_choices="auto")
    assert kernel.names == ("q", "c", "q as a number")
    theta = np.log([0.5, 0.3, 0.8, 1.0])
    points = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 1.0]])
    distances = -np.log(kernel.matrix(theta, kernel.prepare(points)))
    expected = [[0.0, 0.5 + 0.2, 1.6], [0.7, 0.0, 1.0], [1.6, 1.0, 0.0]]
    np.testing.assert_allclose(distances, expected, atol=1e-12)
    # two different choices drawn at random count as much as two that are unordered
    assert kernel.log_scales[2] == pytest.approx(np.log(1 / np.mean([0.25, 0.25, 1.0])))


def test_numbers_among_optional_choices_lie_in_the_middle_of_what_does_not_exist():
    space = Space((Categorical("q", (1, 2, 3)), Categorical("c", "abc")))
    part = build(space, numeric_choices="auto").feature_map.parts[1]
    np.testing.assert_allclose(part(np.array([[np.nan, 0.0], [1.0, 0.0]])), 0.0, atol=1e-15)


def test_complete_graphs_need_no_table():
    complete = (np.ones((4, 4)) - np.eye(4)).tolist()
    assert not build(Space(SPACE.parameters[:4]), graphs={"x0": "complete", "x1": complete}).graphs
    two = Space((Ordinal("a", (0, 1)), Categorical("b", (0, 1))))
    assert not build(two, graphs={"b": "path"}).graphs  # one edge is a complete graph


def test_order_is_a_path_and_quantities_have_places():
    kernel = build(order={"c": ["m", "s", "l"]}, quantitative={"q": "log"})
    assert [graph.name for graph in kernel.children[0].graphs] == ["c", "o"]
    column = SPACE.column["q"]
    points = np.zeros((3, len(SPACE)))
    points[:, column] = [0, 1, 2]
    theta = kernel.start(2.0)
    matrix = kernel.matrix(theta, kernel.prepare(points))
    distances = -np.log(matrix)
    assert distances[0, 1] == pytest.approx(distances[1, 2], rel=1e-9)  # 1, 10, 100
    assert distances[0, 2] == pytest.approx(4.0 * distances[0, 1], rel=1e-9)
    linear = build(quantitative=["q"])
    distances = -np.log(linear.matrix(linear.start(2.0), linear.prepare(points)))
    assert distances[0, 1] / distances[0, 2] == pytest.approx((9 / 99) ** 2, rel=1e-6)


def test_distance_on_an_ordered_parameter_follows_the_given_order():
    kernel = build(order={"c": ["m", "s", "l"]})
    points = np.zeros((3, len(SPACE)))
    points[:, SPACE.column["c"]] = [0, 1, 2]  # s, m, l
    matrix = kernel.matrix(kernel.start(2.0), kernel.prepare(points))
    assert matrix[0, 1] == pytest.approx(matrix[0, 2]) and matrix[0, 1] > matrix[1, 2]


def test_kernels_that_look_at_numbers_apart():
    for name, kind in (
        ("matern", DistanceKernel),
        ("ssk", StringKernel),
        ("hed", DistanceKernel),
        ("graph-matern", SpectralKernel),
        ("inverse-polynomial", SpectralKernel),
    ):
        kernel = build(Space((*SPACE.parameters[:5], *SPACE.parameters[-2:])), kernel=name)
        assert isinstance(kernel, Combined) and kernel.how == "product"
        assert isinstance(kernel.children[0], kind)
        choices = build(Space(SPACE.parameters[:5]), kernel=name)
        assert isinstance(choices, kind)
    assert isinstance(build(Space(SPACE.parameters[:5]), kernel="matern").profile, Matern52)


@pytest.mark.parametrize("name", ["matern", "ssk", "hed", "graph-matern"])
def test_numbers_alone_have_the_default_kernel(name):
    numbers = Space(SPACE.parameters[-2:])
    kernel = build(numbers, kernel=name)
    assert isinstance(kernel, DistanceKernel) and kernel.names == ("f", "i")
    points = numbers.sample(7, np.random.default_rng(1))
    plain = DistanceKernel(FeatureMap.of(numbers), profile=Matern52())
    np.testing.assert_allclose(  # of equal weights, which kernels with one rate have too
        kernel.matrix(kernel.start(2.0), kernel.prepare(points)),
        plain.matrix(plain.start(2.0), plain.prepare(points)),
        rtol=0.0,
        atol=1e-14,
    )


@pytest.mark.parametrize("mixing", ["sum", "mixture"])
def test_mixing_puts_numbers_into_a_kernel_of_their_own(mixing):
    kernel = build(kernel="combo", mixing=mixing)
    assert isinstance(kernel, Combined) and kernel.how == mixing
    assert [child.names for child in kernel.children] == [(*NAMES, "c", "q", "o"), ("f", "i")]
    assert isinstance(build(Space(SPACE.parameters[:4]), mixing=mixing), DistanceKernel)


def test_combinations():
    assert isinstance(build(structure=Additive()), OrdersKernel)
    orders = build(structure=InteractionOrders(3))
    assert isinstance(orders, OrdersKernel) and orders.max_order == 3 and orders.orthogonal
    assert isinstance(build(structure=RandomDecomposition()), DecompositionKernel)
    # whatever the model says, a combination that is asked for is what one gets
    assert isinstance(
        KernelBuilder(SPACE, Model(structure="auto")).kernel(Additive()), OrdersKernel
    )
    assert isinstance(KernelBuilder(SPACE, Model(structure="auto")).kernel(None), Combined)


def test_isotropic_kernels_have_one_hyperparameter_for_choices_and_one_for_numbers():
    for model in (
        {"ard": False},
        {"kernel": "one-hot-rbf"},
        {"kernel": "combo", "ard": False},
        {"kernel": "casmopolitan", "ard": False},
    ):
        assert build(**model).n_hyperparameters == 2
        assert build(Space(SPACE.parameters[:6]), **model).n_hyperparameters == 1


def test_groups_are_base_kernels():
    kernel = build(structure=PermutationInvariant(NAMES)).children[0]
    assert isinstance(kernel, DistanceKernel)
    counted = [name for name in kernel.names if name.startswith("x0/x1/...")]
    assert len(counted) == 4  # one weight for each choice
    summed = build(structure=PermutationInvariant(NAMES, "sum"))
    assert isinstance(summed, Combined) and isinstance(summed.children[1], GroupAverageKernel)
    multiplied = build(structure=PermutationInvariant(NAMES, "product")).children[0]
    assert len([n for n in multiplied.names if n.startswith("x0/x1/...")]) == 1


def test_large_given_groups_are_sampled():
    names = [f"x{i}" for i in range(7)]
    space = Space(tuple(Categorical(name, range(3)) for name in names))
    generators = [[1, 2, 3, 4, 5, 6, 0], [1, 0, 2, 3, 4, 5, 6]]  # 5040 elements
    for n_samples, whole in ((10_000, True), (100, False)):
        structure = PermutationInvariant(
            names, "sum", n_samples=n_samples, permutations=generators
        )
        kernel = build(space, structure=structure)
        assert isinstance(kernel, GroupAverageKernel)
        assert isinstance(kernel.matches, GivenPermutations)
        assert (len(kernel.matches._second) == 5040) == whole


def test_builders_make_the_same_kernel_every_time():
    model = Model(
        structure=PermutationInvariant(
            NAMES, "sum", n_samples=4, permutations=[[1, 2, 3, 0], [1, 0, 2, 3]]
        )
    )
    points = SPACE.sample(8, np.random.default_rng(2))
    matrices = []
    for _ in range(2):
        kernel = KernelBuilder(SPACE, model).kernel()
        matrices.append(kernel.matrix(kernel.start(2.0), kernel.prepare(points)))
    np.testing.assert_array_equal(*matrices)
    hed = [build(kernel="hed") for _ in range(2)]
    np.testing.assert_array_equal(*[k.matrix(k.start(2.0), k.prepare(points)) for k in hed])


@pytest.mark.parametrize(
    "structure",
    [[], [Additive()], [InteractionOrders(2)], [RandomDecomposition()]],
    ids=["product", "additive", "interactions", "decomposition"],
)
def test_interchangeable_numbers_are_sorted(structure):
    space = Space((Float("a", 0, 1), Float("b", 0, 1), Categorical("c", range(3))))
    kernel = build(space, structure=[PermutationInvariant(["a", "b"], "sort"), *structure])
    points = space.sample(9, np.random.default_rng(3))
    cross = kernel.cross_covariance(kernel.start(2.0), points)
    np.testing.assert_allclose(cross(points[:, [1, 0, 2]]), cross(points), atol=1e-13)
    moved = points + np.array([0.2, 0.0, 0.0])
    assert np.abs(cross(moved) - cross(points)).max() > 1e-2


@pytest.mark.parametrize("known", [{"quantitative": ["a", "b"]}, {}], ids=["quantities", "paths"])
def test_interchangeable_choices_with_places_are_sorted(known):
    kind = Categorical if known else Ordinal
    space = Space((kind("a", (1, 2, 9)), kind("b", (1, 2, 9)), Categorical("c", range(3))))
    kernel = build(space, structure=PermutationInvariant(["a", "b"], "sort"), **known)
    points = space.sample(9, np.random.default_rng(3))
    cross = kernel.cross_covariance(kernel.start(2.0), points)
    np.testing.assert_allclose(cross(points[:, [1, 0, 2]]), cross(points), atol=1e-13)


def test_interchangeable_integers_are_sorted():
    space = Space((Integer("a", 0, 9), Integer("b", 0, 9), Categorical("c", range(3))))
    kernel = build(space, structure=PermutationInvariant(["a", "b"], "sort"))
    points = space.sample(9, np.random.default_rng(3))
    cross = kernel.cross_covariance(kernel.start(2.0), points)
    np.testing.assert_allclose(cross(points[:, [1, 0, 2]]), cross(points), atol=1e-13)


def test_single_changes_outside_of_a_kernel_change_nothing_in_it():
    """Graphs alone next to a profile: a kernel that looks at none of the columns that change."""
    space = Space((Categorical("c", "abc"), Float("f", 0, 1), Float("g", 0, 1)))
    kernel = build(space, kernel="matern", graphs={"c": "path"})
    points = space.sample(9, np.random.default_rng(0))
    cross = kernel.cross_covariance(kernel.start(2.0), points)
    columns, coordinates = np.array([1, 2, 1]), np.array([0.1, 0.9, 0.4])
    changed = np.repeat(points[:1], 3, axis=0)
    changed[np.arange(3), columns] = coordinates
    np.testing.assert_allclose(
        cross.of_changes(points[0], columns, coordinates), cross(changed), atol=1e-12
    )


@pytest.mark.parametrize(
    "structure", [None, Additive(), InteractionOrders(2), RandomDecomposition()], ids=repr
)
def test_an_ordinal_parameter_with_a_complete_graph_is_a_categorical_one(structure):
    """Also in its features: codes as places next to a kernel of choices made no kernel."""
    model = Model(structure=structure, graphs={"p": "complete"})
    matrices = []
    for kind in (Ordinal, Categorical):
        space = Space((kind("p", (1, 5, 9)), Float("u", 0, 1), Categorical("c", "xyz")))
        points = space.sample(20, np.random.default_rng(0))
        kernel = KernelBuilder(space, model).kernel(model.combination, 5)
        theta = kernel.start(1.0)
        matrices.append(kernel.matrix(theta, kernel.prepare(points)))
        np.testing.assert_allclose(
            kernel.cross_covariance(theta, points)(points), matrices[-1], atol=1e-12
        )
    np.testing.assert_array_equal(*matrices)
    assert np.linalg.eigvalsh(matrices[0]).min() > -1e-10
