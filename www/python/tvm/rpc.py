"""Remote machines, which a page has none of: what asks for one says so."""

from .error import RPCError


def _none(*args, **kwargs):
    raise RPCError("there is no remote machine here")


connect = connect_tracker = Server = LocalSession = TrackerSession = RPCSession = _none
