"""Learning the kernel: the cache saves time alone, and the evidence finds the structure."""

import dataclasses
from unittest import mock

import numpy as np
import pytest

from heat_plugins.gp import fit as fit_module
from heat_plugins.gp.exact_gp import DETERMINISTIC_NOISE, Hyperparameters, fit
from heat_plugins.gp.fit import Candidates, FitCache, KernelFit, select_model
from heat_plugins.gp.outcome_data import OutcomeData
from heat_plugins.gp.outcome_transform import standardise
from heat_plugins.kernels.additive import OrdersKernel
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.kernels.distance import DistanceKernel
from heat_plugins.kernels.features import FeatureMap
from heat_plugins.space import Categorical, Float, Space
from heat_plugins.spec.model import Model
from heat_plugins.spec.structures import (
    Additive,
    InteractionOrders,
    PermutationInvariant,
    RandomDecomposition,
)

SPACE = Space(tuple(Categorical(f"x{i}", range(4)) for i in range(6)))
MIXED = Space((*SPACE.parameters[:4], Float("f", 0, 1)))
AUTO = Model(structure="auto")
CANDIDATES = Candidates.of(KernelBuilder(SPACE, AUTO)).combinations


def additive(points, rng):
    tables = rng.standard_normal((6, 4))
    return sum(tables[i, points[:, i].astype(int)] for i in range(6))


def pairs(points, rng):
    tables, codes = rng.standard_normal((6, 6, 4, 4)), points.astype(int)
    return sum(tables[i, j, codes[:, i], codes[:, j]] for i in range(6) for j in range(i))


def product(points, rng):
    """A sample of the process whose kernel is the product, with rates that forget fast."""
    kernel = DistanceKernel(FeatureMap.of(SPACE))
    matrix = kernel.matrix(np.append(np.full(6, np.log(0.9)), 0.0), kernel.prepare(points))
    return np.linalg.cholesky(matrix + 1e-9 * np.eye(len(points))) @ rng.standard_normal(
        len(points)
    )


def learnt(model, points, values, cache=None, space=SPACE, **options):
    max_points = options.pop("max_points", 300)
    data = OutcomeData(points, values, **{"deterministic": True, **options})
    return select_model(KernelBuilder(space, model), data, max_points, cache or FitCache())


# ---------------------------------------------------------------------------- "auto"
@pytest.mark.parametrize("seed", range(3))
def test_effects_that_add_up_are_found(seed):
    rng = np.random.default_rng(seed)
    points = SPACE.sample(96, rng)
    kernel_fit = learnt(AUTO, points, additive(points, rng))
    assert list(kernel_fit.evidence) == list(CANDIDATES) == ["product", "additive", "interactions"]
    assert kernel_fit.name == "additive"
    # Interactions contain sums, so a sum is ahead of them by no more than the prior says.
    others = [value for name, value in kernel_fit.evidence.items() if name != "additive"]
    assert kernel_fit.evidence["additive"] > max(others) + 1.0


@pytest.mark.parametrize("seed", range(3))
def test_pairs_have_more_evidence_than_sums(seed):
    rng = np.random.default_rng(seed)
    points = SPACE.sample(96, rng)
    evidence = learnt(AUTO, points, pairs(points, rng)).evidence
    assert evidence["interactions"] > evidence["additive"] + 1.0
    assert evidence["interactions"] > evidence["product"] + 1.0


def test_an_additive_function_is_no_product():
    rng = np.random.default_rng(0)
    points = SPACE.sample(96, rng)
    evidence = learnt(AUTO, points, additive(points, rng)).evidence
    assert evidence["product"] < min(evidence["additive"], evidence["interactions"]) - 50.0


@pytest.mark.parametrize("seed", range(3))
def test_the_remainder_can_become_the_product(seed):
    """On samples of the product process a sum with a remainder is as likely as the product."""
    rng = np.random.default_rng(seed)
    points = SPACE.sample(96, rng)
    evidence = learnt(AUTO, points, product(points, rng)).evidence
    assert evidence["additive"] > evidence["product"] - 2.0


def test_evidence_is_the_log_density_of_each_candidate():
    rng = np.random.default_rng(0)
    points = SPACE.sample(32, rng)
    values = additive(points, rng)
    kernel_fit = learnt(AUTO, points, values)
    for name, combination in CANDIDATES.items():
        kernel = KernelBuilder(SPACE, AUTO).kernel(combination)
        alone = fit(kernel, points, standardise(values), deterministic=True)
        assert kernel_fit.evidence[name] == pytest.approx(-alone.negative_log_density, rel=1e-9)
    kind = DistanceKernel if kernel_fit.name == "product" else OrdersKernel
    assert isinstance(kernel_fit.kernel, kind)


