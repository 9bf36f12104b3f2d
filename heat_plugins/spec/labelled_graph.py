"""Parameters that together describe one graph: labels of its nodes, presence of its edges.

Notation
    ===========  =====================================================================
    node         a name: of the parameter that is its label, or of a node without one
    free         may change places with others of its kind; input and output may not
    absent       a node that a point does not have; its edges do not count either
    ===========  =====================================================================
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from heat_plugins.spec.checks import check_bool, check_positive

__all__ = ["LabelledGraph"]

Edge = tuple[str, str, str | bool]


@dataclass(frozen=True)
class LabelledGraph:
    """Parameters that are the labels of nodes and the edges of one graph.

    What a node is called changes nothing: two points whose graphs differ by the order of their
    free nodes alone, input and output kept in their places, are one point to the model and to
    the search. Also where the parameters have no room for every order, as those of a directed
    graph without cycles, whose edges lead from earlier to later nodes.

    Example:
        .. code-block:: python

            cell = LabelledGraph(
                nodes=["input", "op1", "op2", "output"],
                edges={
                    ("input", "op1"): "in1",
                    ("input", "op2"): "in2",
                    ("op1", "op2"): "link",
                    ("op1", "output"): "out1",
                    ("op2", "output"): "out2",
                },
                fixed=["input", "output"],
                directed=True,
                between=("input", "output"),
            )

    Args:
        nodes: All nodes. The name of a node is that of the parameter that holds its label,
            unless it is named in ``fixed`` or ``unlabelled`` as well.
        edges: Which parameter says whether there is an edge between two nodes, or of which
            kind: ``{(a, b): name}``, or triples ``(a, b, name)``. True instead of a name for
            an edge that is always there. Between other nodes there is never one.
        fixed: Nodes without a label that stay in their places, such as input and output.
        unlabelled: Nodes without a label that can change places with each other.
        directed: Whether an edge (a, b) leads from a to b.
        absent: Labels which mean that there is no such node, for graphs of varying size.
        no_edge: Values which mean that there is no edge. 0 and False are the same here.
        between: Two fixed nodes of a directed graph, if only what lies on a way from the first
            to the second counts. The other nodes then are absent, whatever their labels are.
        counts: Whether how often each label and each kind of edge occurs counts by itself, next
            to the average over relabellings. Without it this is the paper's Heat (sum).
        n_samples: How many kernel evaluations one average over relabellings may take. Up to so
            many relabellings are averaged exactly, more by all pairs of sqrt(n_samples) random
            ones of the canonical graphs.
    """

    nodes: tuple[str, ...]
    edges: tuple[Edge, ...]
    fixed: tuple[str, ...]
    unlabelled: tuple[str, ...]
    directed: bool
    absent: tuple[Any, ...]
    no_edge: tuple[Any, ...]
    between: tuple[str, str] | None
    counts: bool
    n_samples: int

    def __init__(
        self,
        nodes: Sequence[str],
        edges: Mapping[tuple[str, str], str | bool] | Sequence[Edge],
        fixed: Sequence[str] = (),
        unlabelled: Sequence[str] = (),
        directed: bool = False,
        absent: Sequence[Any] = (),
        no_edge: Sequence[Any] = (None, False, "none"),
        between: Sequence[str] | None = None,
        counts: bool = True,
        n_samples: int = 200,
    ) -> None:
        set_field = object.__setattr__
        set_field(self, "nodes", _names("nodes", nodes))
        set_field(self, "edges", tuple(_triples(edges)))
        set_field(self, "fixed", _names("fixed", fixed))
        set_field(self, "unlabelled", _names("unlabelled", unlabelled))
        set_field(self, "directed", directed)
        set_field(self, "absent", _values("absent", absent))
        set_field(self, "no_edge", _values("no_edge", no_edge))
        set_field(self, "between", None if between is None else _names("between", between))
        set_field(self, "counts", counts)
        set_field(self, "n_samples", n_samples)
        check_bool("directed", directed)
        check_bool("counts", counts)
        check_positive("n_samples", n_samples)
        self._check_nodes()
        self._check_edges()
        self._check_between()

    @property
    def labels(self) -> tuple[str, ...]:
        """The parameters that are labels, which are the nodes that have one."""
        without = {*self.fixed, *self.unlabelled}
        return tuple(node for node in self.nodes if node not in without)

    @property
    def names(self) -> tuple[str, ...]:
        """All parameters: labels, then edges."""
        return (*self.labels, *(name for _, _, name in self.edges if isinstance(name, str)))

    # ------------------------------------------------------------------ known cells

    @staticmethod
    def nasbench101(
        operations: Sequence[str] | int = 5,
        edges: Sequence[str] | None = None,
        absent: Sequence[Any] = (),
        counts: bool = True,
        n_samples: int = 200,
    ) -> LabelledGraph:
        """Return a cell as in NAS-Bench-101: operations on nodes, and an upper triangle of bits.

        Nodes are ``input``, the operations, ``output``; every node may lead to every later one.
        What is on no way from the input to the output does not count, as there. At most nine
        edges, as there, is a rule of its own, for instance ``is_feasible``.

        Args:
            operations: The parameters that are operations, or how many: 5 for ``op1`` to ``op5``.
            edges: The parameters that say whether there is an edge, row by row of the triangle:
                from the input to each later node, then from the first operation, ... By
                default ``edge_0_1``, ``edge_0_2``, ... by the places of the two nodes.
            absent: Operations which mean that there is no such node.
            counts: See :class:`LabelledGraph`.
            n_samples: See there.
        """
        if isinstance(operations, int):
            operations = [f"op{i}" for i in range(1, operations + 1)]
        nodes = ["input", *operations, "output"]
        places = list(combinations(range(len(nodes)), 2))
        return LabelledGraph(
            nodes,
            _named_edges(nodes, places, edges),
            fixed=("input", "output"),
            directed=True,
            absent=absent,
            between=("input", "output"),
            counts=counts,
            n_samples=n_samples,
        )

    @staticmethod
    def nasbench201(
        edges: Sequence[str] | None = None,
        n_nodes: int = 4,
        no_edge: Sequence[Any] = (None, False, "none"),
        counts: bool = True,
        n_samples: int = 200,
    ) -> LabelledGraph:
        """Return a cell as in NAS-Bench-201: operations on the edges between all nodes.

        What is on no way from the input, which is the first node, to the output does not count.

        Args:
            edges: The parameters that are operations, in the order of NAS-Bench-201: those
                that lead to the second node, to the third, ... By default ``Op0``, ``Op1``, ...
            n_nodes: How many nodes there are, the input and the output among them.
            no_edge: Operations which mean that there is no edge.
            counts: See :class:`LabelledGraph`.
            n_samples: See there.
        """
        check_positive("n_nodes", n_nodes)
        nodes = ["input", *(f"node{i}" for i in range(1, n_nodes - 1)), "output"]
        places = [(i, j) for j in range(1, len(nodes)) for i in range(j)]
        return LabelledGraph(
            nodes,
            _named_edges(nodes, places, edges or [f"Op{i}" for i in range(len(places))]),
            fixed=("input", "output"),
            unlabelled=nodes[1:-1],
            directed=True,
            no_edge=no_edge,
            between=("input", "output"),
            counts=counts,
            n_samples=n_samples,
        )

    # ------------------------------------------------------------------------ checks

    def _check_nodes(self) -> None:
        if len(self.nodes) < 2:
            raise ValueError(f"nodes must have at least 2 names, got {self.nodes!r}")
        for argument in ("fixed", "unlabelled"):
            unknown = [name for name in getattr(self, argument) if name not in self.nodes]
            if unknown:
                raise ValueError(
                    f"{argument} must name some of the nodes {self.nodes!r}, got {unknown}"
                )
        both = [name for name in self.fixed if name in self.unlabelled]
        if both:
            raise ValueError(f"nodes must be either fixed or unlabelled, {both} are both")
        same = sorted({repr(v) for v in self.absent if self.absent.count(v) > 1})
        if same:
            raise ValueError(f"absent must name a label once, got {', '.join(same)} twice")

    def _check_edges(self) -> None:
        if not self.edges:
            raise ValueError("edges must hold at least 1 edge, got none")
        seen: set[frozenset[str] | tuple[str, str]] = set()
        for a, b, name in self.edges:
            missing = [node for node in (a, b) if node not in self.nodes]
            if missing:
                raise ValueError(
                    f"edge {(a, b)} must join two of the nodes {self.nodes!r}; {missing[0]!r} is "
                    "none of them"
                )
            if a == b:
                raise ValueError(f"edge {(a, b)} must join two different nodes")
            ends = (a, b) if self.directed else frozenset((a, b))
            if ends in seen:
                raise ValueError(f"edge {(a, b)} must be given once, got it twice")
            seen.add(ends)
            if name is not True and (not isinstance(name, str) or not name):
                raise TypeError(
                    f"edge {(a, b)} must have the name of a parameter, or True where it is "
                    f"always there, got {name!r}"
                )
        twice = sorted({name for name in self.names if self.names.count(name) > 1})
        if twice:
            raise ValueError(f"parameters must be one label or one edge each, {twice} are more")
        if not self.names:
            raise ValueError("a graph must have at least 1 label or edge that is a parameter")

    def _check_between(self) -> None:
        if self.between is None:
            return
        if not self.directed:
            raise ValueError("between needs a directed graph, got directed=False")
        is_pair = len(self.between) == 2
        if not is_pair or not all(name in self.fixed for name in self.between):
            raise ValueError(
                f"between must name two of the fixed nodes {self.fixed!r}, got {self.between!r}"
            )


def _names(argument: str, given: Any) -> tuple[str, ...]:
    """Return different names as a tuple."""
    is_list = isinstance(given, Sequence) and not isinstance(given, str)
    if not is_list or not all(isinstance(name, str) and name for name in given):
        raise TypeError(f"{argument} must be a list of names, got {given!r}")
    twice = sorted({name for name in given if given.count(name) > 1})
    if twice:
        raise ValueError(f"{argument} must have each name once, got {twice} twice")
    return tuple(given)


def _triples(edges: Any) -> Iterator[Edge]:
    """Yield the two nodes and the parameter of each edge."""
    wanted = "edges must map pairs of nodes to parameters, as {('a', 'b'): 'name'}"
    if isinstance(edges, Mapping):
        edges = [(ends, name) for ends, name in edges.items()]
    elif isinstance(edges, Sequence) and not isinstance(edges, str):
        edges = [(edge[:2], *edge[2:]) for edge in edges]
    else:
        raise TypeError(f"{wanted}, got {edges!r}")
    for ends, *rest in edges:
        is_pair = isinstance(ends, Sequence) and not isinstance(ends, str) and len(ends) == 2
        if not is_pair or len(rest) != 1:
            raise TypeError(f"{wanted}, got {(ends, *rest)!r}")
        yield ends[0], ends[1], rest[0]


def _values(argument: str, given: Any) -> tuple[Any, ...]:
    """Return values of choices, of the types that can be stored, as a tuple."""
    is_list = isinstance(given, Sequence) and not isinstance(given, str)
    if not is_list or not all(v is None or isinstance(v, bool | int | float | str) for v in given):
        raise TypeError(
            f"{argument} must be a list of values, of None, booleans, numbers and strings, "
            f"got {given!r}"
        )
    return tuple(given)


def _named_edges(
    nodes: Sequence[str], places: Sequence[tuple[int, int]], names: Sequence[str] | None
) -> list[Edge]:
    """Return the edges between nodes at given places, with their parameters."""
    if names is None:
        names = [f"edge_{i}_{j}" for i, j in places]
    if isinstance(names, str) or len(names) != len(places):
        raise ValueError(
            f"edges must name {len(places)} parameters for {len(nodes)} nodes, got {names!r}"
        )
    return [(nodes[i], nodes[j], name) for (i, j), name in zip(places, names, strict=True)]
