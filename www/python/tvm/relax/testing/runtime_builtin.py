"""Codes that lowered programs hand to the virtual machine."""

import enum


class MatchShapeCode(enum.IntEnum):
    """Ways to match an extent."""

    ASSERT_EQUAL_TO_IMM, STORE_TO_HEAP, NO_OP, ASSERT_EQUAL_TO_LOAD = 0, 1, 2, 3


class MakeShapeCode(enum.IntEnum):
    """Ways to make an extent."""

    USE_IMM, LOAD_SHAPE = 0, 1
