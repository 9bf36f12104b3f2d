"""MkDocs hook: the gallery, a page for each example, with what it prints and draws.

The examples are run when the site is built: with HEAT_PLUGINS_GALLERY=quick a few of them in a
short form, for tests. What is known about them is in their docstrings; a new file in examples/
needs no entry here.
"""

import ast
import logging
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from navigation import fill
from run_cached import environment, kept, side_by_side

log = logging.getLogger("mkdocs.hooks.gallery")
ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
LONGEST = 1800  # seconds that an example may take
FIRST = ["quickstart"]
QUICK = ["quickstart", "constrained", "ax_quickstart"]  # with a picture and without


def is_quick() -> bool:
    """Whether a few examples in a short form are enough."""
    return os.environ.get("HEAT_PLUGINS_GALLERY") == "quick"


@dataclass(frozen=True)
class Example:
    """A script of examples/."""

    name: str
    source: str

    @property
    def title(self) -> str:
        """The first line of the docstring."""
        return self._text.partition("\n")[0].rstrip(".")

    @property
    def about(self) -> str:
        """The rest of the docstring."""
        return self._text.partition("\n")[2].strip().replace("``", "`")

    @property
    def _text(self) -> str:
        return ast.get_docstring(ast.parse(self.source)) or self.name

    @property
    def writes(self) -> str:
        """The name of what it writes in the gallery: a picture, a page, or nothing."""
        found = re.search(r'output.*"[\w-]+\.(png|html)"', self.source)
        if found is None or "arguments.output" not in self.source:
            return ""
        return f"{self.name}.png" if found[1] == "png" else f"{self.name}-written.html"

    @property
    def draws(self) -> bool:
        """Whether it writes a picture."""
        return self.writes.endswith(".png")

    @property
    def arguments(self) -> list[str]:
        """What makes it quick, where only that it works is asked for."""
        if not is_quick():
            return []
        compares = "parse_arguments(" in self.source
        return ["--trials", "14", *(["--repeats", "1"] if compares else [])]

    def run(self, folder: Path) -> None:
        """Write what it prints, and its picture."""
        output = ["--output", self.writes] if self.writes else []
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, str(EXAMPLES / f"{self.name}.py"), *self.arguments, *output],
            capture_output=True,
            text=True,
            timeout=LONGEST,
            cwd=folder,
            env=environment(),
        )
        if done.returncode:
            raise RuntimeError(f"examples/{self.name}.py failed:\n{done.stderr[-3000:]}")
        printed = re.sub(r"^(?:picture|report): .*\n?", "", done.stdout, flags=re.MULTILINE).strip(
            "\n"
        )
        (folder / "printed.txt").write_text(printed + "\n", encoding="utf-8")
        log.info("examples/%s.py took %.0f s", self.name, time.perf_counter() - start)


def find_examples() -> list[Example]:
    """Return all scripts that can be run, those to begin with first."""
    found = [
        Example(path.stem, path.read_text(encoding="utf-8")) for path in EXAMPLES.glob("*.py")
    ]
    found = [example for example in found if '__name__ == "__main__"' in example.source]
    if is_quick():
        found = [example for example in found if example.name in QUICK]
    return sorted(
        found, key=lambda example: (example.name not in FIRST, not example.draws, example.name)
    )


def shared_code() -> str:
    """Return the modules that the examples import from each other."""
    parts = [path.read_text(encoding="utf-8") for path in sorted(EXAMPLES.glob("*.py"))]
    return "\0".join(part for part in parts if '__name__ == "__main__"' not in part)


def on_files(files: Files, config: MkDocsConfig, **_: Any) -> Files:
    """Run the examples and write their pages."""
    examples = find_examples()
    shared = shared_code()
    jobs: list[Callable[[], Path]] = [
        partial(
            kept,
            "gallery",
            example.name,
            [example.source, shared, example.writes, *example.arguments],
            example.run,
        )
        for example in examples
    ]
    entries: list[Any] = ["gallery/index.md"]
    cards = []
    for example, folder in zip(examples, side_by_side(jobs), strict=True):
        page = f"gallery/{example.name}.md"
        files.append(File.generated(config, page, content=page_of(example, folder)))
        if example.writes:
            path = str(folder / example.writes)
            files.append(File.generated(config, f"gallery/{example.writes}", abs_src_path=path))
        entries.append({f"{example.name}.py": page})
        cards.append(card_of(example))
    files.append(
        File.generated(config, "gallery/index.md", content=INDEX + "\n".join(cards) + END)
    )
    fill(config, "Gallery", entries)
    return files


INDEX = """# Gallery

Each of these is a script in `examples/`, run when this page was made.

<div class="cards" markdown>

"""
END = "\n</div>\n"


def card_of(example: Example) -> str:
    """Return what the index shows of an example."""
    picture = f"[![{example.title}]({example.writes})]({example.name}.md)\n\n"
    text = f"**[{example.name}.py]({example.name}.md)**\n\n{example.title}."
    body = (picture if example.draws else "") + text
    return f'<div class="card" markdown>\n\n{body}\n\n</div>\n'


def page_of(example: Example, folder: Path) -> str:
    """Return the page of an example."""
    printed = (folder / "printed.txt").read_text(encoding="utf-8")
    command = " ".join([f"python examples/{example.name}.py", *example.arguments])
    about = re.sub(r"\n    (python .*|Run it with.*)", "", "\n" + example.about).strip()
    about = re.sub(r"^Run it with .*$", "", about, flags=re.MULTILINE).strip()
    shown = f"![{example.title}]({example.writes})\n\n" if example.draws else ""
    if example.writes.endswith(".html"):
        shown = f"[The page that it writes]({example.writes})\n\n"
    return (
        f"# {example.title}\n\n{about}\n\n{shown}"
        f"```console\n$ {command}\n```\n\n"
        f'<div class="output" markdown>\n\n```text\n{printed}```\n\n</div>\n\n'
        f"## The script\n\n```python\n{example.source}```\n"
    )
