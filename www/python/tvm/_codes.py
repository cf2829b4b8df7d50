"""Numbers that stand for words, as the engine knows them. Written by `cargo xtask codegen` from `src/boundary`; not to be edited."""


class ExprKind:
    """The kind of a node, without its contents. The words are TVM's names of the classes."""

    VAR = 0  # A variable.
    GLOBAL_VAR = 1  # A function of the module, by name.
    OP = 2  # An operator.
    CONSTRUCTOR = 3  # A constructor of a data type.
    CONSTANT = 4  # A tensor.
    TUPLE = 5  # A tuple.
    TUPLE_GET_ITEM = 6  # A field of a tuple.
    CALL = 7  # A call.
    LET = 8  # A binding of Relay.
    IF = 9  # A branch.
    FUNCTION = 10  # A function.
    MATCH = 11  # A match of Relay.
    REF_CREATE = 12  # A new reference.
    REF_READ = 13  # The value of a reference.
    REF_WRITE = 14  # A write to a reference.
    SEQ_EXPR = 15  # Blocks of bindings and their result.
    SHAPE_EXPR = 16  # A shape.
    PRIM_VALUE = 17  # A scalar.
    STRING_IMM = 18  # A string.
    DATA_TYPE_IMM = 19  # An element type.
    EXTERN_FUNC = 20  # A function of the runtime.
    PRIM_FUNC = 21  # A tensor program.


class TypeKind:
    """The kind of a type, before its parts."""

    TENSOR = 0  # A tensor: element type, extents.
    TUPLE = 1  # A tuple: its fields.
    FUNC = 2  # A function: result, number of parameters, parameters, type parameters.
    REF = 3  # A reference.
    VAR = 4  # A type parameter: its number and name.
    GLOBAL = 5  # A data type: its name.
    APPLY = 6  # A data type with arguments.
    HOLE = 7  # A type that inference is to find: its number.
    ANY = 8  # Any value.
    PRIM = 9  # A scalar: its element type.
    SHAPE = 10  # A shape: extents.
    PARTIAL_TENSOR = 11  # A tensor of which not all is known: one more than the element type or 0, extents.
    CALLABLE = 12  # A function of Relax: result, 1 if pure, 1 if any parameters, parameters.
    PACKED_FUNC = 13  # A function of the runtime.
    STR = 14  # A string.
    WHOLE = 15  # A type that goes by as a whole.
    DISTRIBUTED = 16  # In rows, a tensor that is spread over devices: its type, mesh, placement.


class ClauseKind:
    """The kind of a pattern of a match, before its parts."""

    WILDCARD = 0  # Anything.
    VAR = 1  # A variable.
    CTOR = 2  # A constructor, its fields.
    TUPLE = 3  # Fields.


class Walk:
    """The nodes of an expression that a script walks through."""

    ALL = 0  # All of them, children first.
    FREE = 1  # Its free variables.
    BOUND = 2  # The variables that it binds.
    VARS = 3  # Both.


class Analysis:
    """A question about a program, with what it is about."""

    ALL_GLOBAL_VARS = 0  # An expression: the functions that it names.
    CALLED_GLOBAL_VARS = 1  # An expression: the functions that it calls.
    DEFINED_SYMBOLIC_VARS = 2  # A function: the extents that it defines.
    FREE_SYMBOLIC_VARS = 3  # A function: the extents that it uses and does not define.
    CONTAINS_IMPURE_CALL = 4  # An expression, the name of the function around it (or the expression again), a module: 1 if it may have a side effect apart from calling itself.
    HAS_RESHAPE_PATTERN = 5  # A tensor program: 1 if it only reshapes.
    BLOCKS = 6  # An expression: its blocks.
    UDCHAIN = 7  # A block: each variable, the number of its users, and these.
    TYPE_BASE_CHECK = 8  # Two types: 0 to 3, from never to always.
    TYPE_LCA = 9  # Two types: the narrowest that holds both.
    WELL_FORMED = 10  # 1 for a function alone, a module: what is wrong with it, as names.


