"""What all figures have in common: colours, words, and what is said where there is nothing."""

from __future__ import annotations

import html
from collections.abc import Sequence

import plotly.graph_objects as go

from heat_plugins.insight.study_data import ObjectiveFacts

__all__ = [
    "BAND",
    "BEST",
    "DARK_IS_LOW",
    "EXPECTED",
    "FAILED",
    "GREY",
    "INFEASIBLE",
    "MAIN",
    "MOST_SHOWN",
    "OTHER",
    "SIDE_LEGEND",
    "SO_FAR",
    "goal",
    "note",
    "nothing",
    "number",
    "pulled_in",
    "ranked",
    "shown",
    "shown_of",
    "titled",
]

# Okabe and Ito's colours, which people tell apart who see red and green alike.
MAIN, OTHER, BEST = "#0072B2", "#56B4E9", "#D55E00"
EXPECTED, FAILED, INFEASIBLE, GREY = "#E69F00", "#D55E00", "#CC79A7", "#8C8C8C"
SO_FAR = "#009E73"
BAND = "rgba(0, 114, 178, 0.18)"  # MAIN, for what is not known
DARK_IS_LOW = "Blues_r"  # as in Optuna's contours, the good ones are dark

# Parameters in one figure: never more, of those that matter little not more than a few.
MOST_SHOWN, FEW = 20, 8
LEAST_SHARE = 0.005  # of the variance
LONGEST = 28  # characters of a name or a choice

# A legend above the right end of a figure.
SIDE_LEGEND = {
    "orientation": "h",
    "yanchor": "bottom",
    "y": 1.0,
    "xanchor": "right",
    "x": 1.0,
    "traceorder": "normal",
}


def shown(text: object, longest: int = LONGEST) -> str:
    """Return a text as plotly shows it letter by letter: escaped, on one line, not too long.

    Plotly takes ``<b>`` and ``&lt;`` in any text for markup, and ``$x$`` for a formula.
    """
    words = " ".join(str(text).split())
    words = words.encode("utf-8", "replace").decode("utf-8")  # half of a surrogate pair
    words = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in words)
    if len(words) > longest:
        half = (longest - 1) // 2
        words = f"{words[: longest - 1 - half]}…{words[len(words) - half :]}"
    return html.escape(words, quote=False).replace("$", "&#36;") or "(empty)"


def number(value: float) -> str:
    """Return a number for people."""
    return f"{value:.4g}".replace("inf", "∞").replace("nan", "unknown")


def goal(objective: ObjectiveFacts) -> str:
    """Return an objective with its direction, as an axis says it."""
    return f"{shown(objective.name)} ({'maximised' if objective.is_maximised else 'minimised'})"


def shown_of(n_shown: int, n: int) -> str:
    """Return how many parameters a figure leaves out, for its title."""
    return f"the {n_shown} most important of {n} parameters" if n_shown < n else ""


def pulled_in(worst: float | None) -> str:
    """Return that values beyond some are no worse to the model, for the title of a figure."""
    return "" if worst is None else f"values beyond {number(worst)} count as no worse than that"


def titled(title: str, *lines: str) -> dict[str, object]:
    """Return the title of a figure, with smaller lines below it."""
    return {
        "text": title,
        "subtitle": {"text": "<br>".join(line for line in lines if line)},
        "x": 0.02,
        "xanchor": "left",
        "yref": "container",
        "y": 1.0,
        "yanchor": "top",
        "pad": {"t": 16},
    }


def note(figure: go.Figure, text: str) -> None:
    """Write a line into the middle of an empty figure."""
    figure.add_annotation(
        text=text, showarrow=False, xref="paper", yref="paper", x=0.5, y=0.5, font={"size": 15}
    )
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False)


def nothing(title: str, *why: str) -> go.Figure:
    """Return an empty figure that says why it is."""
    figure = go.Figure()
    figure.update_layout(title=titled(title), height=220)
    note(figure, " ".join(why))
    return figure


def ranked(shares: Sequence[float], most: int | None = None) -> list[int]:
    """Return the columns of the largest shares, the largest first.

    At most so many; if nobody says how many, those that matter, and always a few.
    """
    order = sorted(range(len(shares)), key=lambda i: -shares[i])
    if most is None:
        n_large = sum(share >= LEAST_SHARE for share in shares)
        most = min(max(n_large, FEW), MOST_SHOWN)
    return order[:most]
