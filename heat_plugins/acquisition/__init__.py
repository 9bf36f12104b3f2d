"""What the next point is chosen by."""
