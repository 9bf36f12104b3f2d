"""Ax in batches: four crucibles in one furnace, one that cracks and one that is given up.

An alloy is melted in four crucibles at a time, so four recipes are asked for before the result
of any is known. In the first batch after the start-up one crucible cracks: its trial has
failed. Another is taken out before it is measured: its trial is abandoned. The loop goes on
without them, and neither recipe is proposed again. The hardness is imitated.

    python examples/ax_batch.py [--trials 36]
"""

import argparse
import logging
import math
from collections import Counter
from typing import Any

from ax.api.client import Client
from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig
from ax.utils.common.logger import set_stderr_log_level

from heat_plugins.ax import heat_generation_strategy

AT_ONCE = 4
N_STARTUP = 8
METALS = ["nickel", "cobalt", "chromium", "vanadium"]
MEDIA = ["water", "brine", "oil", "air"]
PARAMETERS = [
    ChoiceParameterConfig(name="base", values=METALS, parameter_type="str", is_ordered=False),
    ChoiceParameterConfig(name="second", values=METALS, parameter_type="str", is_ordered=False),
    ChoiceParameterConfig(name="quench", values=MEDIA, parameter_type="str", is_ordered=False),
    ChoiceParameterConfig(
        name="anneal", values=[450, 500, 550, 600, 650], parameter_type="int", is_ordered=True
    ),
    RangeParameterConfig(name="hours", bounds=(1, 12), parameter_type="int"),
    RangeParameterConfig(name="carbon", bounds=(0.01, 1.0), parameter_type="float", scaling="log"),
]


def hardness(params: dict[str, Any]) -> float:
    """Return the hardness of an alloy."""
    metals = {params["base"], params["second"]}
    value = 300.0 + 60.0 * ("nickel" in metals) + 80.0 * (metals == {"cobalt", "chromium"})
    value += {"water": 30.0, "brine": 10.0, "oil": 45.0, "air": 0.0}[params["quench"]]
    value -= 0.4 * abs(params["anneal"] - 550) + 4.0 * abs(params["hours"] - 7)
    return value - 50.0 * abs(math.log10(params["carbon"]) + 0.7)


def recipe(params: dict[str, Any]) -> str:
    values = params | {"carbon": f"{params['carbon']:.3f} %"}
    return ", ".join(str(value) for value in values.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=36)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    set_stderr_log_level(logging.WARNING)

    client = Client()
    client.configure_experiment(parameters=PARAMETERS)
    client.configure_optimization(objective="hardness")
    client.set_generation_strategy(
        heat_generation_strategy(seed=arguments.seed, n_startup_trials=N_STARTUP)
    )

    asked: list[str] = []
    outcomes: Counter[str] = Counter()
    while len(asked) < arguments.trials:
        n = min(AT_ONCE, arguments.trials - len(asked))
        batch = client.get_next_trials(max_trials=n)
        print(f"\nbatch of {len(batch)}")
        for index, params in batch.items():
            asked.append(recipe(params))
            if index == N_STARTUP + 1:
                client.mark_trial_failed(index, failed_reason="the crucible cracked")
                outcome = "failed"
            elif index == N_STARTUP + 2:
                client.mark_trial_abandoned(index)
                outcome = "abandoned"
            else:
                client.complete_trial(index, raw_data={"hardness": hardness(params)})
                outcome = "completed"
            outcomes[outcome] += 1
            result = f"{hardness(params):.1f}" if outcome == "completed" else outcome
            print(f"  trial {index:2d}: {result:>9s}  {recipe(params)}")

    params, _, index, _ = client.get_best_parameterization()
    print("\n" + ", ".join(f"{outcome}: {n}" for outcome, n in outcomes.items()))
    print(f"{len(set(asked))} of {len(asked)} recipes are distinct")
    print(f"hardest alloy, {hardness(params):.1f} in trial {index}: {recipe(dict(params))}")


if __name__ == "__main__":
    main()
