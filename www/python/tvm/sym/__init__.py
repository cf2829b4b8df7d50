"""Arithmetic of scalars."""
