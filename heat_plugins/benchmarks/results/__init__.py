"""What was measured: raw lines, and the numbers that they add up to."""
