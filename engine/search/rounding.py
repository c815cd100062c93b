"""Rounding of scores: to the nearest, halves away from zero, as clients of the JSON expect it."""

from __future__ import annotations

import math


def round2(value: float) -> float:
    """Round a non-negative ``value`` to 2 decimals."""
    return math.floor(value * 100.0 + 0.5) / 100.0


def round8(value: float) -> float:
    """Round a non-negative ``value`` to 8 decimals."""
    return math.floor(value * 1e8 + 0.5) / 1e8
