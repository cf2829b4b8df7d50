"""Helpers around passes of Relax."""
