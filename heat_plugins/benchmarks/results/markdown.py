"""Numbers and tables as Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from heat_plugins.benchmarks.results.statistics import Estimate, is_as_good

__all__ = [
    "loss_text",
    "marked",
    "mean_text",
    "multiple_text",
    "number",
    "p_text",
    "seconds_text",
    "table",
    "write_page",
]


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def number(value: float) -> str:
    """Return a number without a standard error."""
    if math.isnan(value):
        return "-"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value + 0.0:.5g}"


def mean_text(mean: float, error: float | None) -> str:
    """Return a mean with as many digits as its standard error makes sense of: two of it."""
    if error is None or not math.isfinite(mean):
        return number(mean)
    if error == 0.0:
        return f"{mean + 0.0:.6g} ± 0"
    rounded = float(f"{error:.1e}")
    decimals = 1 - math.floor(math.log10(rounded))
    if decimals > 6:
        shown = round(mean, decimals) + 0.0
        if not 0.0 < abs(shown) < 1e-4:
            return f"{shown:.6g} ± {rounded:.1e}"
        digits = decimals + math.floor(math.log10(abs(shown)))
        return f"{shown:.{max(digits, 0)}e} ± {rounded:.1e}"
    places = max(decimals, 0)
    shown = round(mean, decimals) + 0.0  # no minus before a zero
    return f"{shown:.{places}f} ± {rounded:.{places}f}"


def seconds_text(seconds: float | None) -> str:
    """Return seconds with two digits."""
    if seconds is None:
        return ""
    if seconds >= 10.0:
        return f"{seconds:.0f}"
    return f"{float(f'{seconds:.1e}'):.6f}".rstrip("0").rstrip(".") or "0"


def multiple_text(ratio: float) -> str:
    """Return how many times as much something is."""
    rounded = float(f"{ratio:.2g}")
    return f"{ratio:.2g}" if rounded < 1.0 else f"{ratio:.{1 if rounded < 10.0 else 0}f}"


def p_text(p: float | None) -> str:
    """Return a p-value; a dash where there is none."""
    if p is None:
        return "-"
    if p < 0.001:
        return "<0.001"
    return f"{p:.2f}" if p >= 0.1 else f"{p:.2g}"


def loss_text(loss: Estimate, sign: float, n_usual: int | None = None) -> str:
    """Return a mean loss as the score it stands for.

    Args:
        loss: The loss.
        sign: -1 where large scores are better.
        n_usual: The number of seeds that the reader expects: another one is put in brackets.
    """
    notes = []
    if loss.n_infinite:
        notes.append(f"{loss.n_infinite} of {loss.n} found nothing")
    elif n_usual is not None and loss.n != n_usual:
        notes.append(str(loss.n))
    text = mean_text(sign * loss.mean, loss.error)
    return text + "".join(f" ({note})" for note in notes)


def marked(losses: Mapping[str, Estimate], texts: Mapping[str, str]) -> dict[str, str]:
    """Return the texts, the best in bold and those within one standard error of it marked."""
    finite = {name: loss for name, loss in losses.items() if math.isfinite(loss.mean)}
    if not finite:
        return {**texts}
    best = min(finite.values(), key=lambda loss: loss.mean)
    result = {**texts}
    for name, loss in finite.items():
        if loss.mean == best.mean:
            result[name] = f"**{texts[name]}**"
        elif is_as_good(loss, best):
            result[name] = f"{texts[name]} ≈"
    return result


def write_page(path: Path, parts: Iterable[str]) -> None:
    """Write paragraphs, tables and headings with an empty line between them."""
    text = "\n".join(part if part.endswith("\n") else part + "\n" for part in parts if part)
    path.write_text(text, encoding="utf-8")
