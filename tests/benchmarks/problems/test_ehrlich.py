"""Ehrlich functions against their definition, and against the package that they come from."""

import numpy as np
import pytest

from heat_plugins.benchmarks.problems.catalogue import task_named
from heat_plugins.benchmarks.problems.ehrlich import EHRLICH, Ehrlich, random_ehrlich


def slow_value(function, sequence):
    """The product over motifs of the best share of letters, one place after the other."""
    value = 1.0
    for motif, offsets in zip(function.motifs, function.offsets, strict=True):
        best = 0
        for place in range(len(sequence)):
            if place + offsets[-1] < len(sequence):
                found = [sequence[place + o] == m for o, m in zip(offsets, motif, strict=True)]
                best = max(best, sum(found))
        value *= best / len(motif)
    return value


def best_sequence(function, length):
    """All motifs one after the other, gaps filled by repetition."""
    letters = []
    for motif, offsets in zip(function.motifs, function.offsets, strict=True):
        for i, letter in enumerate(motif):
            until = offsets[i + 1] if i + 1 < len(offsets) else offsets[i] + 1
            letters += [letter] * int(until - offsets[i])
    return np.array(letters + [letters[-1]] * (length - len(letters)))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("length", "n_motifs", "motif_length"), [(5, 1, 4), (15, 2, 5), (64, 4, 10)]
)
def test_values_are_those_of_the_definition(length, n_motifs, motif_length, seed):
    function = random_ehrlich(length, n_motifs, motif_length, seed=seed)
    rng = np.random.default_rng(seed)
    for _ in range(30):
        sequence = rng.integers(20, size=length)
        assert function(sequence) == pytest.approx(slow_value(function, sequence))
        banned = [
            function.transitions[a, b] == 0.0 for a, b in zip(sequence, sequence[1:], strict=False)
        ]
        assert function.is_feasible(sequence) == (not any(banned))
    assert function.is_feasible(function.start)
    best = best_sequence(function, length)
    assert function.is_feasible(best) and function(best) == pytest.approx(1.0)


def test_transitions_are_probabilities_some_of_which_are_zero():
    transitions = random_ehrlich(15, 2, 5, seed=7).transitions
    np.testing.assert_allclose(transitions.sum(axis=1), 1.0)
    assert np.all(np.diagonal(transitions) > 0.0)
    n_possible = (transitions > 0.0).sum(axis=1)
    assert np.all((n_possible == 17) | (n_possible == 18))  # a band of 17 of 20, and staying


@pytest.mark.parametrize("name", EHRLICH)
def test_tasks_know_one_feasible_sequence(name):
    task = task_named(name)
    (start,) = task.known
    assert -1.0 <= task.evaluate(start).values[0] <= 0.0
    assert task.may_fail and task.best_known == -1.0


def test_it_is_the_function_of_the_package():
    torch = pytest.importorskip("torch")
    holo = pytest.importorskip("holo.test_functions.closed_form")
    theirs = holo.Ehrlich(num_states=20, dim=15, num_motifs=2, motif_length=5, random_seed=3)
    offsets = [[0, *np.cumsum(spacing.tolist())] for spacing in theirs.spacings]
    ours = Ehrlich(
        theirs.transition_matrix.numpy(),
        np.stack([motif.numpy() for motif in theirs.motifs]),
        np.array(offsets),
        theirs.initial_solution().numpy(),
    )
    rng = np.random.default_rng(0)
    start = ours.start
    n_feasible = 0
    for _ in range(300):
        sequence = np.where(rng.random(15) < 0.2, rng.integers(20, size=15), start)
        value = float(theirs.evaluate_true(torch.tensor(sequence[None]))[0])
        assert ours.is_feasible(sequence) == np.isfinite(value)
        if np.isfinite(value):
            n_feasible += 1
            assert ours(sequence) == pytest.approx(value, abs=1e-6)
    assert n_feasible > 20
