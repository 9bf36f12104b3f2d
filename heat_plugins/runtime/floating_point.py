"""NumPy's handling of floating-point errors: underflow, overflow, invalid results."""

from __future__ import annotations

import numpy as np

__all__ = ["usual_errors"]

# A decorator for all that computes, whose results underflow as a matter of course: a program
# that has set ``np.seterr(all="raise")`` means its own. These are the defaults of NumPy.
usual_errors = np.errstate(divide="warn", over="warn", under="ignore", invalid="warn")
