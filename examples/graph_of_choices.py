"""Choices that are next to each other: hours on a clock, sizes in order, cities on a map.

A delivery plan has an hour of the day and a city for each of six tours, and a size for each
of four vans. They are categorical parameters, but their choices have neighbours: 23 o'clock
is next to 0, sizes are in order, and cities lie along roads. ``graphs`` and ``order`` say so,
and every trial then tells something about the neighbours of what was tried.

    python examples/graph_of_choices.py [--trials 45]
"""

import numpy as np
import optuna
from comparison import compare, draw, parse_arguments, plt, print_table, save

from heat_plugins import HeatSampler

HOURS = [f"{hour} o'clock" for hour in range(24)]
SIZES = ["XS", "S", "M", "L", "XL", "XXL"]
ROADS = {
    "Bern": ["Thun", "Fribourg", "Solothurn", "Biel"],
    "Basel": ["Olten", "Delemont"],
    "Biel": ["Solothurn", "Neuchatel", "Delemont"],
    "Olten": ["Solothurn", "Aarau", "Luzern"],
    "Zurich": ["Aarau", "Zug", "Winterthur"],
    "Luzern": ["Zug"],
    "Fribourg": ["Lausanne"],
    "Neuchatel": ["Lausanne"],
    "Winterthur": ["St. Gallen"],
}
CITIES = sorted({*ROADS, *(city for ends in ROADS.values() for city in ends)})

hour_names = [f"hour of tour {i}" for i in range(6)]
city_names = [f"city of tour {i}" for i in range(6)]
size_names = [f"size of van {i}" for i in range(4)]


def road_map() -> np.ndarray:
    """Return which cities a road joins, as an adjacency matrix."""
    joined = np.zeros((len(CITIES), len(CITIES)))
    for start, ends in ROADS.items():
        for end in ends:
            joined[CITIES.index(start), CITIES.index(end)] = 1.0
    return joined + joined.T


def distances(roads: np.ndarray) -> np.ndarray:
    """Return how many roads lead from one city to another."""
    n = len(roads)
    steps = np.where(roads > 0, 1.0, np.inf)
    np.fill_diagonal(steps, 0.0)
    for middle in range(n):
        steps = np.minimum(steps, steps[:, [middle]] + steps[[middle]])
    return steps


rng = np.random.default_rng(7)
best_hours = rng.integers(24, size=6)
best_cities = rng.integers(len(CITIES), size=6)
best_sizes = rng.integers(len(SIZES), size=4)
steps_between = distances(road_map())


def objective(trial: optuna.Trial) -> float:
    """Return what the plan costs: less the closer everything is to a secret best plan."""
    hours = [HOURS.index(trial.suggest_categorical(name, HOURS)) for name in hour_names]
    cities = [CITIES.index(trial.suggest_categorical(name, CITIES)) for name in city_names]
    sizes = [SIZES.index(trial.suggest_categorical(name, SIZES)) for name in size_names]
    late = 1.0 - np.cos((np.array(hours) - best_hours) * (2.0 * np.pi / 24.0))
    far = steps_between[cities, best_cities] / steps_between.max()
    wrong = np.abs(np.array(sizes) - best_sizes) / (len(SIZES) - 1)
    # To be late in a far city costs more than both by themselves.
    return float(np.sum(late) + 2.0 * np.sum(far) + np.sum(late * far) + np.sum(wrong))


def main() -> None:
    arguments = parse_arguments(__doc__, 45, 4, "graph_of_choices.png")
    graphs = dict.fromkeys(hour_names, "cycle") | dict.fromkeys(city_names, road_map())
    order = dict.fromkeys(size_names, SIZES)
    samplers = {
        "with graphs": lambda seed: HeatSampler(
            seed=seed, deterministic_objective=True, graphs=graphs, order=order
        ),
        "without": lambda seed: HeatSampler(seed=seed, deterministic_objective=True),
        "TPESampler": lambda seed: optuna.samplers.TPESampler(seed=seed),
    }
    results = compare(objective, samplers, arguments.trials, arguments.repeats)
    print("\ncost of the best plan, smaller is better, best 0")
    print_table(results, at=(20, 30))

    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    draw(axes, results, 0.0, "Six tours and four vans: choices with neighbours")
    axes.legend(frameon=False)
    save(figure, arguments.output)


if __name__ == "__main__":
    main()
