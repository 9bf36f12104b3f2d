"""Which kernel the surrogate has, as a value: checked, compared, stored and restored."""

import json
import math
import pickle
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heat_plugins.kernels.build import KernelBuilder
from heat_plugins.space import Categorical, Space
from heat_plugins.spec import registry
from heat_plugins.spec.model import Model, register_kernel
from heat_plugins.spec.registry import kernels_without_graph
from heat_plugins.spec.structures import (
    Additive,
    Anchors,
    InteractionOrders,
    LabelledGraph,
    PermutationInvariant,
    RandomDecomposition,
)

CHECKED = settings(deadline=None, max_examples=50)
WHOLE = ("graph-matern", "inverse-polynomial", "hed", "ssk")
PRODUCTS = ("heat", "casmopolitan", "combo", "one-hot-rbf")
CYCLE = [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]

# ------------------------------------------------------------------------- round trips
STRUCTURES = [
    (),
    "auto",
    Additive(),
    Additive(remainder=False),
    InteractionOrders(3, orthogonal=False),
    InteractionOrders(3, remainder=False),
    RandomDecomposition(4, seed=9),
    PermutationInvariant(["x", "y"], "sum", 12, [[1, 0]]),
    LabelledGraph(["x", "y", "in"], {("x", "y"): "xy", ("in", "x"): True}, ["in"], absent=[None]),
    [LabelledGraph.nasbench101(4, counts=False), LabelledGraph.nasbench201(no_edge=[0]), "auto"],
    [PermutationInvariant([["x", "y"], ["v", "w"]]), "auto"],
    [Anchors(({"x": 1}, {"y": "b", "x": None})), Additive()],
]


@st.composite
def models(draw):
    structure = draw(st.sampled_from(STRUCTURES))
    has_structure = structure != ()
    is_split = Model(structure=structure).combination or Model(structure=structure).is_auto
    kernels = PRODUCTS if has_structure else kernels_without_graph()
    kernel = draw(st.sampled_from([k for k in kernels if not (is_split and k == "one-hot-rbf")]))
    allowed = {None, False, True}
    if kernel in (*WHOLE, "one-hot-rbf"):
        allowed -= {True}
    if is_split:
        allowed -= {False}
    ard = draw(st.sampled_from(sorted(allowed, key=str)))
    graph = st.sampled_from(["path", "cycle", "complete", CYCLE, np.array(CYCLE)])
    has_graphs = kernel not in ("hed", "ssk")
    most = 2 if has_graphs else 0
    graphs = draw(st.dictionaries(st.sampled_from(["a", "b"]), graph, max_size=most))
    choice = st.text(max_size=3) | st.integers() | st.booleans() | st.none() | st.floats(-3, 3)
    choices = st.lists(choice, max_size=4, unique_by=lambda c: (type(c), c))
    order = draw(st.dictionaries(st.sampled_from(["c", "d"]), choices, max_size=most))
    scales = draw(st.dictionaries(st.sampled_from(["e", "f"]), st.sampled_from(["linear", "log"])))
    mixing = draw(st.sampled_from(["product", "sum", "mixture"]))
    return Model(kernel, ard, structure, graphs, order, scales, mixing)


@given(models())
@CHECKED
def test_models_survive_the_way_through_json(model):
    text = model.to_json()
    again = Model.from_json(text)
    assert again == model
    assert again.to_json() == text
    assert json.loads(text)["kernel"] == model.kernel


@given(models())
@CHECKED
def test_models_survive_pickling(model):
    assert pickle.loads(pickle.dumps(model)) == model


def test_defaults():
    model = Model()
    assert model.kernel == "heat" and model.has_ard and model.is_product and not model.is_auto
    assert model.structures == () and model.combination is None and model.anchors == ()
    assert model == Model(structure=None) == Model(structure=[]) == Model.from_json("{}")
    assert model != Model(ard=True) and Model(ard=True).has_ard


