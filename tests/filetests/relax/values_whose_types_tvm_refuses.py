# passlab 1
# pass: Normalize()
@I.ir_module
class Module:
    @R.function
    def a_call_stands_alone(x: R.Tensor((2,), "float32")):
        R.exp(x)
        return x

    @R.function
    def a_variable_stands_alone(x: R.Tensor((2,), "float32")):
        x
        return x

    @R.function(pure=False)
    def a_linked_function_stands_alone(x: R.Tensor((2,), "float32")):
        R.call_packed("f", x)
        return x

    @R.function
    def a_field_of_a_tensor(x: R.Tensor((2,), "float32")):
        y = x[0]
        return y

    @R.function(pure=False)
    def an_assertion_of_a_number(x: R.Tensor((), "float32")):
        R.assert_op(x, format="x")
        return x

    @R.function
    def a_place_that_is_not_there(x: R.Tensor((2,), "float32")):
        y = R.call_inplace_packed("f", x, inplace_indices=1, ty_args=R.Tensor((2,), "float32"))
        return y

    @R.function
    def a_place_of_another_type(x: R.Tensor((2,), "float32")):
        y = R.call_inplace_packed("f", x, inplace_indices=0, ty_args=R.Tensor((3,), "float32"))
        return y

    @R.function
    def places_and_one_type(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")):
        z = R.call_inplace_packed("f", x, y, inplace_indices=[0, 1], ty_args=R.Tensor((2,), "float32"))
        return z

    @R.function
    def no_place(x: R.Tensor((2,), "float32")):
        y = R.call_inplace_packed("f", x, inplace_indices=[-1], ty_args=R.Tensor((2,), "float32"))
        return y
