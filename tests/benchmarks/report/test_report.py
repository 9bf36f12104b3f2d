"""Pages and figures of made-up studies."""

import json
import math
from dataclasses import asdict, replace

import numpy as np
import pytest
from made_up_studies import N_FIRST, results_of, rows_of, studies, study, written

from heat_plugins.benchmarks.methods.graph_methods import GRAPH_METHODS
from heat_plugins.benchmarks.methods.method_list import HEAT_AND_HAMMING, PIPELINE_METHODS
from heat_plugins.benchmarks.report import curves, figures, figures_html, pictures, problem_table
from heat_plugins.benchmarks.report import duels as duelling
from heat_plugins.benchmarks.report import pages as report
from heat_plugins.benchmarks.report.main_table import main_table
from heat_plugins.benchmarks.report.time_tables import equal_time_table, seconds_table
from heat_plugins.benchmarks.results import evidence
from heat_plugins.benchmarks.results.raw_lines import StudyLine
from heat_plugins.benchmarks.results.statistics import Facts
from heat_plugins.benchmarks.results.time_ratios import time_ratios

image_module = pytest.importorskip("PIL.Image")
pytest.importorskip("matplotlib")


# ---------------------------------------------------------------------------------- tables
def test_table_of_a_problem():
    lines = [
        *studies("p", {"HeatSampler": 1.0, "TPE": 3.0}, n=200),
        study("p", "Slow", 0, 2.0, n=100, seconds=2.0),
    ]
    facts = Facts("a problem", best_known=0.0, target=5.0)
    text = problem_table.problem_table(results_of(lines, {"p": facts}), "p")
    rows = rows_of(text)
    assert rows["method"][3:7] == ["after 50", "after 100", "after 200", "evaluations to 5"]
    ours, slow = rows["HeatSampler"], rows["Slow"]
    assert ours[1:3] == ["10", "200"]
    assert ours[5].startswith("**1.00")
    assert ours[6].endswith("(10 of 10)")
    assert ours[7:] == ["0.1", "4.5"]
    assert slow[1:3] == ["1", "100"]
    assert slow[4] == "**2**"
    assert slow[5] == ""
    assert slow[7] == "2"


def test_unreached_target_and_large_scores():
    lines = [study("p", "m", seed, end, start=0.1) for seed, end in enumerate([0.9, 0.4, 0.3])]
    facts = Facts(larger_is_better=True, target=0.8)
    rows = rows_of(problem_table.problem_table(results_of(lines, {"p": facts}), "p"))
    assert rows["m"][6] == "∞ (1 of 3)"
    assert rows["m"][3].startswith("**0.4")


def test_seeds_that_found_nothing_are_counted():
    lines = studies("p", {"m": 1.0}, n_seeds=3)
    nothing = study("p", "m", 3, 1.0)
    lines.append(StudyLine(**{**asdict(nothing), "scores": [math.inf] * 60}))
    text = problem_table.problem_table(results_of(lines, {"p": Facts()}), "p")
    assert "∞ (1 of 4 found nothing)" in text


def test_main_table_says_where_we_lose():
    lines = [
        *studies("p-relocated", {"HeatSampler": 1.0, "TPE": 3.0, "Random": 9.0}, n=200),
        *studies("q-relocated", {"HeatSampler": 4.0, "TPE": 3.0, "Random": 9.0}, n=200),
        *studies("r-relocated", {"HeatSampler": 1.0, "TPE": 1.0}, spread=0.0, n=200),
        *studies("p-relocated", {"Slow": 2.0}, n_seeds=2, n=100),
    ]
    results = results_of(lines)
    evaluations = evidence.full_lengths(results, results.problems)
    main = main_table(results, evaluations)
    rows = rows_of(main.text)
    assert rows["problem"][3:] == ["HeatSampler", "Random", "TPE", "HeatSampler is"]
    assert [row[-1] for name, row in rows.items() if name.startswith("[")] == [
        "best",
        "behind TPE",
        "best",
    ]
    assert rows["average rank (2 problems)"][3:6] == ["**1.50**", "3.00", "**1.50**"]
    assert rows["best or as good"][3:6] == ["2 of 3", "0 of 2", "2 of 3"]
    assert main.few == []
    assert len(main.lost) == 1
    assert "`HeatSampler` is behind by 1.00" in main.lost[0]
    assert "on 10 common seeds (p 0.002)" in main.lost[0]