@pytest.mark.parametrize("kernel", kernels_without_graph())
def test_which_kernels_have_a_rate_each(kernel):
    model = Model(kernel)
    assert model.has_ard == (kernel not in ("one-hot-rbf", *WHOLE))
    assert model.is_product == (kernel in PRODUCTS)
    assert not Model(kernel, ard=False).has_ard


def test_structures_are_sorted_by_what_they_say():
    groups, anchors = PermutationInvariant(["x", "y"]), Anchors(({"z": 1},))
    model = Model(structure=[groups, anchors, InteractionOrders(3)], graphs={"g": "path"},
                  order={"o": [1, 2]}, quantitative=["q"])  # fmt: skip
    assert model.invariances == (groups,)
    assert model.anchors == ({"z": 1},)
    assert model.combination == InteractionOrders(3)
    assert model.named == ("g", "o", "q", "x", "y", "z")
    assert Model(structure=groups).structures == (groups,)
    auto = Model(structure=["auto", groups])
    assert auto.is_auto and auto.structures == (groups,) and auto.combination is None


def test_quantitative_names_are_linear_unless_said():
    assert Model(quantitative=["q", "r"]).scales == {"q": "linear", "r": "linear"}
    assert Model(quantitative={"q": "log"}).scales == {"q": "log"}
    assert Model(quantitative=("q",)) == Model(quantitative={"q": "linear"})


def test_arrays_become_lists_that_compare():
    assert Model(graphs={"c": np.array(CYCLE)}) == Model(graphs={"c": CYCLE})
    assert Model(order={"c": ["s", "m"]}) == Model(order={"c": ("s", "m")})


# ---------------------------------------------------------------------------- functions
@pytest.fixture(autouse=True)
def _nothing_is_registered(monkeypatch):
    """Other tests of the same process, and examples of documents, register kernels too."""
    monkeypatch.setattr(registry, "_REGISTERED", {})


def laplace(r):
    return np.exp(-r)


class Kernels:
    @staticmethod
    def cauchy(r):
        return 1.0 / (1.0 + r**2)


@pytest.fixture
def registered():
    """Leave the registry as it was."""
    before = dict(registry._REGISTERED)
    yield
    registry._REGISTERED.clear()
    registry._REGISTERED.update(before)


@pytest.mark.usefixtures("registered")
def test_functions_are_stored_by_the_name_they_were_registered_by():
    register_kernel("cauchy of a test", Kernels.cauchy)
    for model in (Model("cauchy of a test"), Model(Kernels.cauchy)):
        text = model.to_json()
        assert json.loads(text)["kernel"] == "cauchy of a test"
        assert Model.from_json(text) == Model("cauchy of a test")
        assert Model.from_json(text).entry.function is Kernels.cauchy


@pytest.mark.usefixtures("registered")
def test_a_registered_name_is_the_function():
    register_kernel("laplace", laplace)
    space = Space((Categorical("c", "abc"), Categorical("d", "ab")))
    points = np.array([[i, j] for i in range(3) for j in range(2)], dtype=float)
    matrices = []
    for kernel in ("laplace", laplace):
        built = KernelBuilder(space, Model(kernel)).kernel()
        matrices.append(built.matrix(built.start(2.0), built.prepare(points)))
    np.testing.assert_array_equal(*matrices)
    assert not Model("laplace").is_product and Model("laplace").has_ard
    with pytest.raises(ValueError, match="is no product over parameters"):
        Model("laplace", structure=Additive())


def test_functions_without_a_name_cannot_be_stored():
    for function in (lambda r: np.exp(-r), laplace, np.sinc):
        with pytest.raises(TypeError, match=r"registered first by heat_plugins.register_kernel"):
            Model(function).to_json()
    assert Model(laplace).kernel is laplace


