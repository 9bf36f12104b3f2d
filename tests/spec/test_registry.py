"""One registry: a kernel is added in one place, and works everywhere."""

from pathlib import Path

import numpy as np
import optuna
import pytest

from heat_plugins import HeatSampler, register_kernel
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.kernels.function import FunctionKernel
from heat_plugins.space import Categorical, Float, Space
from heat_plugins.spec import registry
from heat_plugins.spec.model import Model
from heat_plugins.spec.registry import KernelEntry, built_in_kernels
from heat_plugins.spec.structures import Additive

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def toy(monkeypatch):
    monkeypatch.setattr(registry, "_REGISTERED", {})

    def overlap(theta, x, y):
        return np.exp(-np.exp(theta[0]) * (x[:, None] != y[None]).mean(axis=-1))

    def factory(space, columns):
        return FunctionKernel(columns, overlap, bounds=[(-3.0, 3.0)])

    register_kernel(KernelEntry("toy", "the share of variables that differ", factory=factory))
    return "toy"


def test_a_toy_kernel_works_in_the_sampler(toy):
    study = optuna.create_study(sampler=HeatSampler(seed=0, kernel=toy, n_startup_trials=5))
    study.optimize(
        lambda trial: (
            sum(trial.suggest_categorical(f"x{i}", "abc") != "b" for i in range(5))
            + trial.suggest_float("u", 0.0, 1.0)
        ),
        n_trials=25,
    )
    assert study.best_value < 0.3
    assert len({tuple(trial.params.values()) for trial in study.trials}) == 25


def test_a_toy_kernel_is_learnt(toy):
    space = Space((*(Categorical(f"x{i}", range(3)) for i in range(4)), Float("u", 0, 1)))
    kernel = KernelBuilder(space, Model(toy)).kernel()
    points = space.sample(8, np.random.default_rng(0))
    theta, prepared = kernel.start(1.0) + 0.2, kernel.prepare(points)
    matrix, pullback = kernel.matrix_and_pullback(theta, prepared)
    np.testing.assert_allclose(np.diagonal(matrix), 1.0)
    np.testing.assert_allclose(
        kernel.cross_covariance(theta, points[:3])(points), matrix[:, :3], atol=1e-14
    )
    direction = np.random.default_rng(1).standard_normal(len(theta))
    by_kernel = np.ones((8, 8))
    step = 1e-6 * direction
    rise = kernel.matrix(theta + step, prepared) - kernel.matrix(theta - step, prepared)
    assert pullback(by_kernel) @ direction == pytest.approx(np.sum(rise) / 2e-6, rel=1e-5)


def test_a_toy_kernel_works_in_gpytorch(toy):
    torch = pytest.importorskip("torch")
    from heat_plugins.torch import CombinatorialKernel

    kernel = CombinatorialKernel([3, 3, 4], toy)
    kernel(torch.tensor([[0.0, 1.0, 2.0], [0.0, 2.0, 3.0]])).to_dense().sum().backward()
    assert kernel.raw_theta.grad[0] < 0.0  # a larger rate makes points less alike


def test_a_toy_kernel_keeps_to_its_entry(toy):
    with pytest.raises(ValueError, match="kernel 'toy' takes no structure"):
        Model(toy, structure=Additive())
    with pytest.raises(ValueError, match="kernel 'toy' has one rate for all"):
        Model(toy, ard=True)
    assert Model.from_json(Model(toy).to_json()) == Model(toy)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (KernelEntry("heat", "another"), "must be none of the built-in"),
        (KernelEntry("", "nameless"), "must be a string that is not empty"),
        (KernelEntry("toy", "another", factory=lambda space, columns: None), "must be new"),
    ],
)
def test_what_cannot_be_registered(toy, entry, message):
    with pytest.raises(ValueError, match=message):
        register_kernel(entry)


def test_the_documents_say_what_the_entries_say():
    text = (DOCS / "kernels.md").read_text()
    for name, entry in built_in_kernels().items():
        assert f'| `"{name}"` | {entry.summary} |' in text
