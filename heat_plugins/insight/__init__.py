"""Explanations of a fitted model."""