@pytest.mark.parametrize(
    ("evidence", "wanted"),
    [
        ([0.0, 0.0, 0.0], "additive"),
        ([4.9, 0.0, 0.0], "additive"),
        ([5.1, 0.0, 0.0], "product"),
        ([5.1, 0.0, 6.0], "interactions"),
        ([-3000.0, -3010.0, -3003.0], "product"),
        ([-np.inf, -900.0, -np.inf], "additive"),
        ([-900.0, -np.inf, -np.inf], "product"),
    ],
)
def test_the_sum_is_left_for_clear_evidence_only(evidence, wanted):
    kernel = KernelBuilder(SPACE, Model()).kernel()
    theta = Hyperparameters(kernel.start(1.0), -4.0)
    by_name = dict(zip(CANDIDATES, evidence, strict=True))
    candidates = [KernelFit(kernel, theta, name, by_name, "additive") for name in CANDIDATES]
    assert fit_module._choose(candidates).name == wanted


def test_fits_that_went_wrong_have_no_evidence():
    points = SPACE.sample(9, np.random.default_rng(0))
    wrong = dataclasses.replace(
        fit(
            KernelBuilder(SPACE, AUTO).kernel(),
            points,
            standardise(points.sum(1)),
            deterministic=True,
        ),
        negative_log_density=np.nan,
    )
    with mock.patch.object(fit_module, "fit", return_value=wrong):
        data = OutcomeData(points, points.sum(axis=1), deterministic=True)
        kernel_fit = fit_module._candidates(KernelBuilder(SPACE, AUTO), data, 300)
    assert set(kernel_fit[0].evidence.values()) == {-np.inf}
    assert fit_module._choose(kernel_fit).name in CANDIDATES


def test_without_a_choice_there_is_one_candidate():
    points, cache = SPACE.sample(11, np.random.default_rng(2)), FitCache()
    kernel_fit = learnt(Model(structure=Additive()), points, points.sum(axis=1), cache)
    assert kernel_fit.name == "additive"
    assert not kernel_fit.evidence
    assert len(cache.candidates) == 1


def test_decompositions_have_the_components_of_the_number_of_observations():
    """Also between full searches, when a few steps follow the last one."""
    structure = RandomDecomposition(seed=2)
    model = Model(structure=structure)
    points = SPACE.sample(40, np.random.default_rng(4))
    values, cache, builder = points.sum(axis=1), FitCache(), KernelBuilder(SPACE, model)
    components = []
    for n in (3, 16, 17, 19, 33, 36, 39):
        kernel_fit = select_model(
            builder, OutcomeData(points[:n], values[:n], deterministic=True), 300, cache
        )
        expected = KernelBuilder(SPACE, model).kernel(structure, n).components
        assert kernel_fit.kernel.components == expected
        limited = select_model(
            builder, OutcomeData(points[:n], values[:n], deterministic=True), 8, FitCache()
        )
        assert limited.kernel.components == expected
        components.append(expected)
    assert len(set(components)) > 5


def test_auto_works_with_groups():
    names = ["x0", "x1", "x2"]
    model = Model(structure=[PermutationInvariant(names), "auto"])
    rng = np.random.default_rng(1)
    points = SPACE.sample(24, rng)
    values = (points[:, :3] == 1).sum(axis=1) + points[:, 3]
    kernel_fit = learnt(model, points, values)
    assert set(kernel_fit.evidence) == set(CANDIDATES)


@pytest.mark.parametrize(
    ("structure", "name"),
    [
        (None, "product"),
        (PermutationInvariant(["x0", "x1"]), "product"),
        (Additive(), "additive"),
        (InteractionOrders(2), "interactions"),
        (RandomDecomposition(), "decomposition"),
    ],
)
def test_chosen_structures_have_names_and_no_evidence(structure, name):
    points = SPACE.sample(9, np.random.default_rng(2))
    kernel_fit = learnt(Model(structure=structure), points, points.sum(axis=1))
    assert kernel_fit.name == name and not kernel_fit.evidence


# ------------------------------------------------------------------- mostly numbers
NUMBERS = Space(tuple(Float(f"u{i}", 0, 1) for i in range(4)))


