"""Statistics of studies against values computed by hand, by enumeration or by SciPy."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from heat_plugins.benchmarks.results.raw_lines import StudyLine
from heat_plugins.benchmarks.results.statistics import (
    Estimate,
    Facts,
    Results,
    average_ranks,
    difference_of_means,
    estimate,
    evaluations_to,
    friedman,
    holm,
    is_as_good,
    larger_seems_better,
    median_evaluations,
    paired,
    rank_sum_test,
    ranks,
    sign_test,
    signed_rank_test,
    time_after,
    within,
)


def study(problem="p", method="m", seed=0, scores=(3.0, 2.0, 1.0), seconds=None, n_first=1):
    scores = [*scores]
    return StudyLine(
        problem=problem,
        method=method,
        seed=seed,
        n_first=n_first,
        scores=scores,
        seconds=[0.5] * len(scores) if seconds is None else [*seconds],
        n_repeats=0,
        versions={},
        machine="a machine",
        finished="2026-01-01T00:00:00+00:00",
    )


# ------------------------------------------------------------------------------ one sample
def test_mean_and_standard_error_are_those_of_the_definition():
    found = estimate([1.0, 2.0, 3.0, 6.0])
    assert found.mean == 3.0
    assert found.error == pytest.approx(math.sqrt((4 + 1 + 0 + 9) / 3 / 4))
    assert (found.n, found.n_infinite) == (4, 0)


def test_one_seed_has_no_standard_error():
    assert estimate([2.5]) == Estimate(2.5, None, 1)


def test_equal_values_are_not_rounded():
    assert estimate([-195.653] * 7) == Estimate(-195.653, 0.0, 7)


def test_an_infinite_value_makes_the_mean_infinite():
    assert estimate([1.0, math.inf, math.inf]) == Estimate(math.inf, None, 3, 2)
    assert math.isnan(estimate([math.inf, -math.inf]).mean)


def test_no_values_are_an_error():
    with pytest.raises(ValueError, match="empty"):
        estimate([])


def test_as_good_is_within_the_larger_of_both_standard_errors():
    best = Estimate(1.0, 0.125, 5)
    assert is_as_good(Estimate(1.25, 0.25, 5), best)
    assert is_as_good(Estimate(1.125, 0.0, 5), best)
    assert not is_as_good(Estimate(1.2, 0.125, 5), best)
    assert not is_as_good(Estimate(1.0001, None, 1), Estimate(1.0, None, 1))
    assert not is_as_good(Estimate(math.inf, None, 3, 1), best)


def test_errors_of_independent_means_add_as_squares():
    found = difference_of_means(Estimate(5.0, 0.3, 10), Estimate(3.0, 0.4, 8))
    assert found == Estimate(2.0, pytest.approx(0.5), 8)
    assert difference_of_means(Estimate(5.0, None, 1), Estimate(3.0, 0.4, 8)).error is None


# ----------------------------------------------------------------------------------- ranks
def test_ties_share_ranks():
    assert ranks({"a": 2.0, "b": 1.0, "c": 2.0, "d": 3.0}) == {"a": 2.5, "b": 1, "c": 2.5, "d": 4}


def test_average_ranks_are_over_common_problems():
    losses = {
        "p": {"a": 1.0, "b": 2.0, "c": 3.0},
        "q": {"a": 2.0, "b": 1.0, "c": 3.0},
        "r": {"a": 1.0, "b": 2.0},
    }
    means, problems = average_ranks(losses)
    assert problems == ["p", "q"]
    assert means == {"a": 1.5, "b": 1.5, "c": 3.0}


def test_a_method_with_few_problems_is_not_ranked():
    losses = {name: {"a": 1.0, "b": 2.0} for name in "pqrs"}
    losses["p"]["rare"] = 0.0
    means, problems = average_ranks(losses)
    assert problems == ["p", "q", "r", "s"]
    assert means == {"a": 1.0, "b": 2.0}


def test_without_common_problems_nothing_is_ranked():
    assert average_ranks({"p": {"a": 1.0}, "q": {"b": 1.0}}) == ({}, [])


# ----------------------------------------------------------------------------------- tests
@pytest.mark.parametrize("n", [5, 8, 20])
def test_signed_ranks_agree_with_scipy_without_ties(n):
    differences = np.random.default_rng(n).normal(0.5, 1.0, n)
    expected = stats.wilcoxon(differences, method="exact").pvalue
    assert signed_rank_test([*differences]) == pytest.approx(expected, abs=1e-12)


def test_signed_ranks_with_ties_agree_with_enumeration():
    differences = [1.0, 1.0, -1.0, 2.0, 2.0, -3.0, 4.0, 0.0]
    nonzero = np.array([d for d in differences if d])
    size = stats.rankdata(np.abs(nonzero))
    seen = size[nonzero > 0].sum()
    sums = np.array([size @ s for s in itertools.product([0, 1], repeat=len(size))])
    expected = min(1.0, 2.0 * min(np.mean(sums <= seen), np.mean(sums >= seen)))
    assert signed_rank_test(differences) == pytest.approx(expected, abs=1e-12)


def test_five_seeds_on_one_side_give_a_sixteenth():
    assert signed_rank_test([1.0, 2.0, 3.0, 4.0, math.inf]) == pytest.approx(2 / 32)


def test_nothing_but_ties_is_no_evidence():
    assert signed_rank_test([0.0] * 6) == 1.0


def test_paired_takes_common_seeds():
    outcome = paired({0: 1.0, 1: 2.0, 2: 9.0}, {0: 2.0, 1: 4.0, 3: 0.0})
    assert outcome.lead == Estimate(1.5, pytest.approx(0.5), 2)
    assert outcome.p is None
    assert paired({0: 1.0}, {1: 1.0}) is None


def test_two_that_found_nothing_are_equal():
    ours = {0: math.inf, 1: 1.0, 2: 1.0, 3: 1.0, 4: 1.0}
    theirs = {0: math.inf, 1: 2.0, 2: 2.0, 3: 2.0, 4: 2.0}
    outcome = paired(ours, theirs)
    assert outcome.lead.mean == pytest.approx(0.8)
    assert outcome.p == pytest.approx(2 / 16)


def test_holm_agrees_with_a_worked_example():
    corrected = holm({"a": 0.01, "b": 0.04, "c": None, "d": 0.03, "e": 0.005})
    expected = {"a": 0.03, "b": 0.06, "c": None, "d": 0.06, "e": 0.02}
    assert corrected == {name: p and pytest.approx(p) for name, p in expected.items()}


def test_holm_ends_at_one():
    assert holm({"a": 0.6, "b": 0.9}) == {"a": 1.0, "b": 1.0}


def test_sign_test():
    assert sign_test(5, 0) == pytest.approx(2 / 32)
    assert sign_test(0, 0) is None


def test_rank_sums():
    first, second = [1.0, 2.0, 3.0, 4.0, 5.0], [6.0, 7.0, 8.0, 9.0, 10.0]
    assert rank_sum_test(first, second) == pytest.approx(2 / 252)
    assert rank_sum_test([1.0] * 5, [1.0] * 6) == 1.0
    assert rank_sum_test(first, second[:4]) is None


def test_friedman_agrees_with_scipy():
    losses = np.random.default_rng(0).normal(size=(4, 9)).tolist()
    assert friedman(losses) == pytest.approx(stats.friedmanchisquare(*losses).pvalue)


def test_friedman_of_ties_few_seeds_and_two_methods():
    assert friedman([[1.0] * 6] * 3) == 1.0
    assert friedman([[1.0] * 4] * 3) is None
    pair = [[1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 4.0, 6.0, 8.0, 10.0]]
    assert friedman(pair) == pytest.approx(2 / 32)


# --------------------------------------------------------------------- evaluations and time
def test_evaluations_to_a_target():
    assert evaluations_to([5.0, 3.0, 3.0, 1.0], 3.0) == 2.0
    assert evaluations_to([5.0, 3.0], 1.0) == math.inf


def test_unreached_targets_count_as_infinite_in_the_median():
    assert median_evaluations([10.0, math.inf, 20.0]) == 20.0
    assert median_evaluations([10.0, math.inf, 20.0, math.inf]) == math.inf
    assert median_evaluations([10.0, 20.0]) == 15.0
    assert median_evaluations([math.inf, math.inf]) == math.inf


def test_time_is_that_of_suggestions_and_evaluations():
    line = study(seconds=[0.5, 1.0, 1.5])
    assert time_after(line, 10.0) == pytest.approx([10.5, 21.5, 33.0])
    assert [within(line, 10.0, budget) for budget in (1.0, 21.5, 100.0)] == [0, 2, 3]


def test_the_own_time_of_a_study_is_enough_for_it():
    seconds = np.random.default_rng(0).random(200)
    line = study(scores=np.zeros(200), seconds=seconds)
    assert within(line, 0.0, float(seconds[::-1].sum())) == 200


# --------------------------------------------------------------------------------- results
def test_direction_is_told_from_the_scores():
    assert larger_seems_better([study(scores=[0.1, 0.4])])
    assert not larger_seems_better([study(scores=[math.inf, 0.4]), study(scores=[3.0, 2.0])])


def test_large_scores_become_losses():
    results = Results([study(scores=[0.1, 0.4])], {"p": Facts(larger_is_better=True)})
    assert results.losses("p", "m", 2) == {0: -0.4}


def test_what_is_missing_is_missing_and_no_error():
    results = Results([study(), study(scores=[], seed=1)], {})
    assert results.loss("p", "m", 4) is None
    assert results.loss("q", "m", 1) is None
    assert results.losses("p", "m", 0) == {}
    assert results.seconds("p", "other", 1) is None
    assert results.length("q", "m") == 0
    assert results.n_first("q") == 0
    assert results.sign("q") == 1.0
    assert len([*results]) == 1


def test_no_number_is_nothing_found():
    results = Results([study(scores=[math.nan, 1.0])], {"p": Facts()})
    assert results.losses("p", "m", 1) == {0: math.inf}


def test_order_does_not_depend_on_that_of_the_lines():
    lines = [study(p, m, s) for p in "qpr" for m in "yxz" for s in (1, 0)]
    for given in (lines, lines[::-1]):
        results = Results(given, {}, problem_order=["r"], method_order=["z", "y"])
        assert results.problems == ["r", "p", "q"]
        assert results.methods == results.methods_of("q") == ["z", "y", "x"]
        assert [*results.studies("p", "x")] == [0, 1]


def test_length_is_what_half_of_the_seeds_have():
    lines = [study(seed=seed, scores=np.zeros(n)) for seed, n in enumerate([50, 200, 200, 100])]
    assert Results(lines, {}).length("p", "m") == 200


def test_seconds_of_suggestions_leave_out_the_first_points():
    lines = [
        study(seconds=[9.0, 1.0, 3.0]),
        study(method="own", n_first=0, seconds=[9.0, 4.0, 4.0]),
    ]
    results = Results(lines, {})
    assert results.seconds_a_suggestion("p", "m") == 2.0
    assert results.seconds_a_suggestion("p", "own") == 4.0
    assert results.seconds("p", "m", 2) == Estimate(10.0, None, 1)
