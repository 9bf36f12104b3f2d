"""Files about the release say what is so."""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import heat_plugins

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def project() -> dict[str, Any]:
    return tomllib.loads(read("pyproject.toml"))


def test_the_citation_has_the_version() -> None:
    citation = yaml.safe_load(read("CITATION.cff"))
    assert citation["version"] == heat_plugins.__version__
    assert citation["license"] == project()["project"]["license"]


def test_the_readme_of_the_package_leads_nowhere_that_is_not_there() -> None:
    """Its relative links are text, its pictures gone, and absolute links as they were."""
    hook = project()["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    assert [fragment["path"] for fragment in hook["fragments"]] == ["README.md"]
    text = read("README.md")
    for each in hook["substitutions"]:
        text = re.sub(each["pattern"], each["replacement"], text)
    assert re.findall(r"\]\((?!https?://)", text) == []
    absolute = r"\]\(https?://[^)]*\)"
    assert re.findall(absolute, text) == re.findall(absolute, read("README.md")) != []
    assert "HeatSampler in Optuna" in text and "| of the paper, optima relocated |" in text


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_ask_for_targets_that_there_are(path: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", read("Makefile"), flags=re.MULTILINE))
    asked = set(re.findall(r"run: make ([\w-]+)", path.read_text(encoding="utf-8")))
    assert asked
    assert asked <= targets


def test_workflows_run_on_the_versions_that_the_package_names() -> None:
    jobs = yaml.safe_load(read(".github/workflows/tests.yml"))["jobs"]
    prefix = "Programming Language :: Python :: 3."
    named = [line for line in project()["project"]["classifiers"] if line.startswith(prefix)]
    assert jobs["tests"]["strategy"]["matrix"]["python"] == [n.rpartition(" ")[2] for n in named]


def test_every_target_of_the_makefile_is_explained_to_contributors() -> None:
    targets = re.findall(r"^([a-z-]+):.*## ", read("Makefile"), flags=re.MULTILINE)
    explained = read("CONTRIBUTING.md")
    own = {"help", "clean", "distclean", "format"}  # explain themselves, or with others
    missing = [name for name in targets if f"`make {name}`" not in explained]
    assert {*missing} <= own
