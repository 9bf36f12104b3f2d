"""Structures of the objective that a user knows, as values that can be stored.

=========================  ==========================================================
value                      says
=========================  ==========================================================
``PermutationInvariant``   some parameters can change places without any effect
``LabelledGraph``          parameters are the labels and edges of one graph
``Additive``               parameters act one by one, their effects add up
``InteractionOrders``      single effects, pairs, ... up to an order, each order with
                           a weight that is learnt
``RandomDecomposition``    few pairs interact; which ones is drawn anew all the time
``Anchors``                the distance to certain points is worth knowing
=========================  ==========================================================

They know no host and no array: parameters are called by their names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from heat_plugins.spec.checks import check_bool, check_one_of, check_positive, check_whole
from heat_plugins.spec.labelled_graph import LabelledGraph

__all__ = [
    "Additive",
    "Anchors",
    "InteractionOrders",
    "LabelledGraph",
    "PermutationInvariant",
    "RandomDecomposition",
    "Structure",
    "structure_from_dict",
    "structure_to_dict",
]

InvarianceMethod = Literal["padded-sort", "sort", "sum", "product"]


@dataclass(frozen=True)
class PermutationInvariant:
    """Parameters that can change places without changing the value.

    Args:
        groups: Names of interchangeable parameters, or several such lists. The parameters
            of a group must have the same choices or the same range.
        method: How the kernel becomes invariant (appendix "Incorporating invariance" of the
            paper): ``"padded-sort"`` compares how often each choice occurs and is best by
            far in most cases; ``"sort"`` compares the sorted values; ``"sum"`` averages the
            kernel over the group; ``"product"`` multiplies it.
        n_samples: How many kernel evaluations one average over a group may take. With
            ``"sum"`` a group of up to so many elements is averaged exactly, a larger one over
            all pairs of sqrt(n_samples) random elements. All permutations of the names are
            averaged exactly in any case: there is a formula for them.
        permutations: For other groups than "all permutations": some of its elements, each
            a list of positions in the group of names; they generate the group. Needs
            ``"sum"`` or ``"product"``, and a single list of names. A group of more than
            20,000 elements shapes the model, but the search takes points as they are.
    """

    groups: tuple[tuple[str, ...], ...]
    method: InvarianceMethod = "padded-sort"
    n_samples: int = 200
    permutations: tuple[tuple[int, ...], ...] | None = None

    def __init__(
        self,
        groups: Sequence[str] | Sequence[Sequence[str]],
        method: InvarianceMethod = "padded-sort",
        n_samples: int = 200,
        permutations: Sequence[Sequence[int]] | None = None,
    ) -> None:
        if isinstance(groups, str) or not groups:
            raise ValueError(
                f"groups must be a list of names or a list of such lists, got {groups!r}"
            )
        if all(isinstance(name, str) for name in groups):
            groups = [groups]  # type: ignore[list-item]
        set_field = object.__setattr__
        set_field(self, "groups", tuple(tuple(group) for group in groups))
        set_field(self, "method", method)
        set_field(self, "n_samples", n_samples)
        if permutations is not None:
            permutations = tuple(tuple(int(i) for i in p) for p in permutations)
        set_field(self, "permutations", permutations)
        self._check()

    def _check(self) -> None:
        names = [name for group in self.groups for name in group]
        if not all(isinstance(name, str) for name in names):
            raise TypeError(f"groups must hold parameter names, got {self.groups!r}")
        if len(set(names)) < len(names):
            raise ValueError(f"groups must not name a parameter twice, got {self.groups!r}")
        if any(len(group) < 2 for group in self.groups):
            raise ValueError(f"every group must have at least 2 names, got {self.groups!r}")
        check_one_of("method", self.method, get_args(InvarianceMethod))
        check_positive("n_samples", self.n_samples)
        if self.permutations is None:
            return
        if not self.permutations:
            raise ValueError("permutations must hold at least one, got none")
        if self.method not in ("sum", "product"):
            raise ValueError(
                f"permutations need the method 'sum' or 'product', got {self.method!r}"
            )
        if len(self.groups) != 1:
            raise ValueError(
                f"permutations need a single list of names, got {len(self.groups)} lists"
            )
        size = len(self.groups[0])
        for permutation in self.permutations:
            if sorted(permutation) != list(range(size)):
                raise ValueError(
                    f"permutations must rearrange the positions 0 to {size - 1}, "
                    f"got {permutation!r}"
                )


@dataclass(frozen=True)
class Additive:
    """Every parameter has an effect of its own, and the effects add up.

    CoCaBO's kernel, sum_i k_i with k_i = v_i where two points agree and c_i where they do not,
    is a constant plus sum_i (v_i - c_i) [x_i = x_i']. That is ``InteractionOrders(1)``, whose
    constant is learnt apart from the effects.

    Args:
        remainder: Whether there is room, as little as the data ask for, for what does not add
            up. Without it this is CoCaBO's kernel, and right only if effects add up exactly.
    """

    remainder: bool = True

    def __post_init__(self) -> None:
        check_bool("remainder", self.remainder)


@dataclass(frozen=True)
class InteractionOrders:
    """Single effects, effects of pairs, ... up to an order (Duvenaud et al., 2011).

    Args:
        max_order: How many parameters can act together.
        orthogonal: Whether the effects of an order leave out what lower orders explain (the
            orthogonal additive kernel, Lu et al., 2022). The shares of the orders mean
            something only then.
        remainder: Whether all higher orders together have a weight too, small unless the data
            say otherwise. Only for orthogonal effects.
    """

    max_order: int = 2
    orthogonal: bool = True
    remainder: bool = True

    def __post_init__(self) -> None:
        check_positive("max_order", self.max_order)
        check_bool("orthogonal", self.orthogonal)
        check_bool("remainder", self.remainder)


@dataclass(frozen=True)
class RandomDecomposition:
    """Pairs of parameters along a random tree, drawn anew for every point (RDUCB).

    Args:
        n_edges: How many pairs; None for a tree that joins all parameters.
        seed: Seed of the trees.
    """

    n_edges: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if self.n_edges is not None:
            check_positive("n_edges", self.n_edges)
        check_whole("seed", self.seed)


@dataclass(frozen=True)
class Anchors:
    """Points to which the distance is worth knowing: "strategic features" of the paper.

    Args:
        points: Values of discrete parameters by name. What is not named does not count.
    """

    points: tuple[Mapping[str, Any], ...]

    def __post_init__(self) -> None:
        points = self.points
        is_list = isinstance(points, Sequence) and not isinstance(points, str)
        if not is_list or not all(isinstance(point, Mapping) for point in points):
            raise TypeError(
                "points of Anchors must be a list of mappings of names to values, such as "
                f"[{{'x': 1}}], got {points!r}"
            )
        object.__setattr__(self, "points", tuple(dict(point) for point in points))
        if not self.points or not all(self.points):
            raise ValueError(
                f"points of Anchors must name at least 1 value each, got {self.points!r}"
            )

    def __hash__(self) -> int:
        return hash(repr(self.points))


Combination = Additive | InteractionOrders | RandomDecomposition
Structure = PermutationInvariant | LabelledGraph | Combination | Anchors

_TYPES: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        PermutationInvariant,
        LabelledGraph,
        Additive,
        InteractionOrders,
        RandomDecomposition,
        Anchors,
    )
}


def structure_to_dict(structure: Structure) -> dict[str, Any]:
    """Return a structure as what JSON can hold."""
    values = {field.name: _plain(getattr(structure, field.name)) for field in fields(structure)}
    return {"type": type(structure).__name__, **values}


def structure_from_dict(stored: Mapping[str, Any]) -> Structure:
    """Undo :func:`structure_to_dict`."""
    kind = stored.get("type")
    if kind not in _TYPES:
        raise ValueError(f"type of a structure must be one of {sorted(_TYPES)}, got {kind!r}")
    structure: Structure = _TYPES[kind](**{k: v for k, v in stored.items() if k != "type"})
    return structure


def _plain(value: Any) -> Any:
    """Return tuples as lists, which is what JSON makes of them."""
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return dict(value) if isinstance(value, Mapping) else value
