"""Short parallel studies through each of the other ways in which Optuna spreads work."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import optuna
import pytest
from engines import N_PARAMS, N_TRIALS, N_WORKERS
from needs import need, unavailable
from workers import Job, open_storage, run_together, value_of

pytest_plugins = ["servers"]


def check(rows: list[dict[str, Any]]) -> None:
    """Every trial is there once, with its own value, and no two are the same."""
    assert sorted(row["number"] for row in rows) == list(range(N_TRIALS))
    assert [row["value"] for row in rows] == [value_of(row["params"]) for row in rows]
    assert len({tuple(sorted(row["params"].items())) for row in rows}) == N_TRIALS


@pytest.mark.filterwarnings("ignore:.*(GrpcStorageProxy|JournalRedisBackend) is experimental")
@pytest.mark.parametrize(("kind", "server"), [("grpc", "grpc_proxy"), ("redis", "redis_server")])
def test_processes_share_a_study_through_a_server(
    kind: str, server: str, request: pytest.FixtureRequest
) -> None:
    name = f"{kind}:{request.getfixturevalue(server)}"
    study = optuna.create_study(storage=open_storage(name))
    job = Job(
        name,
        study.study_name,
        n_trials=N_TRIALS // N_WORKERS,
        n_params=N_PARAMS,
        sampler={"seed": 0, "n_startup_trials": 4},
        sleep=0.02,
    )
    run_together([job] * N_WORKERS)
    check([{"number": t.number, "params": t.params, "value": t.value} for t in study.trials])


@pytest.mark.parametrize(
    ("engine", "modules"),
    [("dask", ["distributed", "optuna_integration"]), ("ray", ["ray", "pyarrow"])],
    ids=["dask", "ray"],
)
def test_an_engine_runs_a_study_in_its_own_workers(
    engine: str, modules: list[str], tmp_path: Path
) -> None:
    need(*modules)
    script = Path(__file__).with_name("engines.py")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(script), engine],
        capture_output=True,
        text=True,
        timeout=240,
        env=os.environ | {"OMP_NUM_THREADS": "1", "DASK_TEMPORARY_DIRECTORY": str(tmp_path)},
    )
    assert done.returncode == 0, done.stderr
    check(json.loads(done.stdout.splitlines()[-1]))


def test_a_missing_server_skips_a_test_and_fails_a_run_that_must_be_complete(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("HEAT_PLUGINS_REQUIRE_SERVERS", raising=False)
    with pytest.raises(pytest.skip.Exception, match="not installed: no_such_package_here.x"):
        need("json", "no_such_package_here.x")
    monkeypatch.setenv("HEAT_PLUGINS_REQUIRE_SERVERS", "1")
    with pytest.raises(pytest.fail.Exception, match="no such server"):
        unavailable("no such server")
