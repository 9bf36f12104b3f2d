"""Figures of usual and of odd studies: they are there, right, and show names letter by letter."""

import html
import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import optuna
import pytest
from odd_studies import MIXED, ODD_STUDIES, UGLY, mixed_value, random_study
from optuna.distributions import CategoricalDistribution, FloatDistribution

from heat_plugins import Additive, HeatSampler
from heat_plugins.insight.study_model import StudyModel

pytest.importorskip("plotly")

from heat_plugins import visualization  # noqa: E402
from heat_plugins.visualization import (  # noqa: E402
    plot_course,
    plot_effects,
    plot_front,
    plot_importances,
    plot_interactions,
    plot_pair,
    plot_quality,
    plot_slices,
    plot_success,
    read,
)

PLOTS = [name for name in visualization.__all__ if name.startswith("plot_")]
OddModel = Callable[[str], StudyModel]
# Markup of plotly that the figures have of their own.
OURS = re.compile(r"<br>")


def texts_of(part: Any) -> Iterator[str]:
    """Yield every text of a figure as JSON."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, dict):
        for value in part.values():
            yield from texts_of(value)
    elif isinstance(part, list):
        for value in part:
            yield from texts_of(value)


def as_json(figure: Any) -> Any:
    parts = json.loads(figure.to_json())
    parts["layout"].pop("template", None)
    return parts


def title_of(figure: Any) -> str:
    return f"{figure.layout.title.text} {figure.layout.title.subtitle.text}"


def notes_of(figure: Any) -> str:
    return " ".join(annotation.text for annotation in figure.layout.annotations)


@pytest.mark.parametrize("study", ODD_STUDIES)
def test_every_figure_can_be_drawn_of_every_study(study: str, odd_model: OddModel) -> None:
    model = odd_model(study)
    for name in PLOTS:
        figure = getattr(visualization, name)(model)
        assert figure.layout.title.text
        assert figure.data or notes_of(figure)  # an empty one says why
        for text in texts_of(as_json(figure)):
            plain = OURS.sub("", text)
            assert "<" not in plain.replace("<extra>", ""), text
            assert html.unescape(plain).isprintable()


@pytest.mark.parametrize("study", ["empty", "all_failed", "only_infinite", "no_parameters"])
def test_figures_without_anything_to_draw_say_so(study: str, odd_model: OddModel) -> None:
    for plot in (plot_effects, plot_slices, plot_quality, plot_importances):
        figure = plot(odd_model(study))
        assert not figure.data
        assert "No trial has a finite value" in notes_of(figure)


def test_names_and_choices_are_shown_letter_by_letter(odd_model: OddModel) -> None:
    figure = plot_effects(odd_model("ugly_names"))
    names = [html.unescape(annotation.text) for annotation in figure.layout.annotations]
    assert any(name.startswith('<b>"name"</b>') and name.endswith("</script>") for name in names)
    assert {"same text", "line break tab", "(empty)", "Größe (日本語) \U0001f600"} <= set(names)
    assert all(len(name) <= 28 for name in names)
    axes = {
        name: [html.unescape(tick) for tick in axis.ticktext or ()]
        for name, axis in zip(names, _x_axes(figure), strict=False)
    }
    assert axes["same text"] == ["1", "'1'", "True", "None", "'None'"]
    assert "$" not in json.dumps(as_json(figure))  # which would be a formula
    ugly = next(name for name in names if name.startswith("<b>"))
    assert axes[ugly][1:4] == ["</script>", "&lt;i&gt;", "<br>line<br>"]


def _x_axes(figure: Any) -> list[Any]:
    axes = [key for key in figure.layout.to_plotly_json() if key.startswith("xaxis")]
    return [figure.layout[key] for key in sorted(axes, key=lambda key: int(key[5:] or 1))]


def test_large_spaces_show_the_most_important_parameters(odd_model: OddModel) -> None:
    model = odd_model("many_parameters")
    for figure in (plot_effects(model), plot_importances(model), plot_slices(model)):
        assert "the 8 most important of 200 parameters" in title_of(figure)
    names = plot_importances(model).layout.yaxis.ticktext
    assert list(names[::-1][:3]) == ["x000", "x001", "x002"]


def test_of_many_choices_those_are_shown_that_were_tried(odd_model: OddModel) -> None:
    model = odd_model("ugly_names")
    figure = plot_effects(model, ["many"])
    (dots,) = [trace for trace in figure.data if trace.mode == "markers"]
    assert len(dots.x) == 16
    assert "284 rarer choices are not shown" in dots.hovertext[0]
    column = model.space.column["many"]
    tried = {f"choice {int(code)}" for code in model.history.points[:, column]}
    assert {tick for tick in figure.layout.xaxis.ticktext} <= tried


# ------------------------------------------------------------------------- what they say
@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_effects_are_in_the_units_of_users(direction: str) -> None:
    effects = {"a": -1.0, "b": 0.0, "c": 1.0}
    space = {
        "letter": CategoricalDistribution(list(effects)),
        "u": FloatDistribution(0.0, 1.0),
    }
    study = random_study(space, lambda p, rng: 10.0 + effects[p["letter"]], 30, [direction])
    (dots,) = plot_effects(study, ["letter"]).data
    assert list(dots.y) == pytest.approx([-1.0, 0.0, 1.0], abs=0.1)
    reaches = np.asarray(dots.error_y.array)
    assert np.all(np.abs(np.asarray(dots.y) - [-1.0, 0.0, 1.0]) <= reaches + 0.02)
    word = {"minimize": "minimised", "maximize": "maximised"}[direction]
    assert f"Objective value ({word})" in title_of(plot_effects(study))
    slices = plot_slices(study, ["letter"])
    means, star = slices.data
    assert list(means.y) == pytest.approx([9.0, 10.0, 11.0], abs=0.05)
    assert star.y[0] == {"minimize": 9.0, "maximize": 11.0}[direction]
    assert (
        slices.layout.xaxis.ticktext[int(star.x[0])]
        == {"minimize": "a", "maximize": "c"}[direction]
    )


def test_the_pair_that_interacts_is_found_and_drawn() -> None:
    space = {name: CategoricalDistribution(["p", "q"]) for name in "abcd"}
    study = random_study(
        space, lambda p, rng: float((p["a"] == "p") ^ (p["c"] == "p")) + 0.1 * (p["b"] == "p"), 40
    )
    model = read(study)
    table = np.array(plot_interactions(model).data[0].z, dtype=float)
    assert np.nanmax(table) > 0.8
    figure = plot_pair(model)
    assert {figure.layout.xaxis.title.text, figure.layout.yaxis.title.text} == {"a", "c"}
    values = np.array(figure.data[0].z, dtype=float)
    assert values[0, 0] == pytest.approx(0.05, abs=0.1)
    assert values[0, 1] == pytest.approx(1.05, abs=0.1)
    other = plot_pair(model, ["b", "d"])
    assert other.layout.xaxis.title.text == "b"


def test_importances_are_shares(odd_model: OddModel) -> None:
    model = odd_model("mixed")
    alone, together = plot_importances(model).data
    total = np.add(alone.x, together.x)
    shares = model.shares(0)
    assert np.sort(shares.total) == pytest.approx(total, abs=1e-12)  # the largest at the top
    assert model.space.names[int(np.argmax(shares.total))] == "rate"


def test_the_map_of_success_is_low_where_trials_fail(odd_model: OddModel) -> None:
    model = odd_model("conditional")
    figure = plot_success(model, ["model", "size"])
    heat = figure.data[0]
    crash = list(figure.layout.xaxis.ticktext).index("crash")
    values = np.array(heat.z, dtype=float)  # (size, model)
    others = np.delete(values, crash, axis=1)
    assert values[:, crash].max() < 0.3 and others.min() > 0.7
    marks = {trace.name: len(trace.x) for trace in figure.data[1:]}
    states = [trial.state for trial in model.data.trials]
    assert marks == {"succeeded": states.count("complete"), "failed": states.count("failed")}


def test_the_map_of_success_knows_constraints_and_failures(odd_model: OddModel) -> None:
    figure = plot_success(odd_model("mixed"))
    assert "not failing and of keeping constraints" in title_of(figure)
    names = {figure.layout.xaxis.title.text, figure.layout.yaxis.title.text}
    assert names <= {"optimizer", "units", "layers"}
    assert {"succeeded", "broke a constraint", "failed"} == {t.name for t in figure.data[1:]}
    assert "No trial failed" in notes_of(plot_success(odd_model("maximised")))


def test_failures_that_look_like_chance_are_called_that(odd_model: OddModel) -> None:
    space = {name: CategoricalDistribution(["p", "q", "r"]) for name in "ab"}
    count = iter(range(60))
    study = random_study(space, lambda p, rng: 1.0, 60, failing=lambda p: next(count) % 3 == 0)
    assert "look like chance" in title_of(plot_success(study))
    assert "chance" not in title_of(plot_success(odd_model("conditional")))


def test_what_is_expected_beyond_the_front_is_beyond_it(odd_model: OddModel) -> None:
    model = odd_model("two_objectives")
    traces = {trace.name: np.column_stack([trace.x, trace.y]) for trace in plot_front(model).data}
    front, expected = traces["front"], traces["expected beyond it"]
    assert len(expected) > 3
    assert not np.any(np.all(front[None] <= expected[:, None], axis=2))
    assert sorted(map(tuple, front)) == sorted(
        {tuple(model.data.history.objectives[row]) for row in model.front}
    )


def test_fronts_of_three_objectives_respect_directions(odd_model: OddModel) -> None:
    figure = plot_front(odd_model("three_objectives"), (0, 1))
    assert "maximised" in figure.layout.yaxis.title.text
    assert "of all 3 objectives" in title_of(figure)
    values = [trial.values for trial in odd_model("three_objectives").data.trials if trial.values]
    front = next(trace for trace in figure.data if trace.name == "front")
    shown = set(zip(front.x, front.y, strict=True))
    assert shown <= {value[:2] for value in values}


# ----------------------------------------------------------------------------- the course
def test_the_course_shows_the_best_so_far_and_failures(odd_model: OddModel) -> None:
    model = odd_model("mixed")
    traces = {trace.name: trace for trace in plot_course(model, ["values"]).data}
    best = [trial for trial in model.data.trials if trial.is_feasible and trial.values]
    assert traces["best so far"].y[-1] == min(trial.values[0] for trial in best if trial.values)
    n_failed = sum(trial.state == "failed" for trial in model.data.trials)
    assert len(traces["failed"].x) == n_failed
    assert "broke a constraint" in traces


def test_values_that_would_hide_the_others_are_marked_at_the_end(odd_model: OddModel) -> None:
    figure = plot_course(odd_model("infinite"), ["values"])
    low, high = figure.layout.yaxis.range
    assert high < 100.0
    beyond = next(trace for trace in figure.data if "beyond" in trace.name)
    assert all(low < y < high for y in beyond.y)
    assert any("∞" in text for text in beyond.hovertext)
    assert any("1e+09" in text for text in beyond.hovertext)


def test_the_course_shows_what_was_recorded_and_who_ran_what() -> None:
    sampler = HeatSampler(seed=0, n_startup_trials=3, record=True)
    study = optuna.create_study(sampler=sampler)

    def objective(trial: optuna.Trial) -> float:
        return sum(trial.suggest_categorical(f"x{i}", [0, 1, 2]) for i in range(4))

    study.optimize(objective, n_trials=10, n_jobs=2)
    titles = notes_of(plot_course(study))
    for title in ("improvement", "size of the trust region", "who ran when"):
        assert title in titles
    assert "who ran when" not in notes_of(plot_course(study, ["values", "expected"]))


# ------------------------------------------------------------------------------- arguments
def test_studies_models_and_samplers_are_taken() -> None:
    study = random_study(MIXED, mixed_value, n=8)
    model = read(study, HeatSampler(structure=Additive()))
    assert read(model) is model
    assert model.outcome(0).kernel_fit.name == "additive"
    study.sampler = HeatSampler(structure=Additive())
    assert read(study).outcome(0).kernel_fit.name == "additive"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda m: plot_effects(m, ["rats"]), ValueError, "'rats'"),
        (lambda m: plot_effects(m, "rate"), TypeError, "sequence of names"),
        (lambda m: plot_effects(m, objective=1), ValueError, "objective must be one of 0 .. 0"),
        (lambda m: plot_pair(m, ["rate"]), ValueError, "two different names"),
        (lambda m: plot_success(m, ["rate", "rate"]), ValueError, "two different names"),
        (lambda m: plot_course(m, ["value"]), ValueError, "parts must be one of"),
        (lambda m: plot_effects([1, 2]), TypeError, "study must be a study of Optuna"),
        (lambda m: read(optuna.create_study(), "tpe"), TypeError, "sampler must be"),
    ],
)
def test_bad_arguments_are_named(
    call: Callable[[StudyModel], Any],
    error: type[Exception],
    message: str,
    odd_model: OddModel,
) -> None:
    with pytest.raises(error, match=re.escape(message)):
        call(odd_model("mixed"))


def test_fronts_want_two_objectives(odd_model: OddModel) -> None:
    assert "two objectives" in notes_of(plot_front(odd_model("mixed")))
    with pytest.raises(ValueError, match="two different numbers"):
        plot_front(odd_model("two_objectives"), (1, 1))


def test_an_ugly_name_is_as_ugly_as_it_should_be() -> None:
    """The tests above would be worth nothing otherwise."""
    assert "</script>" in UGLY and "<b>" in UGLY and "%{" in UGLY
    assert math.inf in ODD_STUDIES["infinite"]().trials_dataframe()["value"].tolist()
