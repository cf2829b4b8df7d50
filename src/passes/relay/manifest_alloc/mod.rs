//! ManifestAlloc: memory for the results of kernels is allocated, and kernels write into it.
//!
//! A call of a kernel that is bound by `let` becomes an allocation of memory for each tensor of its result, a tensor in it, and
//! `vm.invoke_tvm_op` over inputs and outputs. A kernel that only reshapes becomes `vm.reshape_tensor`. Constants in tuples are
//! bound, values get `on_device`.
//!
//! Does nothing to calls of other functions and to copies between devices. Kernels outside of `let`, and functions without a
//! device, are refused, as in TVM.
//!
//! Known divergences: TVM lowers kernels to functions of TIR before (LowerTE), and rewrites `call_lowered`; here calls of
//! primitive functions are rewritten in the same way, as that step is not here. A kernel whose result has unknown extents stays a
//! call, with a warning: its shape function is made by lowering.
//!
//! Source: `src/relay/transforms/memory_alloc.cc`.

use super::plan_devices::host_device;
use super::support::devices::{Device, on_device, place_of};
use super::support::{has_nonzero, is_primitive};
use crate::diag::Diagnostic;
use crate::ir::rewrite::{Bound, ExprMutator, Visit, rewrite};
use crate::ir::walk::leaf_types;
use crate::ir::{Adt, AttrValue, DType, Expr, ExprId, IdMap, Module, Store, Type, TypeId, VarId};
use crate::ops::build::{arg, call, call_with, constant, int_tensor, ints, is_call};
use crate::pass::manager::optimisable;
use crate::pass::spec::{Inner, Part};
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run, explained};
use rustc_hash::FxHashMap;

/// Makes the memory that kernels write into explicit.
pub static SPEC: PassSpec = PassSpec {
    name: "ManifestAlloc",
    info_name: "ManifestAlloc",
    dialects: crate::pass::spec::RELAY,
    opt_level: 0,
    required: &[],
    params: &[Param {
        name: "cpu_virtual_device",
        default: "\"llvm\"",
        doc: "The target of the host, on which shapes and sizes are.",
    }],
    config: &[],
    summary: "Allocates the memory of the results of kernels, for the virtual machine.",
    doc: explained(
        "For the virtual machine of Relay: each call of a kernel is replaced by `memory.alloc_storage` and `memory.alloc_tensor` for its \
results and by `vm.invoke_tvm_op`, which writes into them. Sizes, shapes and alignments are constants on the host. A reshape shares the \
memory of its argument (`vm.reshape_tensor`). The program must be in A-normal form, fused, and its devices planned.\n\n\
TVM runs LowerTE before, which compiles kernels to functions of TIR and is not here: the primitive functions that FuseOps makes are \
invoked themselves. Kernels with results of unknown extents stay calls, with a warning, because lowering makes the functions that \
compute their shapes.",
    ),
    example_before: "",
    example_after: "",
    run: Run::Sequential(|_| {
        vec![Part::Inner(&STORAGE), Part::call("InferType()"), Part::Inner(&ALLOC), Part::call("InferType()")]
    }),
};

static STORAGE: Inner = Inner {
    info_name: "ManifestAllocImportStorage",
    opt_level: 0,
    run: Run::Module(|cx, module, _| Ok(with_storage(cx.store, module))),
};

static ALLOC: Inner = Inner { info_name: "ManifestAllocImpl", opt_level: 0, run: Run::Function(run) };

/// Returns a module that has the type of memory (TVM's `core.rly`).
pub(super) fn with_storage(store: &mut Store, module: &Module) -> Module {
    let name = store.name("Storage");
    let mut result = module.clone();
    if module.adt(name).is_none() {
        let adt = store.add_adt(Adt { name, type_params: Box::new([]), ctors: Box::new([]), is_extern: true });
        result.set_adt(name, adt);
    }
    result
}

