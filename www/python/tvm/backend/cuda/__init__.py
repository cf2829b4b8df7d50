"""Devices of Nvidia."""
