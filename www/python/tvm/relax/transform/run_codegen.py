"""Functions that are marked for another compiler are given to it; they are called by their names from then on."""

from ...error import InternalError
from ...ir.expr import Call, GenericConst, GlobalVar, Tuple
from ...ir.op import Op
from ...ir.transform import PassInfo, PyModulePass
from ..expr import ExternFunc, Function
from .._walks import post_order_visit
from ..expr_functor import PyExprMutator

_MARK = "Codegen"


def _attr(func, name):
    return func.attrs.get(name) if func.attrs is not None else None


class _Extern(PyExprMutator):
    """Calls functions of other compilers by their names."""

    def __init__(self, mod):
        super().__init__(mod)
        self._mod, self._externs = mod, {}
        self.constants = {}

    def module(self, entries):
        """The module whose entries call external functions."""
        exposed = [
            var
            for var, func in reversed(self._mod.functions_items())
            if isinstance(func, Function) and _attr(func, "global_symbol") and not _attr(func, _MARK)
        ]
        for name in dict.fromkeys([*entries, *(var.name_hint for var in exposed)]):
            var = self._mod.get_global_var(name)
            self.builder_.update_func(var, self.visit_expr(self._mod[var]))
        return self.builder_.get()

    def visit_call_(self, op):
        call = super().visit_call_(op)
        if not isinstance(op.op, GlobalVar):
            return call
        extern = self._extern(op.op)
        if extern is None:
            return call
        return Call(Op.get("relax.call_dps_packed"), [extern, Tuple(list(call.args))], None, [op.ty])

    def _extern(self, var):
        """The external function that a function of the module has become, or None."""
        name = var.name_hint
        if name not in self._externs:
            func = self._mod[name]
            made = self.visit_expr(func) if isinstance(func, Function) else None
            if not isinstance(made, ExternFunc):
                return None
            self._externs[name] = made
            # Without its attributes nothing keeps the function in the module.
            self.builder_.update_func(self._mod.get_global_var(name), func.without_attr("global_symbol").without_attr(_MARK))
        return self._externs[name]

    def visit_function_(self, op):
        mark = _attr(op, _MARK)
        if mark is None:
            return super().visit_function_(op)
        symbol = _attr(op, "global_symbol")
        found = []
        post_order_visit(op.body, lambda node: found.append(node) if isinstance(node, GenericConst) else None)
        for at, constant in enumerate(found):
            self.constants[constant] = f"{symbol}_{mark}_const_{at}"
        return ExternFunc(symbol)


def _compiled(mod, options, constants):
    """The modules that the compilers give for the functions that are marked."""
    from ... import get_global_func

    marked = {}
    for func in mod.values():
        if isinstance(func, Function):
            post_order_visit(func, lambda node: marked.setdefault(_attr(node, _MARK), []).append(node) if isinstance(node, Function) else None)
    made = []
    for mark, funcs in marked.items():
        if mark is None:
            continue
        compiler = get_global_func(f"relax.ext.{mark}", allow_missing=True)
        if compiler is None:
            raise InternalError(f"Check failed: Codegen is not found: relax.ext.{mark}")
        made.extend(compiler(funcs, options.get(mark, {}), constants))
    return made


def run_codegen_pass(target_options, entry_functions):
    """See `RunCodegen`."""
    entries, options = list(entry_functions or ()), dict(target_options or {})

    def apply(mod, ctx):
        from . import DeadCodeElimination

        mutator = _Extern(mod)
        made = mutator.module(entries)
        compiled = _compiled(mod, options, mutator.constants)
        if compiled:
            made = made.with_attr("external_mods", [*(mod.get_attr("external_mods") or ()), *compiled])
        if mutator.constants:
            made = made.with_attr("const_name_to_constant", {name: constant.data for constant, name in mutator.constants.items()})
        return DeadCodeElimination(entries)(made)

    return PyModulePass(apply, PassInfo(0, "RunCodegen"))
