"""Tensor expressions."""
