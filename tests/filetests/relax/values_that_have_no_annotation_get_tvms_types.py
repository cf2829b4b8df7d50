# passlab 1
# pass: Normalize()
@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice("llvm"), I.vdevice({"kind": "llvm", "mcpu": "skylake"}), I.vdevice("cuda", 1)]})

    @R.function
    def twice(f: R.Callable((R.Tensor((2,), "float32"),), R.Tensor((2,), "float32")), x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return f(f(x))

    @R.function
    def double(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return R.add(x, x)

    @R.function
    def function_as_operand(x: R.Tensor((2,), "float32")):
        return Module.twice(Module.double, x)

    @R.function
    def function_as_result(x: R.Tensor((2,), "float32")):
        return Module.double

    @R.function
    def linked_function_as_value(x: R.Tensor((2,), "float32")):
        f = R.ExternFunc("f")
        return f

    @R.function
    def void() -> R.Tuple:
        return R.tuple()

    @R.function
    def void_in_a_variable():
        a = Module.void()
        b = a
        return (a, b)

    @R.function(pure=False)
    def branches_without_values(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")):
        if c:
            R.print(x)
        else:
            R.print(c)
        return x

    @R.function
    def several_branches(n: T.int64, x: R.Tensor((2,), "float32")):
        if n < 1:
            y = x
        elif n < 2:
            y = R.exp(x)
        else:
            y = R.sin(x)
        return y

    @R.function
    def scalar_defines_no_extent_of_the_result(n: T.int64):
        y = R.zeros(R.shape([n]), "float32")
        return y

    @R.function
    def numbers(n: T.int64, x: R.Tensor((2,), "float32")):
        a = -n
        b = R.tuple(x, 3, 1.5, True)
        c = R.arange(n)
        d = x if True else a
        return (a, b, c, d)

    @R.function
    def attention(q: R.Tensor((2, 4, 8, 16), "float16"), b: R.Tensor((2, 8, 4, 4), "float16")):
        x = R.nn.attention(q, q, q, b, scale=0.5)
        y = R.nn.attention(q, q, q, None, 0.25, "TopLeft")
        z = R.nn.attention(q, q, q, bias=b)
        return (x, y, z)

    @R.function
    def default_of_a_parameter(x: R.Tensor((2,), "float32") = 1):
        return True