class Build:
    """Something that a builder does, with its operands. A name may be missing: 0, else one more than its number."""

    BEGIN_BLOCK = 0  # 1 for a dataflow block.
    END_BLOCK = 1  # One more than the block that it may be, or 0: the block.
    EMIT = 2  # A value, a name.
    EMIT_OUTPUT = 3  # A value, a name.
    MATCH_CAST = 4  # A value, a type, a name.
    EMIT_NORMALIZED = 5  # A binding.
    NORMALIZE = 6  # An expression.
    LOOKUP_BINDING = 7  # A variable: one more than its value, or 0.
    BEGIN_SCOPE = 8  # Parameters.
    BEGIN_INNER_SCOPE = 9  # Begins a scope in the one that is open.
    END_SCOPE = 10  # Ends it.
    ADD_FUNCTION = 11  # A function, its name.
    UPDATE_FUNCTION = 12  # A name, its function.
    MODULE = 13  # The module.
    IS_DATAFLOW = 14  # 1 if the open block is a dataflow block.
    OPERAND = 15  # An expression: a variable or a constant that stands for it.
    UNIQUE_NAME = 16  # A name: one that nothing has.
    EMIT_TE = 17  # A call, a name: the call of the tensor program that it becomes.
    BEGIN_FUNCTION = 18  # A name, attributes, 1 if pure, parameters.
    SWITCH_BLOCK = 19  # 1 for a dataflow block.
    EMIT_FUNC_OUTPUT = 20  # The result, parameters.
    END_FUNCTION = 21  # One more than the function's name, or 0.
    COMPOSE_TE = 22  # An expression, a name, the number of parameters, each with its value.


class Dpl:
    """Something that is done with patterns."""

    MATCH = 0  # One pattern and an expression.
    MATCH_BLOCK = 1  # All of a context and a block.
    REWRITE_CALL = 2  # One pattern, and a function in which calls are replaced.
    REWRITE_BINDINGS = 3  # A context, and a function in which bindings are replaced.
    FUSE = 4  # Patterns by name, and a module whose matches become functions.


class PatternKind:
    """The kind of a pattern, before its parts."""

    WILDCARD = 0  # Anything.
    CONST = 1  # A constant.
    VAR = 2  # A variable: its name.
    DFV = 3  # A variable of a dataflow block: its name.
    GV = 4  # A function of the module: its name.
    EXTERN = 5  # An external function: its name.
    EXPR = 6  # This very expression.
    CALL = 7  # A call: callee, 1 if there may be more arguments, arguments.
    FUNCTION = 8  # A function: body, 1 if any parameters, parameters.
    TUPLE = 9  # A tuple: its fields.
    UNORDERED = 10  # A tuple in any order: its fields.
    ITEM = 11  # A field of a tuple: the tuple, one more than the index or 0.
    OR = 12  # One of two.
    AND = 13  # Both.
    NOT = 14  # Not that.
    ATTR = 15  # With attributes.
    TYPE = 16  # With a type.
    SHAPE = 17  # With a shape.
    DTYPE = 18  # With an element type.
    EXTENTS = 19  # Extents.


class Space:
    """The subject of a row of a table: each has ids of its own."""

    EXPR = 0  # Expressions.
    TYPE = 1  # Types.
    PRIM = 2  # Scalars.
    STMT = 3  # Statements.
    SYMBOL = 4  # Scalar variables.
    BUFFER = 5  # Buffers.
    ATTRS = 6  # Attributes.
    OBJECT = 7  # Objects.
    BLOCK = 8  # Blocks of bindings.
    PATTERN = 9  # Patterns of a match.
    ADT = 10  # Definitions of types.
    TYPEVAR = 11  # Type variables.
    NAME = 12  # Names, which are no rows: they stand in them.


class ScalarKind:
    """The kind of a scalar expression, before its element type and its parts."""

    INT = 0  # An integer: two words.
    FLOAT = 1  # A float: the bits of a double, in two words.
    STRING = 2  # A string: its name.
    ANY = 3  # An extent that is not known.
    VAR = 4  # A variable.
    BINARY = 5  # An operation on two: its number, operands.
    NOT = 6  # A negation.
    CAST = 7  # A cast.
    SELECT = 8  # A choice: condition, two values.
    CALL = 9  # A call: the name of what is called, arguments.
    LOAD = 10  # An element of a buffer: the buffer, indices.
    DATA = 11  # The memory of a buffer.
    BUFFER = 12  # A buffer itself.
    RAMP = 13  # Numbers at one distance: the first, the distance, how many.
    BROADCAST = 14  # One number repeated: the number, how many.
    SHUFFLE = 15  # Elements of vectors: the number of vectors, vectors, indices.
    LET = 16  # A variable with a value: variable, value, body.
    REDUCER = 17  # A commutative reduction: its width, left and right variables, results, identities.
    ATTRS = 18  # Attributes.


