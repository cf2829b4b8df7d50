//! DecorateDeviceScope: a whole function is for the device.
//!
//! Source: `src/s_tir/transform/decorate_device_scope.cc`.

use super::with_func;
use crate::ir::{AttrNode, DType, ExprId, Module, PrimFunc, Stmt};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};

/// TVM's `s_tir.transform.DecorateDeviceScope`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.DecorateDeviceScope",
    info_name: "s_tir.DecorateDeviceScope",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Marks the body of every function as one for the device.",
    doc: explained(
        "Around the body comes the attribute `device_scope`, by which *SplitHostDevice* knows what is to run on the device. \
Nothing is looked at, so a second run puts a second attribute around the first.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((8,), \"float32\")):
        A[0] = T.float32(1.0)
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(A: T.Buffer((8,), \"float32\")):
        T.attr({\"device_scope\": 0})
        A[0] = T.float32(1.0)
",
    ),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    Ok(Some(with_func(cx.store, "device scope added", func, |store, func| {
        let zero = store.prim_int(0, DType::I32);
        let key = store.name("device_scope");
        let body = store.add_stmt(Stmt::Attr { node: AttrNode::Nothing, key, value: zero, body: func.body });
        PrimFunc { body, ..func }
    })))
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::after;

    #[test]
    fn the_attribute_comes_around_the_whole_body() {
        let source = "@T.prim_func(private=True)\ndef f(A: T.Buffer((8,), \"float32\")):\n    A[0] = T.float32(1.0)\n    A[1] = T.float32(2.0)\n";
        let text = after(source, "s_tir.DecorateDeviceScope()");
        assert!(text.contains("        T.attr({\"device_scope\": 0})\n        A[0] = T.float32(1.0)\n"), "{text}");
    }
}
