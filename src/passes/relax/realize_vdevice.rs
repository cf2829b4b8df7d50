//! RealizeVDevice: turns hints about devices into devices in types and copies between them.
//!
//! Source: `src/relax/transform/realize_vdevice.cc`.

use super::calls::{args, devices, op, op_name};
use crate::build::{BlockMutator, Mutation, rewrite_module};
use crate::ir::walk::for_each_child;
use crate::ir::{AttrValue, AttrsId, Expr, ExprId, Id, Module, Object, Store, TensorInfo, Type, TypeId, VarId};
use crate::ops;
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::device_type;
use rustc_hash::FxHashMap;

/// TVM's `relax.transform.RealizeVDevice`.
pub static SPEC: PassSpec = PassSpec {
    name: "RealizeVDevice",
    info_name: "RealizeVDevice",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Puts values on the devices that hints name.",
    doc: explained("`R.hint_on_device` says where a value should be. What is computed from it or for it is on the same device: the pass \
follows uses in both directions, writes the device into types, and makes of a hint a copy (`R.to_vdevice`) where its operand is \
on another device. The devices have to be among those of the module (`I.module_global_infos`)."),
    example_before: explained("\
@I.ir_module
class Module:
    I.module_global_infos({\"vdevice\": [I.vdevice({\"kind\": \"llvm\"}, 0, \"global\"), I.vdevice({\"kind\": \"cuda\"}, 0, \"global\")]})
    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\", vdevice=\"llvm:0:global\")) -> R.Tensor((2,), dtype=\"float32\"):
        with R.dataflow():
            y: R.Tensor((2,), dtype=\"float32\") = R.add(x, x)
            z: R.Tensor((2,), dtype=\"float32\") = R.hint_on_device(y, R.device(device_type=2, index=0), \"global\")
            gv: R.Tensor((2,), dtype=\"float32\") = R.multiply(z, z)
            R.output(gv)
        return gv
"),
    example_after: explained("\
@I.ir_module
class Module:
    I.module_global_infos({\"vdevice\": [I.vdevice({\"kind\": \"llvm\"}, 0, \"global\"), I.vdevice({\"kind\": \"cuda\"}, 0, \"global\")]})
    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\", vdevice=\"llvm:0:global\")) -> R.Tensor((2,), dtype=\"float32\", vdevice=\"cuda:0:global\"):
        with R.dataflow():
            y: R.Tensor((2,), dtype=\"float32\", vdevice=\"llvm:0:global\") = R.add(x, x)
            z: R.Tensor((2,), dtype=\"float32\", vdevice=\"cuda:0:global\") = R.to_vdevice(y, dst_vdevice=\"cuda:0:global\")
            gv: R.Tensor((2,), dtype=\"float32\", vdevice=\"cuda:0:global\") = R.multiply(z, z)
            R.output(gv)
        return gv
"),
    run: Run::Module(run),
};

type Device = Id<Object>;

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    let store = &mut *cx.store;
    let devices = devices(store, module);
    let mut found = Found { devices: &devices, ..Found::default() };
    for (_, function) in module.functions() {
        if let Expr::Function(_) = store.expr(*function) {
            found.function(store, *function).map_err(|message| {
                vec![crate::diag::Diagnostic::error("realize-vdevice", message, store.source_span(*function))]
            })?;
        }
    }
    let places = found.places();
    rewrite_module(store, module, &mut Realize { places, devices: &devices })
}

/// Returns the device that a hint names.
fn hinted(store: &Store, devices: &[Device], attrs: Option<AttrsId>) -> Result<Device, String> {
    let (kind, index) = (store.attr_int(attrs, "device_type"), store.attr_int(attrs, "index").unwrap_or(0));
    let scope = store.attr_str(attrs, "memory_scope").unwrap_or("global");
    let fits = |device: &Device| {
        let number = store.object_field(*device, "vdevice_id").and_then(|id| store.value_int(id)).unwrap_or(0);
        Some(device_type(store.vdevice_kind(*device))) == kind
            && number == index
            && store.object_str(*device, "memory_scope").unwrap_or("global") == scope
    };
    devices.iter().copied().find(fits).ok_or_else(|| "The target VDevice in the GlobalInfos was not found.".to_owned())
}

#[derive(Default)]
struct Found<'d> {
    devices: &'d [Device],
    /// Variables whose types have a device.
    known: Vec<(VarId, Device)>,
    /// Variables with hints.
    hints: Vec<(VarId, Device)>,
    /// Pairs of variables that are on one device.
    together: Vec<(VarId, VarId)>,
    values: FxHashMap<VarId, ExprId>,
}

impl Found<'_> {
    fn function(&mut self, store: &Store, function: ExprId) -> Result<(), String> {
        let mut stack = vec![(function, None)];
        while let Some((id, current)) = stack.pop() {
            let first = stack.len();
            match store.expr(id) {
                Expr::Function(data) => {
                    let data = *store.function(data);
                    store.items(data.params).for_each(|param| self.said(store, param));
                    stack.push((data.body, current));
                    if let (Some(ret), Expr::Seq { body, .. }) = (data.ret, store.expr(data.body)) {
                        self.result(store, body, ret);
                    }
                }
                Expr::Seq { blocks, body } => {
                    for binding in store.bindings(blocks) {
                        self.values.insert(binding.var, binding.value);
                        self.said(store, binding.var);
                        if op_name(store, binding.value) == "hint_on_device" && binding.cast.is_none() {
                            let device = hinted(store, self.devices, store.call(binding.value).and_then(|call| call.attrs))?;
                            self.known.push((binding.var, device));
                            if let Some(Expr::Var(var)) = args(store, binding.value).first().map(|arg| store.expr(*arg)) {
                                self.hints.push((var, device));
                            }
                        }
                        stack.push((binding.value, Some(binding.var)));
                    }
                    stack.push((body, current));
                }
                Expr::Call { .. } if ["to_vdevice", "hint_on_device"].contains(&op_name(store, id)) => {}
                Expr::Var(var) => {
                    let scalar = |var: VarId| store.var_type(var).is_some_and(|ty| matches!(store.type_of_id(ty), Type::Prim(_)));
                    if let Some(current) = current.filter(|current| !scalar(*current) && !scalar(var)) {
                        self.together.push((current, var));
                    }
                }
                _ => for_each_child(store, id, |child| stack.push((child, current))),
            }
            stack[first..].reverse();
        }
        Ok(())
    }

    /// Notes the device in the type of a variable.
    fn said(&mut self, store: &Store, var: VarId) {
        let info = store.var_type(var).and_then(|ty| store.tensor_info(ty));
        if let Some(device) = info.and_then(|info| info.vdevice) {
            self.known.push((var, device));
        }
    }

    /// Notes the devices in the result type of a function. Types nest as deep as the parser's limit on brackets.
    fn result(&mut self, store: &Store, expr: ExprId, ty: TypeId) {
        let device = store.tensor_info(ty).and_then(|info| info.vdevice);
        if let (Some(device), Expr::Var(var)) = (device, store.expr(expr))
            && !self.known.iter().any(|(known, _)| *known == var)
        {
            self.known.push((var, device));
        }
        let Type::Tuple(types) = store.type_of_id(ty) else { return };
        let mut expr = expr;
        while let Expr::Var(var) = store.expr(expr)
            && let Some(value) = self.values.get(&var)
        {
            expr = *value;
        }
        if let Expr::Tuple(fields) = store.expr(expr) {
            for (field, ty) in store.items(fields).zip(types.iter()) {
                self.result(store, field, *ty);
            }
        }
    }

    /// Returns the device of each variable: by types first, then by hints.
    fn places(self) -> FxHashMap<VarId, Device> {
        let mut places: FxHashMap<VarId, Device> = FxHashMap::default();
        if self.known.is_empty() && self.hints.is_empty() {
            return places;
        }
        let mut together: FxHashMap<VarId, Vec<VarId>> = FxHashMap::default();
        for (a, b) in self.together {
            together.entry(a).or_default().push(b);
            together.entry(b).or_default().push(a);
        }
        for (round, list) in [self.known, self.hints].into_iter().enumerate() {
            let mut stack = Vec::new();
            for (var, device) in list {
                if round == 0 || !places.contains_key(&var) {
                    places.insert(var, device);
                    stack.push(var);
                }
            }
            while let Some(var) = stack.pop() {
                let Some(device) = places.get(&var).copied() else { continue };
                for other in together.get(&var).into_iter().flatten() {
                    if !places.contains_key(other) {
                        places.insert(*other, device);
                        stack.push(*other);
                    }
                }
            }
        }
        places
    }
}

struct Realize<'d> {
    places: FxHashMap<VarId, Device>,
    devices: &'d [Device],
}

impl BlockMutator for Realize<'_> {
    fn rule(&self) -> &'static str {
        "on a device"
    }

    fn wants(&self, store: &Store, id: ExprId) -> bool {
        !self.devices.is_empty() || op_name(store, id) == "hint_on_device"
    }

    fn define_var(&mut self, store: &mut Store, cx: &mut Mutation, var: VarId) -> VarId {
        let new = cx.define_var(store, var);
        let Some(device) = self.places.get(&var) else { return new };
        match store.var_type(new).and_then(|ty| store.tensor_info(ty)) {
            Some(info) if info.vdevice != Some(*device) => {
                let ty = store.tensor_like(TensorInfo { vdevice: Some(*device), ..info });
                store.retyped_var(new, ty)
            }
            _ => new,
        }
    }

    fn leave(&mut self, store: &mut Store, cx: &mut Mutation, _: ExprId, post: ExprId) -> ExprId {
        if op_name(store, post) != "hint_on_device" {
            // An annotation without a device yields to the device of the operands.
            let device = |expr: ExprId| match store.type_of_id(store.checked_type(expr)?) {
                Type::Tensor { .. } => Some(None),
                Type::PartialTensor(info) => Some(info.vdevice),
                _ => None,
            };
            let placed = || match store.call(post) {
                Some(call) => store.items(call.args).any(|arg| matches!(device(arg), Some(Some(_)))),
                None => false,
            };
            return if device(post) == Some(None) && placed() { store.add(store.expr(post)) } else { post };
        }
        let Some(&arg) = args(store, post).first() else { return post };
        let attrs = store.call(post).and_then(|call| call.attrs);
        let device = match hinted(store, self.devices, attrs) {
            Ok(device) => device,
            Err(message) => {
                cx.builder.error("realize-vdevice", message, store.source_span(post));
                return post;
            }
        };
        let info = store.checked_type(arg).and_then(|ty| store.tensor_info(ty));
        if info.and_then(|info| info.vdevice) == Some(device) {
            return arg;
        }
        let schema = ops::lookup_relax("to_vdevice").and_then(|op| ops::info(op).relax.as_ref()).and_then(|row| row.attrs);
        let attrs = schema.and_then(|schema| schema.complete(store, &[("dst_vdevice", AttrValue::Object(device))]).ok());
        let attrs = attrs.map(|attrs| store.attrs(attrs));
        let callee = op(store, "to_vdevice");
        store.add_call(callee, &[arg], attrs)
    }
}
