"""Exception classes, by the names that TVM gives them."""


class TVMError(RuntimeError):
    """The base of what the compiler raises."""


class InternalError(TVMError):
    """A condition inside of the compiler does not hold."""


class DiagnosticError(TVMError):
    """The program is wrong; diagnostics were rendered."""


class OpError(TVMError):
    """An error of operators, in importers mostly."""


class OpNotImplemented(OpError, NotImplementedError):
    """There is no such operator."""


class OpAttributeRequired(OpError, AttributeError):
    """An attribute is missing."""


class OpAttributeInvalid(OpError, AttributeError):
    """An attribute has a value that it cannot have."""


class OpAttributeUnImplemented(OpError, NotImplementedError):
    """An attribute is not supported."""


class RPCError(TVMError):
    """There is no server here."""


class RPCSessionTimeoutError(RPCError, TimeoutError):
    """A session ended."""


def register_error(name_or_cls=None, cls=None):
    """Registers a class of errors under its name or another one; without a class, as a decorator."""
    if isinstance(name_or_cls, type):
        return name_or_cls
    return cls if cls is not None else lambda given: given


class DeadlineExceededError(TVMError):
    """It took too long."""
