"""Patterns that other compilers take over."""

_patterns = []


def register_patterns(patterns):
    """Registers patterns; later ones come first."""
    from ..transform import FusionPattern

    _patterns.extend(item if isinstance(item, FusionPattern) else FusionPattern(*item) for item in patterns)


def get_patterns_with_prefix(prefix):
    """The patterns whose names begin so, later ones first."""
    return [item for item in reversed(_patterns) if item.name.startswith(prefix)]


def get_pattern(name):
    """The pattern of a name."""
    return next((item for item in reversed(_patterns) if item.name == name), None)
