"""What was learnt, for people."""
