"""Passes over programs of Relax."""

import sys

from ..._catalogue import passes
from ...ir.module import IRModule
from ...ir.transform import (
    ModulePass,
    Pass,
    PassInfo,
    PyModulePass,
    UserPass,
    decorator,
    make_factory,
)


def _fill():
    here = sys.modules[__name__]
    for dialect in ("relay", "tir", "relax"):
        for name, item in passes(dialect).items():
            if "." not in name and "relax" in item["dialects"]:
                setattr(here, name, make_factory(name, item, "relax"))


_fill()
# Its name before 0.20.
VMBuiltinLower = LowerRuntimeBuiltin  # noqa: F821


def LegalizeOps(customize_legalize_map=None, skip_ops=None, enable_warning=False):
    """A pass that turns operators into calls of tensor programs. Functions of Python, of the map or registered, lower operators in
    another way: each is given the builder and the call, and returns an expression."""
    from .legalize import LegalizeOpsPass

    return LegalizeOpsPass(customize_legalize_map, skip_ops, enable_warning)


def AlterOpImpl(op_impl_map, op_buffer_transforms):
    """A pass that replaces tensor programs by their attribute `operator_name`. Arguments of the new one and its results are
    brought to its layouts and back, by a map of indices for each buffer."""
    from .alter_op_impl import alter_op_impl_pass

    return alter_op_impl_pass(op_impl_map, op_buffer_transforms)


def UpdateParamType(ty_func):
    """A pass that gives parameters the types that a function of them names; None leaves one as it is."""
    from .update_param_type import update_param_type_pass

    return update_param_type_pass(ty_func)


def UpdateVDevice(new_vdevice, index):
    """A pass that replaces a device of the module by another one, wherever types name it."""
    from .update_vdevice import update_vdevice_pass

    return update_vdevice_pass(new_vdevice, index)


def RunCodegen(target_options=None, entry_functions=None):
    """A pass that gives functions with the attribute `Codegen` to the compiler `relax.ext.NAME`, a function that is registered."""
    from .run_codegen import run_codegen_pass

    return run_codegen_pass(target_options, entry_functions)


def LazyTransformParams(fget_item="get_item", fset_item="set_item", extra_get_item_params=None, extra_set_item_params=None):
    """A pass that fetches weights where they are needed and hands results over, with further parameters for both functions."""
    from .lazy_params import lazy_transform_params_pass

    return lazy_transform_params_pass(fget_item, fset_item, extra_get_item_params, extra_set_item_params)


def BindParams(func_name, params):
    """A pass that replaces parameters of a function by constants, by variable or name."""
    from .bind import bind_params_pass

    return bind_params_pass(func_name, params)


def BindSymbolicVars(binding_map, func_name=None):
    """A pass that replaces symbolic variables, by variable or name."""
    from .bind import bind_symbolic_vars_pass

    return bind_symbolic_vars_pass(binding_map, func_name)


class FunctionPass(Pass):
    """A pass over the functions of Relax."""

    def _shown(self):
        return "relax.FunctionPass"


class DataflowBlockPass(Pass):
    """A pass over dataflow blocks."""

    def _shown(self):
        return "relax.DataflowBlockPass"


class PyFunctionPass(PyModulePass, FunctionPass):
    """A pass of the user's over functions."""

    def _apply(self, mod):
        from ...ir.transform import PassContext
        from ..expr import Function

        made = mod.clone()
        changed = False
        for var, func in mod.functions.items():
            if isinstance(func, Function):
                new = self._function(func, made, PassContext.current())
                if not isinstance(new, Function):
                    raise TypeError(f"a function pass must return a function, not {type(new).__name__}")
                if new is not func:
                    made[var] = new
                    changed = True
        return made if changed else mod


class PyDataflowBlockPass(PyModulePass, DataflowBlockPass):
    """A pass of the user's over dataflow blocks."""

    def _apply(self, mod):
        from ...ir.transform import PassContext
        from ..expr import Function
        from ..expr_functor import map_dataflow_blocks

        made = mod.clone()
        changed = False
        for var, func in mod.functions.items():
            if isinstance(func, Function):
                new = map_dataflow_blocks(func, made, lambda block: self._function(block, made, PassContext.current()))
                if new is not func:
                    made[var] = new
                    changed = True
        return made if changed else mod


