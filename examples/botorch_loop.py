"""Your own BoTorch loop, with the surrogate of this package: pest control.

A farmer has 25 stages and, at each, the choice of no pesticide or one of four. The loop is the
usual one of BoTorch: fit a model, maximise an acquisition function, evaluate. ``HeatGP`` takes
the place of ``SingleTaskGP``; what comes before and after it is BoTorch's own, and everything
in it may be exchanged. ``pip install "heat-plugins[ax]"`` installs BoTorch, too.

    python examples/botorch_loop.py [--trials 30]
"""

import argparse

import numpy as np
import torch
from botorch.acquisition.logei import qLogNoisyExpectedImprovement
from botorch.optim import optimize_acqf_discrete_local_search
from botorch.sampling import SobolQMCNormalSampler

from heat_plugins.benchmarks.problems import pest_control
from heat_plugins.botorch import HeatGP
from heat_plugins.space import Categorical, Space

PESTICIDES = ["none", "A", "B", "C", "D"]
N_STAGES = 25
N_START = 10

farm = pest_control().relocated()
space = Space(tuple(Categorical(f"stage{i:02d}", PESTICIDES) for i in range(N_STAGES)))


def evaluate(points: torch.Tensor) -> torch.Tensor:
    """Return minus the costs (n, 1) of plans (n, 25): BoTorch maximises."""
    costs = [farm(plan) for plan in points.numpy()]
    return -torch.tensor(costs, dtype=torch.float64)[:, None]


def suggest(x: torch.Tensor, y: torch.Tensor, seed: int) -> torch.Tensor:
    """Return the next plan (1, 25) to try, given plans (n, 25) and their values (n, 1)."""
    model = HeatGP(x, y, space=space, deterministic=True).fit()
    improvement = qLogNoisyExpectedImprovement(
        model, X_baseline=x, sampler=SobolQMCNormalSampler(torch.Size([64]), seed=seed)
    )
    codes = torch.arange(len(PESTICIDES), dtype=torch.float64)
    best = x[y[:, 0].argsort(descending=True)[:2]]
    candidates, _ = optimize_acqf_discrete_local_search(
        improvement,
        discrete_choices=[codes] * N_STAGES,
        q=1,
        num_restarts=3,
        raw_samples=256,
        batch_initial_conditions=best[:, None],
        X_avoid=x,  # the same plan again would tell nothing
    )
    return candidates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()

    torch.manual_seed(arguments.seed)
    rng = np.random.default_rng(arguments.seed)
    x = torch.from_numpy(space.sample(min(N_START, arguments.trials), rng))
    y = evaluate(x)
    print(f"{len(x)} random plans, the best costs {-y.max():.3f}")
    while len(x) < arguments.trials:
        plan = suggest(x, y, seed=len(x))
        x, y = torch.cat([x, plan]), torch.cat([y, evaluate(plan)])
        print(f"plan {len(x):3d} costs {-y[-1].item():.3f}, the best so far {-y.max():.3f}")

    best = space.decode(x[y.argmax()].numpy())
    print(f"\nbest plan after {len(x)} (costs {-y.max():.3f}, best known {farm.best_known}):")
    print(" ".join(best.values()))


if __name__ == "__main__":
    main()