def test_loading_never_imports_what_the_data_name(tmp_path, monkeypatch):
    (tmp_path / "bait_of_a_test.py").write_text("import numpy as np\nkernel = np.sinc\n")
    monkeypatch.syspath_prepend(tmp_path)
    for kernel in ("bait_of_a_test:kernel", "numpy:sinc", "laplace"):
        message = rf"register_kernel\(name, function\), got '{kernel}'"
        with pytest.raises(ValueError, match=message):
            Model.from_json(json.dumps({"kernel": kernel}))
    assert "bait_of_a_test" not in sys.modules


@pytest.mark.usefixtures("registered")
def test_unpickled_where_it_is_not_registered():
    register_kernel("laplace", laplace)
    pickled = pickle.dumps(Model("laplace"))
    registry._REGISTERED.clear()
    model = pickle.loads(pickled)
    with pytest.raises(ValueError, match=r"register_kernel\(name, function\), got 'laplace'"):
        KernelBuilder(Space((Categorical("c", "abc"),)), model).kernel()


@pytest.mark.usefixtures("registered")
def test_to_register_again_replaces_the_version_before():
    def version(power):
        def versioned(r):
            return np.exp(-(r**power))

        return versioned

    register_kernel("versioned", version(1))
    second = version(2)
    register_kernel("versioned", second)
    assert Model("versioned").entry.function is second


@pytest.mark.usefixtures("registered")
@pytest.mark.parametrize(
    ("name", "function", "message"),
    [
        ("heat", laplace, r"must be none of the built-in \('heat', .*got 'heat'"),
        ("", laplace, r"must be a string that is not empty, got ''"),
        (3, laplace, r"must be a string that is not empty, got 3"),
        ("mine", "laplace", r"kernel 'mine' must be a function of sqrt\(h\), got 'laplace'"),
        ("mine", math.exp, r"must take an array of distances, got TypeError"),
        ("mine", np.exp, r"positive and largest at 0"),
        ("taken", Kernels.cauchy, r"must be new, but 'taken' is that of <function laplace"),
    ],
)
def test_what_cannot_be_registered(name, function, message):
    register_kernel("taken", laplace)
    with pytest.raises(ValueError, match=message):
        register_kernel(name, function)
    assert registry._REGISTERED["taken"].function is laplace


BROKEN = {
    "a list": ("[]", "must be a JSON object, got"),
    "no JSON": ("{", "Expecting"),
    "other fields": ('{"colour": 1, "ard": true}', r"no other fields, got \['colour'\]"),
    "a kernel of several": ('{"kernel": ["heat"]}', r"kernel must be one of .*got \['heat'\]"),
    "no structure": ('{"structure": 5}', "structure must be 'auto', 'product' or made of .*got 5"),
    "an unknown structure": ('{"structure": [{"type": "os.system"}]}', "type of a structure"),
}


@pytest.mark.parametrize(("text", "message"), BROKEN.values(), ids=BROKEN)
def test_what_is_no_stored_model(text, message):
    with pytest.raises(ValueError, match=message):
        Model.from_json(text)


# ---------------------------------------------------------------------------- networkx
def test_networkx_graphs_are_stored_with_their_nodes():
    networkx = pytest.importorskip("networkx")
    by_choice = networkx.Graph([("s", "m"), ("m", "l")])
    by_position = networkx.path_graph(3)
    model = Model(graphs={"c": by_choice, "d": by_position})
    again = Model.from_json(model.to_json())
    assert again == model
    space = Space((Categorical("c", ("l", "s", "m")), Categorical("d", ("l", "s", "m"))))
    points = np.array([[i, j] for i in range(3) for j in range(3)], dtype=float)
    matrices = []
    for some in (model, again):
        kernel = KernelBuilder(space, some).kernel()
        matrices.append(kernel.matrix(kernel.start(2.0), kernel.prepare(points)))
    np.testing.assert_array_equal(*matrices)
    of_c, of_d = matrices[0][::3, ::3], matrices[0][:3, :3]
    assert of_c[1, 2] == pytest.approx(of_c[0, 2]) and of_c[0, 1] < of_c[1, 2]  # s - m - l
    assert of_d[0, 1] == pytest.approx(of_d[1, 2]) and of_d[0, 2] < of_d[0, 1]  # by position


