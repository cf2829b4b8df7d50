"""Operators over tensors of tensor expressions. The engine lowers the operator of Relax to a tensor program, as LegalizeOps
does, and the blocks of the program are read back as the operations that they were made from."""

from ..ir.base import structural_equal
from ..ir.expr import Expr, Range, Var, is_prim_expr
from ..te.tensor import ComputeOp, Tensor
from ..tirx import stmt as _stmt
from ..tirx.buffer import is_buffer_var
from ..tirx.expr import BufferLoad, Cast, CommReducer, IntImm, IterVar, Reduce, Select
from ..tirx.analysis import undefined_vars
from ..tirx.functor import map_buffers, parts, post_order_visit, rebuild, substitute, with_index_dtype


class NoExpression(NotImplementedError):
    """The program of an operator is no tensor expression: it sorts, scans, or calls a function."""


def tensors_of(value):
    """The tensors among arguments, in order."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [tensor for item in value for tensor in tensors_of(item)] if isinstance(value, (list, tuple)) else []


def program_of(name, args, kwargs):
    """The tensor program of a call of an operator of Relax over variables, which are its parameters, and the type of its result."""
    from ..relax import op
    from ..relax.block_builder import BlockBuilder
    from ..relax.transform.legalize import by_engine

    params = _variables([*args, *kwargs.values()])
    inner = BlockBuilder()
    with inner.function("main", params):
        result = inner.emit(op.call(name, args, kwargs))
        inner.emit_func_output(result)
    lowered = by_engine()(inner.get())
    call = lowered["main"].body.blocks[0].bindings[0].value
    if not call.args or call.args[0] not in lowered.functions:
        raise NoExpression(f"{name} has no tensor program here")
    return lowered[call.args[0]], call.ty_args[0]


def _variables(value):
    if isinstance(value, Var) and hasattr(value.ty, "shape"):
        return [value]
    return [var for item in value for var in _variables(item)] if isinstance(value, (list, tuple)) else []


def compute(name, args, kwargs):
    """The tensors that an operator of Relax gives over tensors."""
    from ..ir.type import TupleType
    from ..relax.expr import Var as RelaxVar
    from ..relax.type import TensorType
    from ..tirx.op import cast

    inner, outer, narrow = {}, {}, []
    tensors = [*tensors_of(args), *tensors_of(kwargs)]

    def extent(value):
        """The extent over variables of 64 bits, which Relax has."""
        if isinstance(value, Var) and value not in inner:
            fresh = inner[value] = Var(f"{value.name}_{len(inner)}", "int64")
            outer[fresh.name] = value
        for part in parts(value):
            extent(part)
        return cast(substitute(value, inner), "int64")

    def operand(value):
        if isinstance(value, Tensor):
            narrow.extend(item.dtype == "int32" for item in value.shape)
            return RelaxVar(value.op.name, TensorType([extent(item) for item in value.shape], value.dtype))
        if isinstance(value, (list, tuple)):
            return [operand(item) for item in value]
        return extent(value) if isinstance(value, Expr) and is_prim_expr(value) and undefined_vars(value) else value

    args = [operand(value) for value in args]
    kwargs = {key: operand(value) for key, value in kwargs.items()}
    program, types = program_of(name, args, kwargs)
    if narrow and all(narrow):
        # Beside extents of 32 bits, integers of 64 are those of a tensor or of an argument.
        dtypes = [*(tensor.dtype for tensor in tensors), *(value for value in [*args, *kwargs.values()] if isinstance(value, str))]
        program = with_index_dtype(program, "int32", values="int64" not in dtypes)
    known = {}
    for param in program.params:
        for item in [param] if not is_buffer_var(param) else param.shape:
            post_order_visit(item, lambda node: known.update({node: outer[node.name]}) if isinstance(node, Var) and node.name in outer else None)
    made = _Reader(name, tensors, program, known).outputs()
    return made if isinstance(types, TupleType) else made[0]


class _Reader:
    """Reads the blocks of a program, first to last, as operations."""

    def __init__(self, name, tensors, program, known):
        self.name, self.known, self.program = name, known, program
        self.tensors = {id(buffer): tensor for buffer, tensor in zip(program.params, tensors)}
        self.given = len(tensors)

    def outputs(self):
        """The tensors that the program computes."""
        root = self.program.body
        block = root.block
        body = [root] if block.iter_vars or isinstance(block.body, _stmt.BufferStore) else block.body
        for stmt in body.seq if isinstance(body, _stmt.SeqStmt) else body if isinstance(body, list) else [body]:
            while isinstance(stmt, _stmt.For):
                stmt = stmt.body
            if not isinstance(stmt, _stmt.SBlockRealize):
                self.refuse()
            self.block(stmt)
        return [self.tensors[id(buffer)] for buffer in self.program.params[self.given :] if id(buffer) in self.tensors]

    def refuse(self):
        """Says that a block is none that a tensor expression gives."""
        raise NoExpression(f"the program of {self.name} is no tensor expression here")

    def buffer(self, buffer):
        """The buffer of the tensor that stands for one of the program."""
        tensor = self.tensors.get(id(buffer))
        return None if tensor is None else tensor._buffer

    def block(self, realize):
        """Adds the operation that a block was made from."""
        block = realize.block
        known, axes, reduced = dict(self.known), [], []
        scalar = len(block.iter_vars) == 1 and isinstance(realize.iter_values[0], IntImm)
        for item, value in zip(() if scalar else block.iter_vars, realize.iter_values):
            name = getattr(value, "name", None) or item.var.name.removeprefix("v_")
            low, extent = (substitute(end, known) for end in (item.dom.min, item.dom.extent))
            axis = IterVar(Range.from_min_extent(low, extent), Var(name, item.var.dtype), item.iter_type)
            known[item.var] = axis.var
            (reduced if item.iter_type == IterVar.CommReduce else axes).append(axis)
        stores, values = self.stores(block.body)
        name = stores[0].buffer.name if len(stores) == 1 else block.name_hint
        if block.init is not None:
            body = self.reductions(block, stores, values, reduced, known)
        else:
            body = [self.outside(value, known) for value in values]
        op = ComputeOp(name, "", dict(block.annotations), axes, body)
        for at, store in enumerate(stores):
            self.tensors[id(store.buffer)] = op.output(at)

    def stores(self, body):
        """The stores of a block, and the values that they write: those of a reduction of several are bound before."""
        stmts = body.seq if isinstance(body, _stmt.SeqStmt) else [body]
        bound = {stmt.var: stmt.value for stmt in stmts if isinstance(stmt, _stmt.Bind)}
        stores = [stmt for stmt in stmts if isinstance(stmt, _stmt.BufferStore)]
        if len(bound) + len(stores) != len(stmts) or len(bound) not in (0, len(stores)) or not stores:
            self.refuse()
        return stores, [bound.get(store.value, store.value) if bound else store.value for store in stores]

    def outside(self, value, known):
        """An expression of the program over tensors and the axes of an operation. A tensor of another type than the program's
        parameter is cast."""

        def widened(node):
            tensor = self.tensors.get(id(node.buffer)) if isinstance(node, BufferLoad) else None
            if tensor is not None and tensor.dtype != node.buffer.dtype:
                return Cast(node.buffer.dtype, node)
            return rebuild(node, widened)

        return substitute(map_buffers(widened(value), self.buffer), known)

    def reductions(self, block, stores, values, axes, known):
        """The reductions that a block with initial values computes: of a sum and its like the second operand is reduced, of a choice
        between the values so far and new ones the latter."""
        sources = []
        for store, value in zip(stores, values):
            sides = [] if isinstance(value, Select) else parts(value)
            left = sides[0] if len(sides) == 2 else None
            if isinstance(left, BufferLoad) and left.buffer is store.buffer:
                sources.append(sides[1])
            elif len(stores) > 1 and isinstance(value, Select):
                sources.append(value.false_value)
            else:
                self.refuse()
        ends = [""] if len(stores) == 1 else [f"_{at}" for at in range(len(stores))]
        lhs, rhs = ([Var(side + end, value.dtype) for end, value in zip(ends, values)] for side in ("x", "y"))

        def combined(node):
            for store, source, so_far, new in zip(stores, sources, lhs, rhs):
                if isinstance(node, BufferLoad) and node.buffer is store.buffer:
                    return so_far
                if node is source or len(stores) > 1 and structural_equal(node, source):
                    return new
            return rebuild(node, combined)

        initial, identity = self.stores(block.init)
        if len(initial) != len(stores) or any(a.buffer is not b.buffer for a, b in zip(initial, stores)):
            self.refuse()
        identity = [self.outside(value, known) for value in identity]
        combiner = CommReducer(lhs, rhs, [combined(value) for value in values], identity)
        sources = [self.outside(source, known) for source in sources]
        return [Reduce(combiner, sources, axes, IntImm("bool", 1), at) for at in range(len(stores))]
