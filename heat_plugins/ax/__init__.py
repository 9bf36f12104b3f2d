"""The integration with Ax: ``heat_generation_strategy``.

Importing this module also tells Ax how to load stored experiments that use it.
"""

from heat_plugins._extras import require

require("ax", extra="ax")

from ax.storage.json_store.encoders import generation_node_to_dict  # noqa: E402
from ax.storage.json_store.registry import (  # noqa: E402
    CORE_DECODER_REGISTRY,
    CORE_ENCODER_REGISTRY,
)
from ax.storage.transform_registry import register_transform  # noqa: E402

from heat_plugins.ax.codes import HeatCodes  # noqa: E402
from heat_plugins.ax.fixed import HeatFixed  # noqa: E402
from heat_plugins.ax.node import HeatNode  # noqa: E402
from heat_plugins.ax.strategy import HeatGenerators, heat_generation_strategy  # noqa: E402

__all__ = ["HeatGenerators", "heat_generation_strategy"]

CORE_DECODER_REGISTRY["HeatGenerators"] = HeatGenerators
CORE_DECODER_REGISTRY["HeatNode"] = HeatNode
CORE_ENCODER_REGISTRY[HeatNode] = generation_node_to_dict
register_transform(HeatCodes)
register_transform(HeatFixed)
