"""From tensor expressions to tensor programs (TVM's `src/te/operation/create_primfunc.cc`): each operation is a block under
loops over its axes, in the order in which they depend on each other."""

from .. import _engine
from .._node import BUFFER, STMT, numbers
from .._order import post_order
from .._values import Array
from ..error import InternalError
from ..ir.expr import Range, Var
from ..sym import Analyzer
from ..tirx import stmt as _stmt
from ..tirx.buffer import _new
from ..tirx.expr import BufferLoad, IntImm, IterVar, Reduce
from ..tirx.function import PrimFunc
from ..tirx.functor import map_buffers, parts, rebuild, substitute
from .tensor import ComputeOp, ExternOp, PlaceholderOp, Tensor


def _buffer(name, shape, dtype):
    """A buffer of a function with blocks, where no order of the axes is told."""
    return _new(name, shape, dtype, layout=0)


def _uses(node, found):
    if isinstance(node, Var):
        found.append(node)
    for part in parts(node):
        _uses(part, found)
    return found


_DROPPED = ("const_matrix", "auto_scheduler_simplify_const_tensor_indices", "workload")
"""Attributes that no block keeps."""


class _Scope:
    """One level of loops around a block. Axes that depend on others stand in a level further in."""

    def __init__(self):
        self.loops, self.iters, self.values, self.indices, self.known = [], [], [], [], {}

    def add(self, axis, item, value):
        """A variable of the block for an axis."""
        self.iters.append(item)
        self.values.append(value)
        if item.iter_type != IterVar.CommReduce:
            self.indices.append(item.var)
        self.known[axis.var] = item.var


