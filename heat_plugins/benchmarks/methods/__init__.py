"""Who is compared: our sampler with its kernels and structures, and its peers."""
