"""Thrust, a library of Nvidia."""


def can_use_thrust(target, func_name):
    """True if a target's code may call a function of the library: there is none here."""
    return False
