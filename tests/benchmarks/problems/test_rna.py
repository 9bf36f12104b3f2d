"""RNA inverse folding: known folds and known distances."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import RandomState

from heat_plugins.benchmarks.problems.rna import BASES, SNORD64, rna

CHECKED = settings(deadline=None, max_examples=20)

# A sequence that ViennaRNA's own inverse folding found for the target.
SOLUTION = "GUCUAUUGUUUGGGUUCGGACCUAGUGGCGUUUCGUGCUCCGGCCACACAAGUCGUCCUUCGUAGAC"


def codes_of_bases(sequence):
    return np.array([BASES.index(base) for base in sequence])


def test_the_target_is_a_structure():
    depth = np.cumsum([{"(": 1, ")": -1, ".": 0}[place] for place in SNORD64])
    assert len(SNORD64) == 67
    assert depth.min() == depth[-1] == 0


def test_without_the_package_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "RNA", None)
    with pytest.raises(ImportError, match="needs the package 'ViennaRNA'.*pip install ViennaRNA"):
        rna()


def test_the_target_can_be_reached_also_when_relocated():
    pytest.importorskip("RNA")
    problem, solution = rna(), codes_of_bases(SOLUTION)
    assert problem.n_choices == (4,) * 67
    assert problem(solution) == problem.best_known == 0.0
    rng = RandomState(2024)
    place = [int(np.flatnonzero(rng.permutation(4) == code)[0]) for code in solution]
    assert problem.relocated()(place) == 0.0


def test_what_does_not_fold_is_as_far_as_the_target_has_pairs():
    pytest.importorskip("RNA")
    for base in "ACU":  # these do not pair with themselves
        assert rna()(codes_of_bases(base * 67)) == SNORD64.count("(") + SNORD64.count(")")


def test_a_hairpin_folds_as_it_must():
    pytest.importorskip("RNA")
    hairpin = codes_of_bases("GGGGGAAAACCCCC")
    assert rna("(((((....)))))")(hairpin) == 0.0
    assert rna("((((......))))")(hairpin) == 2.0
    assert rna("..............")(hairpin) == 10.0
    assert rna("..............").best_known is None


@given(sequence=st.text("ACGU", min_size=67, max_size=67))
@CHECKED
def test_the_distance_is_that_of_the_fold_of_minimum_energy(sequence):
    vienna = pytest.importorskip("RNA")
    structure, energy = vienna.fold_compound(sequence).mfe()
    assert energy <= 0.0
    expected = vienna.hamming_distance(structure, SNORD64)
    assert rna()(codes_of_bases(sequence)) == expected
