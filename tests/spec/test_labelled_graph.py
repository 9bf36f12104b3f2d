"""Descriptions of labelled graphs: what they hold, and what they refuse."""

import pickle

import pytest

from heat_plugins import LabelledGraph
from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.space import Categorical, Space
from heat_plugins.spec.model import Model
from heat_plugins.spec.structures import (
    Additive,
    PermutationInvariant,
    structure_from_dict,
    structure_to_dict,
)

EDGES = {("in", "a"): "in_a", ("a", "b"): "a_b"}


def graph(**changes):
    arguments = {"nodes": ["in", "a", "b"], "edges": EDGES, "fixed": ["in"]}
    return LabelledGraph(**(arguments | changes))


def test_labels_and_edges_are_parameters():
    found = graph()
    assert found.labels == ("a", "b")
    assert found.names == ("a", "b", "in_a", "a_b")
    assert graph(unlabelled=["b"]).names == ("a", "in_a", "a_b")
    always = graph(edges=[("in", "a", True), ("a", "b", "a_b")])
    assert always.names == ("a", "b", "a_b")
    assert Model(structure=found).named == found.names


@pytest.mark.parametrize(
    "found",
    [
        graph(),
        graph(directed=True, between=None, absent=["-", None, 2], no_edge=[0], counts=False),
        LabelledGraph.nasbench101(),
        LabelledGraph.nasbench201(["p", "q", "r"], 3),
    ],
)
def test_descriptions_are_values(found):
    stored = structure_to_dict(found)
    assert structure_from_dict(stored) == found
    assert hash(structure_from_dict(stored)) == hash(found)
    assert pickle.loads(pickle.dumps(found)) == found
    assert Model.from_json(Model(structure=found).to_json()) == Model(structure=found)
    assert found != graph(n_samples=7)


def test_cells_of_nasbench101_are_an_upper_triangle():
    cell = LabelledGraph.nasbench101()
    assert cell.nodes == ("input", "op1", "op2", "op3", "op4", "op5", "output")
    assert len(cell.edges) == 21
    assert cell.edges[:2] == (("input", "op1", "edge_0_1"), ("input", "op2", "edge_0_2"))
    assert cell.edges[-1] == ("op5", "output", "edge_5_6")
    assert cell.directed and cell.between == ("input", "output") == cell.fixed
    named = LabelledGraph.nasbench101(["f", "g"], ["e1", "e2", "e3", "e4", "e5", "e6"])
    assert named.names == ("f", "g", "e1", "e2", "e3", "e4", "e5", "e6")
    assert ("f", "g", "e4") in named.edges
    with pytest.raises(ValueError, match=r"edges must name 6 parameters for 4 nodes, got \['e'\]"):
        LabelledGraph.nasbench101(2, ["e"])


def test_cells_of_nasbench201_have_their_edges_in_its_order():
    cell = LabelledGraph.nasbench201()
    assert [ends[:2] for ends in cell.edges] == [
        ("input", "node1"),
        ("input", "node2"),
        ("node1", "node2"),
        ("input", "output"),
        ("node1", "output"),
        ("node2", "output"),
    ]
    assert cell.names == ("Op0", "Op1", "Op2", "Op3", "Op4", "Op5") and cell.labels == ()


