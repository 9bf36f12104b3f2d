"""The door for Ax: ``heat_generation_strategy``.

Importing this module also tells Ax how to load stored experiments that use it.
"""

from heat_plugins._extras import require

require("ax", extra="ax")

from ax.storage.json_store.registry import CORE_DECODER_REGISTRY  # noqa: E402
from ax.storage.transform_registry import register_transform  # noqa: E402

from heat_plugins.ax.codes import HeatCodes  # noqa: E402
from heat_plugins.ax.strategy import HeatGenerators, heat_generation_strategy  # noqa: E402

__all__ = ["HeatGenerators", "heat_generation_strategy"]

CORE_DECODER_REGISTRY["HeatGenerators"] = HeatGenerators
register_transform(HeatCodes)
