"""Patterns of programs."""
