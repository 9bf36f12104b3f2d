"""Random studies and experiments from the command line: ``python tests/fuzz optuna``."""

import argparse
import os
import subprocess
import sys
from pathlib import Path

from cases import run_cases


def main() -> int:
    """Run cases; return how many of them went wrong, at most 1."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    kinds = ["optuna", "ax", "both", "chaos"]
    parser.add_argument("kind", nargs="?", choices=kinds, default="both")
    parser.add_argument("--cases", type=int, default=100, help="how many of each kind")
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--seconds", type=float, default=60.0, help="of chaos, on each storage")
    arguments = parser.parse_args()
    if arguments.kind == "chaos":
        return run_chaos(arguments.seed, arguments.seconds)
    kinds = ["optuna", "ax"] if arguments.kind == "both" else [arguments.kind]
    seeds = range(arguments.seed, arguments.seed + arguments.cases)
    n_wrong = 0
    for kind in kinds:
        failed, seconds = 0, 0.0
        for outcome in run_cases(kind, seeds, arguments.jobs):
            seconds += outcome.seconds
            if outcome.wrong:
                failed += 1
                print(outcome if arguments.cases == 1 else outcome.brief, flush=True)
            elif arguments.cases == 1:
                print(outcome.description)
        n_wrong += failed
        print(f"{kind}: {arguments.cases} cases, {failed} wrong, {seconds:.0f} s CPU", flush=True)
    return min(n_wrong, 1)


def run_chaos(seed: int, seconds: float) -> int:
    """Run the test of workers under fire, for longer than it usually does."""
    test = Path(__file__).resolve().parents[1] / "optuna" / "test_chaos.py"
    settings = {"HEAT_PLUGINS_CHAOS_SEED": str(seed), "HEAT_PLUGINS_CHAOS_SECONDS": str(seconds)}
    command = [sys.executable, "-m", "pytest", "-q", "-s", str(test)]
    return subprocess.run(command, env=os.environ | settings).returncode


if __name__ == "__main__":
    sys.exit(main())
