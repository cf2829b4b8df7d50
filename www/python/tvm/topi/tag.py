"""Tags of operations: texts that say of which kind they are."""

ELEMWISE = "elemwise"
BROADCAST = "broadcast"
INJECTIVE = "injective"
COMM_REDUCE = "comm_reduce"
COMM_REDUCE_IDX = "comm_reduce_idx"


def is_broadcast(tag):
    """True if every element is made of elements at the same place, or at the same place but for some axes."""
    return tag.startswith((ELEMWISE, BROADCAST))


def is_injective(tag):
    """True if every element is made of at most one element of each tensor."""
    return tag.startswith((ELEMWISE, BROADCAST, INJECTIVE))
