"""The sub-sequence string kernel, by listing all sub-sequences."""

import itertools
from collections import defaultdict

import numpy as np


def features(string, gap, match, longest):
    """All sub-sequences with what each is worth: match for a symbol, gap for a skipped one."""
    found = defaultdict(float)
    for length in range(1, longest + 1):
        for places in itertools.combinations(range(len(string)), length):
            skipped = places[-1] - places[0] + 1 - length
            found[tuple(string[list(places)])] += match**length * gap**skipped
    return found


def subsequences(left, right, gap, match, longest):
    """Inner products of the features, over their norms."""

    def product(a, b):
        return sum(value * b[key] for key, value in a.items() if key in b)

    ours, others = ([features(s, gap, match, longest) for s in x] for x in (left, right))
    return np.array(
        [[product(a, b) / np.sqrt(product(a, a) * product(b, b)) for b in others] for a in ours]
    )
