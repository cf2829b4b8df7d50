"""Random programs of Relay, and TVM 0.19's side of a pair: what `cross.py --relay` runs.

A module is made by TVM's own Python, operator after operator, each typed at once: what TVM refuses to type is left out. Values are
shared as a graph or bound by `let`; functions, closures, tuples and conditions stand between. Then TVM prints the module, and both
sides begin with that text.

TVM may have been built without LLVM. Then the kernels that fold constants are compiled by `gcc`, from the C that TVM writes, which has
no vectors: `tir.disable_vectorize` must be the default in that build (`src/driver/driver_api.cc`).
"""

import hashlib
import pathlib
import subprocess
import tempfile

import numpy
import tvm
from tvm import relay

THEMES = ["elementwise", "conv", "dense", "shape", "reduce", "tuple", "control", "quantised", "parallel", "norm", "fake"]
UNARY = ["exp", "log", "sqrt", "tanh", "sigmoid", "negative", "abs", "rsqrt", "nn.relu", "erf", "floor", "ceil", "copy", "sign", "round"]
BINARY = ["add", "subtract", "multiply", "divide", "maximum", "minimum", "power"]
SINGLE = """
InferType() SimplifyInference() FoldConstant() SimplifyExpr() SimplifyExpr() BackwardFoldScaleAxis() ForwardFoldScaleAxis() FoldScaleAxis()
DeadCodeElimination() DeadCodeElimination(inline_once=True) EliminateCommonSubexpr() CanonicalizeOps() FastMath() CanonicalizeCast()
FuseOps() FuseOps(fuse_opt_level=0) FuseOps(fuse_opt_level=2) CombineParallelConv2D() CombineParallelConv2D(min_num_branches=2)
CombineParallelDense() CombineParallelDense(min_num_branches=2) CombineParallelDense(min_num_branches=2,to_batch=False)
CombineParallelBatchMatmul() CombineParallelBatchMatmul(min_num_branches=2) FoldExplicitPadding() FlattenAtrousConv()
ConvertLayout({"nn.conv2d":["NHWC","default"]}) ConvertLayout({"nn.conv2d":["NCHW","default"]}) ToMixedPrecision()
ToMixedPrecision(missing_op_mode=2) DynamicToStatic() ToANormalForm() ToBasicBlockNormalForm() ToGraphNormalForm()
RemoveUnusedFunctions() Inline() EtaExpand(expand_global_var=True) LambdaLift() FakeQuantizationToInteger() LazyGradientInit() PartialEvaluate()
FirstOrderGradient() AnnotateTarget("x") AnnotateTarget(["x","y"]) MergeCompilerRegions() PartitionGraph() SplitArgs(2)
CapturePostDfsIndexInSpans() DefuseOps() AnnotateSpans() Legalize() qnn.Legalize() Legalize("FTVMQnnCanonicalize")
""".split()
SUITED = {
    "conv": ["ConvertLayout({\"nn.conv2d\":[\"NHWC\",\"default\"]})", "FoldScaleAxis()", "FoldExplicitPadding()", "FlattenAtrousConv()", "FuseOps()"],
    "dense": ["CombineParallelDense(min_num_branches=2)", "FuseOps()", "ToMixedPrecision()"],
    "parallel": ["CombineParallelDense(min_num_branches=2)", "CombineParallelConv2D(min_num_branches=2)", "EliminateCommonSubexpr()",
                 "CombineParallelBatchMatmul(min_num_branches=2)", "CombineParallelDense(min_num_branches=2,to_batch=False)"],
    "shape": ["SimplifyExpr()", "FuseOps()"],
    "control": ["ToANormalForm()", "ToBasicBlockNormalForm()", "PartialEvaluate()", "DeadCodeElimination()", "LambdaLift()", "Inline()", "FuseOps()"],
    "norm": ["SimplifyInference()", "SEQ SimplifyInference(), FoldScaleAxis()", "SEQ SimplifyInference(), FoldConstant(), SimplifyExpr(), FoldScaleAxis()"],
    "quantised": ["qnn.Legalize()", "Legalize(\"FTVMQnnCanonicalize\")", "FakeQuantizationToInteger()"],
    "fake": ["FakeQuantizationToInteger()"],
}
PIPELINES = [
    ["SimplifyInference()", "FoldConstant()", "FoldScaleAxis()", "CanonicalizeOps()", "FuseOps()"],
    ["EliminateCommonSubexpr()", "SimplifyExpr()", "CombineParallelConv2D(min_num_branches=2)", "CombineParallelDense(min_num_branches=2)", "FuseOps()"],
    ["AnnotateTarget(\"x\")", "MergeCompilerRegions()", "PartitionGraph()"],
    ["ToANormalForm()", "PartialEvaluate()", "DeadCodeElimination()"],
    ["ToBasicBlockNormalForm()", "ToGraphNormalForm()"],
    ["FuseOps()", "LambdaLift()", "Inline()"],
    ["FuseOps()", "DefuseOps()"],
    ["ToMixedPrecision()", "FoldConstant()", "CanonicalizeCast()"],
]


