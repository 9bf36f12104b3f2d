"""One matrix product of features is the exponent of the mixed kernel."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heat_plugins.kernels.features import Columns, FeatureMap, squared_distances
from heat_plugins.kernels.formulas import mixed_kernel
from heat_plugins.space import Categorical, Float, Integer, Ordinal, Space

CHECKED = settings(deadline=None, max_examples=80)


@st.composite
def spaces(draw):
    kinds = draw(st.lists(st.sampled_from(["cat", "ord", "int", "float"]), min_size=1, max_size=6))
    parameters = []
    for i, kind in enumerate(kinds):
        if kind == "float":
            parameters.append(Float(f"p{i}", -2.0, draw(st.sampled_from([-2.0, 3.0]))))
        elif kind == "int":
            parameters.append(
                Integer(f"p{i}", 1, draw(st.integers(1, 9)), log=draw(st.booleans()))
            )
        else:
            choices = range(draw(st.integers(1, 5)))
            parameters.append((Categorical if kind == "cat" else Ordinal)(f"p{i}", choices))
    return Space(tuple(parameters))


def as_kernel_columns(space, points):
    """Write ordered choices as numbers in [0, 1], which is how they are compared."""
    columns = points.copy()
    for i, parameter in enumerate(space.parameters):
        if isinstance(parameter, Ordinal):
            columns[:, i] /= max(parameter.n_levels - 1, 1)
    return columns


def columns_of(space):
    """The one part that the features of a space have by default."""
    (part,) = FeatureMap.of(space).parts
    assert isinstance(part, Columns)
    return part


@given(spaces(), st.integers(0, 2**32), st.sampled_from([1e-3, 1.0, 30.0]))
@CHECKED
def test_exponential_of_distances_is_the_mixed_kernel(space, seed, scale):
    rng = np.random.default_rng(seed)
    left, right = space.sample(7, rng), space.sample(9, rng)
    weights = scale * rng.random(len(space))
    feature_map = FeatureMap.of(space)
    distances = squared_distances(
        feature_map.weighted(feature_map(left), weights),
        feature_map.weighted(feature_map(right), weights),
    )
    expected = mixed_kernel(
        as_kernel_columns(space, left),
        as_kernel_columns(space, right),
        weights,
        space.is_categorical,
    )
    np.testing.assert_allclose(np.exp(-distances), expected, rtol=0.0, atol=1e-12)


@given(spaces(), st.integers(0, 2**32))
@CHECKED
def test_distances_of_parameters_add_up(space, seed):
    rng = np.random.default_rng(seed)
    left, right = space.sample(2, rng)
    feature_map = FeatureMap.of(space)
    features = feature_map(np.stack([left, right]))
    assert features.shape == (2, len(feature_map.owner))
    assert feature_map.n_weights == len(space)
    by_parameter = feature_map.sum_by_weight((features[0] - features[1]) ** 2)
    expected = np.array(
        [
            float(left[i] != right[i])
            if space.is_categorical[i]
            else float(np.diff(as_kernel_columns(space, np.stack([left, right]))[:, i])[0] ** 2)
            for i in range(len(space))
        ]
    )
    np.testing.assert_allclose(by_parameter, expected, atol=1e-14)
    # each parameter by itself is what the single-column form gives
    columns = np.arange(len(space))
    single = columns_of(space).distances(left[columns][:, None], right[columns], columns)
    np.testing.assert_allclose(single[:, 0], expected, atol=1e-14)


@given(spaces(), st.integers(0, 2**32))
@CHECKED
def test_column_distances_of_many_points(space, seed):
    rng = np.random.default_rng(seed)
    observed = space.sample(6, rng)
    columns = rng.integers(len(space), size=10)
    coordinates = space.sample(10, rng)[np.arange(10), columns]
    feature_map = FeatureMap.of(space)
    arguments = observed.T[columns], coordinates, columns
    before = [argument.copy() for argument in arguments]
    result = columns_of(space).distances(*arguments)
    for argument, copy in zip(arguments, before, strict=True):
        np.testing.assert_array_equal(argument, copy)
    for row, (column, coordinate) in enumerate(zip(columns, coordinates, strict=True)):
        changed = observed.copy()
        changed[:, column] = coordinate
        difference = feature_map(observed) - feature_map(changed)
        expected = (difference[:, feature_map.owner == column] ** 2).sum(axis=1)
        np.testing.assert_allclose(result[row], expected, atol=1e-14)


def test_distances_are_never_negative_and_zero_for_equal_points():
    rows = np.random.default_rng(0).normal(1e3, 1e-3, size=(30, 12))
    distances = squared_distances(rows, rows)
    assert np.all(distances >= 0.0)
    codes = FeatureMap.of(Space((Categorical("a", range(5)), Categorical("b", range(2)))))(
        np.array([[0.0, 1.0], [4.0, 0.0]])
    )
    np.testing.assert_allclose(squared_distances(codes, codes), [[0, 2], [2, 0]], atol=1e-15)


def test_feature_columns_belong_to_their_parameters():
    space = Space(
        (
            Categorical("a", range(4)),
            Float("x", 0, 1),
            Categorical("b", range(2)),
            Ordinal("o", "xyz"),
        )
    )
    feature_map = FeatureMap.of(space)
    assert feature_map.owner.tolist() == [0, 0, 0, 0, 1, 2, 3]
    assert columns_of(space).first_feature.tolist() == [0, 4, 5, 6]
    assert columns_of(space).is_one_hot.tolist() == [True, False, False, False]
    assert feature_map.names == ("a", "x", "b", "o")
    # only the weight of the number is expected to be larger
    assert (feature_map.log_scales > 0.0).tolist() == [False, True, False, False]
    np.testing.assert_array_equal(
        feature_map.sum_by_weight(np.arange(7.0)), [0 + 1 + 2 + 3, 4, 5, 6]
    )
    # a derivative in a number is one in its feature
    moved = feature_map(np.array([[0.0, 0.3, 0.0, 0.0], [0.0, 0.5, 0.0, 0.0]]))
    np.testing.assert_allclose(np.diff(moved, axis=0)[0], [0, 0, 0, 0, 0.2, 0, 0], atol=1e-15)


@pytest.mark.parametrize("n", [0, 1])
def test_few_points_will_do(n):
    space = Space((Categorical("a", range(4)), Float("x", 0, 1)))
    points = space.sample(n, np.random.default_rng(0))
    feature_map = FeatureMap.of(space)
    assert feature_map(points).shape == (n, 5)
    assert squared_distances(feature_map(points), feature_map(points)).shape == (n, n)


def test_remainders_are_unordered_and_expected_to_be_small():
    """Choices that have a graph elsewhere differ here in any way, but not by much."""
    space = Space((Ordinal("o", "xyz"), Categorical("a", range(4)), Ordinal("p", "xyz")))
    part = Columns(space, np.arange(3), remainders=np.array([0]))
    assert part.is_one_hot.tolist() == [True, True, False]
    assert part.log_scales[0] < 0.0 and part.log_scales[1:].tolist() == [0.0, 0.0]
    features = part(np.array([[0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [2.0, 1.0, 0.0]]))
    distances = squared_distances(features, features)
    np.testing.assert_allclose(distances, 1.0 - np.eye(3), atol=1e-15)


def test_quantities_stand_at_their_places():
    space = Space((Categorical("q", (1, 10, 100)), Categorical("a", range(4)), Float("f", 0, 1)))
    places = np.array([0.0, 0.5, 1.0])
    part = Columns(space, np.arange(3), {0: places})
    points = np.array([[0.0, 2.0, 0.3], [1.0, 2.0, 0.3], [2.0, 2.0, 0.3]])
    before = points.copy()
    features = part(points)
    np.testing.assert_array_equal(points, before)
    expected = (places[:, None] - places[None, :]) ** 2
    np.testing.assert_allclose(squared_distances(features, features), expected, atol=1e-15)
    assert part.log_scales[0] == part.log_scales[2] > 0.0
    coordinates = part.placed_coordinates(np.array([0, 1, 0]), np.array([2.0, 3.0, 1.0]))
    np.testing.assert_array_equal(coordinates, [1.0, 3.0, 0.5])


# ------------------------------------------------------------------------- remembered
def test_the_features_of_the_same_points_are_found_once():
    space = Space((Categorical("c", range(3)), Float("x", 0, 1)))
    feature_map = FeatureMap.of(space)
    points = space.sample(5, np.random.default_rng(0))
    first = feature_map(points)
    assert feature_map(points.copy()) is first
    changed = points.copy()
    changed[2, 1] = 0.5
    np.testing.assert_array_equal(feature_map(changed), FeatureMap.of(space)(changed))
    np.testing.assert_array_equal(feature_map(points), first)
    nothing = FeatureMap([])
    assert nothing(points[:0]).shape == (0, 0)
    assert nothing(points[:, :0]).shape == (5, 0)
    assert nothing(points[:2, :0]).shape == (2, 0)
