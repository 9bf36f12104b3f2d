"""Comparison problems, and what is measured on them."""
