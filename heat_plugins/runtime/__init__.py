"""What depends on the process rather than on the problem."""
