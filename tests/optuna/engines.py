"""Short parallel studies in Dask and in Ray Tune; run as a script, for each keeps to itself.

Both start processes and threads, change signal handlers and warn of things that are their
own: not to be done inside the process of the tests.
"""

import json
import os
import sys
import tempfile
from typing import Any

import optuna
from workers import suggest_point, value_of

from heat_plugins import HeatSampler

N_PARAMS = 6
N_TRIALS = 12
N_WORKERS = 2


def objective(trial: optuna.Trial) -> float:
    """Return the value of a point."""
    return value_of(suggest_point(trial, N_PARAMS))


def run_dask() -> list[dict[str, Any]]:
    """Share a study that lives in the scheduler of a cluster between its workers."""
    from distributed import Client, LocalCluster
    from optuna_integration import DaskStorage

    cluster = LocalCluster(n_workers=N_WORKERS, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster) as client:
        client.run(optuna.logging.set_verbosity, optuna.logging.WARNING)
        sampler = HeatSampler(seed=0, n_startup_trials=4)
        study = optuna.create_study(storage=DaskStorage(), sampler=sampler)
        n_trials = N_TRIALS // N_WORKERS
        futures = [
            client.submit(study.optimize, objective, n_trials=n_trials, pure=False)
            for _ in range(N_WORKERS)
        ]
        client.gather(futures)
        return [_row(trial.number, trial.params, trial.value) for trial in study.trials]


def run_ray() -> list[dict[str, Any]]:
    """Let Ray Tune ask one sampler for trials that run next to each other."""
    os.environ |= {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
        "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    }
    import ray
    from ray import tune
    from ray.tune.search.optuna import OptunaSearch

    def evaluate(config: dict[str, str]) -> None:
        # Not value_of: Ray's workers cannot import from here.
        tune.report({"value": sum((i + 1) * (c != "b") for i, c in enumerate(config.values()))})

    with tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder:
        ray.init(
            num_cpus=N_WORKERS,
            include_dashboard=False,
            object_store_memory=100_000_000,
            log_to_driver=False,
            logging_level="ERROR",
            _temp_dir=folder,
        )
        search = OptunaSearch(sampler=HeatSampler(seed=0, n_startup_trials=4))
        results = tune.Tuner(
            evaluate,
            param_space={f"x{i:02}": tune.choice(["a", "b", "c"]) for i in range(N_PARAMS)},
            tune_config=tune.TuneConfig(
                search_alg=search,
                metric="value",
                mode="min",
                num_samples=N_TRIALS,
                max_concurrent_trials=N_WORKERS,
                reuse_actors=True,
            ),
            run_config=tune.RunConfig(storage_path=f"{folder}/results", verbose=0),
        ).fit()
        rows = [
            _row(number, result.config, result.metrics["value"])
            for number, result in enumerate(results)
        ]
        ray.shutdown()
    return rows


def _row(number: int, params: dict[str, Any], value: float | None) -> dict[str, Any]:
    return {"number": number, "params": dict(params), "value": value}


if __name__ == "__main__":
    rows = {"dask": run_dask, "ray": run_ray}[sys.argv[1]]()
    print(json.dumps(rows), flush=True)
