"""MkDocs hook: the API reference, a page for each public module, from its docstrings.

Public is what ``__all__`` of these modules lists. A name without a docstring fails the build,
and so does a name that the documents import and no page has.
"""

import logging
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import griffe
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from navigation import fill

log = logging.getLogger("mkdocs.hooks.reference")
ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Module:
    """A page of the reference.

    Args:
        path: Of the module; its ``__all__`` is public.
        about: What it has, in one line.
        more: Public names of modules below, by their full paths.
    """

    path: str
    about: str
    more: list[str] = field(default_factory=list)


MODULES = [
    Module(
        "heat_plugins",
        "The sampler, structures, and what goes with them",
        ["heat_plugins.optuna.explanation.Explanation"],
    ),
    Module("heat_plugins.ax", "The generation strategy for Ax"),
    Module("heat_plugins.botorch", "The surrogate for BoTorch"),
    Module("heat_plugins.torch", "The kernels for GPyTorch"),
    Module(
        "heat_plugins.kernels",
        "The kernels as functions of NumPy arrays",
        [
            "heat_plugins.kernels.function.FunctionKernel",
            "heat_plugins.spec.registry.KernelEntry",
            "heat_plugins.spec.model.Model",
        ],
    ),
    Module("heat_plugins.visualization", "Pictures of studies and experiments"),
    Module("heat_plugins.space", "Parameters and spaces, for loops of your own"),
    Module("heat_plugins.benchmarks.problems", "Problems to compare optimisers on"),
]


def on_files(files: Files, config: MkDocsConfig, **_: Any) -> Files:
    """Write the pages and check that nothing is undocumented."""
    package = griffe.load("heat_plugins", search_paths=[str(ROOT)], resolve_aliases=True)
    pages: dict[str, str] = {}  # by the full path of a name, the page that has it
    index = ["# Reference\n", "All public names, by module.\n"]
    entries: list[Any] = ["reference/index.md"]
    # From the special to the general: a name that two modules have is told by the first one.
    for module in reversed(MODULES):
        for path in public_names(package, module):
            pages.setdefault(_target(package, path).path, f"{module.path}.md")
    for module in MODULES:
        found = [_target(package, path) for path in public_names(package, module)]
        text = [f"# `{module.path}`\n", f"{module.about}.\n"]
        index.append(
            f"\n## [`{module.path}`]({module.path}.md)\n\n| name | what it is |\n|---|---|"
        )
        for item in found:
            _check(item)
            page = pages[item.path]
            link = f"[`{item.name}`]({page}#{item.path})"
            index.append(f"| {link} | {summary(item)} |")
            here = page == f"{module.path}.md"
            text.append(f"::: {item.path}\n" if here else f"## {link}\n\n{summary(item)}\n")
        page = f"reference/{module.path}.md"
        files.append(File.generated(config, page, content="\n".join(text)))
        entries.append({module.path: page})
    files.append(File.generated(config, "reference/index.md", content="\n".join(index)))
    fill(config, "Reference", entries)
    _check_imports({path.rpartition(".")[2] for path in pages})
    return files


def public_names(package: griffe.Module, module: Module) -> list[str]:
    """Return the full paths of what a page has."""
    _, _, below = module.path.partition(".")
    exports = (package[below] if below else package).exports or []
    names = [str(name) for name in exports]
    return [f"{module.path}.{name}" for name in names if not name.startswith("__")] + module.more


def summary(item: Any) -> str:
    """Return the first paragraph of a docstring, as it stands in a table."""
    if item.docstring is None:
        return ""
    return " ".join(item.docstring.value.split("\n\n")[0].split()).replace("|", "\\|")


def _target(package: griffe.Object | griffe.Alias, path: str) -> Any:
    """Return what a public name stands for, where it is defined."""
    found: Any = package[path.split(".", 1)[1]]
    return found.final_target if found.is_alias else found


def _check(found: Any) -> None:
    """Warn, which fails a strict build, of public names without a docstring."""
    missing = [] if found.docstring else [found.path]
    if found.is_class:
        for name, member in found.members.items():
            is_field = member.is_attribute and "property" not in member.labels
            if name.startswith("_") or member.is_alias or is_field:
                continue
            if member.docstring is None and not _inherits(found, name):
                missing.append(member.path)
    for name in missing:
        log.warning("'%s' is public and has no docstring", name)


def _inherits(found: Any, name: str) -> bool:
    """Whether a method overrides one of a base class that has a docstring or is not ours."""
    return any(name in getattr(base, "members", {}) for base in found.mro()) or bool(
        [base for base in found.bases if "heat_plugins" not in str(base)]
    )


def _check_imports(public: set[str]) -> None:
    """Warn of names that documents import from us and that no page of the reference has."""
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        text = path.read_text(encoding="utf-8")
        for names in re.findall(r"^from heat_plugins[\w.]* import ([\w, ]+)", text, re.MULTILINE):
            for name in names.split(","):
                if name.strip() not in public:
                    log.warning(
                        "%s imports '%s', which is not in the reference (website/reference.py)",
                        path.name,
                        name.strip(),
                    )
