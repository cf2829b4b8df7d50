"""Modules that are about one kind of device."""
