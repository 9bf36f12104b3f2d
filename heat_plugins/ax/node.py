"""A node of a generation strategy without a fallback generator, stored or not."""

from __future__ import annotations

from typing import Any

from ax.generation_strategy.generation_node import GenerationNode
from ax.storage.json_store.decoder import generation_node_from_json

__all__ = ["HeatNode"]


class HeatNode(GenerationNode):
    """Ax's node without a fallback, after loading too: Ax does not store which one a node has.

    Suggestions repeat no arm by accident, and an error is better than arms of another generator.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"fallback_specs": {}, **kwargs})

    @classmethod
    def deserialize_init_args(
        cls,
        args: dict[str, Any],
        decoder_registry: Any = None,
        class_decoder_registry: Any = None,
    ) -> dict[str, Any]:
        """Return the arguments of a stored node, as Ax reads those of its own."""
        node = generation_node_from_json(args, decoder_registry, class_decoder_registry)
        return {
            "name": node.name,
            "generator_specs": node.generator_specs,
            "transition_criteria": node.transition_criteria,
            "pausing_criteria": node.pausing_criteria,
            "best_model_selector": node.best_model_selector,
            "should_deduplicate": node.should_deduplicate,
            "input_constructors": node.input_constructors,
            "previous_node_name": node._previous_node_name,
            "trial_type": node._trial_type,
            "suggested_experiment_status": node.suggested_experiment_status,
        }
