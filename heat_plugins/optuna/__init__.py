"""The integration with Optuna: ``HeatSampler``."""

from heat_plugins.optuna.sampler import HeatSampler

__all__ = ["HeatSampler"]
