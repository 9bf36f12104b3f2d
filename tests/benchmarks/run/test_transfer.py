"""The measurement of what earlier studies are worth."""

from pathlib import Path
from unittest import mock

import pytest

from heat_plugins.benchmarks.problems.related import perturbed
from heat_plugins.benchmarks.problems.tasks import Choice, Result, Task
from heat_plugins.benchmarks.run import transfer

LETTERS = Task(
    "letters",
    "how many letters are not a",
    tuple(Choice(f"x{i}", tuple("abc")) for i in range(4)),
    lambda params: Result((float(sum(letter != "a" for letter in params.values())),)),
)


@pytest.fixture(autouse=True)
def _small() -> object:
    related = {"letters": lambda seed: (perturbed(LETTERS, seed), LETTERS)}
    with (
        mock.patch.object(transfer, "RELATED", related),
        mock.patch.object(transfer, "N_EARLIER", 12),
        mock.patch.object(transfer, "N_TRIALS", 6),
        mock.patch.object(transfer, "COUNTS", (3, 6)),
    ):
        yield


def test_every_kind_of_study_is_run_once() -> None:
    rows = [*transfer.transfer([0])]
    assert [row["how"] for row in rows] == [*transfer.HOW]
    for row in rows:
        assert len(row["values"]) == 6 and sorted(row["values"], reverse=True) == row["values"]
    assert [*transfer.transfer([0], known=rows)] == []
    assert [row["how"] for row in transfer.transfer([0], known=rows[:3])] == ["five"]


def test_the_summary_says_when_the_value_of_alone_was_reached(tmp_path: Path) -> None:
    rows = [
        {"problem": "p", "how": "alone", "seed": 0, "values": [3.0, 2.0, 2.0, 1.0, 1.0, 1.0]},
        {"problem": "p", "how": "alone", "seed": 1, "values": [3.0, 3.0, 3.0, 3.0, 3.0, 2.0]},
        {"problem": "p", "how": "transfer", "seed": 0, "values": [4.0, 1.5, 1.0, 1.0, 1.0, 1.0]},
    ]
    alone, better = transfer.summary(rows)
    assert alone["seeds"] == 2 and alone["after 3"] == "2.5 ± 0.5"
    assert alone["as alone at the end"] == "6" and better["as alone at the end"] == "2"
    assert transfer.known_rows(tmp_path / "none.jsonl") == []