fn run(cx: &mut PassCx<'_>, module: &Module, function: ExprId, arguments: &Args) -> Result<ExprId, PassError> {
    let known: Vec<Device> =
        optimisable(cx.store, module).into_iter().filter_map(|(_, id)| cx.store.as_function(id)?.device).collect();
    let host = host_device(cx.store, arguments.get("cpu_virtual_device"), &known)
        .map_err(|message| vec![Diagnostic::error("pass-argument", format!("ManifestAlloc: {message}"), None)])?;
    let mut pass = Manifest {
        module,
        host,
        devices: Vec::new(),
        kernels: FxHashMap::default(),
        inner: IdMap::new(),
        scopes: Vec::new(),
        before: IdMap::new(),
        names: 0,
        found: Vec::new(),
    };
    let new = cx.store.rewrite(RULE, function, function, |store| {
        let new = rewrite(store, function, &mut pass);
        if pass.found.iter().any(Diagnostic::is_error) { function } else { new }
    });
    if pass.found.iter().any(Diagnostic::is_error) {
        return Err(pass.found);
    }
    cx.diagnostics.extend(pass.found);
    Ok(new)
}

const RULE: &str = "memory allocated for a kernel";

type Lets = Vec<(VarId, ExprId)>;

struct Manifest<'a> {
    module: &'a Module,
    host: Device,
    /// The devices around the node at hand.
    devices: Vec<Option<Device>>,
    /// Variables that are bound to kernels.
    kernels: FxHashMap<VarId, ExprId>,
    /// Lets that are bodies of other lets.
    inner: IdMap<Expr, ()>,
    /// The bindings that came up since the last let, for each open block of them.
    scopes: Vec<Lets>,
    /// The bindings that come before each let.
    before: IdMap<Expr, Lets>,
    names: u32,
    found: PassError,
}

