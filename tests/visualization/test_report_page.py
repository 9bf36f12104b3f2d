"""Reports are one file each that needs no network, which a browser shows without complaint."""

import html
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from browser import find_chromium, look_at
from needs import unavailable
from odd_studies import ODD_STUDIES, UGLY

from heat_plugins.insight.study_model import StudyModel

pytest.importorskip("plotly")

from heat_plugins.insight import study_model  # noqa: E402
from heat_plugins.visualization import read, report  # noqa: E402

OddModel = Callable[[str], StudyModel]
N_FIGURES = {"ugly_names": 8, "two_objectives": 14}


@pytest.fixture(scope="session")
def browser() -> str:
    """The path of a browser, or the reason why there is none."""
    program = find_chromium()
    if program is None:
        unavailable("no Chromium was found (Debian: apt-get install chromium)")
    return program


@pytest.mark.parametrize("study", ["empty", "one_trial", "three_objectives", "many_parameters"])
def test_a_report_has_its_program_once(study: str, odd_model: OddModel, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    assert report(odd_model(study), path) == path
    text = path.read_text(encoding="utf-8")
    assert len(re.findall(r"plotly\.js v\d", text)) == 1
    assert not re.search(r"<(script|link|img|iframe)[^>]*\s(src|href)=", text)
    n = len(odd_model(study).data.trials)
    assert f"{n} trials" in text
    ids = re.findall(r'id="(figure[\d-]+)"', text)
    assert len(ids) == len(set(ids)) >= 4


def test_models_are_fitted_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fits = []
    fit_outcome, everywhere = study_model.outcome_of, study_model.fit_everywhere
    monkeypatch.setattr(
        study_model, "outcome_of", lambda *args: fits.append("outcome") or fit_outcome(*args)
    )
    monkeypatch.setattr(
        study_model, "fit_everywhere", lambda *args: fits.append("all") or everywhere(*args)
    )
    model = read(ODD_STUDIES["maximised"]())
    report(model, tmp_path / "first.html")
    report(model, tmp_path / "second.html")
    assert sorted(fits) == ["all", "outcome"]
    first, second = (tmp_path / name for name in ("first.html", "second.html"))
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.parametrize("study", N_FIGURES)
def test_a_browser_shows_every_figure(
    study: str, odd_model: OddModel, browser: str, tmp_path: Path
) -> None:
    path = report(odd_model(study), tmp_path / "report.html")
    look = look_at(path, browser)
    assert look.console == []
    assert look.picture.startswith(b"\x89PNG")
    shown = re.findall(r'id="figure[\d-]+"[^>]*class="plotly-graph-div js-plotly-plot"', look.dom)
    assert len(shown) == N_FIGURES[study]
    if study == "ugly_names":  # what is a name stays a text: no element was made of it
        assert html.escape(UGLY, quote=False) in look.dom[: look.dom.index("<nav>")]
        assert not re.search(r'<a [^>]*href="javascript|<script[^>]*>alert', look.dom)
        assert "<b>" not in look.dom.replace(html.escape(UGLY), "")
