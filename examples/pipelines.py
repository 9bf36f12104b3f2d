"""Published systems next to our default, and a system with one part exchanged.

Pest control: none or one of four pesticides at each of 25 stages of a chain of farms. Each system
is one word; ``pipeline(word)`` returns the arguments of the sampler, and any of them can be
replaced by another.

    python examples/pipelines.py [--trials 60] [--repeats 2]
"""

from functools import partial

import optuna
from comparison import compare, draw, parse_arguments, plt, print_table, save

from heat_plugins import HeatSampler, pipeline
from heat_plugins.benchmarks.problems.published import pest_control

problem = pest_control().relocated()

SETTINGS = {
    "default": {},
    "bounce": pipeline("bounce"),
    "casmopolitan": pipeline("casmopolitan"),
    "rducb": pipeline("rducb"),
    "bounce in the whole space": pipeline("bounce") | {"embedding": None},
}


def objective(trial: optuna.Trial) -> float:
    """Return the cost of the pesticides and of the harm."""
    return problem([trial.suggest_categorical(f"stage {i}", list(range(5))) for i in range(25)])


def make_sampler(name: str, seed: int) -> HeatSampler:
    """Return the sampler of a name in the table."""
    return HeatSampler(seed=seed, deterministic_objective=True, **SETTINGS[name])


def main() -> None:
    arguments = parse_arguments(__doc__, 60, 2, "pipelines.png")
    samplers = {name: partial(make_sampler, name) for name in SETTINGS}
    results = compare(objective, samplers, arguments.trials, arguments.repeats)
    print_table(results, (20, 40))
    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    draw(axes, results, problem.best_known, "pest control, relocated")
    axes.legend()
    save(figure, arguments.output)


if __name__ == "__main__":
    main()
