//! The tutorial's pass, as an example of the builder and the mutator: a convolution whose input is another convolution
//! moves with it into a function of its own. Convolutions are calls of tensor programs with the attribute `my_op_kind`.
//! The same in JavaScript is `www/user/samples/fuse-two-conv.js`.

use crate::build::{BlockBuilder, BlockMutator, Mutation, rewrite_module};
use crate::infer::infer_module;
use crate::ir::rewrite::Visit;
use crate::ir::{
    AttrValue, Binding, CallInfo, DType, Dialect, Dim, Expr, ExprId, Function, Id, List, Module, Store, TypeId, VarId,
};
use crate::{ops, parse, print, verify};

struct FuseTwoConv {
    module: Module,
}

/// A call of a convolution: the program, its input and its weight.
struct Conv {
    program: ExprId,
    input: ExprId,
    weight: ExprId,
}

impl FuseTwoConv {
    fn convolution(&self, store: &Store, id: ExprId) -> Option<Conv> {
        let call = store.call(id)?;
        if store.called_op(id) != ops::lookup_relax("call_tir") {
            return None;
        }
        let program = store.item(call.args, 0);
        let Expr::Global(name) = store.expr(program) else { return None };
        let Expr::PrimFunc(function) = store.expr(self.module.function(name)?) else { return None };
        let kind = store.attr_str(store.prim_func(function).attrs, "my_op_kind")?;
        let Expr::Tuple(args) = store.expr(store.item(call.args, 1)) else { return None };
        (kind == "convolution").then(|| Conv { program, input: store.item(args, 0), weight: store.item(args, 1) })
    }
}

impl BlockMutator for FuseTwoConv {
    fn rule(&self) -> &'static str {
        "fuse two convolutions"
    }

    fn enter(&mut self, store: &mut Store, _: &mut Mutation, id: ExprId) -> Visit {
        // Fused functions are not visited again, or they would call themselves.
        let fused = store.as_function(id).is_some_and(|function| store.attr(function.attrs, "Primitive").is_some());
        if fused { Visit::Keep } else { Visit::Descend }
    }

    fn leave(&mut self, store: &mut Store, cx: &mut Mutation, _: ExprId, post: ExprId) -> ExprId {
        let Some(second) = self.convolution(store, post) else { return post };
        let Expr::Var(input) = store.expr(second.input) else { return post };
        let Some(value) = cx.lookup_binding(store, input) else { return post };
        let Some(first) = self.convolution(store, value) else { return post };
        let (Some(between), Some(out)) = (store.checked_type(value), store.checked_type(post)) else { return post };
        let args = [first.input, first.weight, second.weight];
        let mut params = Vec::new();
        for (name, arg) in ["x", "w1", "w2"].into_iter().zip(args) {
            let ty = store.checked_type(arg);
            params.push(store.relax_var(name, ty, false));
        }
        let lv0 = store.relax_var("lv0", Some(between), true);
        let conv_2 = store.relax_var("conv_2", Some(out), false);
        let call_1 = call_tir(store, first.program, [params[0], params[1]], between);
        let call_2 = call_tir(store, second.program, [lv0, params[2]], out);
        let bindings = [(lv0, call_1), (conv_2, call_2)].map(|(var, value)| Binding { var, value, cast: None });
        let block = store.add_block_of(&bindings, true);
        let result = store.use_var(conv_2);
        let body = store.add_seq(&[block], result);
        let attrs = Some(store.with_attr(None, "Primitive", AttrValue::Bool(true)));
        let params = store.list(&params);
        let data = Function { params, type_params: List::EMPTY, ret: Some(out), body, attrs, device: None, pure: true };
        let function = store.function_expr(data);
        let function = cx.builder.normalize(store, function);
        let name = cx.builder.add_function(store, function, "fused_conv_conv");
        store.add_call(name, &args, None)
    }
}

fn call_tir(store: &mut Store, program: ExprId, args: [VarId; 2], out: TypeId) -> ExprId {
    let args = args.map(|arg| store.use_var(arg));
    let tuple = store.add_tuple(&args);
    let op = store.add(Expr::Op(ops::lookup_relax("call_tir").expect("call_tir")));
    let info: Option<Id<CallInfo>> = store.add_call_info(None, &[out]);
    let args = store.list(&[program, tuple]);
    store.add(Expr::Call { callee: op, args, info })
}

