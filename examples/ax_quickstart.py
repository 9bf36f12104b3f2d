"""Ax with heat_plugins: one line more, for a text classifier with choices and numbers.

The classifier is imitated, so that its errors are known at once. A tokenizer and a pooling are
chosen from lists without an order, a width from a list of numbers, a number of layers is whole
and a learning rate spans four powers of ten. ``heat_generation_strategy`` models all of them
together; everything else is Ax as usual. ``pip install "heat-plugins[ax]"`` installs it.

    python examples/ax_quickstart.py [--trials 30]
"""

import argparse
import logging
import math
from typing import Any

from ax.api.client import Client
from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig
from ax.utils.common.logger import set_stderr_log_level

from heat_plugins.ax import heat_generation_strategy

PARAMETERS = [
    ChoiceParameterConfig(
        name="tokenizer",
        values=["words", "characters", "bytes", "pieces"],
        parameter_type="str",
        is_ordered=False,
    ),
    ChoiceParameterConfig(
        name="pooling", values=["mean", "max", "last"], parameter_type="str", is_ordered=False
    ),
    ChoiceParameterConfig(
        name="width", values=[32, 64, 128, 256, 512], parameter_type="int", is_ordered=True
    ),
    RangeParameterConfig(name="layers", bounds=(1, 8), parameter_type="int"),
    RangeParameterConfig(name="rate", bounds=(1e-5, 1e-1), parameter_type="float", scaling="log"),
]


def error(params: dict[str, Any]) -> float:
    """Return the share of texts that are classified wrongly, in percent."""
    tokens = {"words": 3.0, "characters": 5.0, "bytes": 6.0, "pieces": 0.0}[params["tokenizer"]]
    # What is best for pooling depends on the depth: choices and numbers belong together.
    pooling = {"mean": 1.0, "max": 0.3 * params["layers"], "last": 4.0}[params["pooling"]]
    width = 0.8 * (math.log2(params["width"]) - 7.0) ** 2
    layers = 0.2 * (params["layers"] - 3) ** 2
    rate = 2.0 * (math.log10(params["rate"]) + 3.0) ** 2
    return 8.0 + tokens + pooling + width + layers + rate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    set_stderr_log_level(logging.WARNING)

    client = Client()
    client.configure_experiment(parameters=PARAMETERS)
    client.configure_optimization(objective="-error")  # Ax maximises
    client.set_generation_strategy(heat_generation_strategy(seed=arguments.seed))  # the one line

    best = math.inf
    for _ in range(arguments.trials):
        for index, params in client.get_next_trials(max_trials=1).items():
            value = error(params)
            client.complete_trial(index, raw_data={"error": value})
            best = min(best, value)
            print(f"trial {index:3d}: {value:6.2f} % errors, the best so far {best:6.2f} %")

    params, _, index, _ = client.get_best_parameterization()
    print(f"\nbest parameterization, trial {index}:")
    for name, value in params.items():
        print(f"  {name}: {value}")
    points = [dict(params) | {"tokenizer": name} for name in ("pieces", "words", "bytes")]
    print("\nprediction for the same with other tokenizers:")
    for point, predicted in zip(points, client.predict(points), strict=True):
        mean, sem = predicted["error"]
        print(f"  {point['tokenizer']:7s} {mean:6.2f} +- {sem:.2f} % errors, ", end="")
        print(f"in truth {error(point):6.2f} %")


if __name__ == "__main__":
    main()
