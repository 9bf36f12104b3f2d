"""Numbers as text, with as many digits as make sense."""

import math

import pytest

from heat_plugins.benchmarks.results.markdown import (
    marked,
    mean_text,
    multiple_text,
    number,
    p_text,
    seconds_text,
)
from heat_plugins.benchmarks.results.statistics import Estimate


@pytest.mark.parametrize(
    ("mean", "error", "text"),
    [
        (12.0703, 0.0321, "12.070 ± 0.032"),
        (3181.0, 178.0, "3180 ± 180"),
        (0.5, 0.0996, "0.50 ± 0.10"),
        (0.5, 0.00996, "0.500 ± 0.010"),
        (-0.0001, 0.5, "0.00 ± 0.50"),
        (-195.65337, 0.0, "-195.653 ± 0"),
        (12.34567, None, "12.346"),
        (1.0, 3e-9, "1 ± 3.0e-09"),
        (8.78524e-06, 5.32e-06, "8.8e-06 ± 5.3e-06"),
        (6.2186e-05, 9.4e-06, "6.22e-05 ± 9.4e-06"),
        (0.0, 3e-9, "0 ± 3.0e-09"),
        (math.inf, None, "∞"),
        (-math.inf, None, "-∞"),
        (math.nan, None, "-"),
    ],
)
def test_digits_follow_the_standard_error(mean, error, text):
    assert mean_text(mean, error) == text


def test_other_numbers():
    assert [seconds_text(s) for s in (None, 0.0, 0.03312, 1.26, 151.2)] == [
        "",
        "0",
        "0.033",
        "1.3",
        "151",
    ]
    assert [p_text(p) for p in (None, 0.0001, 0.0123, 0.5, 1.0)] == [
        "-",
        "<0.001",
        "0.012",
        "0.50",
        "1.00",
    ]
    assert [multiple_text(r) for r in (0.388, 0.9996, 1.0, 9.96, 66.6)] == [
        "0.39",
        "1.0",
        "1.0",
        "10",
        "67",
    ]
    assert number(-0.0) == "0"


def test_the_best_is_bold_and_the_equally_good_is_marked():
    losses = {
        "a": Estimate(1.0, 0.1, 5),
        "b": Estimate(1.05, 0.1, 5),
        "c": Estimate(2.0, 0.1, 5),
        "d": Estimate(math.inf, None, 5, 1),
    }
    texts = dict.fromkeys(losses, "x")
    assert marked(losses, texts) == {"a": "**x**", "b": "x ≈", "c": "x", "d": "x"}
    assert marked({"d": losses["d"]}, {"d": "x"}) == {"d": "x"}