@pytest.mark.parametrize("seed", range(3))
def test_numbers_whose_effects_add_up_are_found_without_a_word(seed):
    points = NUMBERS.sample(64, np.random.default_rng(seed))
    kernel_fit = learnt(Model(), points, np.sin(6.0 * points).sum(axis=1), space=NUMBERS)
    assert kernel_fit.name == "additive" and list(kernel_fit.evidence) == ["product", "additive"]


def test_numbers_are_a_product_as_long_as_a_sum_is_not_clearly_more_likely():
    points = NUMBERS.sample(64, np.random.default_rng(0))
    values = np.prod(np.sin(6.0 * points), axis=1)
    assert learnt(Model(), points, values, space=NUMBERS).name == "product"
    few = NUMBERS.sample(3, np.random.default_rng(0))
    assert learnt(Model(), few, few.sum(axis=1), space=NUMBERS).name == "product"


@pytest.mark.parametrize(
    ("n_choices", "n_numbers", "model", "may_be_sum"),
    [
        (0, 2, Model(), True),
        (2, 2, Model(), True),
        (3, 2, Model(), False),  # mostly choices
        (0, 1, Model(), False),
        (0, 4, Model(structure="product"), False),
        (0, 4, Model(structure=InteractionOrders(2)), False),
        (0, 4, Model(mixing="sum"), False),
        (0, 4, Model(ard=False), False),
        (0, 4, Model(kernel="matern"), False),
        (0, 4, Model(kernel="combo"), False),
    ],
)
def test_what_may_be_a_sum(n_choices, n_numbers, model, may_be_sum):
    space = Space((*SPACE.parameters[:n_choices], *NUMBERS.parameters[:n_numbers]))
    combinations, preferred = Candidates.of(KernelBuilder(space, model))
    assert ("additive" in combinations) == may_be_sum
    assert preferred == ("interactions" if model.combination else "product")


# -------------------------------------------------------------------------- noise or not
def with_noise(deviation, n=99, deterministic=None, model=None):
    """Learn from a sum with noise, of n, n + 1 and n + 2 observations."""
    rng = np.random.default_rng(0)
    points = SPACE.sample(n + 2, rng)
    values = additive(points, rng) + deviation * rng.standard_normal(n + 2)
    model = model or Model(structure=Additive(remainder=False))
    return [
        learnt(model, points[:m], values[:m], deterministic=deterministic) for m in range(n, n + 3)
    ]


def test_values_that_look_exact_are_taken_for_exact():
    for kernel_fit in with_noise(0.0):
        assert kernel_fit.is_noise_free and kernel_fit.noisy_alternative is None
        assert kernel_fit.hyperparameters.noise == pytest.approx(DETERMINISTIC_NOISE)


def test_values_that_are_clearly_noisy_have_noise(monkeypatch):
    monkeypatch.setattr(fit_module, "CLEAR_NOISE", 5.0)
    for kernel_fit in with_noise(1.0):
        assert not kernel_fit.is_noise_free
        assert 0.02 < kernel_fit.hyperparameters.noise < 0.5  # 1 of about 6


def test_little_noise_may_be_something_else(monkeypatch):
    """However likely it is: what a kernel does not fit looks like noise too."""
    monkeypatch.setattr(fit_module, "CLEAR_NOISE", 5.0)
    monkeypatch.setattr(fit_module, "MUCH_NOISE", 10.0)
    assert [kernel_fit.is_noise_free for kernel_fit in with_noise(1.0)] == [True, True, False]


def test_where_nobody_can_tell_the_two_take_turns(monkeypatch):
    monkeypatch.setattr(fit_module, "CLEAR_NOISE", np.inf)
    three = with_noise(1.0)
    assert [kernel_fit.is_noise_free for kernel_fit in three] == [True, True, False]
    assert three[0].hyperparameters.noise == pytest.approx(DETERMINISTIC_NOISE)
    assert three[2].hyperparameters.noise > 1e-3
    monkeypatch.setattr(fit_module, "SOME_NOISE", np.inf)
    assert all(kernel_fit.is_noise_free for kernel_fit in with_noise(1.0))


@pytest.mark.parametrize("deviation", [0.0, 1.0])
def test_what_is_known_about_noise_is_not_asked_again(deviation):
    assert all(
        kernel_fit.is_noise_free for kernel_fit in with_noise(deviation, deterministic=True)
    )
    assert not any(
        kernel_fit.is_noise_free for kernel_fit in with_noise(deviation, deterministic=False)
    )