class _Program:
    def __init__(self, args):
        self.args = args
        self.buffers = {}
        self.allocated = []
        self.names = set()
        self.free = set()
        self.analyzer = Analyzer()

    def key(self, tensor):
        return id(tensor.op), tensor.value_index

    def is_arg(self, tensor):
        return any(self.key(arg) == self.key(tensor) for arg in self.args)

    def name(self, base):
        """The name, or with a number behind it one that is free."""
        name, count = base, 0
        while name in self.names:
            count += 1
            name = f"{base}_{count}"
        self.names.add(name)
        return name

    def over_buffers(self, value, known):
        """An expression of a tensor expression over the buffers and variables of the program."""

        def find(buffer):
            tensor = getattr(buffer, "_te_tensor", None)
            return None if tensor is None else self.buffers[self.key(tensor)]

        return substitute(map_buffers(value, find), known)

    def levels(self, axes):
        by_var = {id(axis.var): axis for axis in axes}
        depths = {}

        def depth(axis):
            found = depths.get(id(axis.var))
            if found is None:
                needed = _uses(self.analyzer.simplify(axis.dom.min), [])
                needed += _uses(self.analyzer.simplify(axis.dom.extent), [])
                needed = [depth(by_var[id(var)]) for var in needed if id(var) in by_var]
                found = depths[id(axis.var)] = max(needed, default=-1) + 1
            return found

        return [depth(axis) for axis in axes]

    def scopes(self, op):
        axes = [*op.axis, *op.reduce_axis]
        depths = self.levels(axes)
        last = max(depths, default=0)
        init_at, scopes = last, []
        for level in range(last + 1):
            scope = _Scope()
            for axis, depth in zip(axes, depths):
                bits = max(axis.dom.min.dtype.bits, axis.dom.extent.dtype.bits)
                dtype = f"int{bits}"
                block_var = Var(f"v_{axis.var.name}", dtype)
                if depth == level:
                    if axis.iter_type == IterVar.CommReduce:
                        init_at = min(init_at, level)
                    outer = scopes[-1].known if scopes else {}
                    low, extent = (substitute(end, outer) for end in (axis.dom.min, axis.dom.extent))
                    dom = Range.from_min_extent(self.analyzer.simplify(low), self.analyzer.simplify(extent))
                    loop_var = Var(axis.var.name, dtype)
                    scope.loops.append((loop_var, dom))
                    scope.add(axis, IterVar(dom, block_var, axis.iter_type, axis.thread_tag), loop_var)
                elif depth < level:
                    before = scopes[-1].known[axis.var]
                    dom = Range.from_min_extent(before, IntImm(dtype, 1))
                    scope.add(axis, IterVar(dom, block_var, axis.iter_type, axis.thread_tag), before)
            if level == last and not scope.iters:
                scope.iters.append(IterVar(Range(0, 1), Var("vi", "int32"), IterVar.DataPar))
                scope.values.append(IntImm("int32", 0))
            scopes.append(scope)
        return axes, scopes, init_at

    def compute(self, op):
        axes, scopes, init_at = self.scopes(op)
        outputs = []
        for at in range(op.num_outputs):
            tensor = op.output(at)
            buffer = _buffer(tensor._hint, tensor.shape, tensor.dtype)
            self.buffers[self.key(tensor)] = buffer
            outputs.append(buffer)
            if not self.is_arg(tensor):
                self.allocated.append(buffer)
        leaf, reduce = scopes[-1], op.body[0] if isinstance(op.body[0], Reduce) else None
        annotations = {name: self.annotation(value) for name, value in op.attrs.items() if name not in _DROPPED}
        self.layout_free(annotations)
        if reduce is not None:
            init = self.init(reduce, outputs, leaf) if init_at == len(scopes) - 1 else None
            body = self.block(leaf, self.name(op.name), self.reduction(reduce, outputs, leaf), init, annotations)
        else:
            made = []
            for at, (buffer, value) in enumerate(zip(outputs, op.body)):
                if at:
                    leaf = self.renewed(leaf, axes)
                value = self.analyzer.simplify(self.over_buffers(value, leaf.known))
                store = _stmt.BufferStore(buffer, value, leaf.indices)
                made.append(self.block(leaf, self.name(buffer.name), store, None, annotations))
            body = _sequence(made)
        for level in range(len(scopes), 0, -1):
            scope = scopes[level - 1]
            if level < len(scopes):
                name = self.name(f"{op.name}_l{level}")
                init = self.init(reduce, outputs, scope) if reduce is not None and level - 1 == init_at else None
                body = self.block(scope, name, body, init, annotations)
            for var, dom in reversed(scope.loops):
                body = _stmt.For(var, dom.min, dom.extent, _stmt.ForKind.SERIAL, body)
        return body

    def layout_free(self, annotations):
        """Arguments that may have another layout are told of the function, others of the block."""
        free = annotations.pop("layout_free_placeholders", ())
        at = {id(self.buffers[self.key(arg)]): index for index, arg in enumerate(self.args) if self.key(arg) in self.buffers}
        inner = [buffer for buffer in free if id(buffer) not in at]
        self.free.update(at[id(buffer)] for buffer in free if id(buffer) in at)
        if inner:
            annotations["layout_free_placeholders"] = Array(inner)

    def annotation(self, value):
        if isinstance(value, Tensor):
            return self.buffers[self.key(value)]
        return Array(self.annotation(item) for item in value) if isinstance(value, (list, tuple)) else value

    def renewed(self, scope, axes):
        made = _Scope()
        made.loops, made.values = scope.loops, scope.values
        for item, axis in zip(scope.iters, axes):
            fresh = IterVar(item.dom, Var(item.var.name, item.var.dtype), item.iter_type, item.thread_tag)
            made.iters.append(fresh)
            if item.iter_type != IterVar.CommReduce:
                made.indices.append(fresh.var)
            made.known[axis.var] = fresh.var
        return made

    def init(self, reduce, outputs, scope):
        values = [self.over_buffers(value, scope.known) for value in reduce.combiner.identity_element]
        return _sequence([_stmt.BufferStore(buffer, value, scope.indices) for buffer, value in zip(outputs, values)])

    def reduction(self, reduce, outputs, scope):
        combiner = reduce.combiner
        left = [BufferLoad(buffer, scope.indices) for buffer in outputs]
        right = [self.analyzer.simplify(self.over_buffers(value, scope.known)) for value in reduce.source]
        operands = dict(zip([*combiner.lhs, *combiner.rhs], [*left, *right]))
        values = [substitute(value, operands) for value in combiner.result]
        values = [self.over_buffers(value, scope.known) for value in values]
        if len(outputs) == 1:
            return _stmt.BufferStore(outputs[0], values[0], scope.indices)
        held = [Var(f"v_{buffer.name}", buffer.dtype) for buffer in outputs]
        binds = [_stmt.Bind(var, value) for var, value in zip(held, values)]
        stores = [_stmt.BufferStore(buffer, var, scope.indices) for buffer, var in zip(outputs, held)]
        return _stmt.SeqStmt([*binds, *stores])

    def extern(self, op):
        known, inputs = {}, {}
        for tensor, placeholder in zip(op.inputs, op.input_placeholders):
            inputs[id(placeholder)] = self.buffers[self.key(tensor)]
        for at, placeholder in enumerate(op.output_placeholders):
            tensor, buffer = op.output(at), placeholder
            if not self.is_arg(tensor):
                zero = IntImm(placeholder.elem_offset.dtype, 0)
                if isinstance(placeholder.elem_offset, Var):
                    known[placeholder.elem_offset] = zero
                buffer = placeholder._changed(_offset=zero)
                self.allocated.append(buffer)
            inputs[id(placeholder)] = self.buffers[self.key(tensor)] = buffer
        body = substitute(map_buffers(op.body, lambda buffer: inputs.get(id(buffer))), known)
        body = self.completed(map_buffers(body, lambda buffer: self.of_tensor(buffer)))
        # Leaves out the regions that the statement touches, as TVM does.
        block = _stmt.SBlock([], [], [], self.name(op.name), body, annotations=dict(op.attrs))
        return _stmt.SBlockRealize([], IntImm("bool", 1), block)

    def of_tensor(self, buffer):
        tensor = getattr(buffer, "_te_tensor", None)
        return None if tensor is None else self.buffers.get(self.key(tensor))

    def block(self, scope, name, body, init, annotations):
        block = _stmt.SBlock(scope.iters, [], [], name, body, init, annotations=annotations)
        return _stmt.SBlockRealize(scope.values, IntImm("bool", 1), self.with_regions(block, scope.values))

    def with_regions(self, block, values):
        realize = _stmt.SBlockRealize(values, IntImm("bool", 1), block)
        buffers = {id(buffer): buffer for buffer in self.buffers.values()}
        buffers.update((id(buffer), buffer) for buffer in self.allocated)
        known = list(buffers.values())
        (stmt,) = numbers(STMT, [realize])
        words = _engine.call("table_programs", "reads_writes", _engine.words([stmt, *numbers(BUFFER, known)]))
        reader = _stmt._Reader(words, 0)
        reads, writes = ([reader.region() for _ in range(reader.word())] for _ in range(2))
        return _stmt.SBlock(block.iter_vars, reads, writes, block.name_hint, block.body, block.init,
                            block.alloc_buffers, block.match_buffers, block.annotations)  # fmt: skip

    def completed(self, stmt):
        """A statement whose blocks say which regions they touch."""
        made = rebuild(stmt, lambda part: self.completed(part) if isinstance(part, _stmt.Stmt) else part)
        if isinstance(made, _stmt.SBlockRealize) and not made.block.reads and not made.block.writes:
            block = self.with_regions(made.block, made.iter_values)
            return _stmt.SBlockRealize(made.iter_values, made.predicate, block)
        return made