def without_llvm():
    """Gives TVM what it asks LLVM for."""
    folder = pathlib.Path(tempfile.gettempdir()) / "passlab-kernels"
    folder.mkdir(exist_ok=True)
    include = [f"-I{path}" for path in tvm._ffi.libinfo.find_include_path()]

    def build(module, _):
        source = tvm.get_global_func("target.build.c")(module, tvm.target.Target("c")).get_source()
        path = folder / hashlib.sha256(source.encode()).hexdigest()[:20]
        library = path.with_suffix(".so")
        if not library.exists():
            path.with_suffix(".c").write_text(source, encoding="utf-8")
            subprocess.run(["gcc", "-O1", "-w", "-shared", "-fPIC", "-Dhalf=_Float16", *include, path.with_suffix(".c"), "-o", library, "-lm"], check=True)
        return tvm.runtime.load_module(str(library))

    tvm.register_func("target.build.llvm", build)
    tvm.register_func("target.target_has_feature", lambda *_: False)
    tvm.register_func("target.llvm_get_vector_width", lambda *_: 128)


class Maker:
    """Makes the functions of a module."""

    def __init__(self, rng, theme):
        self.rng, self.theme, self.functions, self.serial = rng, theme, {}, 0

    def name(self, stem):
        self.serial += 1
        return f"{stem}{self.serial}"

    def module(self):
        for _ in range(self.rng.choice([0, 0, 1]) if self.theme != "control" else self.rng.randint(0, 2)):
            self.functions[relay.GlobalVar(self.name("f"))] = self.function(self.rng.randint(1, 3))
        self.functions[relay.GlobalVar("main")] = self.function(self.rng.randint(3, 12))
        return tvm.IRModule(dict(self.functions))

    def function(self, size):
        scope = Scope(self)
        for _ in range(self.rng.randint(1, 3)):
            scope.param()
        for _ in range(size):
            scope.step()
        return relay.Function(scope.params, scope.result())

    def infer(self, expr):
        """The type of an expression whose free variables have types."""
        module = tvm.IRModule(dict(self.functions))
        module["typed"] = relay.Function(relay.analysis.free_vars(expr), expr)
        return relay.transform.InferType()(module)["typed"].ret_type