impl Manifest<'_> {
    fn refuse(&mut self, store: &Store, at: ExprId, message: impl Into<String>) {
        self.found.push(Diagnostic::error("relay-memory-alloc", message, store.source_span(at)));
    }

    /// Annotates a value with the device around it.
    fn placed(&mut self, store: &mut Store, at: ExprId, value: ExprId) -> ExprId {
        match self.devices.last() {
            Some(Some(device)) => on_device(store, value, *device),
            _ => {
                if self.found.is_empty() {
                    self.refuse(store, at, "the virtual device is fully unconstrained: PlanDevices comes before");
                }
                value
            }
        }
    }

    fn push(&mut self, store: &mut Store, name: &str, value: ExprId) -> ExprId {
        let var = store.var(name, None);
        if let Some(scope) = self.scopes.last_mut() {
            scope.push((var, value));
        }
        store.use_var(var)
    }

    fn on_host(&self, store: &mut Store, shape: &[i64], values: &[i64]) -> ExprId {
        let value = int_tensor(store, DType::I64, shape, values);
        on_device(store, value, self.host)
    }

    /// Returns the function that a call of a kernel calls.
    fn kernel(&self, store: &Store, callee: ExprId) -> Option<ExprId> {
        match store.expr(callee) {
            Expr::Var(var) => self.kernels.get(&var).copied(),
            Expr::Global(name) => self.module.function(name).filter(|function| is_primitive(store, *function)),
            Expr::Function(_) => is_primitive(store, callee).then_some(callee),
            _ => None,
        }
    }

    /// Allocates a tensor.
    fn tensor(&mut self, store: &mut Store, at: ExprId, shape: &[i64], dtype: DType, index: usize) -> ExprId {
        let bytes = shape.iter().product::<i64>() * dtype.bytes() as i64;
        let (extents, size) = (self.on_host(store, &[shape.len() as i64], shape), self.on_host(store, &[], &[bytes]));
        let alignment = int_tensor(store, DType::I64, &[], &[(i64::from(dtype.bits) / 8 * i64::from(dtype.lanes)).max(64)]);
        let device = self.devices.last().copied().flatten().unwrap_or(self.host);
        let dtype = AttrValue::DType(Some(dtype));
        let set = [("dtype", dtype.clone()), ("virtual_device", AttrValue::Object(device))];
        let storage = call_with(store, "memory.alloc_storage", &[size, extents, alignment], &set);
        let storage = self.placed(store, at, storage);
        let storage = self.push(store, &format!("storage_{index}"), storage);
        let offset = self.on_host(store, &[], &[0]);
        let set = [("dtype", dtype), ("const_shape", AttrValue::Null), ("assert_shape", ints(shape))];
        let tensor = call_with(store, "memory.alloc_tensor", &[storage, offset, extents], &set);
        let tensor = self.placed(store, at, tensor);
        self.push(store, &format!("tensor_{index}"), tensor)
    }

    /// Invokes a kernel: its outputs are allocated, and stand for its result.
    fn invoke(&mut self, store: &mut Store, pre: ExprId, callee: ExprId, inputs: &[ExprId], reshapes: bool) -> Option<ExprId> {
        let Some(ty) = store.checked_type(pre) else {
            self.refuse(store, pre, "the type of a call is not known: run InferType first");
            return None;
        };
        let Some(types) = flat(store, ty) else {
            let message =
                "the result has unknown extents: TVM computes them by a shape function, which LowerTE makes; the call stays";
            self.found.push(Diagnostic::warning("relay-memory-alloc", message, store.source_span(pre)));
            return None;
        };
        if self.scopes.is_empty() {
            let message = "Calls out of a let block are not supported, do you forget to transform with ToANormalForm or set opt_level \
                           >= 1 in the pass context?";
            self.refuse(store, pre, message);
            return None;
        }
        if reshapes && let [(shape, _)] = types.as_slice() {
            let extents = self.on_host(store, &[shape.len() as i64], shape);
            return Some(call_with(store, "vm.reshape_tensor", &[inputs[0], extents], &[("newshape", ints(shape))]));
        }
        let mut outputs = Vec::with_capacity(types.len());
        for (index, (shape, dtype)) in types.iter().enumerate() {
            outputs.push(self.tensor(store, pre, shape, *dtype, index));
        }
        let (ins, outs) = (store.add_tuple(inputs), store.add_tuple(&outputs));
        let invoked = call(store, "vm.invoke_tvm_op", &[callee, ins, outs]);
        let invoked = self.placed(store, pre, invoked);
        let name = format!("x_{}", self.names);
        self.names += 1;
        self.push(store, &name, invoked);
        outputs.reverse();
        Some(packed(store, ty, &mut outputs))
    }

    fn call(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> Option<ExprId> {
        if let Some(place) = place_of(store, pre) {
            if place.fixed {
                self.devices.pop();
            }
            let inside = arg(store, post, 0);
            return place.fixed.then(|| on_device(store, inside, place.device));
        }
        let Expr::Call { callee, args, .. } = store.expr(post) else { return None };
        if is_call(store, post, "call_lowered") {
            let [callee, inputs] = [0, 1].map(|index| arg(store, post, index));
            let Expr::Tuple(inputs) = store.expr(inputs) else { return None };
            let inputs: Vec<ExprId> = store.items(inputs).collect();
            let reshapes = super::remove_standalone_reshapes::is_reshape(store, post);
            return self.invoke(store, pre, callee, &inputs, reshapes);
        }
        let function = self.kernel(store, callee)?;
        if is_call(store, store.as_function(function)?.body, "device_copy") {
            return None;
        }
        let inputs: Vec<ExprId> = store.items(args).collect();
        self.invoke(store, pre, callee, &inputs, has_nonzero(store, function, "relay.reshape_only"))
    }
}

