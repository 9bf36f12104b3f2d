"""MkDocs hook: pages from outside docs/, guides that nobody listed, and links between documents.

The Markdown in docs/ is written to be read in the repository. What differs on the site is
changed here: links to notebooks lead to the pages made of them, and examples that are named lead
to their places in the gallery.
"""

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from navigation import pages, section

ROOT = Path(__file__).resolve().parents[1]
# What stands beside a page and has nothing to say there.
HIDDEN = {"index.md": ["navigation"], "gallery/index.md": ["toc"]}
WIDE = 7  # columns
OUTSIDE = ("CHANGELOG.md", "CONTRIBUTING.md")


def on_files(files: Files, config: MkDocsConfig, **_: Any) -> Files:
    """Add pages from the root, the style, and to the guides whatever mkdocs.yml does not name."""
    for name in OUTSIDE:
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=text.replace("](docs/", "](")))
    for path in sorted((ROOT / "website" / "static").iterdir()):
        files.append(File.generated(config, f"static/{path.name}", abs_src_path=str(path)))
    listed = {*pages(config.nav or [])}
    guides = section(config, "Guides")
    for file in files.documentation_pages():
        if "/" not in file.src_uri and file.src_uri not in listed:
            guides.append(file.src_uri)
    return files


def on_page_markdown(markdown: str, page: Page, files: Files, **_: Any) -> str:
    """Let links to notebooks lead to pages, and names of examples to the gallery."""
    page.meta.setdefault("hide", HIDDEN.get(page.file.src_uri, []))
    markdown = re.sub(r"(\]\([^)\s]+)\.ipynb\)", r"\1.md)", markdown)
    up = "../" * page.file.src_uri.count("/")

    def to_gallery(match: re.Match[str]) -> str:
        target = f"gallery/{match[1]}.md"
        known = files.get_file_from_path(target) is not None and target != page.file.src_uri
        return f"[`{match[0].strip('`')}`]({up}{target})" if known else match[0]

    # Neither within the text of a link nor between the fences of a block of code.
    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.DOTALL | re.MULTILINE)
    parts[::2] = [
        re.sub(r"(?<!\[)`(?:examples/)?(\w+)\.py`", to_gallery, part) for part in parts[::2]
    ]
    return "".join(parts)


def on_page_content(html: str, **_: Any) -> str:
    """Mark tables of many columns, whose cells then stay on one line."""

    def mark(match: re.Match[str]) -> str:
        is_wide = match[0].partition("</tr>")[0].count("<th") >= WIDE
        return f'<div class="wide">{match[0]}</div>' if is_wide else match[0]

    return re.sub(r"<table>.*?</table>", mark, html, flags=re.DOTALL)
