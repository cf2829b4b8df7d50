"""Passes over programs of Relay."""

import sys

from ..._catalogue import passes
from ...ir.expr import GlobalVar
from ...ir.module import IRModule
from ...ir.transform import (
    Pass,
    PassContext,
    PassInfo,
    PyModulePass,
    UserPass,
    call_text,
    decorator,
    make_factory,
)
from ...runtime.registry import register_func
from .. import _walk
from ..expr import Call, Constant, Function, Var
from ..ty import TypeVar


def _fill():
    here = sys.modules[__name__]
    for name, item in passes("relay").items():
        if "." not in name:
            setattr(here, name, make_factory(name, item, "relay"))


_fill()


class _Api:
    """The passes under the name by which TVM's tests reach those without a function of their own."""

    def __getattr__(self, name):
        return getattr(sys.modules[__name__], name)


_ffi_api = _Api()


class FunctionPass(Pass):
    """A pass over the functions of Relay."""

    def _shown(self):
        return "relay.FunctionPass"


class PyFunctionPass(PyModulePass, FunctionPass):
    """A pass of the user's over functions."""

    def _apply(self, mod):
        made = mod.clone()
        for var, func in mod.functions.items():
            if _is_open(func):
                new = self._function(func, made, PassContext.current())
                if not isinstance(new, Function):
                    raise TypeError(f"a function pass must return a function, not {type(new).__name__}")
                made[var] = new
        return InferType()(made)  # noqa: F821


def _is_open(func):
    """True of a function that passes over functions enter."""
    return isinstance(func, Function) and not func.attrs.get("SkipOptimization") and not func.attrs.get("Compiler")


def function_pass(pass_func=None, opt_level=None, name=None, required=None):
    """Makes a pass over functions of a function `(func, mod, ctx)` or of a class with `transform_function`."""
    return decorator(pass_func, opt_level, name, required, False, PyFunctionPass, "transform_function", "function pass")


def build_config(opt_level=2, required_pass=None, disabled_pass=None, trace=None):
    """The context of passes, under its old name."""
    return PassContext(opt_level, required_pass, disabled_pass)


def _on_expr(expr, pass_):
    """An expression after a pass over the module that it makes."""
    entry = pass_(IRModule.from_expr(expr))["main"]
    return entry if isinstance(expr, Function) else entry.body


def InferTypeLocal(expr):
    """The type of an expression, which then knows it, as its parts know theirs."""
    from ..build_module import infer

    typed = infer(expr)
    before, after = _walk.post_order(expr), _walk.post_order(typed)
    if len(before) == len(after):
        for old, new in zip(before, after):
            if getattr(new, "_is_relay", False) and not isinstance(new, Constant) and type(old) is type(new):
                old.ty = new.ty
    expr.ty = typed.checked_type
    return typed.checked_type


def FoldConstantExpr(expr, mod, fold_qnn=False):
    """An expression with what is constant computed."""
    return _on_expr(expr, FoldConstant(fold_qnn))  # noqa: F821


def ToANormalFormExpr(e):
    """An expression in A-normal form."""
    return _on_expr(e, ToANormalForm())  # noqa: F821


def gradient(expr, mod=None, mode="higher_order"):
    """A function that computes the value of another and its derivative by each parameter. The mode `higher_order` takes branches,
    closures and calls of functions, and leaves cells in; `first_order` takes operators only."""
    if mode not in ("higher_order", "first_order"):
        raise Exception("unknown mode")
    made = IRModule.from_expr(expr) if mod is None or isinstance(expr, Function) and not len(mod.functions) else mod.clone()
    name = expr.name_hint if isinstance(expr, GlobalVar) else "main"
    if mod is not None and isinstance(expr, Function):
        made["main"] = expr
    made = InferType()(made)  # noqa: F821
    if mode == "first_order":
        return FirstOrderGradient()(made)[name]  # noqa: F821
    made = Gradient(name)(made)  # noqa: F821
    if mod is not None:
        # Functions that are called have versions with gradients, which go where they are.
        for var, func in made.functions.items():
            if var.name_hint.endswith("_grad"):
                mod[var] = func
    return made[name]


