"""Functions of Python that run while a program is read. Of one that `R.emit_te` names, the tensor program joins the
module, and a call of it takes the place of `R.emit_te`; of one that is called by itself, what it gives takes the place."""

import ast
import copy
import types

from ..error import DiagnosticError

OPERANDS = "_emit_te_operands"


def expand(text, tree, names, read, located):
    """The text without calls of functions of Python, which are replaced in order. `read` gives the program of a text, `located`
    a message with the place of a node. A function that `names` does not know is left to the engine, which knows those of `topi`."""
    found = _first(tree, names)
    if found is None:
        return text
    while found is not None:
        call, function = found
        try:
            made = _Call(tree, function, call, names, read).expanded()
        except Exception as error:
            raise DiagnosticError(located(call, str(error))) from error
        _Replace(call, ast.copy_location(made, call)).visit(tree)
        ast.fix_missing_locations(tree)
        found = _first(tree, names)
    return ast.unparse(tree)


def _first(node, names, function=None):
    """The first call in the order of evaluation, and the function around it."""
    if isinstance(node, ast.FunctionDef):
        decorators = [ast.unparse(item) for item in node.decorator_list]
        function = node if any("R.function" in item or "T.prim_func" in item for item in decorators) else None
    children = node.body if isinstance(node, ast.FunctionDef) else ast.iter_child_nodes(node)
    for child in children:
        found = _first(child, names, function)
        if found is not None:
            return found
    is_one = function is not None and (_is_emit_te(node, names) or _is_python(node, names, function))
    return (node, function) if is_one else None


def _is_emit_te(node, names):
    if not (_calls(node, "R.emit_te", "relax.emit_te") and node.args):
        return False
    func = node.args[0]
    return not isinstance(func, (ast.Name, ast.Attribute)) or all(name.id in names for name in ast.walk(func) if isinstance(name, ast.Name))


def _is_python(node, names, function):
    """True for a call of a function that the user wrote."""
    value = names.get(node.func.id) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else None
    is_function = isinstance(value, types.FunctionType) and not value.__module__.startswith("tvm.")
    return is_function and node.func.id not in _bound(function)


def _is_program(function):
    """True for a tensor program."""
    return any("T.prim_func" in ast.unparse(item) for item in function.decorator_list)


class _Replace(ast.NodeTransformer):
    def __init__(self, old, new):
        self.old, self.new = old, new

    def visit(self, node):
        return self.new if node is self.old else self.generic_visit(node)


class _Arguments:
    """The arguments of a call: what Python computes alone, and the operands, which the program has to tell."""

    def __init__(self, names, bound):
        self.names, self.bound = names, bound
        self.operands = []

    def value(self, node):
        """A function from the operands, once they are known, to the argument."""
        free = [name.id for name in ast.walk(node) if isinstance(name, ast.Name)]
        if not any(name in self.bound for name in free) and not _calls(node, "R.const", "relax.const"):
            made = _evaluated(node, self.names)
            return lambda operands: made
        if isinstance(node, (ast.List, ast.Tuple)):
            parts = [self.value(item) for item in node.elts]
            kind = list if isinstance(node, ast.List) else tuple
            return lambda operands: kind(part(operands) for part in parts)
        at = len(self.operands)
        self.operands.append(node)
        return lambda operands: operands[at]


def _calls(node, *callees):
    named = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    return named and any(callee.endswith(f".{node.func.attr}") for callee in callees) and ast.unparse(node.func) in callees


def _evaluated(node, names):
    return eval(compile(ast.Expression(node), "<script>", "eval"), names)  # noqa: S307


