//! Crossings of operators to tensor programs, of constants, and of groups.

use super::super::testing::after;
use super::{SUB, program};

const PROGRAMS: &str = r#"    @T.prim_func(private=True, s_tir=True)
    def f(w: T.Buffer((n, T.int64(4)), "float32"), k: T.int64, y: T.Buffer((T.int64(4),), "float32")):
        T.func_attr({"op_pattern": 0})
        for i in range(T.int64(4)):
            with T.sblock("c"):
                v = T.axis.spatial(T.int64(4), i)
                T.reads()
                T.writes(y[v])
                y[v] = T.Cast("float32", k)

    @T.prim_func(private=True, s_tir=True)
    def g(x: T.Buffer((T.int64(4),), "float32"), k: T.int64, y: T.Buffer((T.int64(4),), "float32")):
        T.func_attr({"op_pattern": 0})
        for i in range(T.int64(4)):
            with T.sblock("c"):
                v = T.axis.spatial(T.int64(4), i)
                T.reads(x[v])
                T.writes(y[v])
                y[v] = x[v] + T.Cast("float32", k)

"#;

#[test]
fn programs_are_numbered_in_the_order_of_the_functions_names() {
    let body = r#"y = R.exp(x)
return y"#;
    let made = after(&program(SUB, r#"x: R.Tensor((3,), dtype="float32")"#, body), "LegalizeOps()");
    assert!(made.contains("def tir_exp(x: T.Buffer((T.int64(3),)"), "{made}");
}

#[test]
#[should_panic(expected = "Divide by zero")]
fn a_division_by_zero_is_not_lowered() {
    let body = r#"y = R.divide(x, R.const(0, "float32"))
return y"#;
    after(&program("", r#"x: R.Tensor((3,), dtype="float32")"#, body), "LegalizeOps()");
}

#[test]
#[should_panic(expected = "Divide by zero")]
fn a_division_by_zero_is_not_folded() {
    let body = r#"with R.dataflow():
    y = R.divide(x, R.const(0, "float32"))
    R.output(y)
return y"#;
    after(&program("", r#"x: R.Tensor((3,), dtype="float32")"#, body), "FoldConstant()");
}

#[test]
#[should_panic(expected = "Back optional access")]
fn an_unknown_element_type_is_not_lowered() {
    let body = r#"y = R.nn.relu(x)
return y"#;
    after(&program("", "x: R.Tensor((3,))", body), "LegalizeOps()");
}

#[test]
#[should_panic(expected = "Back optional access")]
fn an_unknown_element_type_is_not_folded() {
    let body = r#"with R.dataflow():
    y = R.concat((x, x), axis=0)
    R.output(y)
return y"#;
    after(&program("", "x: R.Tensor((3,))", body), "FoldConstant()");
}

#[test]
#[should_panic(expected = "Cannot broadcast index shapes")]
fn a_symbol_does_not_fit_itself_as_a_shape_of_indices() {
    let body = r#"y = R.index_put(d, (i, i), v)
return y"#;
    after(
        &program(
            "",
            r#"d: R.Tensor((8, 8), dtype="float32"), i: R.Tensor((n,), dtype="int64"), v: R.Tensor((n,), dtype="float32")"#,
            body,
        ),
        "LegalizeOps()",
    );
}

#[test]
fn a_scalar_that_a_shape_tells_is_not_handed_over() {
    let body = r#"with R.dataflow():
    u = R.call_tir(Module.f, (w, n), out_ty=R.Tensor((4,), dtype="float32"))
    v = R.call_tir(Module.g, (u, n + 1), out_ty=R.Tensor((4,), dtype="float32"))
    R.output(v)
return v"#;
    let made = after(&program(PROGRAMS, r#"w: R.Tensor((n, 4), dtype="float32")"#, body), "FuseOps()");
    assert!(made.contains("cls.fused_f_g(w)"), "{made}");
}

#[test]
fn an_expression_of_symbols_is_handed_over_alone() {
    let body = r#"with R.dataflow():
    u = R.call_tir(Module.f, (w, n), out_ty=R.Tensor((4,), dtype="float32"))
    v = R.call_tir(Module.g, (u, n + m), out_ty=R.Tensor((4,), dtype="float32"))
    R.output(v)
return v"#;
    let made = after(
        &program(
            &PROGRAMS.replace("(n, T.int64(4))", "(T.int64(4),)"),
            r#"w: R.Tensor((4,), dtype="float32"), z: R.Tensor((n, m), dtype="float32")"#,
            body,
        ),
        "FuseOps()",
    );
    assert!(made.contains("cls.fused_f_g(w, n, n + m)"), "{made}");
}

#[test]
#[should_panic(expected = "Variable w could not be found in any group")]
fn an_unused_variable_of_a_branch_is_in_no_group() {
    let body = r#"with R.dataflow():
    u = R.exp(x)
    R.output(u)
if R.const(True, "bool"):
    with R.dataflow():
        w = R.exp(x)
        y1 = R.tanh(x)
        R.output(y1)
    y = y1
else:
    y = R.nn.relu(x)
return y"#;
    after(&program("", r#"x: R.Tensor((3,), dtype="float32")"#, body), "FuseOps()");
}

#[test]
#[should_panic(expected = "Do not have a default for ir.StringImm")]
fn a_text_is_no_operand_of_composite_functions() {
    let body = r#"y = R.builtin.alloc_tensor(R.shape([3]), R.dtype("float32"), 0, R.str("global"))
return y"#;
    after(&program("", r#"x: R.Tensor((3,), dtype="float32")"#, body), "MergeCompositeFunctions()");
}

#[test]
fn a_call_that_moves_a_tensor_keeps_its_attributes() {
    let source = r#"@I.ir_module
class Module:
    I.module_global_infos({"vdevice": [I.vdevice({"keys": ["cpu"], "kind": "llvm", "tag": ""}, 0, "global")]})
    @R.function
    def main(x: R.Tensor((3,), dtype="float32")):
        R.func_attr({"relax.force_pure": True})
        y = R.to_vdevice(x, dst_vdevice="llvm:0:global")
        return y
"#;
    let made = after(source, "LowerRuntimeBuiltin()");
    let kept = r#"R.call_packed("vm.builtin.to_device", x, 1, 0, R.str("global"), attrs_type_key="relax.attrs.ToVDeviceAttrs", dst_vdevice"#;
    assert!(made.contains(kept), "{made}");
}

#[test]
fn numbers_within_the_extents_of_a_tuple_are_those_of_tensor_programs() {
    let told = |ty: &str| {
        let body = "R.func_attr({\"relax.force_pure\": True})\ny: R.Any = R.call_packed(\"f\", x, ty_args=(R.Any,))\nreturn y";
        let source = program("", r#"x: R.Tensor((n, m), dtype="float32")"#, body);
        after(&source.replacen("):\n", &format!(") -> {ty}:\n"), 1), "VMShapeLower()").replace("\\\"", "\"")
    };
    let tuple = told(r#"R.Tuple(R.Tensor((m, n * 2 + 1), dtype="float32"), R.Shape([T.min(n, 4), 3]))"#);
    let wanted = r#"annotation=T.Tuple(R.Tensor((m, n * T.int64(2) + T.int64(1)), dtype="float32"), R.Shape([T.min(n, T.int64(4)), T.int64(3)])))"#;
    assert!(tuple.contains(wanted), "{tuple}");
    let tensor = told(r#"R.Tensor((m, n * 2), dtype="float32")"#);
    assert!(tensor.contains(r#"annotation=R.Tensor((m, n * 2), dtype="float32"))"#), "{tensor}");
}
