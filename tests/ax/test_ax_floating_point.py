"""A program that wants an exception for every underflow means its own."""

from typing import Any

import numpy as np
import pytest


@pytest.mark.parametrize(("scale", "error"), [(1.0, 1e-170), (1e-200, 1e-210)])
def test_an_experiment_goes_on(
    client_of: Any, choice: Any, number: Any, run: Any, scale: float, error: float
) -> None:
    client = client_of([number("x"), number("rate", 1e-5, 1e-1, scaling="log"), choice("c")])

    def objective(params: dict[str, Any]) -> dict[str, tuple[float, float]]:
        value = (params["x"] - 0.3) ** 2 + abs(np.log10(params["rate"]) + 3) + (params["c"] != "b")
        return {"y": (scale * float(value), error)}

    with np.errstate(all="raise"):
        run(client, objective, 8)
        client.predict([{"x": 0.5, "rate": 0.01, "c": "a"}])