def test_few_seeds_are_named(tmp_path):
    lines = studies("p-relocated", {"HeatSampler": 1.0, "TPE": 3.0}, n_seeds=4)
    report.write([written(lines, tmp_path / "a.jsonl")], tmp_path / "out", figures=False)
    page = (tmp_path / "out" / "README.md").read_text(encoding="utf-8")
    assert "no test is made: problems p-relocated; methods TPE (some or all problems)." in page


def test_short_studies_go_into_the_second_table(tmp_path):
    lines = [
        *studies("p-relocated", {"HeatSampler": 1.0, "TPE": 3.0}, n=200),
        *studies("p-relocated", {"Slow": 2.0}, n_seeds=2, n=100),
    ]
    report.write([written(lines, tmp_path / "a.jsonl")], tmp_path / "out", figures=False)
    first, second = (tmp_path / "out" / "README.md").read_text().split("### After 100")
    assert "Slow" not in first
    header = next(line for line in second.splitlines() if line.startswith("| problem"))
    assert "| Slow |" in header
    assert "(2)" in second


def test_small_problems_have_a_page_of_their_own(tmp_path):
    lines = [
        *studies("branin", {"HeatSampler": 1.0, "TPE": 3.0}, n=100),
        *studies("levy10", {"HeatSampler": 3.0, "TPE": 1.0}, n=100),
        *studies("gpu-gemm", {"HeatSampler": 1.0, "TPE": 3.0}, n=100),
        *studies("ehrlich-5", {"HeatSampler": 1.0, "TPE": 3.0}, n=300),
        *studies("p-relocated", {"HeatSampler": 1.0, "TPE": 3.0}, n=200),
    ]
    lines = [
        replace(line, n_failed=10 + line.seed) if line.problem == "gpu-gemm" else line
        for line in lines
    ]
    report.write([written(lines, tmp_path / "r.jsonl")], tmp_path, figures=False)
    main, small = (tmp_path / "README.md").read_text(), (tmp_path / "small.md").read_text()
    table_of_main = main.split("## The first evaluations")[0]
    assert "[p-relocated]" in table_of_main and "[branin]" not in table_of_main
    for n in (25, 50, 100):
        assert f"- after {n}: the best or as good on 2 of 3" in main
        section = small.split(f"## After {n} evaluations")[1].split("\n## ")[0]
        assert "behind TPE" in section and "ehrlich-5" not in section
    assert "- after 300: the best or as good on 1 of 1" in main
    assert "[ehrlich-5]" in small.split("## After 300 evaluations")[1]
    failures = rows_of(small.split("## Trials that fail")[1])
    assert failures["[gpu-gemm](problems.md#gpu-gemm)"] == [
        "[gpu-gemm](problems.md#gpu-gemm)",
        "100",
        "14.5",
        "14.5",
    ]
    assert len([name for name in failures if name.startswith("[")]) == 1


def test_duels_correct_for_the_number_of_problems():
    lines = [
        *studies("p", {"HeatSampler": 1.0, "TPE": 3.0}, n_seeds=6),
        *studies("q", {"HeatSampler": 1.0, "TPE": 3.0}, n_seeds=6),
        *studies("r", {"HeatSampler": 1.0, "TPE": 0.5}, n_seeds=4),
    ]
    duels = duelling.duels(results_of(lines))["TPE"]
    assert duels["p"].outcome.p == pytest.approx(2 / 64)
    assert duels["p"].corrected == pytest.approx(4 / 64)
    assert duels["r"].outcome.p is None
    assert duels["r"].outcome.lead.mean < 0.0
    row = rows_of(duelling.duel_summary({"TPE": duels}))["TPE"]
    assert row == ["TPE", "3", "2", "1", "1.00", "0", "0"]


