"""Specification of the model by a user, as values that can be stored."""
