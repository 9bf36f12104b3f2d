"""MkDocs hook: formulas between dollar signs become drawings at build time.

A drawing has the colour and the size of the text around it, and its source as what screen readers
say. Readers load neither scripts nor fonts for it.
"""

import html
import re
from typing import Any

import ziamath

SIZE = 24.0  # in units of the drawings; what is written into the page is relative to the text
SPAN = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<source>.*?)\\[)\]]</(?P=tag)>', re.DOTALL
)

ziamath.config.svg2 = False  # every glyph as a path of its own, so that no names can clash


def draw(source: str, inline: bool) -> str:
    """Return a formula of LaTeX as an SVG element, in units of the text's size."""
    # A minus after an opening parenthesis or at the beginning is no operation between two terms.
    tex = re.sub(r"(^|[({\[=,]|\\bigl\(|\\Bigl\()(\s*)-", r"\1\2{-}", source)
    svg = ziamath.Latex(tex, size=SIZE, color="currentColor", inline=inline).svg()
    numbers = re.search(r'viewBox="(\S+) (\S+) (\S+) (\S+)"', svg)
    assert numbers is not None, source
    _, top, width, height = (float(number) for number in numbers.groups())
    style = f"width:{width / SIZE:.3f}em;height:{height / SIZE:.3f}em"
    if inline:
        style += f";vertical-align:{-(top + height) / SIZE:.3f}em"
    opening = (
        f'<svg class="formula" role="img" aria-label="{html.escape(source)}" style="{style}" '
        f'viewBox="{" ".join(numbers.groups())}">'
    )
    return re.sub(r"<svg[^>]*>", lambda _: opening, svg, count=1)


def on_page_content(html: str, **_: Any) -> str:
    """Replace the formulas of a page."""

    def replace(match: re.Match[str]) -> str:
        inline = match["tag"] == "span"
        drawing = draw(_unescape(match["source"]).strip(), inline)
        return drawing if inline else f'<div class="formula-block">{drawing}</div>'

    return SPAN.sub(replace, html)


def _unescape(text: str) -> str:
    return html.unescape(text)
