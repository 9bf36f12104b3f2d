"""Circuits as and-inverter graphs: a multiplier, a barrel shifter, a sine, and files of EPFL.

Words are lists of signals, the lowest bit first. A signal can be inverted (``~a``); gates are
those of ``aigverse.networks.Aig``, made of AND gates.
"""

from __future__ import annotations

import math
from functools import reduce
from importlib import import_module
from typing import Any

from heat_plugins.benchmarks.problems.problem import data_file

__all__ = ["aigverse", "barrel_shifter", "epfl", "multiplier", "sine", "sine_value"]

Aig = Any  # aigverse.networks.Aig: the package is optional
Signal = Any
Word = list[Signal]


def aigverse(module: str) -> Any:
    """Return a module of aigverse."""
    try:
        return import_module(f"aigverse.{module}")
    except ModuleNotFoundError as error:
        raise ImportError(
            "problems of logic synthesis need the package 'aigverse', which is not installed; "
            "install it with: pip install 'heat-plugins[peers]'"
        ) from error


def epfl(name: str) -> Aig:
    """Return a circuit of EPFL's combinational benchmarks (Amaru et al., 2015): ``"sin"``."""
    path = data_file(f"aig-epfl-{name}", "circuits", f"{name}.aig")
    return aigverse("networks").Aig(aigverse("io").read_aiger_into_aig(path))


# ------------------------------------------------------------------------ arithmetic
def multiplier(n_bits: int) -> Aig:
    """Return a circuit of two numbers of n bits, and their product: 2n bits."""
    aig = aigverse("networks").Aig()
    a, b = _inputs(aig, n_bits), _inputs(aig, n_bits)
    zero = aig.get_constant(False)
    total = [zero] * (2 * n_bits)
    for shift, bit in enumerate(b):
        row = [aig.create_and(bit, other) for other in a]
        ahead, carry = _sum(aig, total[shift : shift + n_bits], row, zero)
        total[shift : shift + n_bits + 1] = [*ahead, carry]
    return _with_outputs(aig, total)


def barrel_shifter(n_bits: int) -> Aig:
    """Return a circuit that rotates n bits to higher places, by a number below n.

    Inputs are the n bits and the places to rotate by; n is a power of two. The places are decoded
    and all rotated words selected from: rows of multiplexers leave nothing to optimise.
    """
    aig = aigverse("networks").Aig()
    word, places = _inputs(aig, n_bits), _inputs(aig, n_bits.bit_length() - 1)
    is_by = [
        reduce(aig.create_and, [bit if by >> i & 1 else ~bit for i, bit in enumerate(places)])
        for by in range(n_bits)
    ]
    rotated = [
        [aig.create_and(is_by[by], word[(place - by) % n_bits]) for by in range(n_bits)]
        for place in range(n_bits)
    ]
    return _with_outputs(aig, [reduce(aig.create_or, terms) for terms in rotated])


GUARD_BITS = 2  # more than the result has, against rounding


def sine(n_bits: int) -> Aig:
    """Return a circuit of the sine of a fraction of the right angle, by CORDIC (Volder, 1959).

    The input is a number u of n bits, the output n bits of sin(u / 2^n * pi / 2). A vector that
    begins on the x axis is rotated by the angles arctan(2^-i), each forth or back, so that the
    angle that is left goes to zero: shifts and additions, no products. ``sine_value`` has the same
    steps in whole numbers.
    """
    aig = aigverse("networks").Aig()
    unit, start, angles = _cordic_constants(n_bits)
    width = n_bits + GUARD_BITS + 2  # a bit before the point, and a sign
    zero = aig.get_constant(False)

    def constant(number: int) -> Word:
        return [aig.get_constant(bool(number >> place & 1)) for place in range(width)]

    def add(one: Word, other: Word, subtract: Signal) -> Word:
        other = [aig.create_xor(bit, subtract) for bit in other]
        return _sum(aig, one, other, subtract)[0]

    u = _inputs(aig, n_bits)
    x, y = constant(start), constant(0)
    left = [zero] * GUARD_BITS + u + [zero, zero]
    for i, angle in enumerate(angles):
        is_back = left[-1]
        turned_x = add(x, _shifted(y, i), ~is_back)
        turned_y = add(y, _shifted(x, i), is_back)
        left = add(left, constant(angle), ~is_back)
        x, y = turned_x, turned_y
    # Rounding may take the sine below 0 or up to 1: the nearest number of n bits.
    is_negative, is_one = y[-1], aig.create_and(y[-2], ~y[-1])
    bits = y[GUARD_BITS : GUARD_BITS + n_bits]
    bits = [aig.create_or(aig.create_and(bit, ~is_negative), is_one) for bit in bits]
    return aigverse("algorithms").cleanup_dangling(_with_outputs(aig, bits))


def sine_value(u: int, n_bits: int) -> int:
    """Return what the circuit ``sine`` does to a number, in Python's whole numbers."""
    unit, x, angles = _cordic_constants(n_bits)
    y, left = 0, u << GUARD_BITS
    for i, angle in enumerate(angles):
        sign = -1 if left < 0 else 1
        x, y, left = x - sign * (y >> i), y + sign * (x >> i), left - sign * angle
    return min(max(y, 0), unit - 1) >> GUARD_BITS


def _cordic_constants(n_bits: int) -> tuple[int, int, list[int]]:
    """Return one, the first x, and the angles as shares of the right angle, in whole numbers."""
    unit = 2 ** (n_bits + GUARD_BITS)
    tangents = [2.0**-i for i in range(n_bits)]
    length = math.prod(math.sqrt(1.0 + t * t) for t in tangents)  # what the rotations stretch by
    angles = [round(math.atan(t) / (math.pi / 2.0) * unit) for t in tangents]
    return unit, round(unit / length), angles


def _inputs(aig: Aig, n_bits: int) -> Word:
    return [aig.create_pi() for _ in range(n_bits)]


def _with_outputs(aig: Aig, word: Word) -> Aig:
    for signal in word:
        aig.create_po(signal)
    return aig


def _shifted(word: Word, n_places: int) -> Word:
    """Return a number with a sign, divided by a power of two and rounded down."""
    return [*word[n_places:], *word[-1:] * min(n_places, len(word))]


def _sum(aig: Aig, one: Word, other: Word, carry: Signal) -> tuple[Word, Signal]:
    """Return the sum of two words and a carry, and the carry that is left: a ripple of adders."""
    total: Word = []
    for a, b in zip(one, other, strict=True):
        total.append(reduce(aig.create_xor, (a, b, carry)))
        carry = aig.create_maj(a, b, carry)
    return total, carry
