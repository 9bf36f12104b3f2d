"""MkDocs hook: what a strict build must not let pass, besides what MkDocs itself finds.

Python's Markdown wants an empty line before a list or a table, which other readers of Markdown do
not; without it the marks stand in the text.
"""

import logging
import re
from typing import Any

from mkdocs.structure.pages import Page

log = logging.getLogger("mkdocs.hooks.checks")
REMOTE = re.compile(
    r'<(?:img|script|iframe|source)[^>]*\ssrc="(?:https?:)?//|<link[^>]*href="(?:https?:)?//'
)


def on_page_content(html: str, page: Page, **_: Any) -> str:
    """Warn, which fails a strict build, of marks that were not understood."""
    text = re.sub(r"<(pre|code|svg)\b.*?</\1>", "", html, flags=re.DOTALL)
    for name, pattern in (
        ("a list", r"<p>[^<]*(?:<[^/p][^>]*>[^<]*</[^>]*>[^<]*)*\n(?:- |\d+\. )"),
        ("a table", r"\n\|.*\|"),
        ("a section of a docstring", r"<p>(?:Args|Returns|Raises|Attributes|Example): ?"),
        ("a formula", r"\\\(|\\\["),
    ):
        if found := re.search(pattern, text):
            log.warning("%s: %s was not understood: %s", page.file.src_uri, name, found[0][-80:])
    return html


def on_post_page(output: str, page: Page, **_: Any) -> str:
    """Warn of what a reader would have to load from another host."""
    if found := REMOTE.search(output):
        log.warning("%s loads something from another host: %s", page.file.src_uri, found[0])
    return output