def to_cps(func, mod=None):
    """A function in continuation passing style. Versions of the functions that it calls go into the module."""
    made = IRModule() if mod is None else mod.clone()
    made["main"] = func
    made = _built_in("ToCPS")(InferType()(made))  # noqa: F821
    if mod is not None:
        for var, version in made.functions.items():
            if var.name_hint.endswith("_cps"):
                mod[var] = version
    return made["main"]


def un_cps(func):
    """A function that calls one in continuation passing style and returns what it answers with."""
    params = [Var(param.name_hint, param.checked_type) for param in func.params]
    answer = params.pop().type_annotation.arg_types[0]
    types = [TypeVar(var.name_hint, var.kind) for var in func.type_params][:-1]
    x = Var("x", answer)
    call = Call(func, [*params, Function([x], x, answer)], None, [*types, answer])
    return Function(params, call, answer, types, func.attrs)


def ToCPS(expr=None, mod=None):
    """A function in continuation passing style; without one, the pass."""
    return _built_in("ToCPS") if expr is None else to_cps(expr, mod)


def Defunctionalization(func, mod):
    """A function whose program takes no functions as arguments: data types and functions for that go into the module."""
    made = mod.clone()
    names = [var.name_hint for var, known in mod.functions.items() if known is func]
    name = names[0] if names else "main"
    made[name] = func
    made = _built_in("Defunctionalization", func_name=name)(InferType()(made))  # noqa: F821
    mod.type_definitions.update(made.type_definitions)
    for var, version in made.functions.items():
        if var.name_hint not in mod:
            mod[var] = version
    return made[name]


def ManifestAlloc(cpu_virtual_device=None):
    """Allocates the memory of the results of kernels; shapes and sizes are on the device of the host."""
    target = getattr(cpu_virtual_device, "target", None)
    return _built_in("ManifestAlloc", **({} if target is None else {"cpu_virtual_device": str(target)}))


def _built_in(name, **given):
    from ...ir.transform import BuiltInPass

    return BuiltInPass(call_text(name, given), False, "relay")


def MergeComposite(pattern_table):
    """Groups that look like patterns become functions: `(name, pattern)` or `(name, pattern, check)` in their order."""
    from ..dataflow_pattern import partition

    rows = [(*row, None)[:3] if len(row) == 2 else row for row in pattern_table]

    def merge(mod, ctx):
        made = mod.clone()
        for var, func in mod.functions.items():
            if not isinstance(func, Function) or func.attrs.get("Compiler"):
                continue
            for name, pattern, check in rows:
                made[var] = func = partition(pattern, func, {"Composite": name}, check or (lambda found: True))
                made = InferType()(made)  # noqa: F821
                func = made[var]
        return made

    return PyModulePass(merge, PassInfo(0, "MergeComposite"))


def RemoveUnusedFunctions(entry_functions=None):
    """Keeps functions that some functions need."""
    from ...ir.transform import BuiltInPass

    names = list(entry_functions) if entry_functions else ["main"]
    return BuiltInPass(call_text("RemoveUnusedFunctions", {"entry_functions": names}), False, "relay")


def EliminateCommonSubexpr(fskip=None):
    """Computes equal expressions once; `fskip` says of which calls that is not done."""
    from ...ir.transform import BuiltInPass

    if fskip is None:
        return BuiltInPass("EliminateCommonSubexpr()", False, "relay")

    def eliminate(mod, ctx):
        made = mod.clone()
        for var, func in mod.functions.items():
            if isinstance(func, Function):
                made[var] = _common(func, fskip)
        return InferType()(made)  # noqa: F821

    return PyModulePass(eliminate, PassInfo(3, "EliminateCommonSubexpr", ["InferType"]))


def _common(func, fskip):
    from ...ir.base import structural_equal
    from ..expr_functor import ExprMutator

    class Eliminate(ExprMutator):
        """Keeps the first of equal calls."""

        def __init__(self):
            super().__init__()
            self.known = {}

        def visit_call(self, call):
            new = super().visit_call(call)
            if fskip(new):
                return new
            key = (new.op, tuple(id(arg) for arg in new.args))
            for other in self.known.setdefault(key, []):
                same = other.attrs is new.attrs or (other.attrs and new.attrs and other.attrs == new.attrs)
                if same or structural_equal(other, new):
                    return other
            self.known[key].append(new)
            return new

    return Eliminate().visit(func)