class Scope:
    """Values that stand in one function, and what binds some of them."""

    def __init__(self, maker, outer=()):
        self.maker, self.rng, self.params, self.lets = maker, maker.rng, [], []
        self.values = list(outer)
        self.lets_often = maker.rng.random() < (0.6 if maker.theme == "control" else 0.15)

    def shape(self):
        rng, theme = self.rng, self.maker.theme
        if theme in ("conv", "norm", "fake") or (theme == "parallel" and rng.random() < 0.4):
            return (1, rng.choice([2, 4, 4, 8]), 8, 8)
        if theme == "dense" or theme == "parallel":
            return (rng.choice([1, 4]), rng.choice([4, 8]))
        return tuple(rng.choice([1, 2, 3, 4]) for _ in range(rng.choice([0, 1, 2, 2, 3, 4])))

    def param(self):
        dtype = self.rng.choice(["float32"] * 6 + ["int32", "float16"])
        if self.maker.theme in ("conv", "norm", "dense", "parallel", "fake"):
            dtype = "float32"
        if self.maker.theme == "quantised":
            dtype = self.rng.choice(["int8", "uint8", "float32"])
        shape = self.values[0][1].concrete_shape if self.values and self.rng.random() < 0.4 else self.shape()
        var = relay.var(self.maker.name("x"), shape=shape, dtype=dtype)
        self.params.append(var)
        self.values.append((var, var.type_annotation))

    def add(self, expr):
        """Types an expression and keeps it; a tuple also by its fields."""
        ty = self.maker.infer(expr)
        if self.rng.random() < (0.8 if self.lets_often else 0.05):
            var = relay.var(self.maker.name("v"), type_annotation=ty)
            self.lets.append((var, expr))
            expr = var
        if isinstance(ty, relay.TupleType):
            for index, field in enumerate(ty.fields):
                if isinstance(field, relay.TensorType) and self.rng.random() < 0.7:
                    self.values.append((relay.TupleGetItem(expr, index), field))
            self.values.append((expr, ty))
        else:
            self.values.append((expr, ty))
        return expr

    def tensor(self, test=lambda ty: True):
        found = [(e, t) for e, t in self.values if isinstance(t, relay.TensorType) and test(t)]
        if not found:
            raise ValueError("none")
        # Later ones are likelier, so that chains come out.
        return found[min(int(len(found) * (self.rng.random() ** 0.6)), len(found) - 1)]

    def floats(self, rank=None):
        return self.tensor(lambda t: t.dtype.startswith("float") and (rank is None or len(t.shape) == rank))

    def like(self, ty):
        return self.tensor(lambda t: t == ty)

    def weight(self, shape, dtype="float32"):
        """A parameter or a constant."""
        if self.rng.random() < 0.5:
            var = relay.var(self.maker.name("w"), shape=shape, dtype=dtype)
            self.params.append(var)
            return var
        return self.constant(shape, dtype)

    def constant(self, shape, dtype="float32"):
        count = int(numpy.prod(shape, dtype="int64"))
        values = [self.rng.choice([0, 1, 2, 3, 0.5, 4, -1]) for _ in range(min(count, 4096))]
        array = numpy.resize(numpy.array(values, dtype="float64"), count).reshape(shape)
        if "int" in dtype:
            array = numpy.abs(array) if dtype[0] == "u" else array
        return relay.const(array.astype(dtype))

    def scalar(self, dtype="float32"):
        return relay.const(self.rng.choice([0, 1, 2, 3, 0.5, 4]) if dtype.startswith("float") else self.rng.choice([0, 1, 2]), dtype)

    def result(self):
        chosen = [e for e, _ in self.values[-self.rng.choice([1, 1, 1, 2, 3]) :]]
        body = chosen[0] if len(chosen) == 1 else relay.Tuple(chosen)
        if len(chosen) == 1 and self.rng.random() < 0.3:
            body = self.values[-1][0]
        for var, value in reversed(self.lets):
            body = relay.Let(var, value, body)
        return body

    def step(self):
        kinds = {
            "elementwise": [self.unary, self.binary, self.binary, self.scalars, self.compare, self.casts],
            "conv": [self.conv, self.conv, self.conv, self.bias, self.unary, self.pool, self.binary, self.pads, self.scales],
            "dense": [self.dense, self.dense, self.bias, self.unary, self.binary, self.matmul, self.reshapes],
            "shape": [self.reshapes, self.reshapes, self.transposes, self.slices, self.joins, self.fills, self.unary, self.binary],
            "reduce": [self.reduces, self.reduces, self.unary, self.binary, self.reshapes],
            "tuple": [self.tuples, self.tuples, self.splits, self.joins, self.unary, self.binary],
            "control": [self.closure, self.conditions, self.calls, self.unary, self.binary, self.tuples, self.nested],
            "quantised": [self.quantise, self.quantised, self.unary, self.binary],
            "parallel": [self.branches, self.branches, self.joins, self.binary, self.unary],
            "norm": [self.norms, self.norms, self.conv, self.unary, self.binary, self.scales],
            "fake": [self.fakes, self.fakes, self.fakes, self.conv, self.pool, self.unary, self.joins],
        }[self.maker.theme]
        every = [self.unary, self.binary, self.scalars, self.casts, self.reshapes, self.transposes, self.reduces, self.tuples, self.splits,
                 self.joins, self.fills, self.slices, self.norms, self.closure, self.calls, self.annotations, self.compare]
        for _ in range(6):
            kind = self.rng.choice(kinds if self.rng.random() < 0.8 else every)
            kept = len(self.params)
            try:
                self.add(kind())
                return
            except (ValueError, IndexError, TypeError, tvm.error.TVMError):
                del self.params[kept:]

    def unary(self):
        value, _ = self.floats()
        name = self.rng.choice(UNARY)
        if name == "nn.relu":
            return relay.nn.relu(value)
        if self.rng.random() < 0.15:
            return self.rng.choice([lambda: relay.clip(value, 0.0, 6.0), lambda: relay.nn.leaky_relu(value, 0.1), lambda: relay.clip(value, -1.0, 4.0)])()
        return getattr(relay, name)(value)

    def binary(self):
        value, ty = self.tensor()
        name = self.rng.choice(BINARY)
        try:
            other, _ = self.like(ty) if self.rng.random() < 0.7 else self.tensor(lambda t: t.dtype == ty.dtype)
        except ValueError:
            other = self.constant(ty.concrete_shape, ty.dtype)
        return getattr(relay, name)(value, other)

    def scalars(self):
        value, ty = self.tensor()
        if self.rng.random() < 0.3:
            # No quotient, as above.
            name = self.rng.choice(["add", "subtract", "multiply", "maximum", "power"])
            return getattr(relay, name)(value, self.constant(ty.concrete_shape[-1:], ty.dtype))
        other = self.scalar(ty.dtype)
        pair = [value, other] if self.rng.random() < 0.6 else [other, value]
        return getattr(relay, self.rng.choice(BINARY))(*pair)

    def compare(self):
        value, ty = self.tensor()
        other, _ = self.like(ty)
        test = getattr(relay, self.rng.choice(["less", "greater", "equal", "less_equal", "not_equal"]))(value, other)
        return relay.where(test, value, other) if self.rng.random() < 0.7 else test

    def casts(self):
        value, ty = self.tensor()
        cast = relay.cast(value, self.rng.choice(["float32", "float16", "int32", "int8", "float64", ty.dtype]))
        return relay.cast(cast, self.rng.choice(["float32", "int32", "float16"])) if self.rng.random() < 0.4 else cast

    def conv(self):
        value, ty = self.floats(4)
        channels, out = int(ty.shape[1]), self.rng.choice([2, 4, 8])
        if int(ty.shape[3]) in (2, 4) and self.rng.random() < 0.7:
            channels = int(ty.shape[3])
            kernel = self.rng.choice([1, 3])
            weight = self.weight((kernel, kernel, channels, out), ty.dtype)
            return relay.nn.conv2d(value, weight, channels=out, kernel_size=kernel, padding=kernel // 2, data_layout="NHWC", kernel_layout="HWIO")
        kernel = self.rng.choice([1, 1, 3])
        groups = self.rng.choice([1, 1, 1, channels])
        out = channels if groups > 1 else out
        weight = self.weight((out, channels // groups, kernel, kernel), ty.dtype)
        stride, dilation = self.rng.choice([1, 1, 2]), self.rng.choice([1, 1, 1, 2])
        return relay.nn.conv2d(value, weight, strides=stride, padding=self.rng.choice([0, kernel // 2]), dilation=dilation, groups=groups,
                               channels=out, kernel_size=kernel)

    def bias(self):
        value, ty = self.floats()
        axis = 1 if len(ty.shape) > 1 else 0
        vector = self.weight((ty.concrete_shape[axis],), ty.dtype)
        if self.rng.random() < 0.5:
            return relay.nn.bias_add(value, vector, axis=axis)
        return relay.add(value, relay.expand_dims(vector, 1, len(ty.shape) - axis - 1))

    def scales(self):
        value, ty = self.floats(4)
        scale = self.weight((ty.concrete_shape[1], 1, 1), ty.dtype)
        # TVM's DivToMul leaves all but the first element of a constant undefined.
        divides = isinstance(scale, relay.Var) and self.rng.random() < 0.4
        return (relay.divide if divides else relay.multiply)(value, scale)

    def pool(self):
        value, _ = self.floats(4)
        return self.rng.choice([lambda: relay.nn.max_pool2d(value, (2, 2), (2, 2)), lambda: relay.nn.avg_pool2d(value, (2, 2), (2, 2)),
                                lambda: relay.nn.global_avg_pool2d(value), lambda: relay.nn.max_pool2d(value, (3, 3), padding=(1, 1)),
                                lambda: relay.nn.adaptive_avg_pool2d(value, (2, 2)), lambda: relay.nn.avg_pool2d(value, (3, 3), padding=(1, 1))])()

    def pads(self):
        value, ty = self.floats(4)
        pad = relay.nn.pad(value, ((0, 0), (0, 0), (1, 1), (1, 1)), self.rng.choice([0.0, 0.0, 1.0]))
        kernel = self.weight((4, ty.concrete_shape[1], 3, 3), ty.dtype)
        return relay.nn.conv2d(pad, kernel, kernel_size=3, channels=4) if self.rng.random() < 0.6 else relay.nn.max_pool2d(pad, (3, 3))

    def dense(self):
        value, ty = self.floats(2)
        units = self.rng.choice([4, 8])
        return relay.nn.dense(value, self.weight((units, ty.concrete_shape[1]), ty.dtype), units=self.rng.choice([units, None]))

    def matmul(self):
        value, ty = self.floats(2)
        if self.rng.random() < 0.5:
            return relay.nn.matmul(value, self.weight((ty.concrete_shape[1], 4), ty.dtype))
        return relay.squeeze(relay.nn.batch_matmul(relay.expand_dims(value, 0), self.weight((1, 4, ty.concrete_shape[1]), ty.dtype)), [0])

    def reshapes(self):
        value, ty = self.tensor()
        shape = ty.concrete_shape
        count = int(numpy.prod(shape, dtype="int64"))
        halves = [n for n in (1, 2, 3, 4, 8) if count % n == 0]
        first = self.rng.choice(halves)
        return self.rng.choice([lambda: relay.reshape(value, (-1,)), lambda: relay.reshape(value, (first, -1)), lambda: relay.reshape(value, (first, count // first)),
                                lambda: relay.expand_dims(value, self.rng.randint(0, len(shape))), lambda: relay.squeeze(value),
                                lambda: relay.reshape(value, (0, -1)), lambda: relay.nn.batch_flatten(value),
                                lambda: relay.reshape(relay.reshape(value, (-1,)), shape), lambda: relay.reverse_reshape(value, (-1, 0))])()

    def transposes(self):
        value, ty = self.tensor(lambda t: len(t.shape) > 1)
        axes = list(range(len(ty.shape)))
        self.rng.shuffle(axes)
        first = relay.transpose(value, axes if self.rng.random() < 0.8 else None)
        back = [axes.index(i) for i in range(len(axes))]
        if self.rng.random() < 0.15 and len(axes) == 4:
            return relay.layout_transform(value, "NCHW", "NHWC")
        return relay.transpose(first, self.rng.choice([back, axes])) if self.rng.random() < 0.3 else first

    def slices(self):
        value, ty = self.tensor(lambda t: len(t.shape) > 0)
        rank = len(ty.shape)
        return self.rng.choice([
            lambda: relay.strided_slice(value, [0] * rank, [self.rng.choice([1, 2, 100]) for _ in range(rank)]),
            lambda: relay.take(value, relay.const(numpy.array([0, 0], "int32")), axis=self.rng.randrange(rank)),
            lambda: relay.take(value, relay.const(0, "int32"), axis=0),
            lambda: relay.reverse(value, self.rng.randrange(rank)), lambda: relay.repeat(value, 2, self.rng.randrange(rank)),
            lambda: relay.tile(value, [2] * rank), lambda: relay.gather(value, 0, relay.zeros(ty.shape, "int32")),
            lambda: relay.one_hot(relay.cast(value, "int32"), relay.const(1.0), relay.const(0.0), 3, -1, "float32"),
        ])()

    def joins(self):
        value, ty = self.tensor()
        others = [value] + [self.like(ty)[0] for _ in range(self.rng.randint(1, 2))]
        if self.rng.random() < 0.4 or not len(ty.shape):
            return relay.stack(others, self.rng.randint(0, len(ty.shape)))
        return relay.concatenate(others, self.rng.randrange(len(ty.shape)))

    def fills(self):
        value, ty = self.tensor()
        shape = ty.concrete_shape
        return self.rng.choice([lambda: relay.zeros_like(value), lambda: relay.ones_like(value), lambda: relay.full_like(value, self.scalar(ty.dtype)),
                                lambda: relay.zeros(shape, ty.dtype), lambda: relay.ones(shape, ty.dtype), lambda: relay.full(self.scalar(ty.dtype), shape, ty.dtype),
                                lambda: relay.broadcast_to(value, (2,) + shape), lambda: relay.collapse_sum_like(value, value),
                                lambda: relay.broadcast_to_like(value, value), lambda: relay.reshape_like(value, value),
                                lambda: relay.arange(relay.const(0.0), relay.const(4.0), relay.const(1.0)), lambda: relay.shape_of(value)])()

    def reduces(self):
        value, ty = self.floats()
        axes = self.rng.sample(range(len(ty.shape)), self.rng.randint(0, len(ty.shape)))
        name = self.rng.choice(["sum", "mean", "max", "min", "prod", "argmax", "variance", "std", "logsumexp"])
        keep = self.rng.random() < 0.5
        return getattr(relay, name)(value, axis=axes or None, keepdims=keep)

    def splits(self):
        value, ty = self.tensor(lambda t: any(int(n) % 2 == 0 for n in t.shape))
        axis = self.rng.choice([i for i, n in enumerate(ty.concrete_shape) if n % 2 == 0])
        return relay.split(value, 2, axis).astuple() if self.rng.random() < 0.8 else relay.split(value, [1], axis).astuple()

    def tuples(self):
        found = [e for e, t in self.values if isinstance(t, relay.TupleType)]
        if found and self.rng.random() < 0.5:
            return relay.TupleGetItem(self.rng.choice(found), self.rng.randint(0, 1))
        made = relay.Tuple([self.rng.choice(self.values)[0] for _ in range(self.rng.randint(1, 3))])
        return relay.TupleGetItem(made, self.rng.randrange(len(made.fields))) if self.rng.random() < 0.3 else made

    def norms(self):
        value, ty = self.floats(4) if self.maker.theme == "norm" and self.rng.random() < 0.8 else self.floats()
        axis = 1 if len(ty.shape) > 1 else 0
        width = ty.concrete_shape[axis]
        def vector():
            return self.weight((width,), ty.dtype)
        last = (ty.concrete_shape[-1],)
        return self.rng.choice([
            lambda: relay.nn.batch_norm(value, vector(), vector(), vector(), vector(), axis=axis, center=self.rng.random() < 0.8,
                                        scale=self.rng.random() < 0.8)[0],
            lambda: relay.nn.batch_norm(value, vector(), vector(), vector(), vector(), axis=axis)[0],
            lambda: relay.nn.dropout(value, 0.5), lambda: relay.nn.softmax(value), lambda: relay.nn.log_softmax(value),
            lambda: relay.nn.layer_norm(value, self.weight(last, ty.dtype), self.weight(last, ty.dtype)), lambda: relay.nn.l2_normalize(value, 1e-5, [axis]),
            lambda: relay.nn.instance_norm(value, vector(), vector()), lambda: relay.nn.group_norm(value, vector(), vector(), 2),
            lambda: relay.nn.prelu(value, vector(), axis=axis), lambda: relay.nn.fast_softmax(value), lambda: relay.nn.lrn(value),
        ])()

    def annotations(self):
        value, _ = self.tensor()
        return self.rng.choice([lambda: relay.annotation.stop_fusion(value), lambda: relay.annotation.checkpoint(value),
                                lambda: relay.op.annotation.compiler_end(relay.nn.relu(relay.op.annotation.compiler_begin(value, "x")), "x"),
                                lambda: relay.annotation.on_device(value, tvm.cpu(), constrain_result=True)])()

    def quantise(self):
        value, _ = self.floats()
        scale, zero = relay.const(self.rng.choice([0.5, 2.0, 0.25])), relay.const(self.rng.choice([0, 0, 3]))
        quantised = relay.qnn.quantize(value, scale, zero, out_dtype=self.rng.choice(["int8", "uint8"]))
        return relay.qnn.dequantize(quantised, scale, zero) if self.rng.random() < 0.4 else quantised

    def quantised(self):
        value, ty = self.tensor(lambda t: t.dtype in ("int8", "uint8"))
        def f(x):
            return relay.const(float(x))
        def i(x):
            return relay.const(int(x))
        kind = self.rng.randrange(5)
        if kind == 0:
            return relay.qnn.requantize(value, f(0.5), i(0), f(0.25), i(self.rng.choice([0, 1])), out_dtype=ty.dtype)
        if kind == 1:
            return relay.qnn.dequantize(value, f(0.5), i(0))
        other = self.like(ty)[0]
        if kind == 2:
            return relay.qnn.concatenate([value, other], [f(0.5), f(0.25)], [i(0), i(1)], f(0.5), i(0), axis=0)
        operator = self.rng.choice([relay.qnn.add, relay.qnn.mul, relay.qnn.subtract])
        return operator(value, other, f(0.5), i(0), f(0.25), i(1), f(0.5), i(0))

    def fakes(self):
        """Floating point between dequantize and quantize."""
        value, _ = self.floats()
        scale, zero = relay.const(self.rng.choice([0.5, 2.0])), relay.const(self.rng.choice([0, 1]))
        dtype = self.rng.choice(["int8", "uint8"])
        there = relay.qnn.quantize(value, scale, zero, out_dtype=dtype)
        back = relay.qnn.dequantize(there, scale, zero)
        inner = self.rng.choice([lambda x: relay.nn.relu(x), lambda x: relay.nn.max_pool2d(x, (2, 2)), lambda x: relay.clip(x, 0.0, 6.0),
                                 lambda x: relay.reshape(x, (-1,)), lambda x: relay.add(x, x), lambda x: relay.multiply(x, x), lambda x: relay.mean(x, [2, 3]),
                                 lambda x: relay.transpose(x), lambda x: relay.concatenate([x, x], 1), lambda x: relay.nn.avg_pool2d(x, (2, 2)),
                                 lambda x: relay.nn.global_avg_pool2d(x), lambda x: relay.maximum(x, x), lambda x: relay.nn.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))),
                                 lambda x: relay.sigmoid(x), lambda x: relay.split(x, 2, 1)[0], lambda x: relay.expand_dims(x, 0), lambda x: relay.nn.leaky_relu(x, 0.1)])
        return relay.qnn.quantize(inner(back), scale, zero, out_dtype=dtype)

    def branches(self):
        """Several calls of one operator on one value."""
        value, ty = self.floats(self.rng.choice([2, 4]))
        made = []
        for _ in range(self.rng.randint(2, 3)):
            out = self.rng.choice([4, 8])
            if len(ty.shape) == 4:
                branch = relay.nn.conv2d(value, self.weight((out, ty.concrete_shape[1], 1, 1), ty.dtype), channels=out, kernel_size=1)
            else:
                branch = relay.nn.dense(value, self.weight((out, ty.concrete_shape[1]), ty.dtype))
            if self.rng.random() < 0.6:
                branch = relay.nn.bias_add(branch, self.weight((out,), ty.dtype))
            made.append(relay.nn.relu(branch) if self.rng.random() < 0.5 else branch)
        return relay.Tuple(made) if self.rng.random() < 0.5 else relay.concatenate(made, 1)

    def closure(self):
        if len(self.maker.functions) > 20:
            raise ValueError
        scope = Scope(self.maker, [pair for pair in self.values if self.rng.random() < 0.3])
        value, ty = self.tensor()
        var = relay.var(self.maker.name("a"), type_annotation=ty)
        # Parameters that a step adds become those of the enclosing function.
        scope.values.append((var, ty))
        for _ in range(self.rng.randint(1, 3)):
            scope.step()
        self.params.extend(scope.params)
        function = relay.Function([var], scope.result())
        if self.rng.random() < 0.3:
            closed = not relay.analysis.free_vars(function)
            function = function.with_attr("Primitive", 1) if closed and self.rng.random() < 0.3 else function.with_attr("Composite", "x.y")
        if self.rng.random() < 0.5:
            name = relay.var(self.maker.name("g"))
            return relay.Let(name, function, name(value) if self.rng.random() < 0.7 else relay.Tuple([name(value), name(value)]))
        return function(value)

    def nested(self):
        """A `let` inside an argument."""
        scope = Scope(self.maker, self.values)
        scope.lets_often = True
        for _ in range(self.rng.randint(1, 3)):
            scope.step()
        self.params.extend(scope.params)
        return scope.result()

    def conditions(self):
        value, ty = self.floats()
        test = self.rng.choice([lambda: relay.const(True), lambda: relay.less(relay.sum(value), relay.const(1.0, ty.dtype)),
                                lambda: relay.less(self.tensor(lambda t: len(t.shape) == 0)[0], relay.const(2, "int32"))])()
        sides = []
        for _ in range(2):
            scope = Scope(self.maker, self.values)
            scope.values = [(value, ty)]
            for _ in range(self.rng.randint(0, 2)):
                kept = scope.values[-1]
                made = self.rng.choice([scope.unary, scope.binary])()
                if self.maker.infer(made) == ty:
                    scope.add(made)
                else:
                    scope.values.append(kept)
            self.params.extend(scope.params)
            body = scope.values[-1][0]
            for var, bound in reversed(scope.lets):
                body = relay.Let(var, bound, body)
            sides.append(body)
        return relay.If(test, *sides)

    def calls(self):
        name = self.rng.choice(sorted((g for g in self.maker.functions), key=lambda g: g.name_hint))
        function = self.maker.functions[name]
        args = [self.like(p.type_annotation)[0] if self.rng.random() < 0.3 else self.weight(p.type_annotation.concrete_shape, p.type_annotation.dtype)
                for p in function.params]
        return name(*args)


def make(rng, theme):
    """A module of the theme as TVM prints it."""
    module = relay.transform.InferType()(Maker(rng, theme).module())
    return module.astext(show_meta_data=True)
