//! VMShapeLower: replaces symbolic shapes by numbers in a heap.
//!
//! Source: `src/relax/backend/vm/vm_shape_lower.cc`.

mod check;
mod slots;

use super::calls::{external, int, op, packed, tuple};
use crate::build::{BlockBuilder, BlockMutator, Mutation, any_leaf, run as rewrite};
use crate::ir::rewrite::Visit;
use crate::ir::{
    Binding, Buffer, DType, Dim, Expr, ExprId, Extents, Function, Id, Module, Name, PrimExpr, PrimFunc, PrimId, PrimParam, Stmt,
    Store, TensorInfo, Type, TypeId, VarId,
};
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run, explained};
use crate::{print, tir};
use check::{Context, Mode, Todo};
use rustc_hash::FxHashMap;
use slots::Slots;

/// TVM's `relax.transform.VMShapeLower`.
pub static SPEC: PassSpec = PassSpec {
    name: "VMShapeLower",
    info_name: "VMShapeLower",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[Param { name: "emit_err_ctx", default: "True", doc: "Whether checks know what to say when they fail." }],
    config: &[],
    summary: "Computes symbolic shapes at run time, in a heap of numbers.",
    doc: explained("Every extent that is no number gets a place in a heap of the function. At its beginning the parameters are checked, \
and extents that are variables are read from them into the heap; arithmetic over them is computed by functions of TIR \
(`shape_func`). Shapes that are values are made from the heap, a `match_cast` is checked, and so is the result. Inner functions \
are an error: `LambdaLift` comes before. A scalar that is computed, such as `m + 1`, is read from the heap if it is an extent, too; \
if only `m` is, it stays as it is written. TVM puts the call that reads `m` inside of the sum in both cases, which none of its own \
passes or code generators takes."),
    example_before: explained("\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), dtype=\"float32\")) -> R.Tensor((2, 3), dtype=\"float32\"):
        R.func_attr({\"relax.force_pure\": True})
        return x
"),
    example_after: explained("\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), dtype=\"float32\")) -> R.Tensor((2, 3), dtype=\"float32\"):
        R.func_attr({\"relax.force_pure\": True})
        shape_heap: R.Any = R.null_value()
        R.call_packed(\"vm.builtin.check_tensor_info\", x, 2, R.dtype(\"float32\"), R.str(\"ErrorContext(fn=main, loc=param[0], param=x, annotation=R.Tensor((2, 3), dtype=\\\"float32\\\")) \"), ty_args=(R.Tuple,))
        R.call_packed(\"vm.builtin.match_shape\", x, shape_heap, 2, 0, 2, 0, 3, R.str(\"ErrorContext(fn=main, loc=param[0], param=x, annotation=R.Tensor((2, 3), dtype=\\\"float32\\\")) \"), ty_args=(R.Tuple,))
        return x
"),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, args: &Args) -> Result<Module, PassError> {
    let store = &mut *cx.store;
    let builder = BlockBuilder::new(module);
    let mut under_way = Mutation::new(builder);
    for &(name, function) in module.functions() {
        let Expr::Function(id) = store.expr(function) else { continue };
        let data = *store.function(id);
        under_way.forget();
        match Lower::new(store, name, &data, args.bool("emit_err_ctx")) {
            Ok(mut lower) => {
                let new = lower.function(store, &mut under_way, function, data);
                under_way.builder.update_function(store, name, new);
            }
            Err(message) => under_way.builder.error("vm-shape-lower", message, None),
        }
    }
    under_way.builder.finish()
}

/// The lowering of one function.
struct Lower {
    /// The name of the function.
    title: Id<Name>,
    slots: Slots,
    /// The variable that holds the heap.
    heap: VarId,
    /// Places that have their value, and whose users are not updated yet.
    ready: Vec<usize>,
    /// True if checks carry error messages.
    contexts: bool,
    /// Types as printed in error messages: parameters share theirs.
    shown: FxHashMap<TypeId, String>,
}

impl Lower {
    fn new(store: &mut Store, title: Id<Name>, function: &Function, contexts: bool) -> Result<Lower, String> {
        let slots = Slots::of(store, function)?;
        let ty = if slots.list.is_empty() {
            store.ty(Type::Any)
        } else {
            store.tensor_like(TensorInfo { extents: Extents::Rank(1), dtype: Some(DType::I64), vdevice: None })
        };
        let heap = store.relax_var("shape_heap", Some(ty), false);
        Ok(Lower { title, slots, heap, ready: Vec::new(), contexts, shown: FxHashMap::default() })
    }

    fn function(&mut self, store: &mut Store, cx: &mut Mutation, pre: ExprId, function: Function) -> ExprId {
        let params: Vec<VarId> = store.items(function.params).collect();
        cx.builder.begin_scope(store, &params);
        cx.builder.begin_block(false);
        self.bind_heap(store, cx);
        // Weights, which come behind the inputs, are checked only where their extents are unknown.
        let inputs = store.attr_int(function.attrs, "num_input").map_or(params.len(), |count| count.max(0) as usize);
        let mut todo = Vec::new();
        for (at, &param) in params.iter().enumerate() {
            let Some(ty) = store.var_type(param) else { continue };
            let context = Context::Param { at, var: param, ty };
            let used = store.use_var(param);
            let mode = Mode { always: true, dynamic_only: at >= inputs };
            self.check(store, cx, (ty, used), mode, context, &mut todo);
            if let Some(place) = self.place_of(store, param) {
                todo.push(Todo { input: used, pattern: vec![self.slots.list[place].expr], context });
            }
        }
        self.settle(store, cx, todo);
        let before = cx.builder.end_block();
        cx.builder.begin_inner_scope();
        let body = rewrite(store, cx, self, function.body);
        cx.builder.end_scope();
        let Expr::Seq { blocks, body: result } = store.expr(body) else { return pre };
        let mut all = vec![store.add_block_of(&before, false)];
        all.extend(store.items(blocks));
        cx.builder.begin_block(false);
        if let Some(ret) = function.ret {
            let mut todo = Vec::new();
            let mode = Mode { always: false, dynamic_only: false };
            self.check(store, cx, (ret, result), mode, Context::Result(ret), &mut todo);
            self.run_match(store, cx, todo, true);
        }
        let after = cx.builder.end_block();
        all.push(store.add_block_of(&after, false));
        let blocks = cx.builder.join_blocks(store, &all);
        let ty = store.checked_type(result).map(|ty| cx.builder.erase(store, ty));
        let body = store.rebuild(function.body, Expr::Seq { blocks, body: result }, ty);
        cx.builder.end_scope();
        crate::build::function_over(store, Some(pre), Function { body, ..function })
    }

    fn bind_heap(&mut self, store: &mut Store, cx: &mut Mutation) {
        let Some(ty) = store.var_type(self.heap) else { return };
        let value = if self.slots.list.is_empty() {
            super::calls::call_typed(store, "null_value", &[], ty)
        } else {
            let size = int(store, self.slots.list.len() as i64);
            let size = tuple(store, &[size]);
            let alloc = external(store, "vm.builtin.alloc_shape_heap");
            let callee = op(store, "call_builtin_with_ctx");
            let args = store.list(&[alloc, size]);
            let info = store.add_call_info(None, &[ty]);
            store.add_typed(Expr::Call { callee, args, info }, Some(ty))
        };
        cx.builder.emit_normalized(store, Binding { var: self.heap, value, cast: None });
    }

    /// Matches the extents that can be matched, computes the values that depend on them, and matches the rest.
    fn settle(&mut self, store: &mut Store, cx: &mut Mutation, todo: Vec<Todo>) {
        let left = self.run_match(store, cx, todo, false);
        self.compute(store, cx);
        self.run_match(store, cx, left, true);
    }

    /// Returns the place of the scalar that a variable holds.
    fn place_of(&self, store: &mut Store, var: VarId) -> Option<usize> {
        let data = store.var_data(var);
        let symbol = data.symbol.filter(|_| !data.dataflow)?;
        let prim = store.prim(PrimExpr::Var(symbol));
        self.slots.place(prim)
    }

    /// Calls a function that computes all values that the last matched ones determine.
    fn compute(&mut self, store: &mut Store, cx: &mut Mutation) {
        let mut next = Vec::new();
        for ready in std::mem::take(&mut self.ready) {
            for at in 0..self.slots.list[ready].users.len() {
                let user = self.slots.list[ready].users[at];
                let slot = &mut self.slots.list[user];
                slot.outstanding = slot.outstanding.saturating_sub(1);
                if slot.outstanding == 0 {
                    next.push(user);
                }
            }
        }
        if next.is_empty() {
            return;
        }
        let size = store.prim_int(self.slots.list.len() as i64, DType::I64);
        let (name, scope) = (store.name("H"), store.name("global"));
        let buffer = store.add_buffer(Buffer::new(name, DType::I64, [size].into(), scope));
        let mut stmts = Vec::with_capacity(next.len());
        for place in next {
            self.slots.list[place].computed = true;
            let value = tir::substitute(store, self.slots.list[place].expr, &mut |store, symbol| {
                let var = store.prim(PrimExpr::Var(symbol));
                let index = store.prim_int(self.slots.place(var)? as i64, DType::I64);
                Some(store.prim(PrimExpr::Load { buffer, indices: [index].into() }))
            });
            let index = store.prim_int(place as i64, DType::I64);
            stmts.push(store.add_stmt(Stmt::Store { buffer, indices: [index].into(), value }));
        }
        let body = store.add_stmts(&stmts);
        let attrs = super::compute_prim_value::host_attrs(store);
        let function = PrimFunc { params: [PrimParam::Buffer(buffer)].into(), ret: None, attrs: Some(attrs), body };
        let function = store.add_prim_func(function);
        let function = store.add(Expr::PrimFunc(function));
        let callee = cx.builder.add_function(store, function, "shape_func");
        let heap = store.use_var(self.heap);
        let call = store.add_call(callee, &[heap], None);
        cx.builder.emit(store, call, "_");
    }

    /// Returns the operands that load an extent at run time: a number, or a place in the heap.
    fn load(&self, store: &mut Store, cx: &mut Mutation, expr: PrimId) -> [ExprId; 2] {
        if let Some(number) = store.as_prim_int(expr) {
            return [int(store, 0), int(store, number)];
        }
        match self.slots.place(expr).filter(|place| self.slots.list[*place].computed) {
            Some(place) => [int(store, 1), int(store, place as i64)],
            None => {
                let shown = crate::ir::show_dim(store, store.dim_of_prim(expr));
                cx.builder.error("vm-shape-lower", format!("PrimExpr {shown} has not been computed"), None);
                [int(store, 0), int(store, 0)]
            }
        }
    }

    fn scalar(&self, store: &mut Store, cx: &mut Mutation, expr: PrimId) -> ExprId {
        let heap = store.use_var(self.heap);
        let [code, value] = self.load(store, cx, expr);
        let ty = store.ty(Type::Prim(store.prim_dtype(expr)));
        packed(store, "vm.builtin.make_prim_value", &[heap, code, value], ty)
    }
}

impl BlockMutator for Lower {
    fn rule(&self) -> &'static str {
        "shape from the heap"
    }

    fn wants(&self, store: &Store, id: ExprId) -> bool {
        any_leaf(store, id, &mut |leaf| match store.expr(leaf) {
            Expr::Var(var) => store.var_data(var).symbol.is_some(),
            Expr::Shape(dims) => store.dims_of_id(dims).iter().any(|dim| dim.known().is_none()),
            Expr::Prim(_) => true,
            _ => false,
        })
    }

    fn wants_leaves(&self) -> bool {
        true
    }

    fn enter(&mut self, store: &mut Store, cx: &mut Mutation, id: ExprId) -> Visit {
        match store.expr(id) {
            Expr::Var(var) => match self.place_of(store, var) {
                Some(place) => Visit::Replace(self.scalar(store, cx, self.slots.list[place].expr)),
                None => Visit::Descend,
            },
            Expr::Prim(prim) if self.slots.place(prim).is_some() => Visit::Replace(self.scalar(store, cx, prim)),
            Expr::Shape(dims) => {
                let dims: Vec<Dim> = store.dims_of_id(dims).to_vec();
                if dims.iter().all(|dim| dim.known().is_some()) {
                    return Visit::Keep;
                }
                let heap = store.use_var(self.heap);
                let mut args = vec![heap, int(store, dims.len() as i64)];
                for dim in &dims {
                    let extent = store.prim_of_dim(*dim);
                    args.extend(self.load(store, cx, extent));
                }
                let ty = store.ty(Type::Shape(Extents::Rank(dims.len() as u32)));
                Visit::Replace(packed(store, "vm.builtin.make_shape", &args, ty))
            }
            Expr::Function(_) => {
                let message = "VMShapeLower do not work for local functions, make sure to run it after LambdaLift";
                cx.builder.error("vm-shape-lower", message, store.source_span(id));
                Visit::Keep
            }
            _ => Visit::Descend,
        }
    }

    fn bind(&mut self, store: &mut Store, cx: &mut Mutation, pre: Binding, value: ExprId) {
        let context = pre.cast.map_or(Context::Binding, Context::Cast);
        let mut value = value;
        if let Some(ty) = pre.cast {
            value = cx.builder.normalize_operand(store, value);
            let mut todo = Vec::new();
            self.check(store, cx, (ty, value), Mode { always: false, dynamic_only: false }, context, &mut todo);
            self.settle(store, cx, todo);
        }
        cx.reemit(store, pre, value);
        if let Some(place) = self.place_of(store, pre.var) {
            let used = match cx.replaced(pre.var) {
                Some(used) => used,
                None => store.use_var(pre.var),
            };
            self.match_scalar(store, cx, used, place, context);
        }
    }
}
/// Prints a type as in error contexts: TVM prints tuples outside of programs in the style of tensor programs.
fn shown(store: &Store, ty: TypeId) -> String {
    if matches!(store.type_of_id(ty), Type::Tuple(fields) if fields.is_empty()) {
        return "None".to_owned();
    }
    let text = without_quotes(&print::relax_ty(store, ty));
    if !text.starts_with("R.Tuple") {
        return text;
    }
    let text = text.replace("R.Tuple", "T.Tuple");
    // There the numbers of extents are printed as in tensor programs.
    let (mut rest, mut out) = (&*text, String::new());
    while let Some(open) = ["R.Tensor((", "R.Shape(["].iter().filter_map(|head| rest.find(head).map(|at| at + head.len())).min() {
        let mut depth = 1;
        let closes = |c: char| {
            depth += i32::from(matches!(c, '(' | '[')) - i32::from(matches!(c, ')' | ']'));
            depth == 0
        };
        let Some(length) = rest[open..].find(closes) else { break };
        out += &rest[..open];
        for word in rest[open..open + length].split_inclusive([' ', ',', '(', ')']) {
            let number = word.trim_end_matches([' ', ',', '(', ')']);
            match number.parse::<i64>() {
                Ok(value) => out += &format!("T.int64({value}){}", &word[number.len()..]),
                Err(_) => out += word,
            }
        }
        rest = &rest[open + length..];
    }
    out + rest
}

/// Removes the quotes around expressions over symbols, which occur only in the head of a function. Those of arguments
/// with a name stay.
fn without_quotes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut parts = text.split('"');
    out += parts.next().unwrap_or_default();
    while let Some(inside) = parts.next() {
        let quote = if out.ends_with('=') { "\"" } else { "" };
        out += quote;
        out += inside;
        out += quote;
        out += parts.next().unwrap_or_default();
    }
    out
}

#[cfg(test)]
mod tests {
    use crate::passes::relax::testing::after;

    /// TVM prints a tuple that stands in no program so.
    #[test]
    fn the_context_of_a_tuple_is_written_as_tensor_programs_have_it() {
        let text = "@I.ir_module\nclass Module:\n    @R.function\n    def main(t: R.Tuple(R.Tensor((2,), dtype=\"float32\"))) -> R.Tensor:\n        \
                    x: R.Tensor((2,), dtype=\"float32\") = t[0]\n        return x\n";
        let made = after(text, "VMShapeLower()");
        assert!(made.contains("annotation=T.Tuple(R.Tensor((T.int64(2),), dtype="), "{made}");
    }

    /// As TVM has it of a function with such a parameter (`test_vm_build.py`).
    #[test]
    fn extents_that_are_computed_stand_in_the_context_without_quotes_and_the_last_is_computed_first() {
        let text = "@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor((\"n\",), dtype=\"float32\"), \
                    y: R.Tensor((\"n + 1\", \"n * 2\"), dtype=\"float32\")) -> R.Tensor:\n        return x\n";
        let made = after(text, "VMShapeLower()");
        assert!(made.contains("annotation=R.Tensor((n + 1, n * 2), dtype=\\\"float32\\\")"), "{made}");
        let at = |text: &str| made.find(text);
        assert!(at("H[T.int64(2)] =") < at("H[T.int64(1)] ="), "{made}");
    }
}