def Legalize(legalize_map_attr_name="FTVMLegalize"):
    """Operators become others that kernels of the target take; what was registered (`register_legalize`) is asked first."""

    def legalize(mod, ctx):
        def answer(rule, call, attrs, args):
            return rule(attrs, args, [*(arg.checked_type for arg in call.args), call.checked_type])

        options = {"legalize_map_attr_name": legalize_map_attr_name}
        return _by_rules(mod, "Legalize", options, legalize_map_attr_name, answer)

    return PyModulePass(legalize, PassInfo(1, "Legalize", ["InferType"]))


def AlterOpLayout():
    """Operators get the layouts of the target's kernels; what was registered (`register_alter_op_layout`) is asked first."""

    def alter(mod, ctx):
        def answer(rule, call, attrs, args):
            types = []
            for arg in call.args:
                ty = arg.checked_type
                types += ty.fields if hasattr(ty, "fields") else [ty]
            return rule(attrs, args, types, call.checked_type)

        return _by_rules(mod, "AlterOpLayout", {}, "FTVMAlterOpLayout", answer)

    return PyModulePass(alter, PassInfo(3, "AlterOpLayout", ["InferType"]))


class LayoutConfig:
    """Says in a `with` which convolutions ConvertLayout leaves as they are, by their numbers."""

    current = None

    def __init__(self, skip_layers=None):
        self.skip_counter = 0
        self.skip_layers = [] if skip_layers is None else skip_layers

    def check_skip(self):
        """True if the next convolution is left."""
        self.skip_counter += 1
        return self.skip_counter - 1 in self.skip_layers

    def reset(self):
        """Begins anew, and leaves none."""
        self.skip_counter, self.skip_layers = 0, []

    def __enter__(self):
        self._before, LayoutConfig.current = LayoutConfig.current, self
        return self

    def __exit__(self, *exc):
        LayoutConfig.current = self._before


def ConvertLayout(desired_layouts):
    """Operators get the layouts that are named for them, and what is between them goes along; what was registered
    (`register_convert_op_layout`) is asked first."""
    desired = {str(name): [str(layout) for layout in layouts] for name, layouts in dict(desired_layouts).items()}
    if LayoutConfig.current is None and not _rules("FTVMConvertOpLayout"):
        return _built_in("ConvertLayout", desired_layouts=desired)

    def convert(mod, ctx):
        def answer(rule, call, attrs, args):
            types = [*(arg.checked_type for arg in call.args), call.checked_type]
            return rule(attrs, args, types, desired[call.op.name])

        config = LayoutConfig.current
        skipped = [] if config is None else [layer - config.skip_counter for layer in config.skip_layers]
        options = {"desired_layouts": desired, "skip_layers": [layer for layer in skipped if layer >= 0]}
        return _by_rules(mod, "ConvertLayout", options, "FTVMConvertOpLayout", answer)

    return PyModulePass(convert, PassInfo(3, "ConvertLayout", ["InferType", "CanonicalizeOps"]))


@function_pass(opt_level=1)
class ChangeBatch:
    """Gives parameters another extent: `data` says for each of them which axis is that of the batch."""

    def __init__(self, data, batch_size=16):
        self.data = data
        self.batch_size = batch_size

    def transform_function(self, func, mod, ctx):
        """The function over other parameters."""
        from ..expr_functor import ExprMutator
        from ..ty import TensorType

        data, size = self.data, self.batch_size

        class OtherParams(ExprMutator):
            """Replaces the parameters."""

            def visit_var(self, var):
                if var not in data:
                    return var
                shape = list(var.type_annotation.shape)
                shape[data[var]] = size
                return Var(var.name_hint, TensorType(shape, var.type_annotation.dtype))

        return OtherParams().visit(Function(func.params, func.body, None, func.type_params, func.attrs))


def _rules(key):
    """The functions that are registered for operators under a key."""
    from ...ir.op import _attributes

    return {op: rule for (op, known), (rule, _) in _attributes.items() if known == key and callable(rule)}


