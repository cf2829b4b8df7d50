//! Combinations of passes and programs that once gave other results than TVM. TVM 0.27 ran every program here, and the
//! tests assert its results.

mod lowering;

use super::testing::after;

/// Makes a program of one function, with others before it. `n` and `m` are symbols.
fn program(others: &str, head: &str, body: &str) -> String {
    let lines: String = body.lines().map(|line| format!("        {line}\n")).collect();
    let symbols = "n = TypeVar(\"n\")\nm = TypeVar(\"m\")\n";
    format!("{symbols}@I.ir_module\nclass Module:\n{others}    @R.function\n    def main({head}):\n{lines}")
}

const SUB: &str = r#"    @R.function(private=True)
    def sub(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        y = R.exp(x)
        return y

"#;

#[test]
fn a_function_that_calls_no_private_one_is_tidied_too() {
    let body = r#"u = R.exp(b)
v = R.exp(a)
return v"#;
    let made = after(
        &program(SUB, r#"a: R.Tensor((2, 3), dtype="float32"), b: R.Tensor((2, 3), dtype="float32")"#, body),
        "InlinePrivateFunctions()",
    );
    assert!(made.contains("v: "), "{made}");
    assert!(!made.contains("u: "), "{made}");
}

#[test]
fn bindings_go_also_where_no_call_loses_an_argument() {
    let body = r#"u = R.exp(b)
v = R.exp(a)
return v"#;
    let made = after(
        &program(
            &SUB.replace(") ->", ", z: R.Tensor((2,), dtype=\"float32\")) ->"),
            r#"a: R.Tensor((2, 3), dtype="float32"), b: R.Tensor((2, 3), dtype="float32")"#,
            body,
        ),
        "RemoveUnusedParameters()",
    );
    assert!(made.contains("v: "), "{made}");
    assert!(!made.contains("u: "), "{made}");
}

#[test]
fn what_an_inner_function_uses_stays_when_nobody_calls_it() {
    let body = r#"lv = R.permute_dims(a)
@R.function
def f(q: R.Tensor((3, 2), dtype="float32")) -> R.Tensor((3, 2), dtype="float32"):
    r = R.add(q, lv)
    return r
v = R.exp(b)
return v"#;
    let made = after(
        &program("", r#"a: R.Tensor((2, 3), dtype="float32"), b: R.Tensor((2, 3), dtype="float32")"#, body),
        "DeadCodeElimination()",
    );
    assert!(made.contains("lv: "), "{made}");
    assert!(!made.contains("def f("), "{made}");
}

#[test]
fn a_call_with_side_effects_in_a_dataflow_block_stays() {
    let body = r#"with R.dataflow():
    v = R.exp(a)
    w = R.call_packed("f", b, ty_args=R.Any)
    R.output(v)
return v"#;
    let made = after(
        &program("", r#"a: R.Tensor((2, 3), dtype="float32"), b: R.Tensor((2, 3), dtype="float32")"#, body),
        "DeadCodeElimination()",
    );
    assert!(made.contains("call_packed"), "{made}");
}

#[test]
fn a_reduction_to_a_scalar_is_permuted_before_it_leaves() {
    let body = r#"with R.dataflow():
    v = R.sum(x)
    R.output(v)
return v"#;
    let made = after(
        &program("", r#"x: R.Tensor((3,), dtype="float32")"#, body),
        r#"ConvertLayout(desired_layouts={"relax.nn.conv2d": ["NHWC", "OHWI"]})"#,
    );
    assert!(made.contains("R.permute_dims(lv, axes=[])"), "{made}");
}

#[test]
#[should_panic(expected = "Invalid SLayout")]
fn the_sum_of_a_sum_has_no_layout() {
    let body = r#"with R.dataflow():
    u = R.sum(x)
    v = R.sum(u)
    R.output(v)
return v"#;
    after(
        &program("", r#"x: R.Tensor((3,), dtype="float32")"#, body),
        r#"ConvertLayout(desired_layouts={"relax.nn.conv2d": ["NHWC", "OHWI"]})"#,
    );
}

#[test]
#[should_panic(expected = "should not rewrite or delete any global-scope Var")]
fn a_tuple_with_more_than_tensors_cannot_leave_a_block() {
    let body = r#"with R.dataflow():
    v = (x, o)
    R.output(v)
return v"#;
    after(
        &program("", r#"x: R.Tensor((3,), dtype="float32"), o: R.Any"#, body),
        r#"ConvertLayout(desired_layouts={"relax.nn.conv2d": ["NHWC", "OHWI"]})"#,
    );
}

#[test]
#[should_panic(expected = "The type is not populated")]
fn a_field_cannot_leave_a_block_of_mixed_precision() {
    let body = r#"with R.dataflow():
    v = t[0]
    R.output(v)
return v"#;
    after(
        &program(
            "",
            r#"t: R.Tuple(R.Tensor((3, 3), dtype="float32"), R.Tensor((3, 3), dtype="float32")), x: R.Tensor((3, 3), dtype="float32")"#,
            body,
        ),
        "ToMixedPrecision()",
    );
}

#[test]
#[should_panic(expected = "Expected TensorType")]
fn mixed_precision_takes_tuples_of_tensors_only() {
    let body = r#"with R.dataflow():
    u = (x, o)
    v = R.exp(x)
    R.output(v)
return v"#;
    after(&program("", r#"x: R.Tensor((3,), dtype="float32"), o: R.Any"#, body), "ToMixedPrecision()");
}

#[test]
#[should_panic(expected = "Expected TensorType")]
fn mixed_precision_cannot_call_inner_functions() {
    let body = r#"with R.dataflow():
    @R.function
    def f(q: R.Tensor((3,), dtype="float32")) -> R.Tensor((3,), dtype="float32"):
        r = R.add(q, q)
        return r
    gv = f(x)
    R.output(gv)
return gv"#;
    after(&program("", r#"x: R.Tensor((3,), dtype="float32")"#, body), "ToMixedPrecision()");
}

#[test]
fn a_field_that_one_user_leaves_open_stays_in_single_precision() {
    let body = r#"with R.dataflow():
    u = t[0]
    w = t[1]
    p = R.matmul(x, u)
    v = R.matmul(p, w)
    R.output(v)
return v"#;
    let made = after(
        &program(
            "",
            r#"t: R.Tuple(R.Tensor((3, 3), dtype="float32"), R.Tensor((3, 3), dtype="float32")), x: R.Tensor((3, 3), dtype="float32")"#,
            body,
        ),
        "ToMixedPrecision()",
    );
    assert!(made.contains(r#"u: R.Tensor((3, 3), dtype="float32") = t[0]"#), "{made}");
}

#[test]
#[should_panic(expected = "no block is being built")]
fn a_body_without_blocks_has_no_symbols_in_mixed_precision() {
    let body = "return x";
    after(&program("", r#"x: R.Tensor((n,), dtype="float32")"#, body), "ToMixedPrecision()");
}

#[test]
#[should_panic(expected = "Expected TensorType")]
fn a_scalar_operand_cannot_stay_beside_one_that_changed() {
    let body = r#"with R.dataflow():
    u = R.matmul(x, x)
    w = R.tril(u, 1)
    v = R.matmul(w, u)
    R.output(v)
return v"#;
    after(
        &program(
            "",
            r#"t: R.Tuple(R.Tensor((3, 3), dtype="float32"), R.Tensor((3, 3), dtype="float32")), x: R.Tensor((3, 3), dtype="float32")"#,
            body,
        ),
        "ToMixedPrecision()",
    );
}

#[test]
fn the_shapes_of_both_gradients_of_a_quotient_are_asked_first() {
    let body = r#"with R.dataflow():
    y = R.divide(w, w)
    z = R.multiply(w, y)
    R.output(z)
return z"#;
    let made = after(&program("", r#"w: R.Tensor((), dtype="float32")"#, body), r#"Gradient(func_name="main")"#);
    assert!(
        made.contains(
            r#"lv: R.Tensor((), dtype="float32") = R.negative(y_adjoint)
            lv1: R.Tensor((), dtype="float32") = R.multiply(lv, y)
            lv2: R.Tensor((), dtype="float32") = R.divide(y_adjoint, w)"#
        ),
        "{made}"
    );
}

#[test]
fn what_has_a_symbolic_shape_is_computed_again() {
    let body = r#"with R.dataflow():
    y = R.tanh(x)
    z = R.sum(y)
    R.output(z)
return z"#;
    let made = after(&program("", r#"x: R.Tensor((n,), dtype="float32")"#, body), r#"Gradient(func_name="main")"#);
    assert!(made.contains(r#"y_cp: R.Tensor((n,), dtype="float32") = R.tanh(x)"#), "{made}");
}

#[test]
fn a_branch_loses_its_symbols_where_the_body_alone_is_rewritten() {
    let body = r#"if R.const(True, "bool"):
    y = R.exp(x)
else:
    y = R.nn.relu(x)
z = R.exp(y)
return z"#;
    let made = after(&program("", r#"x: R.Tensor((n,), dtype="float32")"#, body), "RemovePurityChecking()");
    assert!(made.contains(r#"z: R.Tensor(dtype="float32", ndim=1) = R.exp(y)"#), "{made}");
}

#[test]
fn what_only_the_return_gives_is_left_unbound() {
    let body = r#"R.func_attr({"num_input": 1})
with R.dataflow():
    v = R.exp(w)
    R.output(v)
return v"#;
    let made = after(
        &program("", r#"x: R.Tensor((3,), dtype="float32"), w: R.Tensor((3,), dtype="float32")"#, body),
        "LiftTransformParams()",
    );
    assert!(made.contains(r#"def main(x: R.Tensor((3,), dtype="float32")) ->"#), "{made}");
    assert!(made.contains("-> R.Tuple:"), "{made}");
    assert!(!made.contains("R.exp("), "{made}");
}

#[test]
fn a_scalar_that_names_another_gives_way_in_shapes_too() {
    let body = r#"with R.dataflow():
    e: T.int64 = k
    y = R.match_cast(d, R.Tensor((e,), dtype="float32"))
    R.output(y)
return y"#;
    let made = after(&program("", r#"k: T.int64, d: R.Tensor(dtype="float32", ndim=1)"#, body), "CanonicalizeBindings()");
    assert!(made.contains(r#"R.match_cast(d, R.Tensor((k,), dtype="float32"))"#), "{made}");
    assert!(!made.contains("T.int64()"), "{made}");
}

#[test]
fn extents_that_are_all_the_same_are_multiplied() {
    let body = r#"y = R.concat((x, x), axis=0)
return y"#;
    let made = after(&program("", r#"x: R.Tensor((n,), dtype="float32")"#, body), "Normalize()");
    assert!(made.contains(r#"y: R.Tensor((n * 2,), dtype="float32")"#), "{made}");
}

#[test]
fn an_index_that_is_only_divided_is_padded() {
    let made = |map: &str| {
        let body = format!("y = R.layout_transform(x, index_map=T.index_map(lambda i: ({map})))\nreturn y");
        after(&program("", r#"x: R.Tensor((14,), dtype="float32")"#, &body), "Normalize()")
    };
    for (map, shape) in [("i % 16,", "(16,)"), ("i // 16, i % 16", "(1, 16)"), ("i // 4, i % 16", "(4, 14)")] {
        assert!(made(map).contains(&format!("y: R.Tensor({shape}, ")), "{}", made(map));
    }
}

#[test]
fn calls_of_no_value_leave_the_name_to_others() {
    let body = r#"R.func_attr({"relax.force_pure": True})
R.vm.kill_object(x)
_: R.Any = R.call_packed("f", ty_args=(R.Any,))
__1: R.Any = R.call_packed("g", ty_args=(R.Any,))
return x"#;
    let made = after(&program("", r#"x: R.Tensor((3,), dtype="float32")"#, body), "Normalize()");
    assert!(made.contains("        _: R.Any = R.call_packed(\"f\""), "{made}");
    assert!(made.contains("        __1: R.Any = R.call_packed(\"g\""), "{made}");
}

#[test]
fn a_scattered_tensor_is_divided_along_the_axis_that_is_named() {
    let made = |axis: i64| {
        let body = format!("y = R.ccl.scatter_from_worker0(x, num_workers=2, axis={axis})\nreturn y");
        after(&program("", r#"x: R.Tensor((8, n), dtype="float32")"#, &body), "Normalize()")
    };
    assert!(made(0).contains("y: R.Tensor((4, n), "), "{}", made(0));
    assert!(made(1).contains("y: R.Tensor((8, T.Div(n, 2)), "), "{}", made(1));
}
