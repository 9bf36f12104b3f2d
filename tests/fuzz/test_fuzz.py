"""A few random studies and experiments; ``make fuzz`` runs as many as one likes."""

import pytest
from cases import run_case

# Cases that take a second or two and differ in their storages, pruners and objectives.
OPTUNA_SEEDS = (0, 2, 5, 8, 11, 15, 16, 18, 19, 20, 21, 22)
AX_SEEDS = (0, 1, 2, 3, 5, 8, 9)


@pytest.mark.parametrize("seed", OPTUNA_SEEDS)
def test_a_random_study(seed: int) -> None:
    outcome = run_case("optuna", seed)
    assert not outcome.wrong, str(outcome)


@pytest.mark.parametrize("seed", AX_SEEDS)
def test_a_random_experiment(seed: int) -> None:
    outcome = run_case("ax", seed)
    assert not outcome.wrong, str(outcome)


def test_a_wrong_case_says_how_to_run_it_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> list[str]:
        raise RuntimeError("this check is broken")

    monkeypatch.setattr("optuna_checks.check", broken)
    outcome = run_case("optuna", 3)
    assert "RuntimeError: this check is broken" in outcome.wrong[0]
    assert "make fuzz ARGS='optuna --seed 3 --cases 1'" in str(outcome)