def _by_rules(mod, name, options, key, answer):
    """A module after a pass of the engine's, which asks what is registered for operators under `key`."""
    from ... import _engine
    from ..._node import ATTRS, EXPR, get, number
    from ...ir import transform
    from ...target import Target

    rules = _rules(key)
    target = Target.current()
    if key == "FTVMLegalize" and target is not None and target.kind.name == "cuda":
        from ._tensor_cores import RULES

        rules = {**RULES, **rules}
    if not rules and name == "Legalize" and key not in ("FTVMLegalize", "FTVMQnnLegalize", "FTVMQnnCanonicalize"):
        return mod

    def ask(_, words):
        call = get(EXPR, words[0])
        attrs = get(ATTRS, words[1] - 1) if words[1] else None
        made = answer(rules[call.op.name], call, attrs, [get(EXPR, word) for word in words[2:]])
        return _engine.words([] if made is None else [number(EXPR, made)])

    mod = InferType()(mod)  # noqa: F821
    transform._setup()
    words = mod._words()
    text = call_text(name, options if target is None or name == "ConvertLayout" else {**options, "target": target})
    asked = transform.ask_key(ask)
    try:
        new = _engine.call("user_op_rules", text, list(rules), _engine.words(words), asked)
    finally:
        transform.forget_ask(asked)
    return InferType()(IRModule._of_words(new, mod))  # noqa: F821


def AnnotateTarget(targets, include_non_call_ops=True):
    """Marks what the compilers take; the engine knows the operators of those for which nothing is registered."""
    targets = [targets] if isinstance(targets, str) else [str(target) for target in targets]

    def annotate(mod, ctx):
        from . import _annotate_target

        known = _annotate_target.rules(targets)
        if not known:
            return _built_in("AnnotateTarget", targets=targets, include_non_call_ops=bool(include_non_call_ops))(mod)
        mod = InferType()(mod)  # noqa: F821
        made = mod.clone()
        for var, func in mod.functions.items():
            if _is_open(func):
                made[var] = _annotate_target.AnnotateTarget(targets, known, include_non_call_ops).visit(func)
        return InferType()(made)  # noqa: F821

    return PyModulePass(annotate, PassInfo(0, "AnnotateTarget"))


def CollagePartition(config, cost_estimator=None):
    """Gives parts of functions to the compilers by which they cost least."""
    from .. import collage

    return collage.partition_pass(config, collage.CostEstimator() if cost_estimator is None else cost_estimator)


def PlanDevices(config):
    """Everything gets its device: `config` is what `make_compilation_config` gives."""
    from ...ir.transform import BuiltInPass

    targets = [target.kind.name for target in config.primitive_targets]
    inner = BuiltInPass(call_text("PlanDevices", {"config": targets}), False, "relay")
    if config.fallback is None:
        return inner

    def plan(mod, ctx):
        with PassContext(ctx.opt_level, config={**ctx.config, "relay.fallback_device_type": config.fallback}):
            return inner(mod)

    return PyModulePass(plan, PassInfo(0, "PlanDevices"))


from ._compiler_functions import (  # noqa: E402, F401
    InlineCompilerFunctionsBoundTo,
    MarkCompilerFunctionsAsExtern,
    OutlineCompilerFunctionsWithExistingGlobalSymbols,
)
from ._fake_quantization import FakeQuantizationToInteger  # noqa: E402, F401
from ._regions import CapturePostDfsIndexInSpans, PartitionGraph  # noqa: E402, F401
from .flexible_shape import FlexibleShapeDispatch  # noqa: E402, F401
from . import mixed_precision  # noqa: E402, F401
from .recast import recast  # noqa: E402, F401


def _not_here(name):
    def factory(*args, **kwargs):
        raise NotImplementedError(f"{name} is not among the passes that are here")

    factory.__name__ = name
    factory.__doc__ = "Not here."
    return factory


for _name in ("Defunctionalization BatchingOps ToCPS to_cps un_cps DenseToSparse Conv2dToSparse Conv2dToSparse2 SimplifyFCTranspose LabelOps").split():
    if _name not in globals():
        globals()[_name] = _not_here(_name)
register_func("relay.transform.RecoverVirtualDeviceMap", _not_here("RecoverVirtualDeviceMap"))
_ = (UserPass, passes)
