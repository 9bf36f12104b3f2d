"""Logic synthesis with ABC: relative to resyn2, and the same function after every operator."""

import re
import subprocess

import numpy as np
import pytest

from heat_plugins.benchmarks.problems import abc_synthesis
from heat_plugins.benchmarks.problems.abc_synthesis import ABC_OPERATORS, RESYN2, abc_sine
from heat_plugins.benchmarks.problems.problem import DATA_VARIABLE, data_file

pytestmark = pytest.mark.data


@pytest.fixture
def problem():
    try:
        return abc_sine()
    except (FileNotFoundError, ImportError) as error:
        pytest.skip(str(error))


def test_resyn2_has_the_value_two(problem):
    """Where it is followed by operators that change nothing any more."""
    circuit = data_file("aig", "circuits", "sin.aig")
    names = {name: code for code, name in enumerate(ABC_OPERATORS)}
    codes = [names[name] for name in RESYN2]
    codes += [names["balance"]] * (20 - len(codes))
    longer = abc_synthesis.tables_and_levels(tuple(ABC_OPERATORS[c] for c in codes), circuit)
    reference = abc_synthesis.tables_and_levels(tuple(RESYN2), circuit)
    # What yosys-abc printed for the script when it was run by hand.
    assert reference == (1454, 36)
    assert problem(codes) == longer[0] / 1454 + longer[1] / 36
    assert problem(codes) == pytest.approx(2.0, abs=0.05)


@pytest.mark.parametrize("operator", ABC_OPERATORS)
def test_no_operator_changes_what_a_circuit_computes(problem, operator, tmp_path):
    """ABC itself proves the circuit equivalent to the file it was read from."""
    circuit = data_file("aig", "circuits", "ctrl.aig")
    script = f"read {circuit}; strash; {operator}; if -K 6; cec {circuit}"
    command = [str(abc_synthesis._abc()), "-c", script]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert re.search("Networks are equivalent", printed), printed


def test_a_relocated_sequence_is_another_one(problem, monkeypatch):
    seen = []
    monkeypatch.setattr(
        abc_synthesis, "tables_and_levels", lambda operators, _: seen.append(operators) or (1, 1)
    )
    problem.relocated()(np.zeros(20, dtype=int))
    assert len(seen[0]) == 20 and len(set(seen[0])) > 1


def test_without_the_file_or_the_package_it_says_what_is_needed(monkeypatch, tmp_path):
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path))
    with pytest.raises(FileNotFoundError, match="circuits/sin.aig"):
        abc_sine()
    (tmp_path / "circuits").mkdir()
    (tmp_path / "circuits" / "sin.aig").touch()
    monkeypatch.setattr(abc_synthesis, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match="needs the package 'pyosys'"):
        abc_sine()
