//! LegalizeOps: replaces operators by calls of tensor programs.
//!
//! Source: `src/relax/transform/legalize_ops.cc`; the programs are in [`crate::topi`].

use super::support::device_of;
use crate::build::{BlockMutator, Mutation, rewrite_module_by_name};
use crate::diag::Diagnostic;
use crate::ir::walk::{for_each_binder, leaf_types, post_order};
use crate::ir::{AttrValue, Expr, ExprId, Extents, Id, Module, Object, PrimFunc, Store, Symbol, Type, VarId};
use crate::ops;
use crate::pass::spec::Literal;
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::Copier;
use crate::topi::{self, Known, Legalized};
use rustc_hash::FxHashMap;

/// TVM's `relax.transform.LegalizeOps`.
pub static SPEC: PassSpec = PassSpec {
    name: "LegalizeOps",
    info_name: "LegalizeOps",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[
        Param {
            name: "customize_legalize_map",
            default: "None",
            doc: explained("Functions of Python that lower operators in another way; a script in Python can give them."),
        },
        Param { name: "skip_ops", default: "None", doc: "Names of operators to leave alone: `[\"relax.add\"]`." },
        Param { name: "enable_warning", default: "False", doc: "Whether to warn of operators that cannot be lowered." },
    ],
    config: &["relax.transform.apply_legalize_ops"],
    summary: "Turns operators into calls of tensor programs.",
    doc: explained(
        "Each call of an operator with a tensor-expression form becomes `R.call_tir` of a program that computes it; equal \
programs are one function of the module. The shapes of its arguments and of its result have to be known, symbols included; \
other calls stay, as do operators that have no such form. `R.nn.pixel_shuffle` is refused, as it is by TVM 0.27, which cannot \
find its own program. Adaptive pooling over windows of different sizes stays, too, where TVM makes loops of open length.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), dtype=\"float32\"), y: R.Tensor((3,), dtype=\"float32\")) -> R.Tensor((2, 3), dtype=\"float32\"):
        gv: R.Tensor((2, 3), dtype=\"float32\") = R.add(x, y)
        return gv
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def add(x: T.Buffer((T.int64(2), T.int64(3)), \"float32\"), y: T.Buffer((T.int64(3),), \"float32\"), T_add: \
T.Buffer((T.int64(2), T.int64(3)), \"float32\")):
        T.func_attr({\"tirx.noalias\": True})
        for ax0, ax1 in T.grid(T.int64(2), T.int64(3)):
            with T.sblock(\"T_add\"):
                v_ax0, v_ax1 = T.axis.remap(\"SS\", [ax0, ax1])
                T.reads(x[v_ax0, v_ax1], y[v_ax1])
                T.writes(T_add[v_ax0, v_ax1])
                T_add[v_ax0, v_ax1] = x[v_ax0, v_ax1] + y[v_ax1]

    @R.function
    def main(x: R.Tensor((2, 3), dtype=\"float32\"), y: R.Tensor((3,), dtype=\"float32\")) -> R.Tensor((2, 3), dtype=\"float32\"):
        cls = Module
        gv = R.call_tir(cls.add, (x, y), out_ty=R.Tensor((2, 3), dtype=\"float32\"))
        return gv
",
    ),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, args: &Args) -> Result<Module, PassError> {
    if cx.config_int("relax.transform.apply_legalize_ops", 1) == 0 {
        return Ok(module.clone());
    }
    let own = args.get("customize_legalize_map");
    if !matches!(own, Literal::None) && *own != Literal::Dict(Vec::new()) {
        let text = "customize_legalize_map has functions of Python, which a script in Python can give; `skip_ops` leaves operators alone";
        return Err(vec![Diagnostic::error("relax-legalize", text, None)]);
    }
    let skipped = strings(args.get("skip_ops"));
    let mut pass = Legalize { skipped, scalars: FxHashMap::default(), errors: Vec::new(), for_devices: false };
    for (_, function) in module.functions() {
        pass.find_scalars(cx.store, *function);
    }
    let result = rewrite_module_by_name(cx.store, module, &mut pass)?;
    match (pass.errors.is_empty(), pass.for_devices) {
        (false, _) => Err(pass.errors),
        // Programs without a device may have no calls left.
        (true, true) => cx.run("DeadCodeElimination()", &result),
        (true, false) => Ok(result),
    }
}

/// Returns the strings of a list.
fn strings(list: &Literal) -> Vec<String> {
    let Literal::List(items) = list else { return Vec::new() };
    let text = |item: &Literal| match item {
        Literal::Str(text) => Some(text.clone()),
        _ => None,
    };
    items.iter().filter_map(text).collect()
}

struct Legalize {
    /// Operators to leave alone, by TVM's names.
    skipped: Vec<String>,
    /// The variables of the module that hold scalars, by their symbols.
    scalars: FxHashMap<Id<Symbol>, VarId>,
    errors: PassError,
    /// True if a program was made for a device.
    for_devices: bool,
}

impl Legalize {
    fn find_scalars(&mut self, store: &Store, function: ExprId) {
        for id in post_order(store, function) {
            for_each_binder(store, id, |var| {
                if let Some(symbol) = store.var_data(var).symbol {
                    self.scalars.entry(symbol).or_insert(var);
                }
            });
        }
    }

    /// Makes a call whose result is on a device call a program for the target of that device.
    fn for_device(&mut self, store: &mut Store, cx: &mut Mutation, call: ExprId) -> ExprId {
        let Expr::Call { callee, args, info: Some(info) } = store.expr(call) else { return call };
        let Some(device) = store.call_info(info).type_args.iter().find_map(|ty| device_of(store, *ty)) else { return call };
        let operands: Vec<ExprId> = store.items(args).collect();
        let Some(Expr::Global(name)) = operands.first().map(|program| store.expr(*program)) else { return call };
        let Some(Expr::PrimFunc(program)) = cx.builder.module().function(name).map(|function| store.expr(function)) else {
            return call;
        };
        let Some(target) = target_of(store, device) else { return call };
        let hint = format!("{}_{}", store.str(name), store.vdevice_kind(device));
        // The copy has buffers and variables of its own.
        let copy = Copier::default().program(store, program);
        let attrs = Some(store.with_attr(copy.attrs, "target", target));
        let program = store.add_prim_func(PrimFunc { attrs, ..copy });
        let program = store.add(Expr::PrimFunc(program));
        let mut operands = operands;
        operands[0] = cx.builder.add_function(store, program, &hint);
        self.for_devices = true;
        let args = store.list(&operands);
        store.add(Expr::Call { callee, args, info: Some(info) })
    }
}

/// Returns the target of a device as the attribute of a program.
fn target_of(store: &mut Store, device: Id<Object>) -> Option<AttrValue> {
    let fields = match store.object_field(device, "target")?.clone() {
        AttrValue::Map(fields) => fields,
        AttrValue::Str(kind) => [(store.name("kind"), AttrValue::Str(kind))].into(),
        other => return Some(other),
    };
    let key = store.name("Target");
    Some(AttrValue::Object(store.add_object(Object { key, fields, items: [].into(), repr: None })))
}

impl BlockMutator for Legalize {
    fn rule(&self) -> &'static str {
        "an operator as a tensor program"
    }

    fn leave(&mut self, store: &mut Store, cx: &mut Mutation, _: ExprId, post: ExprId) -> ExprId {
        let Some(row) = store.called_op(post).and_then(|op| ops::info(op).relax.as_ref()) else { return post };
        if self.skipped.iter().any(|name| name.strip_prefix("relax.") == Some(row.name)) {
            return post;
        }
        let mut values = match topi::needs(row.name) {
            Known::Nothing => Vec::new(),
            _ => ops::build::args(store, post),
        };
        if topi::needs(row.name) == Known::All {
            values.push(post);
        }
        if !shapes_are_known(store, &values) {
            return post;
        }
        match topi::legalize(store, &mut cx.builder, post, &self.scalars) {
            Legalized::New(new) => self.for_device(store, cx, new),
            Legalized::Same => post,
            Legalized::Error(message) => {
                self.errors.push(Diagnostic::error("relax-legalize", message, store.source_span(post)));
                post
            }
        }
    }
}

/// True if the shapes of values are known.
fn shapes_are_known(store: &Store, values: &[ExprId]) -> bool {
    let known = |ty| match store.type_of_id(ty) {
        Type::Tensor { .. } | Type::Prim(_) => true,
        Type::PartialTensor(info) => matches!(info.extents, Extents::Known(_)),
        Type::Shape(extents) => matches!(extents, Extents::Known(_)),
        _ => false,
    };
    values.iter().all(|expr| store.checked_type(*expr).is_some_and(|ty| leaf_types(store, ty).all(known)))
}
