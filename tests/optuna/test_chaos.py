"""A study under fire: workers killed and stopped, the server restarted, at random from a seed.

HEAT_PLUGINS_CHAOS_SECONDS says for how long, HEAT_PLUGINS_CHAOS_SEED makes it something else;
``make fuzz ARGS=chaos`` does so for a minute.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import optuna
import pytest
from chaos import N_PARAMS, STUDY, Chaos, Post
from optuna.trial import FrozenTrial, TrialState
from servers import new_postgres
from workers import open_storage, suggest_point, value_of

from heat_plugins import HeatSampler

SECONDS = float(os.environ.get("HEAT_PLUGINS_CHAOS_SECONDS", "12"))
SEED = int(os.environ.get("HEAT_PLUGINS_CHAOS_SEED", "0"))
N_WORKERS = 3
MOST_ROUNDS = 5  # where a busy machine gets little done in one
N_AFTER = 4  # trials that show that the study can go on

Restart = Callable[[], None] | None


@pytest.fixture(params=["journal", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Restart]]:
    """The name of a storage, and how to restart its server."""
    if request.param == "journal":
        yield f"journal:{tmp_path / 'study.log'}", None
        return
    with new_postgres() as server, ExitStack() as running:
        running.enter_context(server.serving())
        server.make_tables()

        def restart() -> None:
            running.close()
            running.enter_context(server.serving())

        yield server.url, restart


def points_of(trials: list[FrozenTrial]) -> set[tuple[object, ...]]:
    return {tuple(sorted(trial.params.items())) for trial in trials}


@pytest.mark.slow
def test_nothing_is_lost_and_nothing_comes_twice(
    place: tuple[str, Restart], tmp_path: Path
) -> None:
    storage, restart = place
    study = optuna.create_study(study_name=STUDY, storage=open_storage(storage))
    post = Post(storage, tmp_path)
    chaos = Chaos(post, N_WORKERS, SEED)
    try:
        for _ in range(MOST_ROUNDS):
            chaos.rage(SECONDS, restart)
            if post.told.exists() and len(post.told.read_text().split()) > N_WORKERS:
                break
    finally:
        chaos.settle()
    assert not post.failed.exists(), post.failed.read_text()

    study = optuna.load_study(study_name=STUDY, storage=open_storage(storage))
    trials = study.trials
    complete = [trial for trial in trials if trial.state == TrialState.COMPLETE]
    assert [trial.number for trial in trials] == list(range(len(trials)))
    assert len(complete) > N_WORKERS
    assert [trial.value for trial in complete] == [value_of(trial.params) for trial in complete]
    told = {int(line) for line in post.told.read_text().split()}
    assert told <= {trial._trial_id for trial in complete}
    assert len(points_of(complete)) == len(complete), chaos.deeds
    # Each death and each restart costs at most what was under way.
    deeds = chaos.deeds
    assert deeds.kills and deeds.stops and (restart is None or deeds.restarts)
    n_lost = len(trials) - len(complete)
    print(f"{len(trials)} trials, {len(complete)} complete, {deeds}")
    assert n_lost <= deeds.kills + N_WORKERS * (1 + deeds.restarts)

    study.sampler = HeatSampler(seed=0)
    study.optimize(lambda trial: value_of(suggest_point(trial, N_PARAMS)), n_trials=N_AFTER)
    finished = study.get_trials(states=(TrialState.COMPLETE,))
    assert len(points_of(finished)) == len(finished) == len(complete) + N_AFTER
