"""The door for Optuna: ``HeatSampler``."""

from heat_plugins.optuna.sampler import HeatSampler

__all__ = ["HeatSampler"]
