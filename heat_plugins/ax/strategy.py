"""``heat_generation_strategy``: how Ax asks for arms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
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

from heat_plugins.acquisition.builder import AcquisitionName
from heat_plugins.ax.adapter import HeatAdapter, HeatStartAdapter
from heat_plugins.ax.codes import HeatCodes
from heat_plugins.ax.earlier_experiments import Previous, write_previous
from heat_plugins.ax.fixed import HeatFixed
from heat_plugins.ax.generator import HeatGenerator, HeatStartGenerator, check_arguments
from heat_plugins.ax.node import HeatNode
from heat_plugins.search.nested_bins import Embedding
from heat_plugins.search.regions import RegionName
from heat_plugins.search.searches import SearchName
from heat_plugins.spec.checks import check_whole
from heat_plugins.spec.model import Learning, Mixing, NumericChoices, Scale, Structures
from heat_plugins.spec.registry import KernelFunction
from heat_plugins.suggest import Settings

__all__ = ["HeatGenerators", "heat_generation_strategy"]


# Ax asks a model for cross-validation right away, which takes two arms with data.
TRIALS_BEFORE_MODEL = 2


class HeatGenerators(GeneratorRegistryBase):
    """Members that Ax makes from names, which stored experiments refer to: they never change."""

    START = "HeatStart"
    HEAT = "Heat"

    @property
    def GENERATOR_KEY_TO_GENERATOR_SETUP(self) -> dict[str, GeneratorSetup]:  # noqa: N802
        """The arguments of each member."""
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
    trust_region: bool | RegionName = True,
    kernel: str | KernelFunction = "heat",
    structure: Structures = None,
    ard: bool | None = None,
    graphs: Mapping[str, Any] | None = None,
    order: Mapping[str, Sequence[Any]] | None = None,
    quantitative: Mapping[str, Scale] | Sequence[str] = (),
    mixing: Mixing = "product",
    numeric_choices: NumericChoices = "auto",
    acquisition: AcquisitionName = "log-ei",
    hyperparameters: Learning = "map",
    search: SearchName = "genetic",
    embedding: Embedding = None,
    previous: Previous = (),
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
            successes and failures, rather than everywhere; ``"casmopolitan"`` and ``"bounce"`` for
            the rules of these.
        kernel: Name of the kernel, see ``docs/kernels.md``; a function of the distance sqrt(h)
            must have been given to ``heat_plugins.register_kernel``.
        structure: What is known about the objective: ``PermutationInvariant``,
            ``LabelledGraph``, ``Additive``, ``InteractionOrders``, ``RandomDecomposition``,
            ``Anchors``, several of them, or ``"auto"``, which chooses between product, sum and
            interactions. Where nothing is said, effects multiply, unless most parameters are
            numbers and the evidence is clearly for a sum; ``"product"`` rules that out.
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
        acquisition: What makes an arm worth trying: ``"log-ei"``, the expected improvement, or
            ``"ucb"``, the upper confidence bound, or ``"thompson"``, a sample of the posterior
            (both for one objective).
        hyperparameters: How those of the kernel are learnt: ``"map"``, the most likely ones;
            ``"maximum-likelihood"``, the same without their priors; ``"slice-sampling"``, eight
            samples of their posterior distribution, over which the acquisition is averaged.
        search: How the arm that is worth most is looked for: ``"genetic"``,
            ``"hill-climbing"``, ``"interleaved"``, ``"message-passing"``, ``"bandit"`` or
            ``"pool"``; see ``docs/pipelines.md``.
        embedding: ``"nested"``, or a ``NestedEmbedding``, for a search that begins with few bins
            of parameters that move together, and splits them; None for all parameters at once.
        previous: Experiments, or clients, that this one goes on from: of another data set, with
            fewer choices, and so on. How alike they are is learnt. Their arms and means as of now
            are stored with the strategy; see ``docs/transfer.md``.
    """
    if seed is None:
        seed = int(np.random.SeedSequence().generate_state(1)[0])
    try:
        check_arguments(seed, n_startup_trials, deterministic_objective, consider_failed_trials)
        check_whole("max_parallelism", max_parallelism, 1, optional=True)
        chosen = Settings.of(
            int(seed),
            n_startup_trials=n_startup_trials,
            deterministic_objective=deterministic_objective,
            consider_failed_trials=consider_failed_trials,
            trust_region=trust_region,
            kernel=kernel,
            structure=structure,
            ard=ard,
            graphs=graphs,
            order=order,
            quantitative=quantitative,
            mixing=mixing,
            numeric_choices=numeric_choices,
            acquisition=acquisition,
            hyperparameters=hyperparameters,
            search=search,
            embedding=embedding,
        )
        stored_model = chosen.model.to_json()
    except (TypeError, ValueError) as error:
        raise UserInputError(str(error)) from error
    settings = {
        "seed": int(seed),
        "n_startup_trials": chosen.n_startup_trials,
        "deterministic_objective": chosen.deterministic,
        "trust_region": trust_region if isinstance(trust_region, str) else bool(trust_region),
        "consider_failed_trials": chosen.models_failures,
        "acquisition": acquisition,
        "search": search,
        "embedding": None if chosen.embedding is None else asdict(chosen.embedding),
        "model": stored_model,
    }
    stored = write_previous(previous)
    if stored is not None:
        settings["previous"] = stored
    ready = MinTrials(
        threshold=TRIALS_BEFORE_MODEL,
        transition_to=HeatGenerators.HEAT.value,
        use_all_trials_in_exp=True,
        count_only_trials_with_data=True,
    )
    pauses: list[PausingCriterion] = []
    if max_parallelism is not None:
        pauses.append(
            MaxGenerationParallelism(
                threshold=int(max_parallelism),
                only_in_statuses=[TrialStatus.RUNNING],
                use_all_trials_in_exp=True,
            )
        )
    nodes = [
        HeatNode(
            name=generator.value,
            generator_specs=[GeneratorSpec(generator, generator_kwargs=dict(settings))],
            transition_criteria=[ready] if generator is HeatGenerators.START else [],
            pausing_criteria=pauses,
            should_deduplicate=False,  # ``suggest`` repeats nothing by accident
        )
        for generator in (HeatGenerators.START, HeatGenerators.HEAT)
    ]
    return GenerationStrategy(name=name, nodes=nodes)
