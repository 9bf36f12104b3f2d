"""Circuits and operators, simulated gate by gate, against Python's arithmetic."""

import math
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heat_plugins.benchmarks.problems import circuits
from heat_plugins.benchmarks.problems.problem import DATA_VARIABLE
from heat_plugins.benchmarks.problems.synthesis import (
    OPERATORS,
    SYNTHESIS,
    applied,
    circuit_of,
    index_list_of,
    size_and_depth,
    synthesis,
)

pytest.importorskip("aigverse")
CHECKED = settings(deadline=None, max_examples=30)


def simulated(aig, inputs):
    """Return each output (n,) for inputs (n_inputs, n) of booleans: gate by gate."""
    values = {0: np.zeros(np.shape(inputs)[1], dtype=bool)}
    values |= dict(zip(aig.pis(), np.asarray(inputs, dtype=bool), strict=True))

    def of(signal):
        return values[aig.get_node(signal)] ^ aig.is_complemented(signal)

    for gate in aig.gates():
        a, b = aig.fanins(gate)
        values[gate] = of(a) & of(b)
    return np.array([of(output) for output in aig.pos()])


def bits(numbers, n_bits):
    return np.asarray(numbers) >> np.arange(n_bits)[:, None] & 1


def numbers(words):
    return (words.astype(np.int64) << np.arange(len(words))[:, None]).sum(axis=0)


def random_inputs(aig, n=512):
    return np.random.default_rng(0).integers(0, 2, (aig.num_pis, n))


# -------------------------------------------------------------------------- circuits
@pytest.mark.parametrize("n_bits", [1, 3, 5])
def test_every_product_is_that_of_the_numbers(n_bits):
    a, b = np.divmod(np.arange(4**n_bits), 2**n_bits)
    aig = circuits.multiplier(n_bits)
    outputs = simulated(aig, np.concatenate([bits(a, n_bits), bits(b, n_bits)]))
    assert len(outputs) == 2 * n_bits
    np.testing.assert_array_equal(numbers(outputs), a * b)


@given(a=st.integers(0, 255), b=st.integers(0, 255))
@CHECKED
def test_products_of_eight_bits(a, b):
    words = np.concatenate([bits([a], 8), bits([b], 8)])
    assert numbers(simulated(circuits.multiplier(8), words)) == [a * b]


@given(word=st.integers(0, 2**16 - 1), places=st.integers(0, 15))
@CHECKED
def test_shifted_words_are_rotated(word, places):
    aig = circuits.barrel_shifter(16)
    rotated = (word << places | word >> (16 - places)) % 2**16
    words = np.concatenate([bits([word], 16), bits([places], 4)])
    assert numbers(simulated(aig, words)) == [rotated]


@pytest.mark.parametrize("n_bits", [4, 8, 10])
def test_the_sine_is_that_of_its_steps_and_near_the_true_one(n_bits):
    u = np.arange(2**n_bits)
    found = numbers(simulated(circuits.sine(n_bits), bits(u, n_bits)))
    np.testing.assert_array_equal(found, [circuits.sine_value(int(v), n_bits) for v in u])
    true = np.array([math.sin(v / 2**n_bits * math.pi / 2.0) for v in u]) * 2**n_bits
    assert np.abs(found - true).max() < 4.0  # units in the last place


def test_the_simulation_is_that_of_the_package():
    from aigverse.algorithms import simulate

    aig = circuits.multiplier(3)
    tables = np.array([list(map(int, table.to_binary()[::-1])) for table in simulate(aig)])
    np.testing.assert_array_equal(simulated(aig, bits(np.arange(64), 6)), tables)


# ------------------------------------------------------------------------- operators
CIRCUITS = {
    "multiplier": lambda: circuits.multiplier(4),
    "shifter": lambda: circuits.barrel_shifter(8),
    "sine": lambda: circuits.sine(4),
}


@pytest.mark.parametrize("circuit", CIRCUITS)
@given(codes=st.lists(st.integers(0, len(OPERATORS) - 1), min_size=1, max_size=4))
@settings(deadline=None, max_examples=5)
def test_no_operator_changes_what_a_circuit_computes(circuit, codes):
    aig = CIRCUITS[circuit]()
    inputs = random_inputs(aig)
    expected = simulated(aig, inputs)
    circuit = index_list_of(aig)
    for code in codes:
        circuit = applied(code, circuit)
        np.testing.assert_array_equal(simulated(circuit_of(circuit), inputs), expected)


@pytest.mark.parametrize("code", range(len(OPERATORS)))
def test_every_operator_changes_some_circuit_and_the_function_of_none(code):
    has_changed = False
    for make in CIRCUITS.values():
        aig = make()
        before = index_list_of(aig)
        after = applied(code, before)
        inputs = random_inputs(aig)
        np.testing.assert_array_equal(simulated(circuit_of(after), inputs), simulated(aig, inputs))
        has_changed |= after != before
    assert has_changed, OPERATORS[code].name


@pytest.mark.data
@pytest.mark.parametrize("name", ["router", "i2c"])
def test_operators_keep_the_function_of_circuits_in_files(name):
    try:
        aig = circuits.epfl(name)
    except FileNotFoundError as error:
        pytest.skip(str(error))
    inputs = random_inputs(aig)
    expected = simulated(aig, inputs)
    for code in range(len(OPERATORS)):
        after = circuit_of(applied(code, index_list_of(aig)))
        np.testing.assert_array_equal(simulated(after, inputs), expected)


def test_a_circuit_comes_back_from_its_numbers():
    aig = circuits.sine(4)
    again = circuit_of(index_list_of(aig))
    inputs = random_inputs(aig)
    np.testing.assert_array_equal(simulated(again, inputs), simulated(aig, inputs))
    assert index_list_of(again) == index_list_of(aig)


def longest_path(aig):
    depth = dict.fromkeys([0, *aig.pis()], 0)
    for gate in aig.gates():
        depth[gate] = 1 + max(depth[aig.get_node(signal)] for signal in aig.fanins(gate))
    return max(depth[aig.get_node(output)] for output in aig.pos())


@given(codes=st.lists(st.integers(0, len(OPERATORS) - 1), min_size=20, max_size=20))
@settings(deadline=None, max_examples=3)
def test_the_value_is_that_of_the_circuit_in_the_end(codes):
    make = CIRCUITS["multiplier"]
    problem = synthesis("small", "a small multiplier", make)
    aig = circuit_of(index_list_of(make()))
    start = len(aig.gates()), longest_path(aig)
    for code in codes:
        _, function, arguments = OPERATORS[code]
        after = getattr(circuits.aigverse("algorithms"), function)(aig, **arguments)
        aig = circuit_of(index_list_of(after))
    expected = len(aig.gates()) / start[0] + longest_path(aig) / start[1]
    assert problem(codes) == pytest.approx(expected, rel=1e-12)
    assert size_and_depth(aig) == (len(aig.gates()), longest_path(aig))


def test_without_the_package_or_the_file_it_says_what_is_needed(monkeypatch, tmp_path):
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    with pytest.raises(FileNotFoundError, match="aig-epfl-i2c.*circuits/i2c.aig"):
        SYNTHESIS["aig-epfl-i2c"]()
    monkeypatch.setitem(sys.modules, "aigverse.networks", None)
    with pytest.raises(ImportError, match="need the package 'aigverse'.*pip install"):
        SYNTHESIS["aig-multiplier"]()
