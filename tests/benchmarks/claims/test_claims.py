"""The rules that give verdicts on claims."""

from dataclasses import asdict

import pytest
from made_up_studies import N_FIRST, results_of, studies

from heat_plugins.benchmarks.claims.all_claims import all_claims
from heat_plugins.benchmarks.claims.claim import (
    CONTRADICTED,
    NOT_MEASURED,
    REPRODUCED,
    UNDECIDED,
    Case,
    trifle_of,
    verdict_everywhere,
    verdict_mostly,
)
from heat_plugins.benchmarks.methods.method_list import HEAT_AND_HAMMING
from heat_plugins.benchmarks.results.raw_lines import StudyLine


def claim_about(title, lines, speed_rows=()):
    found = [claim for claim in all_claims(results_of(lines), speed_rows) if title in claim.title]
    assert len(found) == 1
    return found[0]


def test_verdicts_of_several_cases():
    def cases(text):
        words = {"+": REPRODUCED, "-": CONTRADICTED, "?": UNDECIDED}
        return [Case((), words[sign]) for sign in text]

    everywhere = {"": NOT_MEASURED, "++?": REPRODUCED, "+??": UNDECIDED, "+++-": CONTRADICTED}
    assert {text: verdict_everywhere(cases(text)) for text in everywhere} == everywhere
    mostly = {"": NOT_MEASURED, "++-": REPRODUCED, "+-": UNDECIDED, "--+": CONTRADICTED}
    mostly |= {"+??": UNDECIDED, "?": UNDECIDED}
    assert {text: verdict_mostly(cases(text)) for text in mostly} == mostly


def test_nothing_is_measured_without_studies():
    assert {claim.verdict for claim in all_claims(results_of([]))} == {NOT_MEASURED}


def test_kernels_alike():
    alike = dict.fromkeys(HEAT_AND_HAMMING, 1.0)
    assert claim_about("alike", studies("p", alike)).verdict == REPRODUCED
    assert claim_about("alike", studies("p", alike, n_seeds=3)).verdict == UNDECIDED
    different = {**alike, "combo": 3.0}
    assert claim_about("alike", studies("p", different)).verdict == CONTRADICTED
    assert claim_about("alike", studies("p", alike, spread=9.0)).verdict == UNDECIDED
    assert claim_about("alike", studies("p", {"heat": 1.0})).verdict == NOT_MEASURED


def test_a_kernel_with_few_seeds_does_not_spoil_the_others():
    lines = [
        *studies("p", {"heat": 1.0, "combo": 1.0}),
        *studies("p", {"matern": 5.0}, n_seeds=1),
    ]
    claim = claim_about("alike", lines)
    assert claim.verdict == REPRODUCED
    assert claim.cases[0].cells[1:3] == ("2", "10")


def test_relocation():
    before = studies("p", {"heat": 1.0, "hed": 1.0})
    hurt = [*before, *studies("p-relocated", {"heat": 1.0, "hed": 4.0})]
    assert claim_about("HED and SSK", hurt).verdict == REPRODUCED
    assert claim_about("not affected", hurt).verdict == REPRODUCED
    unhurt = [*before, *studies("p-relocated", {"heat": 4.0, "hed": 1.0})]
    assert claim_about("HED and SSK", unhurt).verdict == CONTRADICTED
    assert claim_about("not affected", unhurt).verdict == CONTRADICTED
    few = [line for line in hurt if line.seed < 3]
    assert claim_about("HED and SSK", few).verdict == UNDECIDED
    assert claim_about("not affected", few).verdict == UNDECIDED
    labs = studies("labs", {"hed": 1.0}) + studies("labs-relocated", {"hed": 4.0})
    assert claim_about("HED and SSK", labs).verdict == NOT_MEASURED


def test_no_kernel_is_better_after_relocation():
    better = studies("p-relocated", {"heat": 4.0, "rducb": 1.0})
    assert claim_about("nothing is better", better).verdict == CONTRADICTED
    worse = studies("p-relocated", {"heat": 1.0, "rducb": 4.0})
    assert claim_about("nothing is better", worse).verdict == REPRODUCED


def test_padded_sorting():
    ends = {"padded-sort": 1.0, "sort": 2.0, "ssk": 1.0}
    lines = [line for name in ("ackley", "ackley-relabelled") for line in studies(name, ends)]
    assert claim_about("better than sorting", lines).verdict == REPRODUCED
    assert claim_about("as good as SSK", lines).verdict == REPRODUCED
    swapped = studies("ackley", {"padded-sort": 3.0, "sort": 2.0, "ssk": 1.0})
    assert claim_about("better than sorting", swapped).verdict == CONTRADICTED
    assert claim_about("as good as SSK", swapped).verdict == CONTRADICTED


def test_a_lead_on_the_way_counts_where_both_end_at_the_optimum():
    lines = studies("ackley", {"padded-sort": 0.0, "sort": 0.0}, spread=0.0)
    quick = [
        StudyLine(**{**asdict(line), "scores": [*line.scores[:N_FIRST], *[0.0] * 55]})
        if line.method == "padded-sort"
        else line
        for line in lines
    ]
    assert claim_about("better than sorting", quick).verdict == REPRODUCED
    assert claim_about("better than sorting", lines).verdict == CONTRADICTED


def test_additive_kernels_on_rna():
    lines = studies("rna", {"heat": 3.0, "cocabo": 1.0, "rducb": 1.0})
    assert claim_about("RNA", lines).verdict == REPRODUCED
    lines = studies("rna", {"heat": 1.0, "cocabo": 3.0})
    assert claim_about("RNA", lines).verdict == CONTRADICTED


def test_a_lead_that_could_only_be_a_trifle_contradicts_one_that_matters():
    alike = studies("rna", {"heat": 3.0, "cocabo": 3.0, "rducb": 3.0})
    assert claim_about("better on RNA", alike).verdict == CONTRADICTED
    # The same means, but nobody can tell how far apart they really are.
    scattered = studies("rna", {"heat": 0.0, "cocabo": 0.0, "rducb": 0.0}, spread=9.0)
    assert claim_about("better on RNA", scattered).verdict == UNDECIDED


def test_speed_claims():
    lines = [
        *studies("p", {"heat": 1.0}, seconds=0.3),
        *studies("p", {"cocabo": 1.0}, seconds=0.1),
    ]
    assert claim_about("costs little", lines).verdict == CONTRADICTED
    row = {"kind": "closed-form", "problem": "25 x 5", "closed_form_ms": 1.0}
    fast, slow = ({**row, "eigenvectors_ms": ms, "ratio": ms} for ms in (3.0, 1.5))
    assert claim_about("closed form", [], [fast]).verdict == REPRODUCED
    assert claim_about("closed form", [], [fast, slow]).verdict == CONTRADICTED
    assert claim_about("closed form", [], [{"kind": "growth"}]).verdict == NOT_MEASURED


def test_trifles_are_of_the_gain_of_the_heat_kernel():
    results = results_of(studies("p", {"heat": 1.0, "combo": 6.0}, spread=0.0))
    assert trifle_of(results, "p", 60, "combo") == pytest.approx(0.9)
    assert trifle_of(results, "absent", 60, "combo") == 0.0
