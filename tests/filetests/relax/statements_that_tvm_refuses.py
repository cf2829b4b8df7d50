# passlab 1
# pass: Normalize()
@I.ir_module
class Module:
    I.module_attrs({"a": 1})
    I.module_attrs({"b": 1})
    I.module_global_infos({"vdevice": [I.vdevice("abacus")]})

    @R.function
    def returns_nothing(x: R.Tensor((2,), "float32")):
        return None

    @R.function
    def returns_a_tuple_with_nothing(x: R.Tensor((2,), "float32")):
        return (x, None)

    @R.function
    def a_string_stands_alone(x: R.Tensor((2,), "float32")):
        "text"
        return x

    @R.function
    def a_block_with_a_name(x: R.Tensor((2,), "float32")):
        with R.dataflow() as block:
            y = R.exp(x)
            R.output(y)
        return y

    @R.function
    def too_many_fields(x: R.Tuple(R.Any, R.Any, R.Any)):
        a, b = x
        return a

    @R.function
    def too_few_fields(x: R.Tuple(R.Any)):
        a, b = x
        return a

    @R.function
    def fields_of_a_call(x: R.Tensor((2,), "float32")):
        a, b = R.split(x, 2)
        return a

    @R.function
    def a_symbol_of_two_types(x: R.Tensor(("n",), "float32")):
        n = T.int32()
        return x

    @R.function
    def a_symbol_over_a_tensor(x: R.Tensor((2,), "float32")):
        x = T.int64()
        return x

    @R.function
    def a_short_extent(n: T.int32):
        return R.shape([n])

    @R.function
    def a_string_in_the_body(x: R.Tensor(("n",), "float32")):
        y: R.Tensor(("n",), "float32") = R.exp(x)
        return y

    @R.function
    def a_parameter_behind_its_symbol(x: R.Tensor(("n",), "float32"), n: T.int64):
        return x

    @R.function
    def a_parameter_twice(x: R.Tensor((2,), "float32"), x: R.Tensor((2,), "float32")):
        return x

    @R.function(inline=True)
    def an_unknown_option(x: R.Tensor((2,), "float32")):
        return x

    @R.function
    def branches_of_different_names(c: R.Tensor((), "bool"), x: R.Tensor((2,), "float32")):
        if c:
            y = R.exp(x)
        else:
            z = R.exp(x)
        return y

    @R.function
    def the_maximum_of_one(x: R.Tensor((2,), "float32")):
        y = T.max(16)
        return y

    @R.function
    def a_list_in_a_tuple(x: R.Tensor((2,), "float32")):
        return R.tuple([x, x])

    @R.function
    def a_function_without_its_type(x: R.Tensor((2,), "float32")):
        return R.call_pure_packed("f", x)

    @R.function
    def a_cast_of_nothing(x: R.Tensor((2,), "float32")):
        y = R.match_cast(None, R.Any)
        return y

    @R.function(pure=False)
    def a_list_is_printed(x: R.Tensor((2,), "float32")):
        R.print([x])
        return x

    @R.function
    def ones_without_a_type(x: R.Tensor((2,), "float32")):
        return R.ones((2, 3))

    @R.function
    def zeros_of_no_type(x: R.Tensor((2,), "float32")):
        return R.zeros((2, 3), None)
