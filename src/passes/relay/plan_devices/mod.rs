//! PlanDevices: says of every function and parameter on which device it is, and copies values between devices.
//!
//! [`analyze`] unifies what must be on the same device and gives defaults to the rest, [`capture`] writes the result down.
//! Before that, annotations in a `let` or at the end of a function become fixed, and values that are [`conflicts`] are copied.
//!
//! Known divergences: two targets of one kind are one target, with or without a host. A program has no functions of TIR here, so
//! those of `call_lowered` are not looked at.
//!
//! Source: `src/relay/transforms/device_planner.cc`.

mod analyze;
mod capture;
mod config;
mod conflicts;
mod domains;

use super::support::devices::{on_device, place_of};
use crate::diag::Diagnostic;
use crate::ir::rewrite::{ExprMutator, Rewriting, rewrite};
use crate::ir::{Expr, ExprId, Function, Id, Module, Object, Store};
use crate::ops::build::arg;
use crate::pass::manager::optimisable;
use crate::pass::spec::{Inner, Part};
use crate::pass::{Args, Literal, Param, PassCx, PassError, PassSpec, Run, explained};
use analyze::is_normal;
use config::Devices;

/// Plans the devices of a program.
pub static SPEC: PassSpec = PassSpec {
    name: "PlanDevices",
    info_name: "PlanDevices",
    dialects: crate::pass::spec::RELAY,
    opt_level: 0,
    required: &[],
    params: &[Param {
        name: "config",
        default: "\"llvm\"",
        doc: explained("The targets, as a string or a list of strings. In TVM, an object made by `make_compilation_config`."),
    }],
    config: &["relay.fallback_device_type"],
    summary: "Says on which device everything is computed, and copies what changes its device.",
    doc: explained(
        "`on_device` says of some expressions on which device they are computed, `device_copy` copies a value. From these, and \
from parameters and functions that have a `virtual_device`, the pass finds the devices of all others: the arguments and the \
result of an operator are on one device, as are a variable and its value, a function and its body, a tuple and its fields. What \
nothing says anything about is where its result is needed, and in the end on the default device: that of the only kind of \
target, the CPU if there are several, or `relay.fallback_device_type`.\n\n\
Then every parameter and function gets its `virtual_device`, `device_copy` stands where a value is needed elsewhere, and \
`on_device` around what is computed elsewhere. With one target nothing moves, and only the devices are written down.\n\n\
Two targets of one kind are one target here, with or without a host.",
    ),
    example_before: explained(
        "\
def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  on_device(exp(%x), virtual_device=None, constrain_body=False)
}
",
    ),
    example_after: explained(
        "\
def @main(%x {virtual_device=meta[VirtualDevice][0]}: Tensor[(4), float32], virtual_device=meta[VirtualDevice][0]) -> \
Tensor[(4), float32] {
  exp(%x)
}
",
    ),
    run: Run::Sequential(|_| vec![Part::Inner(&REWRITE), Part::Inner(&CHECK), Part::call("InferType()"), Part::Inner(&CORE)]),
};

static REWRITE: Inner = Inner {
    info_name: "PlanDevicesRewrite",
    opt_level: 0,
    run: Run::Function(|cx, _, function, _| Ok(rewrite(cx.store, function, &mut Fixed))),
};

static CHECK: Inner = Inner {
    info_name: "PlanDevicesCheckConflicts",
    opt_level: 0,
    run: Run::Module(|cx, module, arguments| {
        let mut devices = devices(cx, arguments)?;
        let functions = optimisable(cx.store, module);
        let mut pass = conflicts::Conflicts::new(&mut devices);
        functions.iter().try_for_each(|(_, function)| pass.find(cx.store, *function)).map_err(failed)?;
        let mut made = module.clone();
        if pass.is_empty() {
            return Ok(made);
        }
        for (name, function) in functions {
            made.set_function(name, rewrite(cx.store, function, &mut pass));
        }
        pass.error.map_or(Ok(made), |error| Err(failed(error)))
    }),
};

static CORE: Inner = Inner { info_name: "PlanDevicesCore", opt_level: 0, run: Run::Module(core) };

fn core(cx: &mut PassCx<'_>, module: &Module, arguments: &Args) -> Result<Module, PassError> {
    let mut domains = domains::Domains::new(devices(cx, arguments)?);
    let functions = optimisable(cx.store, module);
    let steps = [analyze::analyze, analyze::unify_free, analyze::set_defaults];
    steps.iter().try_for_each(|step| step(cx.store, &mut domains, &functions)).map_err(failed)?;
    let mut made = module.clone();
    let mut pass = capture::Capture { domains: &mut domains, params: Default::default(), error: None };
    let mut rewriting = Rewriting::new();
    for (name, function) in functions {
        made.set_function(name, rewriting.run(cx.store, function, &mut pass));
    }
    pass.error.map_or(Ok(made), |error| Err(failed(error)))
}

fn devices(cx: &mut PassCx<'_>, arguments: &Args) -> Result<Devices, PassError> {
    let fallback = match cx.context.config.get("relay.fallback_device_type") {
        Some(Literal::Int(kind)) => Some(*kind),
        _ => None,
    };
    Devices::new(cx.store, arguments.get("config"), fallback)
        .map_err(|message| vec![Diagnostic::error("pass-argument", format!("PlanDevices: {message}"), None)])
}

/// Returns the device of the host for a target: that of the program if one of these is it.
pub(super) fn host_device(store: &mut Store, config: &Literal, known: &[Id<Object>]) -> Result<Id<Object>, String> {
    let mut devices = Devices::new(store, config, None)?;
    for device in known {
        devices.read(store, *device)?;
    }
    let host = devices.host;
    Ok(devices.object(store, host))
}

fn failed(message: String) -> PassError {
    vec![Diagnostic::error("relay-devices", message, None)]
}

/// Fixes annotations that are all that a variable, a function or a field is made of.
struct Fixed;

impl Fixed {
    fn fixed(store: &mut Store, id: ExprId) -> ExprId {
        let Some(place) = place_of(store, id).filter(|_| is_normal(store, id)) else { return id };
        let inside = arg(store, id, 0);
        on_device(store, inside, place.device)
    }
}

impl ExprMutator for Fixed {
    fn rule(&self) -> &'static str {
        "annotation of a device fixed"
    }

    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        let ty = store.checked_type(pre);
        match store.expr(post) {
            Expr::TupleGetItem { tuple, index } if is_normal(store, tuple) => {
                let Some(call) = store.call(tuple) else { return post };
                let item = store.add_typed(Expr::TupleGetItem { tuple, index }, ty);
                store.add_call(call.callee, &[item], call.attrs)
            }
            Expr::Let { var, value, body } if is_normal(store, value) => {
                let value = Self::fixed(store, value);
                store.add_typed(Expr::Let { var, value, body }, ty)
            }
            Expr::Function(_) => {
                let Some(function) = store.as_function(post).filter(|f| is_normal(store, f.body)) else { return post };
                let body = Self::fixed(store, function.body);
                let function = store.add_function(Function { body, ..function });
                store.add_typed(Expr::Function(function), ty)
            }
            _ => post,
        }
    }
}

#[cfg(test)]
mod tests;