# ------------------------------------------------------------------------------------- time
def test_seconds_are_ratios_to_the_fastest_method_with_a_model():
    lines = [
        *studies("p", {"Random": 9.0}, seconds=0.01),
        *studies("p", {"HeatSampler": 1.0}, seconds=0.1),
        *studies("p", {"GPSampler": 1.0}, seconds=1.0),
        *studies("q", {"HeatSampler": 1.0}, seconds=0.1),
        *studies("q", {"GPSampler": 1.0}, seconds=2.0),
    ]
    results = results_of(lines)
    found = time_ratios(results, {"p": 60, "q": 60})
    assert found.fastest == "HeatSampler"
    assert found.ratios["GPSampler"] == (pytest.approx(15.0), 2)
    assert found.ratios["Random"] == (pytest.approx(0.1), 1)
    rows = rows_of(seconds_table(results, {"p": 60, "q": 60}))
    assert rows["Random (no model)"] == ["Random (no model)", "0.1", "1", "0.55"]
    assert time_ratios(results, {"missing": 60}) is None


def test_what_is_reached_in_equal_time():
    lines = [
        *studies("p", {"HeatSampler": 1.0}, spread=0.0, seconds=0.1, n_seeds=2),
        *studies("p", {"Quick": 2.0}, spread=0.0, seconds=0.01, n_seeds=2),
        *studies("p", {"Slow": 0.0}, spread=0.0, seconds=1.0, n_seeds=2),
    ]
    arguments = results_of(lines), {"p": 60}, ["HeatSampler", "Quick", "Slow", "absent"]
    row = rows_of(equal_time_table(*arguments, 0.0))["p"]
    # 5.5 seconds: five suggestions after the first points where each takes one.
    assert row[1:5] == ["5.5", "**1 ± 0 [60]**", "2 ± 0 [60+]", "9.09091 ± 0 [10]"]
    row = rows_of(equal_time_table(*arguments, 10.0))["p"]
    assert row[2:5] == ["1 ± 0 [60]", "2 ± 0 [60]", "**0.909091 ± 0 [55]**"]


# --------------------------------------------------------------------------- whole reports
def everything():
    """Return studies that fill every page and every figure."""
    kernels = {**dict.fromkeys(HEAT_AND_HAMMING, 1.0), "hed": 2.0, "cocabo": 1.5}
    rivals = {"HeatSampler": 1.0, "TPE": 3.0, "Random": 9.0}
    invariant = {"heat": 3.0, "sort": 2.0, "padded-sort": 1.0, "ssk": 1.0}
    return [
        *studies("pest", {**kernels, **rivals}, n_seeds=5),
        *studies("pest-relocated", {**kernels, **rivals}, n_seeds=5),
        *studies("unheard-of", {**rivals, "A new one": 0.5}, n_seeds=1),
        *studies("larger", {"HeatSampler": 30.0, "NSGA-II": 20.0}, n_seeds=2),
        *studies("ackley", invariant, n_seeds=2),
        *studies("rna", {"heat": 3.0, "additive": 1.0}, n_seeds=2, n=N_FIRST + 1),
    ]


def test_a_whole_report(tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "DPI", 40)
    monkeypatch.setattr(pictures, "N_FOR_TIME", 1)
    lines = everything()
    paths = [written(lines[:30], tmp_path / "a.jsonl"), written(lines[30:], tmp_path / "b.jsonl")]
    speed = {"kind": "closed-form", "problem": "25 x 5", "closed_form_ms": 1.0}
    speed |= {"eigenvectors_ms": 3.0, "ratio": 3.0}
    (tmp_path / evidence.SPEED_FILE).write_text(json.dumps(speed) + '\n{"kind": "cl')
    folder = tmp_path / "out"
    report.write([*paths, tmp_path / evidence.SPEED_FILE], folder)
    pages = {page.name: page.read_text(encoding="utf-8") for page in folder.glob("*.md")}
    assert {*pages} == {"README.md", "problems.md", "claims.md", "time.md"}
    assert "## pest-relocated (best known 12.03)" in pages["problems.md"]
    assert "## unheard-of\n" in pages["problems.md"]
    assert "Large scores are better." in pages["problems.md"]
    assert "eigenvectors: reproduced" in pages["claims.md"]
    assert "2026-01-01 to 2026-01-05" in pages["README.md"]
    assert "nan" not in "".join(pages.values())

    images = {path.stem: path for path in folder.glob("*.png")}
    drawn = {"methods", "methods-both", "kernels", "invariant", "additive", "seconds"}
    assert {*images} == {*drawn, "equal-time"}
    for path in images.values():
        assert path.stat().st_size < 150_000
        with image_module.open(path) as image:
            pixels = np.asarray(image.convert("RGB"))
        assert (pixels[0, 0] == 255).all()
        assert (pixels < 200).any(axis=2).mean() > 0.001
        assert f"({path.name})" in "".join(pages.values())

    report.write(paths[::-1], folder, figures=False)
    again = {page.name: page.read_text(encoding="utf-8") for page in folder.glob("*.md")}
    assert again == pages