BAD = {
    "edge without its node": (
        {"edges": {("in", "c"): "x"}},
        ValueError,
        r"edge \('in', 'c'\) must join two of the nodes .*; 'c' is none of them",
    ),
    "edge to itself": ({"edges": {("a", "a"): "x"}}, ValueError, "two different nodes"),
    "edge twice": (
        {"edges": {("a", "b"): "x", ("b", "a"): "y"}},
        ValueError,
        r"edge \('b', 'a'\) must be given once, got it twice",
    ),
    "parameter of two edges": (
        {"edges": {("in", "a"): "x", ("a", "b"): "x"}},
        ValueError,
        r"one label or one edge each, \['x'\] are more",
    ),
    "label that is an edge": ({"edges": {("in", "a"): "b"}}, ValueError, r"\['b'\] are more"),
    "node twice": ({"nodes": ["in", "a", "a"]}, ValueError, r"nodes .* once, got \['a'\] twice"),
    "fixed that is no node": (
        {"fixed": ["inn"]},
        ValueError,
        r"fixed must name some of the nodes \('in', 'a', 'b'\), got \['inn'\]",
    ),
    "unlabelled that is no node": ({"unlabelled": ["c"]}, ValueError, r"unlabelled must name"),
    "fixed and unlabelled": ({"unlabelled": ["in"]}, ValueError, r"either .* \['in'\] are both"),
    "one node": ({"nodes": ["in"], "edges": {}}, ValueError, "nodes must have at least 2"),
    "no edge": ({"edges": {}}, ValueError, "edges must hold at least 1 edge"),
    "no parameter": (
        {"unlabelled": ["a", "b"], "edges": {("a", "b"): True}},
        ValueError,
        "at least 1 label or edge that is a parameter",
    ),
    "edge without a name": ({"edges": {("a", "b"): 3}}, TypeError, "or True .*, got 3"),
    "edges of single nodes": ({"edges": {"ab": "x"}}, TypeError, "map pairs of nodes"),
    "edges of a list of names": ({"edges": ["x"]}, TypeError, "map pairs of nodes"),
    "edges that are none": ({"edges": 3}, TypeError, "edges must map pairs of nodes"),
    "nodes that are one word": ({"nodes": "in"}, TypeError, "nodes must be a list of names"),
    "nodes that are numbers": ({"nodes": [1, 2]}, TypeError, "nodes must be a list of names"),
    "absent that is one word": ({"absent": "none"}, TypeError, "absent must be a list of values"),
    "absent of lists": ({"absent": [[1]]}, TypeError, "absent must be a list of values"),
    "no_edge of objects": ({"no_edge": [object()]}, TypeError, "no_edge must be a list of values"),
    "directed that is no truth": ({"directed": 1}, TypeError, "directed must be True or False"),
    "counts that is no truth": ({"counts": None}, TypeError, "counts must be True or False"),
    "no samples": ({"n_samples": 0}, ValueError, "n_samples must be a positive integer"),
    "between without direction": (
        {"fixed": ["in", "b"], "between": ["in", "b"]},
        ValueError,
        "between needs a directed graph",
    ),
    "between free nodes": (
        {"directed": True, "between": ["in", "b"]},
        ValueError,
        r"between must name two of the fixed nodes \('in',\), got \('in', 'b'\)",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_descriptions_say_what_is_wrong(name):
    changes, error, message = BAD[name]
    with pytest.raises(error, match=message):
        graph(**changes)


def test_a_parameter_is_in_one_graph_or_group():
    with pytest.raises(ValueError, match=r"parameters \['a', 'b'\] must be in one group .* graph"):
        Model(structure=[graph(), PermutationInvariant(["a", "b"])])
    with pytest.raises(ValueError, match=r"'in_a'.* must be in one group .* or one graph"):
        Model(structure=[graph(), graph()])
    space = Space(tuple(Categorical(name, (0, 1, 2)) for name in graph().names))
    with pytest.raises(ValueError, match=r"labelled graph must have neither graphs.*\['b'\] have"):
        KernelBuilder(space, Model(structure=graph(), order={"b": [0, 1, 2]}))


def test_an_absent_label_that_no_node_has_is_refused():
    space = Space(tuple(Categorical(name, ("x", "y", "no")) for name in graph().names))
    KernelBuilder(space, Model(structure=graph(absent=["no"])))
    with pytest.raises(ValueError, match=r"absent must hold labels of \('a', 'b'\), got 'nope'"):
        KernelBuilder(space, Model(structure=graph(absent=["no", "nope"])))


@pytest.mark.parametrize("kernel", ["matern", "rational-quadratic"])
def test_kernels_that_are_no_product_refuse_graphs(kernel):
    with pytest.raises(ValueError, match=f"kernel '{kernel}' is no product over parameters"):
        Model(kernel, structure=graph())
    with pytest.raises(ValueError, match="kernel 'ssk' takes no structure"):
        Model("ssk", structure=graph())


def test_weisfeiler_lehman_asks_for_a_graph():
    with pytest.raises(ValueError, match=r"compares graphs: say which .* structure=LabelledGraph"):
        Model("weisfeiler-lehman")
    with pytest.raises(ValueError, match="takes no structure but LabelledGraph"):
        Model("weisfeiler-lehman", structure=[graph(), Additive()])
    with pytest.raises(ValueError, match="compares graphs"):
        Model("weisfeiler-lehman", structure="auto")
    assert Model("weisfeiler-lehman", structure=[graph()]).labelled_graphs == (graph(),)