/// A convolution of one channel; the pass only looks at its name.
const CONV2D: &str = "@I.ir_module
class Module:
    @T.prim_func
    def conv2d(A: T.Buffer((T.int64(64),), \"float32\"), W: T.Buffer((T.int64(3),), \"float32\"), B: T.Buffer((T.int64(64),), \"float32\")):
        T.func_attr({\"my_op_kind\": \"convolution\"})
        for x, k in T.grid(T.int64(64), T.int64(3)):
            with T.sblock(\"conv2d\"):
                vx, vk = T.axis.remap(\"SR\", [x, k])
                with T.init():
                    B[vx] = T.float32(0)
                B[vx] = B[vx] + A[vx + vk] * W[vk]
";

/// Builds the unfused module with the builder.
fn two_convolutions(store: &mut Store) -> Module {
    let module = parse::parse(store, CONV2D).program.module;
    let builder = &mut BlockBuilder::new(&module);
    let extent = |value| [Dim::Int { value, bits: 64 }];
    let image = store.tensor_type(&extent(64), DType::F32);
    let kernel = store.tensor_type(&extent(3), DType::F32);
    let params = [("x", image), ("w1", kernel), ("w2", kernel)].map(|(name, ty)| store.relax_var(name, Some(ty), false));
    let name = store.name("conv2d");
    let conv2d = store.add(Expr::Global(name));
    builder.begin_scope(store, &params);
    builder.begin_block(true);
    let call = call_tir(store, conv2d, [params[0], params[1]], image);
    let lv = builder.emit(store, call, "");
    let Expr::Var(lv) = store.expr(lv) else { panic!("a variable is emitted") };
    let call = call_tir(store, conv2d, [lv, params[2]], image);
    let gv = builder.emit_output(store, call, "");
    let bindings = builder.end_block();
    let block = store.add_block_of(&bindings, true);
    let body = store.add_seq(&[block], gv);
    let symbol = AttrValue::Str(store.name("main"));
    let attrs = Some(store.with_attr(None, "global_symbol", symbol));
    let params = store.list(&params);
    let data = Function { params, type_params: List::EMPTY, ret: None, body, attrs, device: None, pure: true };
    let main = crate::build::function_over(store, None, data);
    builder.end_scope();
    builder.add_function(store, main, "main");
    let module = builder.module().clone();
    assert_eq!(module.dialect(), Dialect::Relax);
    module
}

#[test]
fn two_convolutions_in_a_row_become_a_function() {
    let store = &mut Store::new();
    let module = two_convolutions(store);
    assert_eq!(verify::verify(store, &module), []);
    let fused = rewrite_module(store, &module, &mut FuseTwoConv { module: module.clone() }).expect("types fit");
    assert_eq!(verify::verify(store, &fused), []);
    assert!(infer_module(store, &fused).is_ok());
    let text = print::module(store, &fused, &print::PrintOptions::default());
    let image = "R.Tensor((64,), dtype=\"float32\")";
    let call = |args: &str| format!("R.call_tir(cls.conv2d, ({args}), out_ty={image})");
    for line in [
        "    @R.function(private=True)\n    def fused_conv_conv(".to_owned(),
        "        R.func_attr({\"Primitive\": True})\n".to_owned(),
        format!("            lv0 = {}\n", call("x, w1")),
        format!("            conv_2 = {}\n", call("lv0, w2")),
        format!("            lv = {}\n", call("x, w1")),
        format!("            gv: {image} = cls.fused_conv_conv(x, w1, w2)\n"),
    ] {
        assert!(text.contains(&line), "{line}\n{text}");
    }
    // It is one rewrite, and a second time there is nothing to fuse.
    assert_eq!(store.log.done.len(), 1);
    let again = rewrite_module(store, &fused, &mut FuseTwoConv { module: fused.clone() });
    assert_eq!(again, Ok(fused));
}
