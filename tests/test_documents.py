"""What the documents show must run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


def test_the_readme_opens_with_three_lines_of_code() -> None:
    lines = [line for line in SNIPPETS[0].splitlines() if line.strip()]
    assert len(lines) == 3
    assert "HeatSampler()" in lines[-1]


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_readme_snippets_run(snippet: str) -> None:
    names: dict[str, object] = {}
    exec(compile(snippet, "README.md", "exec"), names)
    assert "study" in names


def test_quickstart_prints_a_table_and_writes_a_picture(tmp_path: Path) -> None:
    picture = tmp_path / "picture.png"
    arguments = ["--trials", "14", "--repeats", "1", "--output", str(picture)]
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "quickstart.py"), *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    assert "HeatSampler" in done.stdout
    assert "TPESampler" in done.stdout
    assert str(picture) in done.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert "14/14" in done.stderr or "28/28" in done.stderr  # the progress bar


@pytest.mark.parametrize("page", sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").glob("*.md")))
def test_links_between_documents_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert missing == []