class StmtKind:
    """The kind of a statement, before its parts."""

    SEQ = 0  # Statements, one after the other.
    FOR = 1  # A loop: variable, begin, extent, step, kind, index of threads, annotations, body.
    BLOCK = 2  # A block.
    STORE = 3  # A store: buffer, value, indices.
    IF = 4  # A branch: condition, two bodies.
    WHILE = 5  # A loop with a condition: condition, body.
    BIND = 6  # A variable with a value.
    ATTR = 7  # An attribute of a body: kind of node, two words for the node, key, value, body.
    ALLOC = 8  # Memory for a buffer: buffer, annotations.
    DECLARE = 9  # A buffer without memory of its own.
    ASSERT = 10  # An assertion: condition, kind of error, parts of its message.
    EVALUATE = 11  # A value that is computed and dropped.
    RETURN = 12  # The result of the function.
    BREAK = 13  # The end of a loop.
    CONTINUE = 14  # The next round of a loop.


class LoopKind:
    """The kind of a loop."""

    SERIAL = 0  # One round after the other.
    PARALLEL = 1  # By several processors.
    VECTORIZED = 2  # As one vector.
    UNROLLED = 3  # Written out.
    THREAD = 4  # By threads.


class AttrNodeKind:
    """The subject of an attribute of a body."""

    PRIM = 0  # A scalar expression.
    NOTHING = 1  # None.
    THREAD = 2  # An index of threads: variable, name of the index.


class AxisKind:
    """The kind of a block's variable."""

    SPATIAL = 0  # Independent of the others.
    REDUCE = 1  # A reduction.
    SCAN = 2  # In order.
    OPAQUE = 3  # Anything.


class ExtentsKind:
    """The extents of a shape as far as they are known, before its parts."""

    UNKNOWN = 0  # Nothing.
    RANK = 1  # The number of axes.
    VAR = 2  # The variable that holds it.
    KNOWN = 3  # All extents.


class ValueKind:
    """The kind of an attribute's value, before its parts."""

    NULL = 0  # None.
    BOOL = 1  # A truth value.
    INT = 2  # An integer: its bits, two words.
    FLOAT = 3  # A float: the bits of a double, in two words.
    STRING = 4  # A string: its name.
    DTYPE = 5  # An element type.
    ARRAY = 6  # Values: their number, the values.
    MAP = 7  # Values by name: their number, names and values.
    DIM = 8  # An extent.
    GLOBAL = 9  # A function of the module: its name.
    EXPR = 10  # An expression.
    TYPE = 11  # A type.
    OBJECT = 12  # An object.


TARGET_KINDS = {
    "llvm": (
        ["cpu"],
        {
            "mtriple": "x86_64-conda-linux-gnu",
        },
    ),
    "c": (
        ["cpu"],
        {
        },
    ),
    "cuda": (
        ["cuda", "gpu"],
        {
            "arch": "sm_50",
            "max_num_threads": 1024,
            "thread_warp_size": 32,
        },
    ),
    "metal": (
        ["metal", "gpu"],
        {
            "max_function_args": 31,
            "thread_warp_size": 16,
            "max_shared_memory_per_block": 32768,
            "max_threads_per_block": 256,
            "max_num_threads": 256,
        },
    ),
    "opencl": (
        ["opencl", "gpu"],
        {
            "image_base_address_alignment": 64,
            "max_function_args": 128,
            "texture_depth_limit": 2048,
            "texture_spatial_limit": 16384,
            "thread_warp_size": 1,
            "max_num_threads": 256,
            "max_shared_memory_per_block": 16384,
            "max_threads_per_block": 256,
        },
    ),
    "vulkan": (
        ["vulkan", "gpu"],
        {
            "thread_warp_size": 1,
            "max_threads_per_block": 256,
            "max_num_threads": 256,
            "supports_int32": True,
            "supports_float32": True,
        },
    ),
    "rocm": (
        ["rocm", "gpu"],
        {
            "mcpu": "gfx900",
            "mtriple": "amdgcn-amd-amdhsa-hcc",
            "thread_warp_size": 64,
            "max_shared_memory_per_block": 65536,
            "max_threads_per_block": 256,
            "max_num_threads": 256,
        },
    ),
    "webgpu": (
        ["webgpu", "gpu"],
        {
            "thread_warp_size": 1,
            "supports_subgroups": False,
            "max_shared_memory_per_block": 32768,
            "max_num_threads": 256,
        },
    ),
    "nvptx": (
        ["cuda", "gpu"],
        {
            "mcpu": "sm_50",
            "mtriple": "nvptx64-nvidia-cuda",
            "thread_warp_size": 32,
            "max_num_threads": 1024,
        },
    ),
    "hexagon": (
        ["hexagon", "cpu"],
        {
        },
    ),
    "ext_dev": (
        [],
        {
        },
    ),
}
"""The kinds of targets: the keys of each, and its options with their defaults."""
MARK, MARK_END = "\x01", "\x02"
"""The characters around a marked part of a text."""