def _assigned(function):
    return {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def _bound(function):
    return _assigned(function) | {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}


class _Call:
    """A call of a function of Python within a function of a program."""

    def __init__(self, tree, function, call, names, read):
        self.tree, self.function, self.call, self.names, self.read = tree, function, call, names, read
        self.is_program = _is_program(function)
        self.module = next((node for node in tree.body if isinstance(node, ast.ClassDef) and function in node.body), None)

    def expanded(self):
        """The expression that takes its place."""
        if not _is_emit_te(self.call, self.names):
            return self.result(*self.arguments(self.call.func, self.call.args))
        if self.module is None:
            raise DiagnosticError("IRModule frame not find. Please ensure it is called under I.ir_module()")
        return self.call_tir(*self.arguments(self.call.args[0], self.call.args[1:]))

    def arguments(self, func, args):
        """The function and its arguments, as Python has them."""
        known = _Arguments(self.names, _bound(self.function))
        positional = [known.value(arg) for arg in args]
        keywords = {item.arg: known.value(item.value) for item in self.call.keywords}
        operands = self.operands(known.operands)
        self.written = list(zip(operands, known.operands))
        return _evaluated(func, self.names), [make(operands) for make in positional], {name: make(operands) for name, make in keywords.items()}

    def result(self, func, args, kwargs):
        """The result of a function, in the words of the program."""
        from ..ir.expr import Expr

        made = func(*args, **kwargs)
        if isinstance(made, (bool, int, float)) and self.is_program:
            return ast.Constant(made)
        if not isinstance(made, Expr):
            raise TypeError(f"{self.call.func.id} gives {type(made).__name__}, which is no expression")
        text = _expression(str(made))
        return _Named({operand.name: node for operand, node in self.written}).visit(text) if self.is_program else text

    def call_tir(self, func, args, kwargs):
        """A call of the tensor program of a function, which is written before the function that calls it."""
        from ..te.relax_bridge import gen_call_tir_inputs

        name = kwargs.pop("primfunc_name_hint", None) or getattr(func, "__name__", "te_func")
        attrs = kwargs.pop("primfunc_attrs", None)
        program, given, out = gen_call_tir_inputs(func, args, kwargs)
        if any(isinstance(node, ast.FunctionDef) and node.name == name for node in self.module.body):
            raise DiagnosticError(f"function {name} already exists")
        self.add(program.with_attrs(attrs) if attrs else program, name)
        _declare(self.function, out)
        written = [next((node for operand, node in self.written if operand is value), None) for value in given]
        out = [_Extents().visit(_expression(item.script())) for item in out]
        called = ast.parse(f"R.call_tir({self.module.name}.{name}, (), out_ty=0)", mode="eval").body
        called.args[1].elts = [node or _expression(str(value)) for node, value in zip(written, given)]
        called.keywords[0].value = out[0] if len(out) == 1 else ast.List(out, ast.Load())
        return called

    def add(self, program, name):
        """Writes a tensor program before the function, and its symbolic variables before the module."""
        *head, made = ast.parse(program.script()).body
        made.name = name
        self.module.body.insert(self.module.body.index(self.function), made)
        known = {ast.unparse(node) for node in self.tree.body}
        self.tree.body[:0] = [node for node in head if isinstance(node, ast.Assign) and ast.unparse(node) not in known]

    def operands(self, operands):
        """Operands as expressions with types: those of the program that ends where the call stands."""
        if not operands:
            return []
        self.call.operands = operands
        ending = copy.deepcopy(self.tree)
        del self.call.operands
        for node in ast.walk(ending):
            if not isinstance(node, ast.FunctionDef) or _first(node, self.names) is None:
                continue
            if _marked([node]):
                node.returns, node.body = None, _until_in_program(node.body) if self.is_program else _until(node.body)
            elif _is_program(node):
                node.body = ast.parse("T.evaluate(0)").body
            else:
                returns = ast.unparse(node.returns) if node.returns else "R.Any"
                node.body = ast.parse(f'return R.call_pure_packed("emit_te", ty_args={returns})').body
        made = self.read(ast.unparse(ast.fix_missing_locations(ending)))
        made = made if self.module is None else made[self.function.name]
        if self.is_program:
            return _stand_ins(made)
        return list(made.body.blocks[-1].bindings[-1].value.args[1:])


class _Named(ast.NodeTransformer):
    """Puts nodes in the place of names."""

    def __init__(self, nodes):
        self.nodes = nodes

    def visit_Name(self, node):
        return copy.deepcopy(self.nodes.get(node.id, node))


class _Extents(ast.NodeTransformer):
    """Writes extents in a type as expressions: only signatures have them in quotes."""

    def visit_Tuple(self, node):
        node.elts = [_expression(item.value) if isinstance(item, ast.Constant) and isinstance(item.value, str) else item for item in node.elts]
        return node

    visit_List = visit_Tuple


def _stand_ins(program):
    """Variables of the types that the operands have, which a tensor program gives to a function that is none."""
    from ..ir.expr import StringImm, Var
    from ..tirx.stmt_functor import post_order_visit

    found = []

    def visit(node):
        args = getattr(node, "args", ())
        if len(args) and isinstance(args[0], StringImm) and args[0].value == OPERANDS:
            found.extend(args[1:])

    post_order_visit(program.body, visit)
    return [Var(f"{OPERANDS}_{at}", value.dtype) for at, value in enumerate(found)]


def _until_in_program(statements):
    """Statements up to the marked call, whose operands become those of a call of another function."""
    at = next(index for index, statement in enumerate(statements) if _marked([statement]))
    before, last = statements[:at], statements[at]
    for name in ("body", "orelse"):
        part = getattr(last, name, None)
        if isinstance(part, list) and _marked(part):
            setattr(last, name, _until_in_program(part))
            return [*before, last]
    call = ast.parse(f'T.evaluate(T.call_extern("int32", "{OPERANDS}"))').body[0]
    call.value.args[0].args.extend(_marked([last]).operands)
    return [*before, call]


def _expression(text):
    return ast.parse(text.strip().splitlines()[-1], mode="eval").body


def _declare(function, types):
    """Names the symbolic variables of types in the function that uses them."""
    from ..relax.analysis import tir_vars_in_type

    known = _assigned(function)
    first = function.body[0]
    at = 1 if isinstance(first, ast.Expr) and _calls(first.value, "R.func_attr") else 0
    for name in dict.fromkeys(var.name for item in types for var in tir_vars_in_type(item)):
        if name not in known:
            function.body.insert(at, ast.parse(f"{name} = T.int64()").body[0])


def _marked(statements):
    return next((node for statement in statements for node in ast.walk(statement) if hasattr(node, "operands")), None)


def _until(statements):
    """Statements up to the marked call, whose operands become those of a packed call."""
    at = next(index for index, statement in enumerate(statements) if _marked([statement]))
    before, last = statements[:at], statements[at]
    if isinstance(last, ast.If):
        # Types alone are asked for, and no branch changes one of before.
        return [*before, *_until(last.body if _marked(last.body) else last.orelse)]
    if isinstance(last, ast.With):
        last.body = [*_until(last.body)[:-1], *ast.parse(f"R.output({OPERANDS})").body]
    else:
        operands = _marked([last]).operands
        last = ast.parse(f'{OPERANDS} = R.call_pure_packed("emit_te", ty_args=R.Any)').body[0]
        last.value.args.extend(operands)
    return [*before, last, *ast.parse(f"return {OPERANDS}").body]