def test_a_picture_is_the_same_again(tmp_path):
    results = results_of(studies("p", {"HeatSampler": 1.0, "TPE": 3.0}, n_seeds=2))
    for name in ("a.png", "b.png"):
        assert figures.curves(results, [["p", "absent"]], ["HeatSampler", "TPE"], tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_no_studies_still_make_pages(tmp_path):
    report.write([tmp_path / "absent.jsonl"], tmp_path / "out")
    assert "There are no studies." in (tmp_path / "out" / "README.md").read_text()
    assert not [*tmp_path.glob("out/*.png")]


def test_a_task_that_cannot_be_made_is_known_from_an_earlier_report_only(
    tmp_path, monkeypatch, capsys
):
    def missing():
        raise FileNotFoundError("its data")

    monkeypatch.setattr(evidence, "_catalogue", lambda: ({"p": missing}, ["TPE"]))
    lines = studies("p", {"TPE": 1.0}, n_seeds=1)
    raw = written(lines, tmp_path / "a.jsonl")
    unknown = evidence.load([raw])
    assert unknown.facts("p") == Facts()
    evidence.write_facts(unknown, tmp_path)  # nothing, so that the next line is said again
    evidence.load([raw])
    assert capsys.readouterr().err.count("its data") == 2

    facts = Facts("a problem of ours, à deux", True, 0.1 + 0.2, 0.25)
    evidence.write_facts(results_of(lines, {"p": facts}), tmp_path)
    assert evidence.load([raw]).facts("p") == facts
    assert capsys.readouterr().err == ""
    assert not [*tmp_path.glob("*.part")]


def test_facts_that_cannot_be_read_are_an_error_with_the_name_of_the_file(tmp_path):
    (tmp_path / evidence.FACTS_FILE).write_text('{"p": {"descr')
    with pytest.raises(ValueError, match=r"facts\.json must be JSON"):
        evidence.load([tmp_path / "a.jsonl"])


# --------------------------------------------------------------------------------- figures
def test_a_curve_leaves_out_first_points_short_studies_and_what_is_infinite():
    lines = [study("p", "m", seed, 1.0, n=20) for seed in range(2)]
    lines[0] = StudyLine(**{**asdict(lines[0]), "scores": [math.inf] * 7 + [2.0] * 13})
    lines.append(study("p", "m", 2, 1.0, n=8))
    one = curves.curve(results_of(lines, {"p": Facts()}), "p", "m")
    assert one.x.tolist() == [*range(N_FIRST, 21)]
    assert np.isnan(one.mean[:3]).all()
    assert one.mean[3:] == pytest.approx((2.0 + np.array(lines[1].scores[7:])) / 2.0)
    assert curves.curve(results_of(lines), "q", "m") is None


def test_curves_of_far_longer_studies_are_cut():
    lines = [study("p", "ours", 0, 1.0, n=20), study("p", "short", 0, 1.0, n=10)]
    lines.append(study("p", "cheap", 0, 1.0, n=500))
    results = results_of(lines, {"p": Facts()})
    found = curves.curves_of(results, [["p"]], ["ours", "short", "cheap"])["p"]
    assert {method: one.x[-1] for method, one in found.items()} == {
        "ours": 20.0,
        "short": 10.0,
        "cheap": 20.0,
    }
    assert len(found["cheap"].x) == len(found["cheap"].mean) == len(found["cheap"].error)
    # without the first of the methods there is nothing to go by
    found = curves.curves_of(results, [["p"]], ["none", "short", "cheap"])["p"]
    assert found["cheap"].x[-1] == 500.0


def test_correlations_are_means_over_seeds_by_the_number_of_cells(tmp_path):
    row = {"kind": "cells", "problem": "cells101", "method": "cell-wl"}
    rows = [
        {**row, "cells": cells, "seed": seed, "correlation": 0.01 * cells + 0.1 * seed}
        for cells in (50, 25)
        for seed in range(3)
    ]
    found = curves.correlations_of([*rows, {"kind": "closed-form"}])
    one = found["cells101"]["cell-wl"]
    assert one.x.tolist() == [25.0, 50.0]
    np.testing.assert_allclose(one.mean, [0.35, 0.6])
    np.testing.assert_allclose(one.error, [0.1 / np.sqrt(3.0)] * 2)
    assert figures.correlations(found, [*GRAPH_METHODS], tmp_path / "cells.png")
    assert (tmp_path / "cells.png").exists()
    assert not figures.correlations({}, [*GRAPH_METHODS], tmp_path / "nothing.png")


def test_a_target_must_be_reached_within_the_usual_number_of_evaluations():
    late = study("p", "cheap", 0, 1.0, n=500)
    late = StudyLine(**{**asdict(late), "scores": [9.0] * 300 + [0.0] * 200})
    results = results_of([late, study("p", "HeatSampler", 0, 1.0)], {"p": Facts(target=5.0)})
    assert problem_table._to_target(results, "p", "cheap", 5.0) == "∞ (0 of 1)"


def test_colours_are_of_methods_and_differ_within_a_figure():
    groups = [
        [*HEAT_AND_HAMMING, "hed", "ssk", "cocabo", "rducb"],
        ["heat", "sort", "padded-sort", "ssk"],
        ["heat", "cocabo", "rducb", "additive", "interactions-2", "auto"],
        [*PIPELINE_METHODS],
        [*GRAPH_METHODS],
    ]
    for methods in groups:
        assert len({figures.colour_of(method) for method in methods}) == len(methods)
    assert figures.colour_of("never heard of") == figures.colour_of("never heard of")


def test_pages_to_zoom_in(tmp_path):
    pytest.importorskip("plotly")
    results = results_of(studies("p", {"HeatSampler": 1.0, "TPE": 3.0}, n_seeds=2))
    path = tmp_path / "html" / "methods.html"
    assert figures_html.curves_html(results, [["p"]], ["HeatSampler", "TPE"], path)
    assert "HeatSampler" in path.read_text(encoding="utf-8")
    assert (path.parent / "plotly.min.js").exists()
    assert not figures_html.curves_html(results, [["absent"]], ["TPE"], path)


# ----------------------------------------------------------------------------- the README
def test_the_table_of_the_readme_counts_problems_by_group(tmp_path):
    lines = [
        *studies("pest-relocated", {"HeatSampler": 1.0, "TPE": 3.0, "Random": 9.0}, n=200),
        *studies("labs-relocated", {"HeatSampler": 4.0, "TPE": 3.0}, n=200),
        *studies("svm", {"HeatSampler": 1.0, "TPE": 1.0}, spread=0.0, n=200),
        *studies("branin", {"HeatSampler": 1.0, "TPE": 3.0}, n=100),
        *studies("gpu-gemm", {"HeatSampler": 3.0, "TPE": 1.0}, n=100),
    ]
    readme = tmp_path / "README.md"
    readme.write_text(f"Before\n{report.BEGIN}\nold\n{report.END}\nAfter\n")
    raw = written(lines, tmp_path / "r.jsonl")
    report.write([raw], tmp_path / "out", figures=False, readme=readme)
    text = readme.read_text()
    assert text.startswith("Before\n") and text.endswith("\nAfter\n") and "old" not in text
    table = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")]
    assert table[0] == ["problems", "evaluations", "HeatSampler", "Random", "TPE"]
    counts = {(row[0], row[1]): row[2:] for row in table[2:]}
    assert counts["of the paper, optima relocated", "200"] == [
        "**1 of 2**",
        "0 of 1",
        "**1 of 2**",
    ]
    assert counts["mixed, conditional, two objectives", "200"][0] == "**1 of 1**"
    assert counts["functions of numbers", "50"][0] == "**1 of 1**"
    assert counts["tables of networks and GPU kernels", "100"][0] == "0 of 1"
    with pytest.raises(ValueError, match="must have the lines"):
        report.write([raw], tmp_path / "out", figures=False, readme=raw)
