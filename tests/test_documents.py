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


EXAMPLES = {
    "quickstart": ["HeatSampler", "TPESampler"],
    "permutation_invariant": ["with the structure", "without", "ackley", "styblinski-tang"],
    "additive": ["Additive()", '"auto"', "without", "share of variance by order", "place"],
    "graph_of_choices": ["with graphs", "without", "TPESampler"],
}


def test_every_example_is_tested() -> None:
    names = {path.stem for path in (ROOT / "examples").glob("*.py")}
    assert names == {*EXAMPLES, "comparison"}


@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_print_a_table_and_write_a_picture(example: str, tmp_path: Path) -> None:
    picture = tmp_path / "picture.png"
    arguments = ["--trials", "14", "--repeats", "1", "--output", str(picture)]
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / f"{example}.py"), *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    for words in EXAMPLES[example]:
        assert words in done.stdout
    assert str(picture) in done.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert re.search(r"(\d+)/\1 ", done.stderr)  # the progress bar, at its end


@pytest.mark.parametrize("page", sorted(ROOT.glob("*.md")) + sorted((ROOT / "docs").glob("*.md")))
def test_links_between_documents_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert missing == []
