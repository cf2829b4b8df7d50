"""Tags of operations: texts that say of which kind they are."""

import functools


class TagScope:
    """A tag for the operations that are made inside of a `with`, or of a function that it decorates."""

    _current = None

    @classmethod
    def get_current(cls):
        """The tag that counts now."""
        return cls._current

    def __init__(self, tag):
        self.tag, self._old = tag, None

    def __enter__(self):
        if TagScope._current is not None:
            raise ValueError("nested op_tag is not allowed for now")
        TagScope._current = self
        return self

    def __exit__(self, ptype, value, trace):
        TagScope._current = None

    def __call__(self, fdecl):
        @functools.wraps(fdecl)
        def tagged(*args, **kwargs):
            with self:
                return fdecl(*args, **kwargs)

        return tagged


def tag_scope(tag):
    """A tag for what is made inside of a `with`."""
    return TagScope(tag)
