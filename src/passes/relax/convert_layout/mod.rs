//! ConvertLayout: converts operators to the desired layouts.
//!
//! Source: `src/relax/transform/convert_layout.cc`, `src/relax/transform/infer_layout_utils.cc`.

mod rewrite;

use super::calls::op_name;
use crate::build::{BlockMutator, Mutation, rewrite_function};
use crate::diag::Diagnostic;
use crate::ir::rewrite::Visit;
use crate::ir::{Binding, BindingBlock, Dialect, Expr, ExprId, Id, Module, Store, VarId};
use crate::ops;
use crate::ops::relax::layout::{Infer, Inferred, ValueLayout};
use crate::pass::{Args, Literal, Param, PassCx, PassError, PassSpec, Run, explained};
use crate::passes::any::desired_layouts::{DesiredLayouts, desired_layouts, unknown_operators};
use rewrite::{is_nested_tensor, starts};
use rustc_hash::FxHashMap;

/// TVM's `relax.transform.ConvertLayout`.
pub static SPEC: PassSpec = PassSpec {
    name: "ConvertLayout",
    info_name: "ConvertLayout",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[
        Param {
            name: "desired_layouts",
            default: "",
            doc: explained("For each operator the layouts of data, weight and, if another one, output: {\"relax.nn.conv2d\": [\"NHWC\", \"OHWI\"]}."),
        },
        Param {
            name: "layout_cb",
            default: "None",
            doc: explained("A function of Python that chooses layouts for each call; it cannot be given here."),
        },
    ],
    config: &[],
    summary: "Converts convolutions to other layouts, and what is between them.",
    doc: explained("In dataflow blocks, every operator named in `desired_layouts` gets its operands in these layouts, by `R.permute_dims` or, \
where axes are split, `R.layout_transform`. What comes behind follows: each operator says which layouts it takes and what changes in its \
attributes. Operators that do not say get what they had, and so does what leaves the block.\n\n\
Known divergence: layouts that a function chooses for each call (`layout_cb`) are not taken."),
    example_before: explained("\
# ConvertLayout(desired_layouts={\"relax.nn.conv2d\": [\"NHWC\", \"OHWI\"]})
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3, 8, 8), dtype=\"float32\"), w: R.Tensor((4, 3, 3, 3), dtype=\"float32\")) -> R.Tensor((2, 4, 6, 6), dtype=\"float32\"):
        with R.dataflow():
            y = R.nn.conv2d(x, w, out_dtype=\"float32\")
            z = R.nn.relu(y)
            R.output(z)
        return z
"),
    example_after: explained("\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3, 8, 8), dtype=\"float32\"), w: R.Tensor((4, 3, 3, 3), dtype=\"float32\")) -> R.Tensor((2, 4, 6, 6), dtype=\"float32\"):
        with R.dataflow():
            lv: R.Tensor((2, 8, 8, 3), dtype=\"float32\") = R.permute_dims(x, axes=[0, 2, 3, 1])
            lv1: R.Tensor((4, 3, 3, 3), dtype=\"float32\") = R.permute_dims(w, axes=[0, 2, 3, 1])
            y: R.Tensor((2, 6, 6, 4), dtype=\"float32\") = R.nn.conv2d(lv, lv1, strides=[1, 1], padding=[0, 0, 0, 0], dilation=[1, 1], groups=1, data_layout=\"NHWC\", kernel_layout=\"OHWI\", out_layout=\"NHWC\", out_dtype=\"float32\")
            lv2: R.Tensor((2, 6, 6, 4), dtype=\"float32\") = R.nn.relu(y)
            z: R.Tensor((2, 4, 6, 6), dtype=\"float32\") = R.permute_dims(lv2, axes=[0, 3, 1, 2])
            R.output(z)
        return z
"),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, function: ExprId, args: &Args) -> Result<ExprId, PassError> {
    if !matches!(args.get("layout_cb"), Literal::None) {
        let text = "layout_cb is a function of Python, which does not run here; `desired_layouts` says which layouts are wanted";
        return Err(vec![Diagnostic::error("relax-convert-layout", text, None)]);
    }
    let desired = desired_layouts(args)?;
    cx.diagnostics.extend(unknown_operators(&desired, Dialect::Relax));
    rewrite_function(cx.store, module, function, &mut Convert { desired, layouts: FxHashMap::default() })
}

/// The rewriting of one function. The layouts of a dataflow block's bindings are known only in that block.
struct Convert {
    desired: DesiredLayouts,
    layouts: FxHashMap<VarId, ValueLayout>,
}

impl BlockMutator for Convert {
    fn rule(&self) -> &'static str {
        "another layout"
    }

    fn wants_leaves(&self) -> bool {
        true
    }

    fn enter(&mut self, store: &mut Store, cx: &mut Mutation, id: ExprId) -> Visit {
        // Values outside of the rules are used in their old layouts.
        if cx.builder.is_dataflow() && matches!(store.expr(id), Expr::Var(_)) {
            return match self.as_it_was(store, cx, id) {
                Some(other) => Visit::Replace(other),
                None => Visit::Keep,
            };
        }
        Visit::Descend
    }

    fn end_block(&mut self, store: &mut Store, cx: &mut Mutation, block: Id<BindingBlock>) {
        if !store.block(block).dataflow {
            return;
        }
        let lost = store.block_bindings(block).find(|binding| {
            let stays = |id: ExprId| matches!(store.expr(id), Expr::Var(var) if var == binding.var);
            !store.var_data(binding.var).dataflow && cx.replaced(binding.var).is_some_and(|new| !stays(new))
        });
        if let Some(binding) = lost {
            let message = "Error: DataflowBlock Pass should not rewrite or delete any global-scope Var.".to_owned();
            cx.builder.error("convert-layout", message, store.source_span(binding.value));
        }
    }

    fn enter_binding(&mut self, store: &mut Store, cx: &mut Mutation, binding: Binding) -> bool {
        if !cx.builder.is_dataflow() {
            return true;
        }
        let outcome = match store.expr(binding.value) {
            _ if binding.cast.is_some() && !store.var_data(binding.var).dataflow => None,
            _ if binding.cast.is_some() => Some(self.match_cast(store, cx, binding)),
            Expr::Call { .. } => Some(self.call(store, cx, binding)),
            Expr::Tuple(_) => Some(self.tuple(store, cx, binding)),
            Expr::TupleGetItem { .. } => Some(self.item(store, cx, binding)),
            _ => None,
        };
        if !self.layouts.contains_key(&binding.var) {
            let layout = self.start_of(store, binding.var);
            self.layouts.insert(binding.var, layout);
        }
        let Some(outcome) = outcome else { return true };
        if let Err(message) = outcome {
            cx.builder.error("convert-layout", message, store.source_span(binding.value));
        }
        false
    }
}

impl Convert {
    fn start_of(&self, store: &Store, var: VarId) -> ValueLayout {
        store.var_type(var).map_or(ValueLayout::Unknown, |ty| starts(store, ty))
    }

    fn as_it_was(&self, store: &mut Store, cx: &mut Mutation, id: ExprId) -> Option<ExprId> {
        let layout = store.checked_type(id).map_or(ValueLayout::Unknown, |ty| starts(store, ty));
        let new = self.rewrite(store, cx, id, &layout);
        match new {
            Ok(new) => (new != id).then_some(new),
            Err(message) => {
                cx.builder.error("convert-layout", message, store.source_span(id));
                None
            }
        }
    }

    /// Applies the layout rule of the operator, if it has one and the ranks of its arguments are known.
    fn infer(&self, store: &mut Store, call: ExprId) -> Result<Option<Inferred>, String> {
        let Some(row) = store.called_op(call).and_then(|op| ops::info(op).relax.as_ref()) else { return Ok(None) };
        let Some(rule) = row.layout else { return Ok(None) };
        let args = super::calls::args(store, call);
        let any = store.ty(crate::ir::Type::Any);
        let types: Vec<_> = args.iter().map(|arg| store.checked_type(*arg).unwrap_or(any)).collect();
        let layouts: Vec<ValueLayout> = args.iter().map(|arg| self.layout_of(store, *arg)).collect();
        if types.iter().zip(&layouts).any(|(ty, layout)| is_nested_tensor(store, *ty) && has_unknown(layout)) {
            return Ok(None);
        }
        let desired = self.desired.iter().find(|(name, _)| *name == op_name(store, call)).map(|(_, layouts)| layouts.as_slice());
        let attrs = store.call(call).and_then(|call| call.attrs);
        let ty = store.checked_type(call).unwrap_or(any);
        rule(&mut Infer { store, op: row.name, args: &args, types: &types, ty, attrs, layouts: &layouts, desired }).map(Some)
    }

    fn call(&mut self, store: &mut Store, cx: &mut Mutation, binding: Binding) -> Result<(), String> {
        let Expr::Call { callee, args, info } = store.expr(binding.value) else { return Ok(()) };
        let old: Vec<ExprId> = store.items(args).collect();
        let dataflow = store.var_data(binding.var).dataflow;
        let tensors = store.var_type(binding.var).is_some_and(|ty| is_nested_tensor(store, ty));
        let start = self.start_of(store, binding.var);
        let inferred = self.infer(store, binding.value)?.filter(|_| tensors || dataflow);
        let Some(inferred) = inferred else {
            let mut new = Vec::with_capacity(old.len());
            for arg in old {
                let layout = store.checked_type(arg).map_or(ValueLayout::Unknown, |ty| starts(store, ty));
                new.push(self.rewrite(store, cx, arg, &layout)?);
            }
            let new = store.list(&new);
            let call = store.add(Expr::Call { callee, args: new, info });
            let call = cx.builder.normalize(store, call);
            self.emit(store, cx, binding, call);
            self.layouts.insert(binding.var, start);
            return Ok(());
        };
        let mut new = Vec::with_capacity(old.len());
        for (at, arg) in old.into_iter().enumerate() {
            new.push(match inferred.inputs.get(at) {
                Some(layout) => self.rewrite(store, cx, arg, layout)?,
                None => arg,
            });
        }
        for (at, arg) in &inferred.args {
            if let Some(slot) = new.get_mut(*at) {
                *slot = *arg;
            }
        }
        let types = info.map(|info| store.call_info(info).type_args.to_vec()).unwrap_or_default();
        let info = store.add_call_info(inferred.attrs, &types);
        let new = store.list(&new);
        let call = store.add(Expr::Call { callee, args: new, info });
        let mut value = cx.builder.normalize(store, call);
        if dataflow {
            self.emit(store, cx, binding, value);
            self.layouts.insert(binding.var, inferred.output);
            return Ok(());
        }
        if inferred.output != start {
            let new = cx.builder.emit(store, value, "");
            if let Expr::Var(var) = store.expr(new) {
                self.layouts.insert(var, inferred.output);
            }
            let back = self.rewrite(store, cx, new, &start)?;
            value = cx.builder.normalize(store, back);
        }
        self.emit(store, cx, binding, value);
        self.layouts.insert(binding.var, start);
        Ok(())
    }

    fn tuple(&mut self, store: &mut Store, cx: &mut Mutation, binding: Binding) -> Result<(), String> {
        let Expr::Tuple(fields) = store.expr(binding.value) else { return Ok(()) };
        let fields: Vec<ExprId> = store.items(fields).collect();
        let dataflow = store.var_data(binding.var).dataflow;
        let nested = store.var_type(binding.var).is_some_and(|ty| is_nested_tensor(store, ty));
        let mut new = Vec::with_capacity(fields.len());
        let mut layouts = Vec::with_capacity(fields.len());
        for field in fields {
            let start = store.checked_type(field).map_or(ValueLayout::Unknown, |ty| starts(store, ty));
            let layout = if dataflow { self.layout_of(store, field) } else { start };
            new.push(self.rewrite(store, cx, field, &layout)?);
            layouts.push(layout);
        }
        // TVM loses a tuple with fields other than tensors, and the check of the block finds that.
        if !nested {
            let lost = "Error: DataflowBlock Pass should not rewrite or delete any global-scope Var.";
            return if dataflow { Ok(()) } else { Err(lost.to_owned()) };
        }
        let new = store.list(&new);
        let tuple = store.add(Expr::Tuple(new));
        let tuple = cx.builder.normalize(store, tuple);
        self.emit(store, cx, binding, tuple);
        self.layouts.insert(binding.var, ValueLayout::Tuple(layouts));
        Ok(())
    }

    fn item(&mut self, store: &mut Store, cx: &mut Mutation, binding: Binding) -> Result<(), String> {
        let Expr::TupleGetItem { tuple, index } = store.expr(binding.value) else { return Ok(()) };
        let start = store.checked_type(tuple).map_or(ValueLayout::Unknown, |ty| starts(store, ty));
        let layout = if store.var_data(binding.var).dataflow { self.layout_of(store, tuple) } else { start };
        let tuple = self.rewrite(store, cx, tuple, &layout)?;
        let item = store.add(Expr::TupleGetItem { tuple, index });
        let item = cx.builder.normalize(store, item);
        self.emit(store, cx, binding, item);
        let layout = match &layout {
            ValueLayout::Tuple(fields) => fields.get(index as usize).cloned(),
            _ => None,
        };
        self.layouts.insert(binding.var, layout.unwrap_or(ValueLayout::Unknown));
        Ok(())
    }

    fn match_cast(&mut self, store: &mut Store, cx: &mut Mutation, binding: Binding) -> Result<(), String> {
        let Some(ty) = binding.cast else { return Ok(()) };
        let start = store.checked_type(binding.value).map_or(ValueLayout::Unknown, |ty| starts(store, ty));
        let layout = self.layout_of(store, binding.value);
        let new = rewrite::reordered(store, ty, &start, &layout)?;
        if new == ty {
            cx.builder.emit_normalized(store, binding);
            return Ok(());
        }
        let value = self.rewrite(store, cx, binding.value, &layout)?;
        let var = cx.builder.emit_match_cast(store, value, new, "");
        self.layouts.insert(binding.var, layout);
        cx.replace(store, binding.var, var);
        Ok(())
    }

    fn emit(&mut self, store: &mut Store, cx: &mut Mutation, binding: Binding, value: ExprId) {
        self.bind(store, cx, binding, value);
    }
}

fn has_unknown(layout: &ValueLayout) -> bool {
    match layout {
        ValueLayout::Unknown => true,
        ValueLayout::Tensor(_) => false,
        ValueLayout::Tuple(fields) => fields.iter().any(has_unknown),
    }
}
