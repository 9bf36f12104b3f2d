"""Pictures of a study: what was learnt, how the search went, how good the model is.

Each takes a study of Optuna, of any sampler, or a client or an experiment of Ax, and returns a
plotly figure. ``read`` fits the models once for several; ``report`` writes a page with all.

==========================  ===================================================================
``plot_effects``            what each choice does, with intervals
``plot_importances``        how much each parameter matters, alone and with others
``plot_interactions``       which pairs of parameters act together
``plot_pair``               what two parameters do together
``plot_slices``             the model through the best trial, with what it does not know
``plot_course``             the course of the search, its regions, failures and workers
``plot_quality``            predictions of values that were left out; calibration
``plot_success``            where trials fail or break constraints
``plot_front``              the front of several objectives, and what is expected beyond it
==========================  ===================================================================
"""

from typing import TYPE_CHECKING, Any

from heat_plugins._extras import hide_missing, load_name

if TYPE_CHECKING:
    from heat_plugins.visualization.course_figure import plot_course
    from heat_plugins.visualization.effect_figures import plot_effects, plot_importances
    from heat_plugins.visualization.front_figure import plot_front
    from heat_plugins.visualization.pair_figures import plot_interactions, plot_pair
    from heat_plugins.visualization.quality_figure import plot_quality
    from heat_plugins.visualization.reading import read
    from heat_plugins.visualization.report_page import report
    from heat_plugins.visualization.slice_figure import plot_slices
    from heat_plugins.visualization.success_figure import plot_success

__all__ = [
    "plot_course",
    "plot_effects",
    "plot_front",
    "plot_importances",
    "plot_interactions",
    "plot_pair",
    "plot_quality",
    "plot_slices",
    "plot_success",
    "read",
    "report",
]

_MODULES = {
    "plot_course": "course_figure",
    "plot_effects": "effect_figures",
    "plot_front": "front_figure",
    "plot_importances": "effect_figures",
    "plot_interactions": "pair_figures",
    "plot_pair": "pair_figures",
    "plot_quality": "quality_figure",
    "plot_slices": "slice_figure",
    "plot_success": "success_figure",
    "read": "reading",
    "report": "report_page",
}
_HOMES = {name: f"{__name__}.{module}" for name, module in _MODULES.items()}
# Reading a study draws nothing.
_NEEDS = {home: ("plotly", "plot") for home in _HOMES.values() if not home.endswith("reading")}
hide_missing(__all__, _HOMES, _NEEDS)


def __getattr__(name: str) -> Any:
    return load_name(__name__, name, _HOMES, _NEEDS)


def __dir__() -> list[str]:
    return sorted(__all__)
