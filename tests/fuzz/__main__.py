"""Random studies and experiments from the command line: ``python tests/fuzz optuna``."""

import argparse
import sys

from cases import run_cases


def main() -> int:
    """Run cases; return how many of them went wrong, at most 1."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("kind", nargs="?", choices=["optuna", "ax", "both"], default="both")
    parser.add_argument("--cases", type=int, default=100, help="how many of each kind")
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    arguments = parser.parse_args()
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


if __name__ == "__main__":
    sys.exit(main())
