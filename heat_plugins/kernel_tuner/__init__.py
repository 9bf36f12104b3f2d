"""The integration with Kernel Tuner: ``HeatStrategy``."""

from heat_plugins._extras import require

require("kernel_tuner", extra="kernel-tuner")

from heat_plugins.kernel_tuner.heat_strategy import HeatStrategy  # noqa: E402

__all__ = ["HeatStrategy"]
