"""Kernels of other methods, for comparison."""
