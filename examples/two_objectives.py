"""Two objectives: few features and few errors, and what one costs in the other.

A tumour is described by 30 measurements, each of which may be used or not: 2 ** 30 sets of
features. More of them mean fewer errors, up to a point. ``HeatSampler`` looks for the set that
is expected to add most to the hypervolume, NSGA-II breeds the sets that no other dominates.

    python examples/two_objectives.py [--trials 100]
"""

import numpy as np
import optuna
from comparison import COLOURS, draw, parse_arguments, plt, print_table, save
from sklearn.datasets import load_breast_cancer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from studies import run_studies

from heat_plugins import HeatSampler
from heat_plugins.acquisition.pareto import hypervolume

data = load_breast_cancer()
folds = StratifiedKFold(5, shuffle=True, random_state=0)
# Beyond these nothing counts: the errors of one who always says "benign", and all features.
WORST = np.array([100.0 * np.mean(data.target == 0), len(data.feature_names) + 1.0])


def objective(trial: optuna.Trial) -> tuple[float, int]:
    """Return the share of errors in percent, and the number of features."""
    is_used = [trial.suggest_categorical(name, [False, True]) for name in data.feature_names]
    if not any(is_used):
        return WORST[0], 0
    features = data.data[:, is_used]
    predicted = cross_val_predict(LinearDiscriminantAnalysis(), features, data.target, cv=folds)
    return 100.0 * float(np.mean(predicted != data.target)), sum(is_used)


def volumes(study: optuna.Study) -> list[float]:
    """Return the share of all below the worst that is dominated, after each trial."""
    values = np.array([trial.values for trial in study.trials], dtype=float)
    return [hypervolume(values[: n + 1], WORST) / WORST.prod() for n in range(len(values))]


def draw_front(axes: plt.Axes, study: optuna.Study, colour: str, label: str) -> None:
    front = sorted({tuple(trial.values) for trial in study.best_trials})
    errors, counts = zip(*front, strict=True)
    axes.step(counts, errors, where="pre", color=colour, linewidth=0.8)
    axes.plot(counts, errors, "o", color=colour, label=label)


def main() -> None:
    arguments = parse_arguments(__doc__, trials=100, repeats=2, output="two_objectives.png")
    samplers = {
        "HeatSampler": lambda seed: HeatSampler(seed=seed, deterministic_objective=True),
        "NSGAIISampler": lambda seed: optuna.samplers.NSGAIISampler(seed=seed),
    }
    results = run_studies(
        objective,
        samplers,
        arguments.trials,
        arguments.repeats,
        volumes,
        directions=("minimize", "minimize"),
    )
    print("\nhypervolume as a share of all below the worst, larger is better,")
    print(f"mean and range of {arguments.repeats} repeats")
    print_table(results, at=(25, 50))

    for name, result in results.items():
        print(f"\n{name}, front of the last study:")
        found = {}
        for trial in result.last_study.best_trials:
            found.setdefault(tuple(trial.values), trial)
        for (errors, count), trial in sorted(found.items()):
            used = [feature for feature, is_used in trial.params.items() if is_used]
            names = ", ".join([*used[:4], "..."] if len(used) > 4 else used) or "none"
            print(f"  {errors:5.2f} % errors with {count:2.0f} features: {names}")

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    draw(left, results, None, "Hypervolume")
    left.set(ylabel="share of all below the worst")
    for (name, result), colour in zip(results.items(), COLOURS, strict=False):
        draw_front(right, result.last_study, colour, name)
    right.set(title="Front of the last study", xlabel="features", ylabel="errors, percent")
    right.xaxis.get_major_locator().set_params(integer=True)
    right.set_ylim(0.0, 15.0)  # to use no feature at all is a point of the front, too
    right.spines[["top", "right"]].set_visible(False)
    right.legend(frameon=False)
    save(figure, arguments.output)


if __name__ == "__main__":
    main()
