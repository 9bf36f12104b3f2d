"""``HeatSampler``, Bayesian optimisation with heat kernels, from the package heat_plugins."""

try:
    from heat_plugins import HeatSampler
except ModuleNotFoundError as error:
    if error.name != "heat_plugins":
        raise  # the package is there, but something that it needs itself is not
    raise ImportError(
        "samplers/heat_kernel needs the package 'heat_plugins', which is not installed; "
        "install it with: pip install heat-plugins"
    ) from error

__all__ = ["HeatSampler"]
