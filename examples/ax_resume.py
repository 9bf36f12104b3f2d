"""Ax, stored and loaded: the next suggestion is the one that would have come.

Flags of a compiler are tuned for the size of a program. After half of the trials the client is
saved as JSON and asked for the next suggestion. Then this script is started once more, as a
new process that knows nothing but the file: it is given the same suggestion, and goes on to
the end. The sizes are imitated.

    python examples/ax_resume.py [--trials 24] [--after 12]
"""

import argparse
import logging
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from ax.api.client import Client
from ax.api.configs import ChoiceParameterConfig, RangeParameterConfig
from ax.utils.common.logger import set_stderr_log_level

from heat_plugins.ax import heat_generation_strategy  # also tells Ax how to load it again

FLAGS = ["gc-sections", "merge-constants", "omit-frame-pointer", "unwind-tables", "lto"]
PARAMETERS = [
    ChoiceParameterConfig(
        name="level", values=["O1", "O2", "O3", "Os", "Oz"], parameter_type="str", is_ordered=False
    ),
    ChoiceParameterConfig(
        name="linker",
        values=["bfd", "gold", "lld", "mold"],
        parameter_type="str",
        is_ordered=False,
    ),
    *[
        ChoiceParameterConfig(name=name, values=[False, True], parameter_type="bool")
        for name in FLAGS
    ],
    RangeParameterConfig(name="inline-limit", bounds=(0, 200), parameter_type="int"),
]


def size(params: dict[str, Any]) -> int:
    """Return the size of the program in bytes."""
    total = {"O1": 61_000, "O2": 66_000, "O3": 83_000, "Os": 52_000, "Oz": 50_500}[params["level"]]
    total += {"bfd": 900, "gold": 400, "lld": 0, "mold": 250}[params["linker"]]
    total -= 6_200 * params["gc-sections"] * (1 + params["lto"])
    total -= 800 * params["merge-constants"] + 1_100 * params["omit-frame-pointer"]
    total += 2_900 * params["unwind-tables"] - 1_700 * params["lto"]
    best = 120 if params["lto"] else 30
    return total + 35 * abs(params["inline-limit"] - best)


def ask(client: Client) -> tuple[int, dict[str, Any]]:
    """Return the number and the parameters of the next trial."""
    ((index, params),) = client.get_next_trials(max_trials=1).items()
    return index, dict(params)


def tell(client: Client, index: int, params: dict[str, Any]) -> None:
    client.complete_trial(index, raw_data={"size": size(params)})


def begin(path: Path, after: int, trials: int, seed: int) -> None:
    client = Client()
    client.configure_experiment(parameters=PARAMETERS)
    client.configure_optimization(objective="-size")
    client.set_generation_strategy(heat_generation_strategy(seed=seed, n_startup_trials=6))
    for _ in range(after):
        tell(client, *ask(client))
    client.save_to_json_file(str(path))
    print(f"{after} trials, saved to {path.name} ({path.stat().st_size / 1024:.0f} KB)")

    index, params = ask(client)
    print(f"\nhere the next one would be trial {index}:\n  {params}")
    command = [sys.executable, __file__, "--resume", str(path), "--trials", str(trials)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    print(f"\na new process writes:\n{done.stdout}")
    is_same = f"trial {index}: {params}" in done.stdout
    print("the suggestions are the same" if is_same else "the suggestions DIFFER")


def resume(path: Path, trials: int) -> None:
    client = Client.load_from_json_file(str(path))
    index, params = ask(client)
    print(f"  trial {index}: {params}")
    tell(client, index, params)
    while index + 1 < trials:
        index, params = ask(client)
        tell(client, index, params)
    params, _, best, _ = client.get_best_parameterization(use_model_predictions=False)
    print(f"  the best of {index + 1} trials, {size(params)} bytes in trial {best}: {params}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=24)
    parser.add_argument("--after", type=int, default=12, help="trials before it is saved")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--resume", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    set_stderr_log_level(logging.WARNING)

    if arguments.resume is not None:
        resume(arguments.resume, arguments.trials)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "experiment.json"
        begin(path, arguments.after, arguments.trials, arguments.seed)


if __name__ == "__main__":
    main()
