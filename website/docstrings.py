"""Extension of Griffe: the few marks of reStructuredText in our docstrings, as Markdown."""

import re
import textwrap
from typing import Any

import griffe


class Marks(griffe.Extension):
    """Turns code blocks and references of reStructuredText into those of Markdown."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring of a module, class or function."""
        if obj.docstring is not None:
            obj.docstring.value = to_markdown(obj.docstring.value)


def to_markdown(text: str) -> str:
    """Return a docstring with code in fences and names in backticks."""
    text = re.sub(r":\w+:`~?(?:[\w.]*\.)?(\w+)`", r"`\1`", text)
    return re.sub(
        r"^( *)\.\. code-block:: (\w+)\n\n((?:\1    .*\n?|\n)+)", _fence, text, flags=re.MULTILINE
    )


def _fence(match: re.Match[str]) -> str:
    indent, language, code = match.groups()
    block = f"```{language}\n{textwrap.dedent(code).strip()}\n```\n\n"
    return textwrap.indent(block, indent)
