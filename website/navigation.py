"""What the hooks do to the navigation of mkdocs.yml."""

from typing import Any

from mkdocs.config.defaults import MkDocsConfig


def fill(config: MkDocsConfig, title: str, entries: list[Any]) -> None:
    """Put pages that were written at build time in the place of a section of the navigation."""
    sections = config.nav or []
    places = [i for i, section in enumerate(sections) if [*section] == [title]]
    if len(places) != 1:
        raise ValueError(f"the navigation of mkdocs.yml must have one '{title}'")
    sections[places[0]] = {title: entries}


def section(config: MkDocsConfig, title: str) -> list[Any]:
    """Return the entries of a section, to be read or extended."""
    return next(entry[title] for entry in config.nav or [] if [*entry] == [title])


def pages(entries: list[Any]) -> list[str]:
    """Return the files of all entries, sections within sections included."""
    found = []
    for entry in entries:
        if isinstance(entry, str):
            found.append(entry)
            continue
        for value in entry.values():
            found.extend(pages(value) if isinstance(value, list) else [value])
    return found