def test_the_structure_is_chosen_with_and_without_noise():
    for deviation in (0.0, 1.0):
        for kernel_fit in with_noise(deviation, model=AUTO):
            assert kernel_fit.name == "additive"


# --------------------------------------------------------------------------- the cache
MODELS = {
    "heat": Model(),
    "auto": AUTO,
    "decomposition": Model(structure=RandomDecomposition()),
    "ssk": Model("ssk"),
}


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_cache_changes_no_result(model):
    rng = np.random.default_rng(3)
    points = MIXED.sample(40, rng)
    values = points[:, 0] + np.sin(3.0 * points[:, 4])
    cache, builder = FitCache(), KernelBuilder(MIXED, model)
    for n in (1, 2, 7, 8, 9, 15, 16, 17, 18, 33, 36):
        data = OutcomeData(points[:n], values[:n])
        with_cache = select_model(builder, data, 300, cache)
        without = select_model(KernelBuilder(MIXED, model), data, 300, FitCache())
        assert (with_cache.name, with_cache.evidence) == (without.name, without.evidence)
        np.testing.assert_array_equal(
            with_cache.hyperparameters.to_vector(), without.hyperparameters.to_vector()
        )


def test_cache_saves_full_searches():
    points = SPACE.sample(40, np.random.default_rng(4))
    values, cache, builder = points.sum(axis=1), FitCache(), KernelBuilder(SPACE, Model())
    starts = []

    def counted(*args, start=None, **kwargs):
        starts.append(start)
        return fit(*args, start=start, **kwargs)

    with mock.patch.object(fit_module, "fit", counted):
        for n in range(32, 41):
            select_model(
                builder, OutcomeData(points[:n], values[:n], deterministic=True), 300, cache
            )
            select_model(
                builder, OutcomeData(points[:n], values[:n], deterministic=True), 300, cache
            )
    n_full = sum(start is None for start in starts)
    assert n_full == 3  # at 32, 36 and 40 observations
    assert len(starts) - n_full == 2 * 6  # a few steps for each of the others


def test_cache_notices_other_data():
    rng = np.random.default_rng(5)
    points = SPACE.sample(16, rng)
    values, cache = points.sum(axis=1), FitCache()
    first = learnt(Model(), points, values, cache)
    other = learnt(Model(), points, values[::-1].copy(), cache)
    fresh = learnt(Model(), points, values[::-1].copy())
    assert not np.array_equal(first.hyperparameters.theta, other.hyperparameters.theta)
    np.testing.assert_array_equal(other.hyperparameters.theta, fresh.hyperparameters.theta)
    noisy = learnt(Model(), points, values, cache, deterministic=False)
    assert noisy.hyperparameters.log_noise != first.hyperparameters.log_noise


def test_cache_has_one_builder_for_a_space_and_a_model():
    cache = FitCache()
    builder = cache.builder_for(SPACE, Model())
    assert cache.builder_for(SPACE, Model()) is builder
    learnt_key = learnt(Model(), SPACE.sample(9, np.random.default_rng(6)), np.arange(9.0), cache)
    assert learnt_key.name == "product" and cache.key is not None
    other = cache.builder_for(SPACE, Model(ard=False))
    assert other is not builder and cache.key is None
    assert cache.builder_for(MIXED, Model(ard=False)) is not other


def test_of_very_many_observations_the_best_and_the_latest_are_fitted():
    rng = np.random.default_rng(7)
    points = SPACE.sample(64, rng)
    values = points[:, 0] + 0.1 * rng.standard_normal(64)
    with mock.patch.object(fit_module, "fit", wraps=fit) as spy:
        learnt(Model(), points, values, max_points=20)
    ((_, used, of_used), _) = spy.call_args
    best = np.argsort(values, kind="stable")[:10]
    expected = np.union1d(best, np.arange(54, 64))
    np.testing.assert_array_equal(used, points[expected])
    np.testing.assert_allclose(of_used, standardise(values)[expected])


def test_infinite_and_constant_values_are_learnt_from():
    points = SPACE.sample(12, np.random.default_rng(8))
    for values in (np.zeros(12), np.append(np.arange(11.0), np.inf), np.full(12, np.inf)):
        kernel_fit = learnt(AUTO, points, values)
        assert np.all(np.isfinite(list(kernel_fit.evidence.values())))
        assert dataclasses.is_dataclass(kernel_fit)
