"""The tutorials are committed as they were written, and what they print is on the site."""

import json
from pathlib import Path
from typing import Any

import pytest

TUTORIALS = Path(__file__).resolve().parents[2] / "docs" / "tutorials"
NOTEBOOKS = sorted(TUTORIALS.glob("*.ipynb"))


def cells_of(path: Path) -> list[dict[str, Any]]:
    cells: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return cells


def test_there_are_three() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["cells", "design", "pipeline"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_have_no_outputs_in_the_repository(path: Path) -> None:
    for cell in cells_of(path):
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_index_of_tutorials_has_each(path: Path) -> None:
    assert f"({path.name})" in (TUTORIALS / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "words", "n_pictures"),
    [
        ("pipeline", ["40 of 40 pipelines are distinct", "15 of the last 15 are small"], 1),
        ("design", ["beams within all limits", "bends by"], 2),
        ("cells", ["[50, 50, 50] different graphs", "Op3: input -&gt; output"], 2),
    ],
)
def test_the_site_shows_what_tutorials_print_and_draw(
    site: Path, name: str, words: list[str], n_pictures: int
) -> None:
    page = (site / "tutorials" / f"{name}.html").read_text(encoding="utf-8")
    for word in words:
        assert word in page
    pictures = [*(site / "tutorials").glob(f"{name}-*.png")]
    assert len(pictures) == n_pictures
    assert all(f'src="{picture.name}"' in page for picture in pictures)
