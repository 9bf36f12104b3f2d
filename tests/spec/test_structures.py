"""What a user knows about the objective: checked by name, equal after a way through JSON."""

import json
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heat_plugins.spec.structures import (
    Additive,
    Anchors,
    InteractionOrders,
    PermutationInvariant,
    RandomDecomposition,
    structure_from_dict,
    structure_to_dict,
)

CHECKED = settings(deadline=None, max_examples=80)

# ------------------------------------------------------------------------- round trips
names = st.text("abcxyz_0", min_size=1, max_size=4)
values = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-2, 2) | st.text(max_size=3)
counts = st.integers(1, 500)


@st.composite
def groups(draw):
    every = draw(st.lists(names, min_size=2, max_size=8, unique=True))
    cut = draw(st.integers(2, len(every)))
    rest = every[cut:]
    return [every[:cut], rest] if len(rest) > 1 else [every[:cut]]


@st.composite
def invariances(draw):
    lists = draw(groups())
    if len(lists) == 1 and draw(st.booleans()):
        positions = list(range(len(lists[0])))
        permutations = draw(st.lists(st.permutations(positions), min_size=1, max_size=3))
        method = draw(st.sampled_from(["sum", "product"]))
        return PermutationInvariant(lists, method, draw(counts), permutations)
    method = draw(st.sampled_from(["padded-sort", "sort", "sum", "product"]))
    return PermutationInvariant(lists, method, draw(counts))


structures = st.one_of(
    invariances(),
    st.builds(Additive, st.booleans()),
    st.builds(InteractionOrders, counts, st.booleans(), st.booleans()),
    st.builds(RandomDecomposition, st.none() | counts, st.integers(0, 2**31)),
    st.builds(
        Anchors,
        st.lists(st.dictionaries(names, values, min_size=1, max_size=3), min_size=1, max_size=3),
    ),
)


@given(structures)
@CHECKED
def test_structures_survive_the_way_through_json(structure):
    stored = json.loads(json.dumps(structure_to_dict(structure)))
    again = structure_from_dict(stored)
    assert again == structure and type(again) is type(structure)
    assert stored["type"] == type(structure).__name__
    assert structure_to_dict(again) == stored


@given(structures)
@CHECKED
def test_structures_are_values(structure):
    again = pickle.loads(pickle.dumps(structure))
    assert again == structure and hash(again) == hash(structure)
    assert eval(repr(structure)) == structure  # noqa: S307 - our own representation


def test_defaults():
    assert PermutationInvariant(["a", "b"]) == PermutationInvariant(
        [["a", "b"]], method="padded-sort", n_samples=200, permutations=None
    )
    assert PermutationInvariant(("a", "b")).groups == (("a", "b"),)
    assert PermutationInvariant([["a", "b"], ("c", "d")]).groups == (("a", "b"), ("c", "d"))
    assert InteractionOrders() == InteractionOrders(2, orthogonal=True, remainder=True)
    assert Additive() == Additive(remainder=True)
    assert RandomDecomposition() == RandomDecomposition(n_edges=None, seed=0)


def test_one_list_of_names_is_one_group_and_stays_a_tuple():
    structure = PermutationInvariant(["a", "b", "c"], "sum", permutations=[[1, 0, 2], (0, 2, 1)])
    assert structure.groups == (("a", "b", "c"),)
    assert structure.permutations == ((1, 0, 2), (0, 2, 1))


def test_fields_of_a_stored_structure():
    assert structure_to_dict(PermutationInvariant(["a", "b"])) == {
        "type": "PermutationInvariant",
        "groups": [["a", "b"]],
        "method": "padded-sort",
        "n_samples": 200,
        "permutations": None,
    }
    assert structure_to_dict(Additive()) == {"type": "Additive", "remainder": True}
    assert structure_from_dict({"type": "Additive"}) == Additive()
    assert structure_to_dict(InteractionOrders(3, remainder=False)) == {
        "type": "InteractionOrders",
        "max_order": 3,
        "orthogonal": True,
        "remainder": False,
    }
    anchors = Anchors(({"x": 1, "y": "a"}, {"x": 2}))
    assert structure_to_dict(anchors) == {
        "type": "Anchors",
        "points": [{"x": 1, "y": "a"}, {"x": 2}],
    }


def test_anchors_do_not_share_the_mappings_they_were_made_of():
    point = {"x": 1}
    anchors = Anchors((point,))
    point["x"] = 2
    assert anchors.points == ({"x": 1},)


