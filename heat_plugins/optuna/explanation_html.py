"""Explanations in notebooks: tables of HTML with small bars, which need nothing else."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heat_plugins.insight.failure_effects import FailureEffects
    from heat_plugins.optuna.explanation import Explanation

__all__ = ["as_html"]

MOST_PARAMETERS = 20
MOST_VALUES = 12
LEAST_SHARE = 0.05  # of failures, of a parameter that is listed
LONGEST = 60  # characters of a name or a value
BAR = 120  # pixels
# Okabe and Ito's blue, its light brother and vermilion: told apart by all.
ALONE, TOGETHER, WORSE = "#0072B2", "#56B4E9", "#D55E00"


def as_html(explanation: Explanation) -> str:
    """Return an explanation as HTML, everything that trials have in it escaped."""
    parts = [f"<p>Structure: {_text(explanation.structure)}{_evidence(explanation.evidence)}</p>"]
    orders = explanation.order_shares
    if orders is not None:
        found = ", ".join(f"{order}: {share:.0%}" for order, share in orders.items())
        parts.append(f"<p>Share of variance by order: {found}</p>")
    ranked = _ranked(explanation)
    parts.append(_effects_table(explanation, ranked[:MOST_PARAMETERS]))
    left_out = len(ranked) - MOST_PARAMETERS
    if left_out > 0:
        parts.append(f"<p>{left_out} parameters that matter less are left out.</p>")
    if explanation.failures is not None:
        parts.append(_failures(explanation.failures))
    return f'<div class="heat-plugins-explanation">{"".join(parts)}</div>'


def _ranked(explanation: Explanation) -> list[str]:
    """Return the names of parameters, those that matter most first."""
    shares = explanation.shares

    def weight(name: str) -> tuple[float, float]:
        effects = [effect for _, effect in explanation.effects[name]]
        total = shares[name].total if name in shares else 0.0
        return -total, min(effects) - max(effects)

    return sorted(explanation.effects, key=weight)


def _effects_table(explanation: Explanation, names: Sequence[str]) -> str:
    effects = [abs(e) for name in names for _, e in explanation.effects[name]]
    largest = max(effects, default=0.0) or 1.0
    rows = []
    for name in names:
        share = explanation.shares.get(name)
        told = ""
        if share is not None:
            together = max(share.total - share.alone, 0.0)
            told = _bar([(share.alone, ALONE), (together, TOGETHER)])
            told += f" {share.alone:.0%} / {share.total:.0%}"
        values = explanation.effects[name]
        some = "<br>".join(
            f"{_written(value)}: {effect:+.3g} "
            + _bar([(abs(effect) / largest, ALONE if effect < 0.0 else WORSE)])
            for value, effect in values[:MOST_VALUES]
        )
        more = f"<br>and {len(values) - MOST_VALUES} more" if len(values) > MOST_VALUES else ""
        rows.append(f"<tr>{_cell(_text(name))}{_cell(told)}{_cell(some + more)}</tr>")
    head = "".join(
        f'<th style="text-align: left">{title}</th>'
        for title in ("parameter", "matters, alone / with others", "effects of its values")
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _failures(failures: FailureEffects) -> str:
    n_trials = failures.n_failed + failures.n_complete
    counted = f"<p>Failures: {failures.n_failed} of {n_trials} trials"
    if not failures.depends:
        return f"{counted}; no parameter is seen to make a difference.</p>"
    rows = []
    ranked = sorted(failures.shares, key=lambda name: -failures.shares[name])
    for name in [name for name in ranked if failures.shares[name] >= LEAST_SHARE]:
        some = sorted(failures.probabilities[name], key=lambda row: -row.probability)
        told = "<br>".join(
            f"{_written(row.value)}: {row.probability:.0%} ({row.low:.0%} to {row.high:.0%}) "
            + _bar([(row.probability, WORSE)])
            for row in some[:MOST_VALUES]
        )
        share = f"{failures.shares[name]:.0%}"
        rows.append(f"<tr>{_cell(_text(name))}{_cell(share)}{_cell(told)}</tr>")
    head = "".join(
        f'<th style="text-align: left">{title}</th>'
        for title in ("parameter", "share", "probability of failure, with its 95 % interval")
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return f"{counted}; parameters explain {failures.explained:.0%}.</p>{table}"


def _evidence(evidence: Mapping[str, float]) -> str:
    found = ", ".join(f"{_text(name)} {value:.1f}" for name, value in evidence.items())
    return f"; log evidence: {found}" if found else ""


def _bar(parts: Sequence[tuple[float, str]]) -> str:
    """Return a bar of parts, each a share of the longest and its colour."""
    return "".join(
        f'<span style="display: inline-block; height: 0.7em; background: {colour}; '
        f'width: {BAR * min(share, 1.0):.0f}px"></span>'
        for share, colour in parts
    )


def _cell(content: str) -> str:
    return f'<td style="text-align: left; vertical-align: top">{content}</td>'


def _written(value: Any) -> str:
    """Return a value as it is written in a program: 1 is not "1"."""
    return _text(f"{value:.6g}" if isinstance(value, float) else repr(value))


def _text(text: str) -> str:
    text = text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
    return html.escape(text.encode("utf-8", "replace").decode("utf-8"))
