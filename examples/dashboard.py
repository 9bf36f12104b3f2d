"""Pictures of a study in optuna-dashboard, beside its own.

A network is to be trained: what each setting does, how good the model is that says so, and how the
search went are drawn by ``heat_plugins.visualization`` and kept with the study. Whoever opens the
study in optuna-dashboard sees them, on another machine, too.

    pip install optuna-dashboard
    python examples/dashboard.py [--trials 60] [--storage sqlite:///study.db]
    optuna-dashboard sqlite:///study.db
"""

import argparse
import math
import re
from functools import partial

import optuna
from optuna_dashboard import save_plotly_graph_object
from tqdm import tqdm

from heat_plugins import HeatSampler
from heat_plugins.visualization import (
    plot_course,
    plot_effects,
    plot_importances,
    plot_interactions,
    plot_quality,
    plot_slices,
    read,
)

HEIGHT = 450  # of a figure in the dashboard, in pixels: it cuts off what is below
FIGURES = {
    "course": partial(plot_course, parts=["values", "regions"]),
    "importances": plot_importances,
    "effects": plot_effects,
    "interactions": plot_interactions,
    "slices": plot_slices,
    "quality": plot_quality,
}


def objective(trial: optuna.Trial) -> float:
    """Return a made-up loss of a network."""
    optimizer = trial.suggest_categorical("optimizer", ["adam", "sgd", "rmsprop"])
    activation = trial.suggest_categorical("activation", ["relu", "gelu", "tanh"])
    rate = trial.suggest_float("rate", 1e-5, 1e-1, log=True)
    layers = trial.suggest_int("layers", 1, 6)
    best_rate = {"adam": -3.0, "sgd": -1.5, "rmsprop": -3.5}[optimizer]
    loss = 0.2 + 0.1 * (math.log10(rate) - best_rate) ** 2 + 0.03 * (layers - 4) ** 2
    return loss + {"relu": 0.05, "gelu": 0.0, "tanh": 0.2}[activation]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=60)
    parser.add_argument("--storage", default="sqlite:///study.db")
    arguments = parser.parse_args()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(
        study_name="network",
        storage=arguments.storage,
        load_if_exists=True,
        sampler=HeatSampler(seed=0, record=True),
    )
    with tqdm(total=arguments.trials, unit="trial", disable=None) as progress:
        study.optimize(
            objective,
            n_trials=arguments.trials,
            callbacks=[lambda study, trial: progress.update()],
        )
    model = read(study)  # fitted once for all figures
    for name, plot in FIGURES.items():
        figure = plot(model).update_layout(height=HEIGHT)
        # The same names each time: a newer figure takes the place of the one before.
        save_plotly_graph_object(study, figure, graph_object_id=name)
        print(f"saved with the study: {name}")
    password = re.compile(r"(?<=:)[^:@/]+(?=@)")
    print(f"\noptuna-dashboard {password.sub('...', arguments.storage)}")


if __name__ == "__main__":
    main()
