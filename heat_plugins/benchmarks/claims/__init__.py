"""What the paper says of its experiments, and whether these studies say the same."""
