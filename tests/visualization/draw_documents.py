"""Draws the pictures of docs/visualization.md: python tests/visualization/draw_documents.py."""

import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "optuna"), str(Path(__file__).parent)]

import optuna  # noqa: E402
from browser import find_chromium, look_at  # noqa: E402
from odd_studies import mixed, two_objectives  # noqa: E402

from heat_plugins.visualization import plot_effects, plot_front  # noqa: E402

WIDTH = 900  # pixels


def main() -> None:
    program = find_chromium()
    if program is None:
        raise SystemExit("error: this needs Chromium (Debian: apt-get install chromium)")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    figures = {
        "effects": plot_effects(mixed(), ["rate", "optimizer", "layers", "dropout"]),
        "front": plot_front(two_objectives()),
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, figure in figures.items():
            figure.update_layout(width=WIDTH, height=min(figure.layout.height, 400))
            page = Path(folder) / f"{name}.html"
            figure.write_html(page, config={"displayModeBar": False})
            picture = look_at(page, program, (WIDTH, figure.layout.height)).picture
            (ROOT / "docs" / "pictures" / f"{name}.png").write_bytes(picture)


if __name__ == "__main__":
    main()
