"""Acquisition functions and constraint handling."""
