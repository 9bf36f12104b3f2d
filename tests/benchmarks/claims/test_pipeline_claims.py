"""The rules that give verdicts on whole pipelines."""

import pytest
from made_up_studies import results_of, studies

from heat_plugins.benchmarks.claims.claim import CONTRADICTED, NOT_MEASURED, REPRODUCED
from heat_plugins.benchmarks.claims.pipeline_claims import heat_is_fast, heat_matches_all
from heat_plugins.benchmarks.results.raw_lines import StudyLine

PEST = "pest-relocated"


def with_seconds(seconds: dict[str, float], problem: str = PEST) -> list[StudyLine]:
    """Studies of pipelines that reach the same and take so many seconds a suggestion."""
    return [
        line
        for name, spent in seconds.items()
        for line in studies(problem, {f"pipeline-{name}": 1.0}, seconds=spent)
    ]


@pytest.mark.parametrize(
    ("bounce", "verdict"), [(2.0, REPRODUCED), (1.0, REPRODUCED), (0.0, CONTRADICTED)]
)
def test_one_better_pipeline_contradicts(bounce: float, verdict: str) -> None:
    ends = {"pipeline-heat": 1.0, "pipeline-combo": 3.0, "pipeline-bounce": bounce}
    claim = heat_matches_all(results_of(studies(PEST, ends)))
    assert claim.verdict == verdict
    assert [case.cells[:3] for case in claim.cases] == [
        (PEST, "pipeline-heat", "pipeline-combo"),
        (PEST, "pipeline-heat", "pipeline-bounce"),
    ]


def test_problems_as_published_and_other_methods_do_not_count() -> None:
    lines = studies("pest", {"pipeline-heat": 9.0, "pipeline-bounce": 0.0})
    lines += studies(PEST, {"pipeline-heat": 9.0, "HeatSampler": 0.0})
    assert heat_matches_all(results_of(lines)).verdict == NOT_MEASURED


def test_two_pipelines_may_be_faster() -> None:
    seconds = {"heat": 0.3, "cocabo": 0.1, "bounce": 0.2, "combo": 0.9}
    claim = heat_is_fast(results_of([*with_seconds(seconds), *studies(PEST, {"TPE": 1.0})]))
    assert claim.verdict == REPRODUCED
    rows = {case.cells[0]: (float(case.cells[2]), case.verdict) for case in claim.cases}
    assert rows == {
        "pipeline-cocabo": (pytest.approx(0.33), CONTRADICTED),
        "pipeline-bounce": (pytest.approx(0.67), CONTRADICTED),
        "pipeline-combo": (pytest.approx(3.0), REPRODUCED),
    }
    third = results_of(with_seconds({**seconds, "rducb": 0.15}))
    assert heat_is_fast(third).verdict == CONTRADICTED


def test_times_of_problems_without_the_heat_pipeline_do_not_count() -> None:
    lines = with_seconds({"heat": 0.1, "bounce": 0.2})
    lines += with_seconds({"bounce": 0.001, "combo": 0.1}, "labs-relocated")
    assert [case.cells[0] for case in heat_is_fast(results_of(lines)).cases] == ["pipeline-bounce"]
    assert heat_is_fast(results_of(lines[-1:])).verdict == NOT_MEASURED
