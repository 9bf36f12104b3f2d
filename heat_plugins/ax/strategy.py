"""``heat_generation_strategy``: how Ax asks for arms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from ax.adapter.registry import GeneratorRegistryBase, GeneratorSetup
from ax.adapter.transforms.derelativize import Derelativize
from ax.adapter.transforms.logit import Logit
from ax.adapter.transforms.remove_fixed import RemoveFixed
from ax.core.trial_status import TrialStatus
from ax.exceptions.core import UserInputError
from ax.generation_strategy.generation_strategy import GenerationStrategy
from ax.generation_strategy.generator_spec import GeneratorSpec
from ax.generation_strategy.transition_criterion import (
    MaxGenerationParallelism,
    MinTrials,
    PausingCriterion,
)

from heat_plugins.ax.adapter import HeatAdapter, HeatStartAdapter
from heat_plugins.ax.codes import HeatCodes
from heat_plugins.ax.fixed import HeatFixed
from heat_plugins.ax.generator import HeatGenerator, HeatStartGenerator
from heat_plugins.ax.node import HeatNode
from heat_plugins.spec.model import Mixing, Model, NumericChoices, Scale, Structures
from heat_plugins.spec.registry import KernelFunction

__all__ = ["HeatGenerators", "heat_generation_strategy"]


# Ax asks a model for cross-validation right away, which takes two arms with data.
TRIALS_BEFORE_MODEL = 2


class HeatGenerators(GeneratorRegistryBase):
    """What Ax can make from names: stored experiments refer to these, so they never change."""

    START = "HeatStart"
    HEAT = "Heat"

    @property
    def GENERATOR_KEY_TO_GENERATOR_SETUP(self) -> dict[str, GeneratorSetup]:  # noqa: N802
        """How each member is put together."""
        transforms = [HeatFixed, RemoveFixed, Logit, HeatCodes, Derelativize]
        return {
            "HeatStart": GeneratorSetup(HeatStartAdapter, HeatStartGenerator, transforms),
            "Heat": GeneratorSetup(HeatAdapter, HeatGenerator, transforms),
        }


def heat_generation_strategy(
    *,
    name: str = "Heat",
    seed: int | None = None,
    n_startup_trials: int | None = None,
    deterministic_objective: bool = False,
    max_parallelism: int | None = None,
    consider_failed_trials: bool = True,
    trust_region: bool = True,
    kernel: str | KernelFunction = "heat",
    structure: Structures = None,
    ard: bool | None = None,
    graphs: Mapping[str, Any] | None = None,
    order: Mapping[str, Sequence[Any]] | None = None,
    quantitative: Mapping[str, Scale] | Sequence[str] = (),
    mixing: Mixing = "product",
    numeric_choices: NumericChoices = "auto",
) -> GenerationStrategy:
    """Return a generation strategy that optimises with heat kernels.

    The first arms are random and all different; as soon as enough have data, a Gaussian
    process with a heat kernel chooses the next ones. Arms added by hand count like any others.
    No arm is proposed twice while there are others. Where all have been tried, those of a
    noisy objective are repeated.

    There are two nodes, which choose arms in the same way: ``HeatStart`` until two trials have
    data, then ``Heat``, with a model that Ax can ask for predictions.

    Example:
        .. code-block:: python

            client.set_generation_strategy(heat_generation_strategy(seed=0))

    Args:
        name: Name of the strategy.
        seed: Seed for everything random: the same one gives the same arms, in any process and
            after loading a stored experiment (numbers up to the digits of values that Ax
            stores). None draws one, which is stored with the rest.
        n_startup_trials: Number of arms before the model is used, failed ones included. None for
            as many as there are parameters, from 5 to 10.
        deterministic_objective: Whether the same arm always has the same values. The model
            then fits them closely. (A standard error of 0 says so for a single value.)
        max_parallelism: How many trials may run at the same time; None for any number.
        consider_failed_trials: Whether failed and abandoned trials say where trials fail: what
            they depend on is learnt, and avoided.
        trust_region: Whether to search around the best arm, at a distance that adapts to
            successes and failures, rather than everywhere.
        kernel: Name of the kernel, see ``docs/kernels.md``; a function of the distance sqrt(h)
            must have been given to ``heat_plugins.register_kernel``.
        structure: What is known about the objective: ``PermutationInvariant``, ``Additive``,
            ``InteractionOrders``, ``RandomDecomposition``, ``Anchors``, several of them, or
            ``"auto"``, which chooses between product, sum and interactions. Where nothing is
            said, effects multiply, unless most parameters are numbers and the evidence is
            clearly for a sum; ``"product"`` rules that out.
        ard: Whether each parameter has a rate of its own; None for yes where the kernel can.
        graphs: Which choices are next to each other, by parameter name: ``"path"``,
            ``"cycle"``, an adjacency matrix or a networkx graph.
        order: Choices in their order, by parameter name.
        quantitative: Names of choice parameters whose values are numbers with meaningful
            distances, perhaps with the scale ``"linear"`` or ``"log"``. Ordered choices that
            are numbers are taken as such anyway.
        mixing: How range parameters combine with choices: ``"product"``, ``"sum"`` or
            ``"mixture"``.
        numeric_choices: What to make of choices that are all numbers, of which nothing else is
            said. ``"auto"``: the evidence decides whether their distances mean something, on a
            linear or a logarithmic scale; 0, 1, 2, ... are taken for mere labels.
            ``"unordered"``: all of them are.
    """
    if seed is None:
        seed = int(np.random.SeedSequence().generate_state(1)[0])
    _check_whole("seed", seed, 0)
    if n_startup_trials is not None:
        _check_whole("n_startup_trials", n_startup_trials, 0)
    _check_flag("deterministic_objective", deterministic_objective)
    _check_flag("consider_failed_trials", consider_failed_trials)
    _check_flag("trust_region", trust_region)
    if max_parallelism is not None:
        _check_whole("max_parallelism", max_parallelism, 1)
    try:
        model = Model(
            kernel=kernel,
            ard=ard,
            structure=structure,
            graphs=graphs or {},
            order=order or {},
            quantitative=quantitative,
            mixing=mixing,
            numeric_choices=numeric_choices,
        ).to_json()
    except (TypeError, ValueError) as error:
        raise UserInputError(str(error)) from error
    settings = {
        "seed": int(seed),
        "n_startup_trials": None if n_startup_trials is None else int(n_startup_trials),
        "deterministic_objective": bool(deterministic_objective),
        "trust_region": bool(trust_region),
        "consider_failed_trials": bool(consider_failed_trials),
        "model": model,
    }
    ready = MinTrials(
        threshold=TRIALS_BEFORE_MODEL,
        transition_to=HeatGenerators.HEAT.value,
        use_all_trials_in_exp=True,
        count_only_trials_with_data=True,
    )
    nodes = [
        HeatNode(
            name=generator.value,
            generator_specs=[GeneratorSpec(generator, generator_kwargs=dict(settings))],
            transition_criteria=[ready] if generator is HeatGenerators.START else [],
            pausing_criteria=_pauses(max_parallelism),
            should_deduplicate=False,  # the core repeats nothing by accident
        )
        for generator in (HeatGenerators.START, HeatGenerators.HEAT)
    ]
    return GenerationStrategy(name=name, nodes=nodes)


def _pauses(max_parallelism: int | None) -> list[PausingCriterion]:
    """Return what makes Ax wait for running trials."""
    if max_parallelism is None:
        return []
    running = MaxGenerationParallelism(
        threshold=int(max_parallelism),
        only_in_statuses=[TrialStatus.RUNNING],
        use_all_trials_in_exp=True,
    )
    return [running]


def _check_whole(name: str, value: Any, least: int) -> None:
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_whole or value < least:
        raise UserInputError(f"`{name}` must be a whole number >= {least}, got {value!r}.")


def _check_flag(name: str, value: Any) -> None:
    if not isinstance(value, (bool, np.bool_)):
        raise UserInputError(f"`{name}` must be True or False, got {value!r}.")
