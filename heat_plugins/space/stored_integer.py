"""Whole numbers beyond 2^53, of which floats have only some."""

from __future__ import annotations

import math
import sys

from heat_plugins.space.numeric import Integer

__all__ = ["LARGEST_EXACT", "StoredInteger", "storable_integers"]

LARGEST_EXACT = 2**53  # larger whole numbers need not be floats
NEXT_TO = 10**6  # numbers this part of their range apart are as good as each other


class StoredInteger(Integer):
    """Whole numbers that are stored as floats, as Optuna and the tables of Ax do.

    Beyond 2^53 the nearest float may be another number, even one out of range.
    """

    def decode(self, coordinate: float) -> int:
        """Return the whole number at a place, or one next to it that can be stored."""
        value = super().decode(coordinate)
        if abs(value) <= LARGEST_EXACT:
            return value
        low, high, step = int(self.low), int(self.high), int(self.step or 1)
        stored = int(float(value))
        if low <= stored <= high and (stored - low) % step == 0:
            return stored
        spacing = int(math.ulp(float(value)))
        for multiple in (spacing, 2 * spacing):  # further up floats are further apart
            near = self.nearest_multiple(value, multiple)
            if near is not None and int(float(near)) == near:
                if abs(near - value) <= max(2 * spacing, (high - low) // NEXT_TO):
                    return near
        # There is none; then at least one in range.
        value += step * ((stored < low) - (stored > high))
        return min(max(value, low), high)

    def nearest_multiple(self, value: int, factor: int) -> int | None:
        """Return the value nearest to one that is a multiple; None where there is none."""
        low, step, last = int(self.low), int(self.step or 1), int(self.n_levels) - 1
        common = math.gcd(step, factor)
        if low % common:
            return None
        # low + i * step = 0 modulo the factor for the first i and then once in a period.
        period = factor // common
        first = -(low // common) * pow(step // common, -1, period) % period
        if first > last:
            return None
        index = (value - low) // step
        turns = min(max((index - first + period // 2) // period, 0), (last - first) // period)
        return low + (first + turns * period) * step


def storable_integers(
    name: str, low: int, high: int, step: int = 1, log: bool = False
) -> StoredInteger:
    """Return the whole numbers of a range: where some floats are further apart, as far as these.

    On a logarithmic scale only where all of them are: small numbers count there.
    """
    line = StoredInteger(name, low, high, step, log)
    smallest, largest = sorted((abs(low), abs(high)))
    are_all_large = low * high > 0 and smallest >= LARGEST_EXACT
    are_some_large = LARGEST_EXACT < largest < sys.float_info.max
    is_coarse = are_some_large and (are_all_large or not log)
    spacing = int(math.ulp(float(largest))) if is_coarse else 1
    first, last = line.nearest_multiple(low, spacing), line.nearest_multiple(high, spacing)
    if step % spacing == 0 or first is None or last is None:
        return line
    return StoredInteger(name, first, last, math.lcm(step, spacing), log)
