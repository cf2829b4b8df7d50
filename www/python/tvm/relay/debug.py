"""Debugging: there is no debugger to stop in."""