# ----------------------------------------------------------------------------- messages
REFUSED = {
    "kernel": (lambda: Model("rbf"), r"kernel must be one of \('heat', .*got 'rbf'"),
    "mixing": (
        lambda: Model(mixing="product+sum"),
        r"mixing must be one of \('product', 'sum', 'mixture'\), got 'product\+sum'",
    ),
    "ard of an isotropic kernel": (
        lambda: Model("one-hot-rbf", ard=True),
        r"kernel 'one-hot-rbf' has one rate for all: ard must not be True",
    ),
    "structure": (
        lambda: Model(structure="additive"),
        r"structure must be 'auto', 'product' or made of PermutationInvariant.* got 'additive'",
    ),
    "one of several structures": (lambda: Model(structure=[Additive(), 3]), r"got 3"),
    "two combinations": (
        lambda: Model(structure=[Additive(), InteractionOrders()]),
        r"at most one of Additive, InteractionOrders, RandomDecomposition, 'auto' and 'product', ",
    ),
    "a combination and auto": (lambda: Model(structure=["auto", Additive()]), r"at most one of"),
    "structure of a whole": (
        lambda: Model("ssk", structure=PermutationInvariant(["a", "b"])),
        r"kernel 'ssk' takes no structure, got",
    ),
    "auto of a whole": (lambda: Model("hed", structure="auto"), r"kernel 'hed' takes no struct"),
    "sum of a matern": (
        lambda: Model("matern", structure=Additive()),
        r"kernel 'matern' is no product over parameters, which the structure .* needs",
    ),
    "sum of a function": (lambda: Model(laplace, structure="auto"), r"is no product over param"),
    **{
        f"group sum of {kernel}": (
            lambda kernel=kernel: Model(kernel, structure=PermutationInvariant(["a", "b"], "sum")),
            rf"kernel '{kernel}' is no product over parameters, which the structure .* needs",
        )
        for kernel in ("matern", "rational-quadratic")
    },
    "group sum of a function": (
        lambda: Model(laplace, structure=PermutationInvariant(["a", "b"], "sum")),
        r"is no product over param",
    ),
    "auto twice": (
        lambda: Model(structure=["auto", "auto"]),
        r"at most one of Additive, .* 'auto' and 'product', got \('auto', 'auto'\)",
    ),
    **{
        f"graphs of {kernel}": (
            lambda kernel=kernel: Model(kernel, graphs={"c": "path"}),
            rf"kernel '{kernel}' takes neither graphs nor order",
        )
        for kernel in ("hed", "ssk")
    },
    **{
        f"order of {kernel}": (
            lambda kernel=kernel: Model(kernel, order={"c": [1, 2]}),
            rf"kernel '{kernel}' takes neither graphs nor order",
        )
        for kernel in ("hed", "ssk")
    },
    **{
        f"isotropic {structure}": (
            lambda structure=structure: Model(ard=False, structure=structure),
            r"has a rate for every parameter, the kernel 'heat' with ard=False one for all",
        )
        for structure in ("auto", Additive(), InteractionOrders(2), RandomDecomposition())
    },
    "function of numbers": (
        lambda: Model(math.exp),
        r"kernel, if a function, must take an array of distances, got TypeError",
    ),
    "function that fails": (
        lambda: Model(lambda r: 1 / {}["r"]),
        r"must take an array of distances, got KeyError\('r'\)",
    ),
    "function of one value": (lambda: Model(lambda r: 1.0), r"as many finite covariances"),
    "function of other length": (
        lambda: Model(lambda r: np.exp(-r)[:2]),
        r"as many finite covariances, positive and largest at 0; got .* at \[0, 0.5, 1, 2\]",
    ),
    "function of a table": (
        lambda: Model(lambda r: np.exp(-r)[:, None]),
        r"as many finite covariances",
    ),
    "function without a finite value": (
        lambda: Model(lambda r: np.where(r > 1.0, np.nan, 1.0)),
        r"as many finite covariances",
    ),
    "negative function": (lambda: Model(lambda r: -np.exp(-r)), r"positive and largest at 0"),
    "distance itself": (lambda: Model(lambda r: r), r"positive and largest at 0"),
    "growing function": (lambda: Model(np.exp), r"positive and largest at 0"),
    "additive isotropic kernel": (
        lambda: Model("one-hot-rbf", structure=Additive()),
        r"the kernel 'one-hot-rbf' with ard=None one for all",
    ),
    "graph without edges": (
        lambda: Model(graphs={"c": [[0, 0], [0, 0]]}),
        r"graph of 'c' must join at least two of its choices, got no edge",
    ),
    "two things about one parameter": (
        lambda: Model(graphs={"c": "path"}, quantitative=["c"]),
        r"parameters \['c'\] must be in one of graphs, order, quantitative",
    ),
    "two groups of one parameter": (
        lambda: Model(
            structure=[PermutationInvariant(["a", "b"]), PermutationInvariant(["b", "c"])]
        ),
        r"parameters \['b'\] must be in one group",
    ),
    "graph": (lambda: Model(graphs={"c": "ring"}), r"graph of 'c' must be one of .* got 'ring'"),
    "directed graph": (
        lambda: Model(graphs={"c": [[0, 1], [0, 0]]}),
        r"graph of 'c' must be undirected",
    ),
    "scale": (
        lambda: Model(quantitative={"q": "exp"}),
        r"quantitative\['q'\] must be one of \('linear', 'log'\), got 'exp'",
    ),
    "quantitative numbers": (
        lambda: Model(quantitative=[1]),
        r"quantitative must be a list of names, got \[1\]",
    ),
    "choice twice": (
        lambda: Model(order={"size": ["S", "M", "S"]}),
        r"order of 'size' must have each choice once, got 'S' twice",
    ),
    "quantitative flag": (
        lambda: Model(quantitative=True),
        r"quantitative must be a list of names, got True",
    ),
    "quantitative name": (
        lambda: Model(quantitative="q"),
        r"quantitative must be a list of names, got 'q'",
    ),
}