def function_pass(pass_func=None, opt_level=None, name=None, required=None, traceable=False):
    """Makes a pass over functions of a function `(func, mod, ctx)` or of a class with `transform_function`."""
    return decorator(
        pass_func,
        opt_level,
        name,
        required,
        traceable,
        PyFunctionPass,
        "transform_function",
        "function pass",
    )


def dataflowblock_pass(pass_func=None, opt_level=None, name=None, required=None, traceable=False):
    """Makes a pass over dataflow blocks of a function `(block, mod, ctx)` or of a class with `transform_dataflowblock`."""
    return decorator(
        pass_func,
        opt_level,
        name,
        required,
        traceable,
        PyDataflowBlockPass,
        "transform_dataflowblock",
        "dataflowblock pass",
    )


class FusionPattern:
    """A pattern that is fused into a function of its own."""

    def __init__(self, name, pattern, annotation_patterns=None, check=None, attrs_getter=None):
        self.name = name
        self.pattern = pattern
        self.annotation_patterns = annotation_patterns or {}
        self.check = check
        self.attrs_getter = attrs_getter


class PatternCheckContext:
    """The facts about a match that a check of a pattern may look at."""

    def __init__(self, matched_expr, annotated_expr, matched_bindings, var_usages, value_to_bound_var):
        self.matched_expr = matched_expr
        self.annotated_expr = annotated_expr
        self.matched_bindings = matched_bindings
        self.var_usages = var_usages
        self.value_to_bound_var = value_to_bound_var


def FuseOpsByPattern(patterns, bind_constants=True, annotate_codegen=False, entry_functions=None):
    """A pass that makes functions of what looks like patterns."""
    from ..._node import EXPR, get
    from ..._values import Map
    from ...ir.module import name_id
    from ..dpl.pattern import Sent

    fusions = [item if isinstance(item, FusionPattern) else FusionPattern(*item) for item in patterns]

    def apply(mod, ctx):
        sent = Sent([fusion.pattern for fusion in fusions])

        def ask(index, words):
            fusion = fusions[index]
            matched = sent.matched(words[1:], 3)
            bindings, bound = Map(), Map()
            for at in range(1, len(words), 3):
                if words[at + 2]:
                    var, value = get(EXPR, words[at + 2] - 1), get(EXPR, words[at + 1])
                    bindings[var] = value
                    bound[value] = var
            annotated = {name: matched[one] for name, one in fusion.annotation_patterns.items() if one in matched}
            usages = _usages(mod)
            return bool(fusion.check(PatternCheckContext(get(EXPR, words[0]), annotated, bindings, usages, bound)))

        words = [int(bind_constants), int(annotate_codegen)]
        entries = list(entry_functions or ())
        words += [len(entries), *(name_id(name) for name in entries), len(fusions)]
        for fusion in fusions:
            words += [name_id(fusion.name), sent.at(fusion.pattern), int(fusion.check is not None)]
        before = mod._words()
        new = sent.do(4, words + before, ask)
        made = mod if new == before else IRModule._of_words(new, mod)
        return _with_getters(made, fusions)

    return PyModulePass(apply, PassInfo(0, "FuseOpsByPattern"))


def _usages(mod):
    from ..._values import Array, Map
    from ..analysis import used_vars
    from ..expr import Function
    from .._walks import all_bindings

    found = Map()
    for func in mod.values():
        if isinstance(func, Function):
            for binding in all_bindings(func):
                for var in used_vars(binding.value):
                    found.setdefault(var, Array()).append(binding.var)
    return found


def _with_getters(mod, fusions):
    return mod


def _rename_globals(mod, replacements):
    from ..expr_functor import rename_globals

    return rename_globals(mod, replacements)


from .compilers import (  # noqa: E402
    AttachExternModules,
    IPCAllReduceRewrite,
    MetaScheduleTuneIRMod,
    MetaScheduleTuneTIR,
    SplitCallTIRByPattern,
)

transform = sys.modules[__name__]
sys.modules[__name__ + ".transform"] = transform
_ = (IRModule, ModulePass, PassInfo, UserPass)