def _sequence(stmts):
    return stmts[0] if len(stmts) == 1 else _stmt.SeqStmt(stmts)


def _ordered(tensors):
    """Operations, each behind those whose tensors it reads."""
    # The operations of the tensors are the parts of None, which comes last.
    *order, _ = post_order(None, lambda op: [tensor.op for tensor in (tensors if op is None else op.input_tensors)])
    return order


def program(args, index_dtype_override=None):
    """The tensor program over tensors, and scalars besides, that computes those which are computed."""
    tensors = [arg for arg in args if isinstance(arg, Tensor)]
    made = _Program(tensors)
    order = _ordered(tensors)
    for op in order:
        if isinstance(op, ExternOp):
            for tensor, placeholder in zip(op.inputs, op.input_placeholders):
                made.buffers[made.key(tensor)] = placeholder
    root = []
    for op in order:
        if isinstance(op, PlaceholderOp):
            tensor = op.output(0)
            if not made.is_arg(tensor):
                raise InternalError(
                    f"Check failed: (info->IsArg(tensor)) is false: The operation {op.name} produces tensor {tensor}, but this tensor does "
                    f"not appear as a function argument.  The function accepts arguments {tensors}"
                )
            made.buffers.setdefault(made.key(tensor), _buffer(op.name, op.shape, op.dtype))
        elif isinstance(op, ComputeOp):
            root.append(made.compute(op))
        elif isinstance(op, ExternOp):
            root.append(made.extern(op))
        else:
            raise RuntimeError(f"TypeError: Unsupported Operation: te.{type(op).__name__}. Only te.placeholder and te.compute are allowed for now.")
    body = _sequence(root) if root else _stmt.Evaluate(0)
    is_root = isinstance(body, _stmt.SBlockRealize) and not body.block.iter_vars and not made.allocated
    if is_root:
        block = body.block
        block = _stmt.SBlock([], [], [], block.name_hint, block.body, block.init, annotations=block.annotations)
    else:
        block = _stmt.SBlock([], [], [], "root", body, alloc_buffers=made.allocated)
    body = _stmt.SBlockRealize([], IntImm("bool", 1), block)
    params = [made.buffers[made.key(arg)] if isinstance(arg, Tensor) else arg for arg in args]
    attrs = {"global_symbol": "main", "tirx.noalias": True, "s_tir": True}
    if made.free:
        attrs["layout_free_buffers"] = sorted(made.free)
    func = PrimFunc(params, body, None, attrs=attrs)
    return func if index_dtype_override is None else _with_index_dtype(func, index_dtype_override)


def _with_index_dtype(func, dtype):
    """The function with indices of another type."""
    from ..tirx.functor import with_index_dtype

    return with_index_dtype(func, dtype)