WRONG_TYPES = {
    "order as a list": (
        lambda: Model(order=["S", "M"]),
        r"order must map names of parameters to lists of choices, such as .*, got \['S', 'M'\]",
    ),
    "order of numbers": (lambda: Model(order={1: ["S", "M"]}), r"order must map names of param"),
    "order of letters": (
        lambda: Model(order={"size": "SM"}),
        r"order of 'size' must be a list of choices, got 'SM'",
    ),
    "order of a set": (
        lambda: Model(order={"size": {"S"}}),
        r"order of 'size' must be a list of choices, got \{'S'\}",
    ),
    "graphs as a word": (
        lambda: Model(graphs="path"),
        r"graphs must map names of parameters to graphs, such as .*, got 'path'",
    ),
    "graphs as a matrix": (
        lambda: Model(graphs=np.eye(2)),
        r"graphs must map names of parameters to graphs",
    ),
    "ard as a word": (lambda: Model(ard="no"), r"ard must be None, True or False, got 'no'"),
    "ard as a number": (lambda: Model(ard=0.5), r"ard must be None, True or False, got 0.5"),
}


@pytest.mark.parametrize(("make", "message"), WRONG_TYPES.values(), ids=WRONG_TYPES)
def test_what_is_of_another_type_is_refused_by_its_argument(make, message):
    with pytest.raises(TypeError, match=message):
        make()


def test_an_order_may_be_an_array():
    model = Model(order={"size": np.array([8, 64])})
    assert Model.from_json(model.to_json()) == Model(order={"size": [8, 64]})


@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED)
def test_messages_say_what_was_expected_and_what_was_given(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_what_json_cannot_hold_is_refused_when_stored():
    model = Model(order={"c": [object(), 1]})
    with pytest.raises(TypeError, match="settings must be made of what JSON can hold"):
        model.to_json()
