"""The arrays that everything is made of, by the names that annotations give them."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Bools", "Indices"]

Array = NDArray[np.float64]
"""Numbers of double precision."""
Bools = NDArray[np.bool_]
"""Truth values."""
Indices = NDArray[np.int64]
"""Whole numbers: places in arrays, and codes of choices."""
