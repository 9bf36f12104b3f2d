"""Conditions: what the trials show is found again, and holds for points not tried yet."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heat_plugins.space import Categorical, Float, Integer, Ordinal, Space
from heat_plugins.space.conditions import Conditions, Leaf
from heat_plugins.space.infer_conditions import learn_conditions as learn

# No deadline: other work on the machine is no failure.
SOMETIMES = settings(deadline=None, max_examples=100)


def run(programme, space, n, seed=0):
    """Let a programme ask for parameters, with random values: (n, d), NaN where it does not.

    The programme gets a function ``ask(name)`` and may look at a row's number, ``ask.time``.
    """
    rng = np.random.default_rng(seed)
    points = np.full((n, len(space)), np.nan)
    for time, (row, sample) in enumerate(zip(points, space.sample(n, rng), strict=True)):
        values = space.decode(sample)

        def ask(name, row=row, sample=sample, values=values):
            row[space.column[name]] = sample[space.column[name]]
            return values[name]

        ask.time = time
        programme(ask)
    return points


def activity(programme, space, samples, time=math.inf):
    """(n, d) what a programme asks for at full rows."""
    asked = np.zeros(samples.shape, dtype=bool)
    for row, sample in zip(asked, samples, strict=True):
        values = space.decode(sample)

        def ask(name, row=row, values=values):
            row[space.column[name]] = True
            return values[name]

        ask.time = time
        programme(ask)
    return asked


def check(programme, space, n=100):
    """Learn from a programme; predict what it asks for on these rows, and on fresh ones."""
    points = run(programme, space, n)
    conditions = learn(space, points)
    np.testing.assert_array_equal(conditions.active(points), ~np.isnan(points))
    samples = space.sample(500, np.random.default_rng(1))
    wrong = conditions.active(samples) != activity(programme, space, samples)
    assert not wrong.any(), [space.names[i] for i in np.flatnonzero(wrong.any(axis=0))]
    return conditions


def parents(tree):
    """All columns that a tree tests."""
    if isinstance(tree, Leaf):
        return set()
    return {tree.cut.column}.union(*(parents(child) for child in tree.children))


MODEL = Categorical("model", ("svm", "forest", "net"))


# --------------------------------------------------------------------- what is found
def test_where_nothing_is_absent_there_are_no_conditions():
    space = Space((MODEL, Float("x", 0, 1)))
    assert learn(space, space.sample(20, np.random.default_rng(0))) is None
    assert learn(space, np.empty((0, 2))) is None


def test_a_branch():
    space = Space((Float("x", 0, 1), Float("C", 0, 1), MODEL, Integer("depth", 1, 500)))

    def programme(ask):
        ask("x")
        model = ask("model")
        if model == "svm":
            ask("C")
        elif model == "forest":
            ask("depth")

    conditions = check(programme, space, n=15)
    assert conditions.is_optional.tolist() == [False, True, False, True]
    assert set(conditions.trees) == {1, 3}
    assert all(parents(tree) == {2} for tree in conditions.trees.values())


def test_a_branch_within_a_branch():
    kernel = Categorical("kernel", ("linear", "rbf", "poly"))
    space = Space((Float("gamma", 0, 1), Integer("degree", 2, 5), kernel, MODEL))

    def programme(ask):
        if ask("model") == "svm":
            kernel = ask("kernel")
            if kernel == "rbf":
                ask("gamma")
            elif kernel == "poly":
                ask("degree")

    conditions = check(programme, space, n=40)
    assert parents(conditions.trees[0]) == parents(conditions.trees[1]) == {2}
    assert parents(conditions.trees[2]) == {3}
    # What stands in the column of an inactive parent does not count.
    point = space.encode({"gamma": 0.5, "degree": 3, "kernel": "rbf", "model": "net"})
    assert conditions.active(point[None]).tolist() == [[False, False, False, True]]


def test_all_but_one_code():
    space = Space(
        (Categorical("booster", ("tree", "linear", "dart", "other")), Float("eta", 0, 1))
    )

    def programme(ask):
        if ask("booster") != "linear":
            ask("eta")

    check(programme, space, n=30)


@pytest.mark.parametrize(
    "n_layers",
    [
        Integer("n_layers", 1, 6),
        Integer("n_layers", 1, 6, log=True),
        Float("n_layers", 1, 6, step=1),
        Ordinal("n_layers", (1, 2, 3, 4, 5, 6)),
    ],
)
def test_a_loop(n_layers):
    units = [Integer(f"units_{i}", 4, 512, log=True) for i in range(6)]
    space = Space((*units, n_layers, Float("rate", 0, 1)))

    def programme(ask):
        ask("rate")
        for i in range(int(ask("n_layers"))):
            ask(f"units_{i}")

    conditions = check(programme, space, n=60)
    assert not conditions.is_optional[0]
    assert all(parents(tree) == {6} for tree in conditions.trees.values())


def test_a_number_of_layers_between_two_that_were_tried_asks_for_more():
    space = Space((Integer("n_layers", 1, 3), Float("units", 0, 1)))
    conditions = learn(space, np.array([[0.0, np.nan], [1.0, 0.3]] * 3))
    assert conditions.active(np.array([[0.5, 0.3]])).tolist() == [[True, True]]


def test_a_threshold_of_a_continuous_parameter():
    others = [Categorical(f"c{i}", "abc") for i in range(5)]
    space = Space((*others, Float("dropout", 0, 1), Float("seed", 0, 1)))

    def programme(ask):
        for i in range(5):
            ask(f"c{i}")
        if ask("dropout") > 0.3:
            ask("seed")

    points = run(programme, space, 100)
    conditions = learn(space, points)
    np.testing.assert_array_equal(conditions.active(points), ~np.isnan(points))
    assert parents(conditions.trees[6]) == {5}
    grid = np.repeat(points[:1], 101, axis=0)
    grid[:, 5] = np.linspace(0, 1, 101)
    is_wrong = conditions.active(grid)[:, 6] != (grid[:, 5] > 0.3)
    assert is_wrong.sum() <= 3


def test_two_conditions_at_once():
    space = Space(
        (
            Categorical("a", "xyz"),
            Categorical("b", "xyz"),
            Categorical("c", tuple(range(30))),
            Float("p", 0, 1),
            Float("q", 0, 1),
        )
    )

    def programme(ask):
        a, b, _ = ask("a"), ask("b"), ask("c")
        if a == "x" and b == "y":
            ask("p")
        if a == "x" or b == "y":
            ask("q")

    # Column c tells almost all rows apart, but explains nothing.
    conditions = check(programme, space, n=60)
    assert parents(conditions.trees[3]) == parents(conditions.trees[4]) == {0, 1}


def test_the_existence_of_another_parameter():
    """Three codes of three columns would be seen together once in 27 rows."""
    space = Space(
        (*(Categorical(name, "xyz") for name in "abc"), Float("p", 0, 1), Float("q", 0, 1))
    )

    def programme(ask):
        a, b, c = ask("a"), ask("b"), ask("c")
        if a == "x" and b == "x":
            ask("p")
            if c == "x":
                ask("q")

    conditions = check(programme, space, n=200)
    assert parents(conditions.trees[4]) == {2, 3}


def test_a_name_used_in_two_branches():
    """``rate`` is present more often than ``solver``, on which it depends."""
    space = Space(
        (
            Float("rate", 0, 1),
            Categorical("solver", ("sgd", "adam", "lbfgs")),
            Categorical("other", tuple("abcdef")),
            MODEL,
        )
    )

    def programme(ask):
        ask("other")
        model = ask("model")
        if model == "forest" or (model == "net" and ask("solver") == "sgd"):
            ask("rate")

    conditions = check(programme, space, n=100)
    assert parents(conditions.trees[0]) == {1, 3}
    assert list(conditions.order) == [2, 3, 1, 0]


def test_parameters_that_exist_together_share_a_tree():
    space = Space((Float("a", 0, 1), MODEL, Float("b", 0, 1), Float("c", 0, 1)))

    def programme(ask):
        if ask("model") == "svm":
            ask("a")
            ask("b")
        else:
            ask("c")

    conditions = check(programme, space, n=30)
    assert conditions.trees[0] is conditions.trees[2]
    assert conditions.trees[0] is not conditions.trees[3]


# --------------------------------------------------------------- what was never tried
@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([(0, True), (1, False), (2, False)], False),
        ([(0, True), (1, True), (2, False)], True),
        ([(0, False), (1, True)], True),  # in doubt a value that nobody asks for
        ([(0, False), (0, False), (1, True)], False),  # rows count, not codes
    ],
)
def test_a_code_that_was_never_tried_goes_with_the_majority(rows, expected):
    space = Space((Categorical("c", "abcdef"), Float("p", 0, 1)))
    points = np.array([[code, 0.5 if is_present else np.nan] for code, is_present in rows])
    conditions = learn(space, points)
    for code in (3.0, 4.0, 5.0):
        assert conditions.active(np.array([[code, 0.5]])).tolist() == [[True, expected]]


def test_a_code_that_was_never_tried_goes_with_those_that_have_the_parent():
    """``gamma`` is absent in most rows, but not in most rows that have a ``kernel``."""
    kernel = Categorical("kernel", ("linear", "rbf", "poly", "new"))
    space = Space((MODEL, kernel, Float("gamma", 0, 1)))
    rest = [[1.0, np.nan, np.nan], [2.0, np.nan, np.nan]] * 5
    rows = [[0.0, 0.0, np.nan], [0.0, 1.0, 0.1], [0.0, 2.0, 0.2]]
    conditions = learn(space, np.array(rest + rows))
    assert conditions.active(np.array([[0.0, 3.0, 0.5]]))[0, 2]
    assert not conditions.active(np.array([[1.0, 3.0, 0.5]]))[0, 2]


def test_a_parameter_that_was_never_asked_for():
    space = Space((Float("x", 0, 1), Float("never", 0, 1)))
    conditions = learn(space, np.array([[0.1, np.nan], [0.2, np.nan]]))
    assert conditions.active(np.array([[0.3, 0.3]])).tolist() == [[True, False]]


def test_a_parameter_without_others():
    space = Space((Float("x", 0, 1),))
    for rows, expected in (([0.1, np.nan], False), ([np.nan, 0.1], True)):
        conditions = learn(space, np.array(rows)[:, None])
        assert conditions.active(np.array([[0.3]])).tolist() == [[expected]]


def test_a_single_row():
    space = Space((MODEL, Float("a", 0, 1), Float("b", 0, 1)))
    conditions = learn(space, np.array([[0.0, 0.5, np.nan]]))
    assert conditions.active(np.array([[1.0, 0.5, 0.5]])).tolist() == [[True, True, False]]


# ------------------------------------------------------------------- changes over time
SPACE = Space(
    (
        *(Categorical(f"c{i}", tuple(range(2 + i))) for i in range(5)),
        *(Integer(f"i{i}", 0, 9) for i in range(5)),
        *(Float(f"f{i}", 0, 1) for i in range(5)),
        Float("p", 0, 1),
    )
)


def ask_rest(ask):
    """Ask for everything but p."""
    return [ask(name) for name in SPACE.names[:-1]]


def is_active_now(programme, n, seed=0):
    """Return where p is expected after n rows, and the points for which that was asked."""
    conditions = learn(SPACE, run(programme, SPACE, n, seed))
    samples = SPACE.sample(300, np.random.default_rng(1))
    return conditions.active(samples)[:, -1], samples


@pytest.mark.parametrize(("change", "n"), [(60, 120), (100, 110), (10, 100)])
@pytest.mark.parametrize("is_dropped", [True, False])
def test_a_parameter_that_is_dropped_or_appears_late(change, n, is_dropped):
    def programme(ask):
        ask_rest(ask)
        if (ask.time < change) == is_dropped:
            ask("p")

    assert (is_active_now(programme, n)[0] != is_dropped).all()


@pytest.mark.parametrize("is_dropped", [True, False])
def test_a_parameter_that_comes_or_goes_where_it_is_conditional(is_dropped):
    def programme(ask):
        c1 = ask_rest(ask)[1]
        if c1 == 2 and (ask.time < 60) == is_dropped:
            ask("p")

    is_active, samples = is_active_now(programme, 120)
    np.testing.assert_array_equal(is_active, (samples[:, 1] == 2) & (not is_dropped))


def test_a_parameter_that_became_conditional():
    def programme(ask):
        c1 = ask_rest(ask)[1]
        if ask.time < 60 or c1 == 2:
            ask("p")

    is_active, samples = is_active_now(programme, 150)
    np.testing.assert_array_equal(is_active, samples[:, 1] == 2)


def test_a_search_that_settles_is_no_change():
    """The values of late rows hardly vary, so presence does not; but it has its reasons."""
    space = Space((*(Categorical(name, "xyz") for name in "abcdef"), Float("p", 0, 1)))

    def programme(ask):
        a, b = [ask(name) for name in "abcdef"][:2]
        if a == "x" and b == "y":
            ask("p")

    early = run(programme, space, 80)
    best = early[~np.isnan(early[:, -1])][:1]
    points = np.concatenate([early, np.repeat(best, 200, axis=0)])
    conditions = learn(space, points)
    samples = space.sample(300, np.random.default_rng(1))
    np.testing.assert_array_equal(conditions.active(samples), activity(programme, space, samples))


def test_trials_that_ended_early_do_not_matter_much():
    def programme(ask):
        c1 = ask_rest(ask)[1]
        if c1 != 0 and ask.time % 10 != 9:
            ask("p")

    # The latest row with c1 != 0 is one that ended early.
    is_active, samples = is_active_now(programme, 400)
    np.testing.assert_array_equal(is_active, samples[:, 1] != 0)


# ----------------------------------------------------------------- random programmes
@st.composite
def programmes(draw):
    """Spaces of few values, and tests of earlier parameters that all must hold.

    A test is a column and the levels, as coordinates, that it lets pass.
    """
    parameters, conditions = [], []
    for i in range(draw(st.integers(2, 6))):
        size = draw(st.integers(2, 4))
        kind = draw(st.sampled_from(["choice", "number", "continuous"]))
        if kind == "choice":
            parameters.append(Categorical(f"p{i}", tuple(range(size))))
        elif kind == "number":
            parameters.append(Integer(f"p{i}", 1, size))
        else:
            parameters.append(Float(f"p{i}", 0, 1))
        tests = []
        can_test = [j for j in range(i) if parameters[j].n_levels < math.inf]
        if can_test:
            for j in draw(st.lists(st.sampled_from(can_test), max_size=2, unique=True)):
                levels = parameters[j].levels()
                if isinstance(parameters[j], Integer):
                    passing = levels[draw(st.integers(1, len(levels) - 1)) :]
                else:
                    passing = draw(st.sets(st.sampled_from(levels.tolist()), min_size=1))
                tests.append((j, passing))
        conditions.append(tests)
    # In any order: that of the columns must not matter.
    order = draw(st.permutations(range(len(parameters))))
    place = {j: k for k, j in enumerate(order)}
    space = Space(tuple(parameters[j] for j in order))
    return space, [(place[i], [(place[j], p) for j, p in t]) for i, t in enumerate(conditions)]


def truth(conditions, samples):
    """(n, d) what exists at full rows."""
    exists = np.ones(samples.shape, dtype=bool)
    for column, tests in conditions:
        for parent, passing in tests:
            exists[:, column] &= exists[:, parent] & np.isin(samples[:, parent], [*passing])
    return exists


def factorial(space, rng):
    """All combinations of choices and whole numbers, in random order."""
    levels = [p.levels() if p.n_levels < math.inf else np.zeros(1) for p in space.parameters]
    rows = np.stack(np.meshgrid(*levels, indexing="ij"), axis=-1).reshape(-1, len(space))
    rows = rng.permutation(rows)
    return np.where(np.isinf(space.n_levels), rng.random(rows.shape), rows)


@SOMETIMES
@given(programmes(), st.integers(0, 2**32 - 1), st.integers(20, 200))
def test_rows_seen_are_always_explained(programme, seed, n):
    space, conditions = programme
    samples = space.sample(n, np.random.default_rng(seed))
    points = np.where(truth(conditions, samples), samples, np.nan)
    learnt = learn(space, points)
    assert (learnt is None) == (not np.isnan(points).any())
    if learnt is not None:
        np.testing.assert_array_equal(learnt.active(points), ~np.isnan(points))
        np.testing.assert_array_equal(learnt.is_optional, np.isnan(points).any(axis=0))


@SOMETIMES
@given(programmes(), st.integers(0, 2**32 - 1))
def test_where_every_branch_has_been_seen_all_points_are_explained(programme, seed):
    space, conditions = programme
    rng = np.random.default_rng(seed)
    samples = factorial(space, rng)
    learnt = learn(space, np.where(truth(conditions, samples), samples, np.nan))
    if learnt is not None:
        fresh = space.sample(200, rng)
        np.testing.assert_array_equal(learnt.active(fresh), truth(conditions, fresh))


@SOMETIMES
@given(programmes(), st.integers(0, 2**32 - 1), st.integers(1, 60))
def test_points_are_completed_consistently(programme, seed, n):
    space, conditions = programme
    rng = np.random.default_rng(seed)
    samples = space.sample(n, rng)
    learnt = learn(space, np.where(truth(conditions, samples), samples, np.nan))
    if learnt is None:
        return
    points, others = space.sample(50, rng), space.sample(50, rng)
    points[rng.random(points.shape) < 0.3] = np.nan
    original = points.copy()

    active = learnt.active(points)
    bare = learnt.deactivate(points)
    np.testing.assert_array_equal(bare, np.where(active, points, np.nan))
    np.testing.assert_array_equal(learnt.active(bare), active)
    np.testing.assert_array_equal(learnt.deactivate(bare), bare)

    full = learnt.fill(points, others)
    np.testing.assert_array_equal(full, fill_column_by_column(learnt, points, others))
    np.testing.assert_array_equal(~np.isnan(full), learnt.active(full))
    np.testing.assert_array_equal(learnt.fill(full, others), full)
    np.testing.assert_array_equal(points, original)


def fill_column_by_column(learnt, points, samples):
    """The definition of ``fill``: parents first, so that they decide about their children."""
    full = points.copy()
    for column in learnt.order:
        is_active = learnt.active(full)[:, column]
        value = np.where(np.isnan(full[:, column]), samples[:, column], full[:, column])
        full[:, column] = np.where(is_active, value, np.nan)
    return full


@SOMETIMES
@given(programmes(), st.integers(0, 2**32 - 1), st.integers(1, 60), st.floats(0, 1))
def test_parents_come_before_children_whatever_the_rows(programme, seed, n, rate):
    """Rows that contradict each other give no circle either."""
    space, conditions = programme
    rng = np.random.default_rng(seed)
    samples = space.sample(n, rng)
    exists = truth(conditions, samples) & (rng.random(samples.shape) < rate)
    learnt = learn(space, np.where(exists, samples, np.nan))
    if learnt is None:
        return
    place = np.argsort(learnt.order)
    assert sorted(learnt.order) == list(range(len(space)))
    for column, tree in learnt.trees.items():
        assert all(place[parent] < place[column] for parent in parents(tree))


# -------------------------------------------------------------------------- the rest
def test_what_is_missing_in_an_active_column_decides_nothing():
    space = Space((MODEL, Float("C", 0, 1)))
    conditions = learn(space, np.array([[0.0, 0.5], [1.0, np.nan], [2.0, np.nan]]))
    points = np.array([[np.nan, 0.5], [0.0, np.nan], [1.0, 0.5]])
    assert conditions.active(points).tolist() == [[True, False], [True, True], [True, False]]
    samples = np.array([[0.0, 0.1], [1.0, 0.2], [2.0, 0.3]])
    expected = [[0.0, 0.5], [0.0, 0.2], [1.0, np.nan]]
    np.testing.assert_array_equal(conditions.fill(points, samples), expected)
    assert conditions.active(np.empty((0, 2))).shape == (0, 2)


def test_neighbouring_floats_are_told_apart():
    low = 0.1 + 0.2
    high = np.nextafter(low, 1.0)
    space = Space((Float("x", 0, 1), Float("p", 0, 1)))
    points = np.array([[low, np.nan], [high, 0.5]] * 10)
    conditions = learn(space, points)
    np.testing.assert_array_equal(conditions.active(points), ~np.isnan(points))


def test_conditions_can_be_stored():
    space = Space((MODEL, Float("C", 0, 1)))
    conditions = learn(space, np.array([[0.0, 0.5], [1.0, np.nan], [2.0, np.nan]]))
    copy = pickle.loads(pickle.dumps(conditions))
    samples = space.sample(20, np.random.default_rng(0))
    np.testing.assert_array_equal(copy.active(samples), conditions.active(samples))


def test_the_end_of_a_tree_needs_no_test():
    conditions = Conditions(np.arange(2), {1: Leaf(True)})
    assert conditions.active(np.array([[np.nan, np.nan]])).tolist() == [[True, True]]
