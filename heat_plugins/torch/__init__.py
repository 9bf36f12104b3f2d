"""The kernels as GPyTorch kernels."""
