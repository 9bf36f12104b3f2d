"""Specification of the surrogate's kernel, as a value that can be stored."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args

from heat_plugins.space.graphs import GRAPH_NAMES, adjacency, plain_graph
from heat_plugins.spec.checks import check_one_of
from heat_plugins.spec.registry import (
    KernelEntry,
    KernelFunction,
    check_kernel,
    entry_of,
    name_of,
    register_kernel,
)
from heat_plugins.spec.structures import (
    Additive,
    Anchors,
    Combination,
    InteractionOrders,
    LabelledGraph,
    PermutationInvariant,
    RandomDecomposition,
    Structure,
    structure_from_dict,
    structure_to_dict,
)

__all__ = ["Model", "register_kernel"]

Word = Literal["auto", "product"]  # how base kernels combine
Structures = Structure | Word | Sequence[Structure | Word] | None
Mixing = Literal["product", "sum", "mixture"]
Scale = Literal["linear", "log"]
NumericChoices = Literal["auto", "unordered"]
Learning = Literal["map", "maximum-likelihood", "slice-sampling"]


@dataclass(frozen=True)
class Model:
    """The kernel, its structure, and what is known about the choices.

    Args:
        kernel: A name, built in or given to :func:`register_kernel`, or a function of the
            distance sqrt(h) as an array, h the (weighted) Hamming distance. A function must be
            a kernel of the Euclidean distance, such as ``lambda r: np.exp(-r)``.
        ard: Whether every parameter has a rate of its own. None for yes where the paper has
            that version of the kernel.
        structure: What is known about the objective; several structures compose: each group
            of interchangeable parameters has one base kernel, and these are multiplied or added.
            ``"auto"`` lets the evidence choose between product, sum and interactions,
            ``"product"`` does not. Where nothing is said it is a product, unless most
            parameters are numbers and a sum is clearly more likely.
        graphs: Graphs of choices by parameter name: ``"complete"``, ``"path"``, ``"cycle"``,
            an adjacency matrix or a networkx graph, in the order of the choices.
        order: Choices in their order, by parameter name; they become a path graph.
        quantitative: Parameters whose choices are numbers with meaningful distances: names,
            or names with ``"linear"`` or ``"log"``.
        mixing: How numbers come in. ``"product"``: like any other parameter. ``"sum"`` and
            ``"mixture"``: as a kernel of their own, added, or in CoCaBO's mixture of sum and
            product.
        numeric_choices: What to make of choices that are all numbers, of which nothing else is
            said. ``"unordered"``: the same as of any others. ``"auto"``: the evidence decides
            whether their distances mean something.
        hyperparameters: How they are learnt. ``"map"``: those of the highest posterior density.
            ``"maximum-likelihood"``: without their priors. ``"slice-sampling"``: several samples
            of the posterior density, over which the acquisition is averaged.
    """

    kernel: str | KernelFunction = "heat"
    ard: bool | None = None
    structure: Structures = ()
    graphs: Mapping[str, Any] = field(default_factory=dict)
    order: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    quantitative: Mapping[str, Scale] | Sequence[str] = field(default_factory=dict)
    mixing: Mixing = "product"
    numeric_choices: NumericChoices = "unordered"
    hyperparameters: Learning = "map"

    def __post_init__(self) -> None:
        check_kernel(self.kernel)
        set_field = object.__setattr__
        if self.ard is not None and not isinstance(self.ard, bool):
            raise TypeError(f"ard must be None, True or False, got {self.ard!r}")
        _check_by_name("graphs", self.graphs, "graphs, such as {'size': 'path'}")
        _check_by_name("order", self.order, "lists of choices, such as {'size': ['S', 'M']}")
        set_field(self, "structure", _as_structures(self.structure))
        set_field(self, "graphs", {k: _storable_graph(k, g) for k, g in self.graphs.items()})
        set_field(self, "order", {name: _as_order(name, o) for name, o in self.order.items()})
        set_field(self, "quantitative", _as_scales(self.quantitative))
        check_one_of("mixing", self.mixing, get_args(Mixing))
        check_one_of("numeric_choices", self.numeric_choices, get_args(NumericChoices))
        check_one_of("hyperparameters", self.hyperparameters, get_args(Learning))
        if self.ard and not self.entry.has_ard:
            raise ValueError(f"kernel {self.kernel!r} has one rate for all: ard must not be True")
        self._check_structures()
        self._check_names()

    def _check_structures(self) -> None:
        combinations = [s for s in self.structures if isinstance(s, Combination)]
        words = [s for s in _sequence(self.structure) if isinstance(s, str)]
        if len(combinations) + len(words) > 1:
            raise ValueError(
                "structure must have at most one of Additive, InteractionOrders, "
                f"RandomDecomposition, 'auto' and 'product', got {self.structure!r}"
            )
        if self.entry.is_of_graph:
            self._check_is_of_graph()
            return
        if (self.structures or self.is_auto) and self.entry.kind == "whole":
            raise ValueError(f"kernel {self.kernel!r} takes no structure, got {self.structure!r}")
        sums = [*self.labelled_graphs, *(s for s in self.invariances if s.method == "sum")]
        if (combinations or self.is_auto or sums) and not self.is_product:
            raise ValueError(
                f"kernel {self.kernel!r} is no product over parameters, which the structure "
                f"{self.structure!r} needs"
            )

        if (combinations or self.is_auto) and not self.has_ard:
            raise ValueError(
                f"the structure {self.structure!r} has a rate for every parameter, the kernel "
                f"{self.kernel!r} with ard={self.ard!r} one for all"
            )

    def _check_is_of_graph(self) -> None:
        if not self.labelled_graphs:
            raise ValueError(
                f"kernel {self.kernel!r} compares graphs: say which parameters are labels and "
                "edges by structure=LabelledGraph(nodes=[...], edges={(a, b): name, ...})"
            )
        if len(self.labelled_graphs) < len(_sequence(self.structure)):
            raise ValueError(
                f"kernel {self.kernel!r} takes no structure but LabelledGraph, "
                f"got {self.structure!r}"
            )

    def _check_names(self) -> None:
        if (self.graphs or self.order) and not self.entry.takes_graphs:
            raise ValueError(f"kernel {self.kernel!r} takes neither graphs nor order")
        special = [*self.graphs, *self.order, *self.quantitative]
        twice = sorted({name for name in special if special.count(name) > 1})
        if twice:
            raise ValueError(f"parameters {twice} must be in one of graphs, order, quantitative")
        grouped = self._grouped
        twice = sorted({name for name in grouped if grouped.count(name) > 1})
        if twice:
            raise ValueError(
                f"parameters {twice} must be in one group of interchangeable ones or one graph"
            )

    @property
    def is_auto(self) -> bool:
        """Whether the evidence chooses how base kernels combine."""
        return "auto" in _sequence(self.structure)

    @property
    def is_open(self) -> bool:
        """Whether nothing is said about the kernel and the objective."""
        return self.kernel == Model.kernel and not _sequence(self.structure)

    @property
    def is_product(self) -> bool:
        """Whether the kernel is a product of one factor for each parameter."""
        return self.entry.kind == "product"

    @property
    def entry(self) -> KernelEntry:
        """What is known about the kernel."""
        return entry_of(self.kernel)

    @property
    def structures(self) -> tuple[Structure, ...]:
        """The structures that are values."""
        return tuple(s for s in _sequence(self.structure) if not isinstance(s, str))

    @property
    def invariances(self) -> tuple[PermutationInvariant, ...]:
        """The groups of interchangeable parameters."""
        return tuple(s for s in self.structures if isinstance(s, PermutationInvariant))

    @property
    def labelled_graphs(self) -> tuple[LabelledGraph, ...]:
        """The graphs that parameters describe together."""
        return tuple(s for s in self.structures if isinstance(s, LabelledGraph))

    @property
    def _grouped(self) -> list[str]:
        """The parameters of groups and of graphs."""
        in_groups = [name for s in self.invariances for group in s.groups for name in group]
        return [*in_groups, *(name for graph in self.labelled_graphs for name in graph.names)]

    @property
    def anchors(self) -> tuple[Mapping[str, Any], ...]:
        """The points to which distances count."""
        return tuple(p for s in self.structures if isinstance(s, Anchors) for p in s.points)

    @property
    def combination(self) -> Additive | InteractionOrders | RandomDecomposition | None:
        """The combination of base kernels; None for a product."""
        return next((s for s in self.structures if isinstance(s, Combination)), None)

    @property
    def has_ard(self) -> bool:
        """Whether every parameter has a rate of its own."""
        return self.entry.has_ard if self.ard is None else self.ard

    @property
    def named(self) -> tuple[str, ...]:
        """All parameters that are called by name."""
        anchored = [name for point in self.anchors for name in point]
        special = [*self.graphs, *self.order, *self.quantitative]
        return tuple(dict.fromkeys([*special, *self._grouped, *anchored]))

    @property
    def scales(self) -> dict[str, Scale]:
        """The quantitative parameters and their scales."""
        return _as_scales(self.quantitative)

    def to_json(self) -> str:
        """Return everything as JSON.

        Raises:
            TypeError: If the kernel is a function without a name, or if something else is
                nothing that JSON can hold.
        """
        stored = {
            "kernel": name_of(self.kernel),
            "ard": self.ard,
            "structure": [
                s if isinstance(s, str) else structure_to_dict(s)
                for s in _sequence(self.structure)
            ],
            "graphs": dict(self.graphs),
            "order": {name: list(choices) for name, choices in self.order.items()},
            "quantitative": self.scales,
            "mixing": self.mixing,
            "numeric_choices": self.numeric_choices,
            "hyperparameters": self.hyperparameters,
        }
        try:
            return json.dumps(stored)
        except TypeError as error:
            raise TypeError(f"settings must be made of what JSON can hold: {error}") from None

    @staticmethod
    def from_json(text: str) -> Model:
        """Undo :meth:`to_json`.

        Raises:
            ValueError: If the text is no stored model, or if its kernel is a function that this
                program has not registered.
        """
        stored = json.loads(text)
        if not isinstance(stored, dict):
            raise ValueError(f"a stored model must be a JSON object, got {stored!r}")
        unknown = stored.keys() - {known.name for known in fields(Model)}
        if unknown:
            raise ValueError(f"a stored model must have no other fields, got {sorted(unknown)}")
        structure = _sequence(stored.pop("structure", []))
        return Model(structure=[_structure_of(item) for item in structure], **stored)


def _structure_of(stored: Any) -> Any:
    """Return a structure that was stored, or what is none, which the model refuses."""
    return structure_from_dict(stored) if isinstance(stored, Mapping) else stored


def _sequence(structure: Any) -> tuple[Any, ...]:
    if structure is None:
        return ()
    return tuple(structure) if isinstance(structure, Sequence | set) else (structure,)


def _as_structures(structure: Any) -> tuple[Any, ...]:
    if isinstance(structure, str):
        structure = (structure,)
    items = _sequence(structure)
    for item in items:
        if item not in get_args(Word) and not isinstance(item, Structure):
            raise ValueError(
                "structure must be 'auto', 'product' or made of PermutationInvariant, "
                "LabelledGraph, Additive, InteractionOrders, RandomDecomposition and Anchors, "
                f"got {item!r}"
            )
    return items


def _check_by_name(argument: str, given: Any, what: str) -> None:
    """Refuse what is no mapping of parameter names."""
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise TypeError(f"{argument} must map names of parameters to {what}, got {given!r}")


def _as_order(name: str, order: Any) -> tuple[Any, ...]:
    # A set has no order, and the letters of a word are hardly meant.
    order = order.tolist() if hasattr(order, "tolist") else order
    if isinstance(order, str) or not isinstance(order, Sequence):
        raise TypeError(f"order of {name!r} must be a list of choices, got {order!r}")
    seen = [(type(choice), choice) for choice in order]
    twice = [choice for i, (kind, choice) in enumerate(seen) if (kind, choice) in seen[:i]]
    if twice:
        raise ValueError(f"order of {name!r} must have each choice once, got {twice[0]!r} twice")
    return tuple(order)


def _as_scales(quantitative: Any) -> dict[str, Scale]:
    is_some = isinstance(quantitative, Mapping | Sequence | set | frozenset)
    is_list = is_some and not isinstance(quantitative, str)
    if not is_list or not all(isinstance(name, str) for name in quantitative):
        raise ValueError(f"quantitative must be a list of names, got {quantitative!r}")
    if not isinstance(quantitative, Mapping):
        quantitative = dict.fromkeys(quantitative, "linear")
    for name, scale in quantitative.items():
        check_one_of(f"quantitative[{name!r}]", scale, get_args(Scale))
    return dict(quantitative)


def _storable_graph(name: str, graph: Any) -> Any:
    """Return a graph as a name or as lists, which can be compared and stored."""
    graph = plain_graph(graph)
    if isinstance(graph, str):
        check_one_of(f"graph of {name!r}", graph, GRAPH_NAMES)
        return graph
    if isinstance(graph, Mapping):
        nodes = graph.get("nodes", ())
        adjacency(graph, len(nodes), name, nodes)
        return dict(graph)
    if not hasattr(graph, "__len__"):
        raise ValueError(
            f"graph of {name!r} must be one of {GRAPH_NAMES}, an adjacency matrix or a "
            f"networkx graph, got {graph!r}"
        )
    return adjacency(graph, len(graph), name).tolist()