# ---------------------------------------------------------------------------- messages
REFUSED = {
    "a name": (lambda: PermutationInvariant("abc"), ValueError, r"groups must be .* got 'abc'"),
    "no names": (lambda: PermutationInvariant([]), ValueError, r"groups must be .* got \[\]"),
    "a number": (
        lambda: PermutationInvariant([["a", 3]]),
        TypeError,
        r"groups must hold parameter names, got \(\('a', 3\),\)",
    ),
    "a name twice": (
        lambda: PermutationInvariant([["a", "b"], ["b", "c"]]),
        ValueError,
        r"groups must not name a parameter twice, got",
    ),
    "one name": (
        lambda: PermutationInvariant(["a"]),
        ValueError,
        r"every group must have at least 2 names, got \(\('a',\),\)",
    ),
    "method": (
        lambda: PermutationInvariant(["a", "b"], "shuffle"),
        ValueError,
        r"method must be one of \('padded-sort', 'sort', 'sum', 'product'\), got 'shuffle'",
    ),
    "n_samples": (
        lambda: PermutationInvariant(["a", "b"], n_samples=0),
        ValueError,
        r"n_samples must be a positive integer, got 0",
    ),
    "permutations of a projection": (
        lambda: PermutationInvariant(["a", "b"], permutations=[[1, 0]]),
        ValueError,
        r"permutations need the method 'sum' or 'product', got 'padded-sort'",
    ),
    "permutations of two groups": (
        lambda: PermutationInvariant([["a", "b"], ["c", "d"]], "sum", permutations=[[1, 0]]),
        ValueError,
        r"permutations need a single list of names, got 2 lists",
    ),
    "no permutation": (
        lambda: PermutationInvariant(["a", "b", "c"], "sum", permutations=[[1, 0, 0]]),
        ValueError,
        r"must rearrange the positions 0 to 2, got \(1, 0, 0\)",
    ),
    "permutations of none": (
        lambda: PermutationInvariant(["a", "b", "c"], "sum", permutations=[]),
        ValueError,
        r"permutations must hold at least one, got none",
    ),
    "permutations of none, with any method": (
        lambda: PermutationInvariant(["a", "b", "c"], permutations=()),
        ValueError,
        r"permutations must hold at least one, got none",
    ),
    "short permutation": (
        lambda: PermutationInvariant(["a", "b", "c"], "sum", permutations=[[1, 0]]),
        ValueError,
        r"must rearrange the positions 0 to 2, got \(1, 0\)",
    ),
    "order of zero": (
        lambda: InteractionOrders(0),
        ValueError,
        r"max_order must be a positive integer, got 0",
    ),
    "order of a half": (lambda: InteractionOrders(1.5), ValueError, r"max_order .* got 1.5"),
    "order of truth": (lambda: InteractionOrders(True), ValueError, r"max_order .* got True"),
    "edges": (lambda: RandomDecomposition(0), ValueError, r"n_edges must be .* got 0"),
    **{
        f"orthogonal {value!r}": (
            lambda value=value: InteractionOrders(2, value),
            TypeError,
            rf"orthogonal must be True or False, got {value!r}",
        )
        for value in (None, 1, "yes")
    },
    "remainder of sums": (
        lambda: Additive(remainder=1),
        TypeError,
        r"remainder must be True or False, got 1",
    ),
    "remainder of orders": (
        lambda: InteractionOrders(2, remainder=None),
        TypeError,
        r"remainder must be True or False, got None",
    ),
    **{
        f"seed {value!r}": (
            lambda value=value: RandomDecomposition(seed=value),
            ValueError,
            rf"seed must be a non-negative integer, got {value!r}",
        )
        for value in (-1, 1.5, None, True, "0")
    },
    "no anchors": (lambda: Anchors(()), ValueError, r"points of Anchors must name .* got \(\)"),
    "empty anchor": (lambda: Anchors(({},)), ValueError, r"points of Anchors must name at least"),
    **{
        f"anchors {value!r}": (
            lambda value=value: Anchors(value),
            TypeError,
            r"points of Anchors must be a list of mappings of names to values, such as .*, got ",
        )
        for value in ({"x": 1}, "x", [["x", 1]], [None], None)
    },
    "unknown type": (
        lambda: structure_from_dict({"type": "Convex"}),
        ValueError,
        r"type of a structure must be one of \['Additive', .*\], got 'Convex'",
    ),
    "no type": (lambda: structure_from_dict({}), ValueError, r"type of a structure .* got None"),
}


@pytest.mark.parametrize(("make", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_messages_say_what_was_expected_and_what_was_given(make, error, message):
    with pytest.raises(error, match=message):
        make()
