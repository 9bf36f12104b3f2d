"""Ray Tune: HeatSampler as the search algorithm, in one line.

Ray runs the trials, four at a time; ``OptunaSearch`` asks the sampler for their parameters.
The sampler stays in the process of the script, where it knows of all trials that are running.
A network of six layers is imitated: an operation and a width for each, and a learning rate.
``pip install "ray[tune]"`` installs what is needed.

    python examples/ray_tune.py [--trials 40]
"""

import argparse
import os
import tempfile
from typing import Any

import optuna

from heat_plugins import HeatSampler

OPERATIONS = ["conv3x3", "conv5x5", "pool", "skip"]
WIDTHS = [16, 32, 64, 128]
N_LAYERS = 6
AT_ONCE = 4


def train(config: dict[str, Any]) -> dict[str, float]:
    """Return the loss of a network; Ray runs this in processes of its own."""
    import math
    import time

    time.sleep(0.1)
    loss = abs(math.log10(config["rate"]) + 2.5)
    for i in range(N_LAYERS):
        operation, width = config[f"operation{i}"], config[f"width{i}"]
        loss += 1.0 * (operation != OPERATIONS[i % 3])
        loss += 0.2 * abs(math.log2(width) - 5.0 - (i >= 3))
    return {"loss": loss}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=40)
    arguments = parser.parse_args()
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray reads it when it is imported
    try:
        import ray
        from ray import tune
        from ray.tune.search.optuna import OptunaSearch
    except ImportError as error:
        print(f'Ray Tune is not installed ({error}). Install it with: pip install "ray[tune]"')
        return

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    space = {"rate": tune.loguniform(1e-4, 1e-1)}
    for i in range(N_LAYERS):
        space |= {f"operation{i}": tune.choice(OPERATIONS), f"width{i}": tune.choice(WIDTHS)}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        ray.init(num_cpus=AT_ONCE, include_dashboard=False, log_to_driver=False)
        tuner = tune.Tuner(
            train,
            param_space=space,
            tune_config=tune.TuneConfig(
                metric="loss",
                mode="min",
                search_alg=OptunaSearch(sampler=HeatSampler()),
                num_samples=arguments.trials,
                max_concurrent_trials=AT_ONCE,
                reuse_actors=True,
            ),
            run_config=tune.RunConfig(storage_path=folder, verbose=0),
        )
        results = tuner.fit()
        ray.shutdown()

    best = results.get_best_result()
    distinct = len({tuple(sorted(result.config.items())) for result in results})
    print(f"\n{len(results)} trials, {AT_ONCE} at a time: {distinct} of their points are distinct")
    print(f"best loss {best.metrics['loss']:.4f} (smaller is better, best 0):")
    for name, value in sorted(best.config.items()):
        print(f"  {name}: {value}")


if __name__ == "__main__":
    main()