/// Returns extents and types of the tensors in a type, if all are known.
fn flat(store: &Store, ty: TypeId) -> Option<Vec<(Vec<i64>, DType)>> {
    let known = |ty| match store.type_of_id(ty) {
        Type::Tensor { shape, dtype } => Some((shape.iter().map(|dim| dim.known()).collect::<Option<Vec<i64>>>()?, *dtype)),
        _ => None,
    };
    leaf_types(store, ty).map(known).collect()
}

/// Packs tensors, the first one last, into tuples as a type says. Recursive: types nest at most as deep as the parser lets them.
fn packed(store: &mut Store, ty: TypeId, left: &mut Vec<ExprId>) -> ExprId {
    match store.type_of_id(ty).clone() {
        Type::Tuple(types) => {
            let fields: Vec<ExprId> = types.iter().map(|ty| packed(store, *ty, left)).collect();
            store.add_tuple(&fields)
        }
        _ => left.pop().expect("there is a tensor for each in the type"),
    }
}

fn around(store: &mut Store, lets: Lets, body: ExprId) -> ExprId {
    lets.into_iter().rev().fold(body, |body, (var, value)| store.add(Expr::Let { var, value, body }))
}

/// Scalars of these types are immediates of the virtual machine.
const SIMPLE: [DType; 5] = [DType::I32, DType::I64, DType::F32, DType::F64, DType::BOOL];

impl ExprMutator for Manifest<'_> {
    fn rule(&self) -> &'static str {
        RULE
    }

    fn enter(&mut self, store: &mut Store, id: ExprId) -> Visit {
        match store.expr(id) {
            Expr::Function(_) if is_primitive(store, id) => return Visit::Keep,
            Expr::Function(function) => {
                let around = self.devices.last().copied().flatten();
                let device = store.function(function).device.or(around);
                self.devices.push(device);
            }
            Expr::Let { var, value, body } => {
                if !self.inner.contains(id) {
                    self.scopes.push(Lets::new());
                }
                if matches!(store.expr(body), Expr::Let { .. }) {
                    self.inner.insert(body, ());
                }
                if is_primitive(store, value) {
                    self.kernels.insert(var, value);
                }
            }
            _ => {
                if let Some(place) = place_of(store, id).filter(|place| place.fixed) {
                    self.devices.push(Some(place.device));
                }
            }
        }
        Visit::Descend
    }

    fn bind(&mut self, _: &mut Store, pre: ExprId, _: ExprId) -> Bound {
        let before = self.scopes.last_mut().map(std::mem::take);
        self.before.insert(pre, before.unwrap_or_default());
        Bound::Keep
    }

    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        match store.expr(post) {
            Expr::Function(_) => {
                self.devices.pop();
                post
            }
            Expr::Call { .. } => self.call(store, pre, post).unwrap_or(post),
            Expr::Tuple(fields) if !self.scopes.is_empty() => {
                let old: Vec<ExprId> = store.items(fields).collect();
                let mut new = Vec::with_capacity(old.len());
                for field in &old {
                    let simple = |id| constant(store, id).is_none_or(|data| data.is_scalar() && SIMPLE.contains(&data.dtype));
                    new.push(if simple(*field) {
                        *field
                    } else {
                        let value = self.placed(store, pre, *field);
                        self.push(store, "const", value)
                    });
                }
                if new == old { post } else { store.add_tuple(&new) }
            }
            Expr::Let { var, value, mut body } => {
                let Expr::Let { body: after, .. } = store.expr(pre) else { return post };
                if !matches!(store.expr(after), Expr::Let { .. }) {
                    let lets = self.scopes.last_mut().map(std::mem::take).unwrap_or_default();
                    body = around(store, lets, body);
                }
                if !self.inner.contains(pre) {
                    self.scopes.pop();
                }
                let value = self.placed(store, pre, value);
                let new = store.rebuild(post, Expr::Let { var, value, body }, None);
                let lets = self.before.remove(pre).unwrap_or_default();
                around(store, lets, new)
            }
            _ => post,
        }
    }
}

#[cfg(test)]
mod tests;
