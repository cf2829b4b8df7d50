//! Default schedules: rules that schedule a function for a device without tuning (TVM's `python/tvm/s_tir/dlight`).
//!
//! A rule looks at a function, and either leaves it or schedules it by the instructions of [`super`]. The first rule that does
//! not leave a function has scheduled it. An exception in a rule of TVM is an error here.

mod analysis;
mod cpu;
mod default_gpu;
mod fallback;
mod gemv;
mod gemv_outer;
mod general_reduction;
mod low_batch;
mod matmul;
mod matrix_units;
mod reduction;
mod rmsnorm;
mod steps;
mod transpose;

use super::state::{State, Step};
use super::{Outcome, Refused};
use crate::ir::{AttrValue, Module, Store};
use steps::Sch;

/// A device, as far as rules look at it.
#[derive(Clone, Debug, Default)]
pub struct Device {
    /// The kind of target: `cuda`.
    pub kind: String,
    /// True if it is a CPU, by its keys.
    pub cpu: bool,
    /// True if it is a GPU, by its keys.
    pub gpu: bool,
    /// `max_threads_per_block`, or else `max_num_threads`.
    pub block_threads: Option<i64>,
    /// `max_num_threads`
    pub num_threads: Option<i64>,
    /// `max_shared_memory_per_block`
    pub shared_memory: Option<i64>,
    /// `arch`
    pub arch: String,
    /// True if its host runs Android.
    pub android: bool,
    /// True if an attribute says Adreno.
    pub adreno: bool,
    /// True if an attribute says Mali.
    pub mali: bool,
    /// Bits of a vector register of a CPU.
    pub vector_bits: i64,
    /// The argument of `LowBatchGEMV`.
    pub bucket: i64,
}

impl Device {
    /// Reads a target as attributes hold it.
    pub fn of(store: &Store, target: &AttrValue) -> Device {
        let mut device = Device { bucket: 4, ..Device::default() };
        let AttrValue::Object(object) = target else { return device };
        let mut triple = String::new();
        for (name, value) in &store.object(*object).fields {
            let text = |value: &AttrValue| match value {
                AttrValue::Str(text) => store.str(*text).to_owned(),
                _ => String::new(),
            };
            match store.str(*name) {
                "kind" => device.kind = text(value),
                "keys" => {
                    let AttrValue::Array(keys) = value else { continue };
                    device.cpu = keys.iter().any(|key| text(key) == "cpu");
                    device.gpu = keys.iter().any(|key| text(key) == "gpu");
                }
                "host" => {
                    let AttrValue::Map(fields) = value else { continue };
                    device.android = fields.iter().any(|(_, value)| text(value).contains("android"));
                }
                "tag" => {}
                other => {
                    match other {
                        "max_threads_per_block" => device.block_threads = value.as_int(),
                        "max_num_threads" => device.num_threads = value.as_int(),
                        "max_shared_memory_per_block" => device.shared_memory = value.as_int(),
                        "arch" => device.arch = text(value),
                        "mtriple" => triple = text(value),
                        _ => {}
                    }
                    let says = |word: &str| text(value).contains(word) || other.contains(word);
                    device.adreno |= says("adreno");
                    device.mali |= says("mali");
                }
            }
        }
        device.block_threads = device.block_threads.or(device.num_threads);
        device.vector_bits = match triple.split('-').next() {
            Some("x86_64") => 512,
            Some("i386" | "i686") => 256,
            _ => 128,
        };
        device
    }

    /// The kind, or `adreno` or `mali` for OpenCL on such.
    fn family(&self) -> &str {
        match &*self.kind {
            "opencl" if self.android || self.adreno => "adreno",
            "opencl" if self.mali => "mali",
            kind => kind,
        }
    }
}

/// The result of an attempt: whether it has scheduled the function.
type Attempt = fn(&mut Sch<'_, '_>, &Device) -> Outcome<bool>;

/// The rules by their names in `dlight`, each as attempts of which one after the other begins with the function as it is.
const RULES: &[(&str, &[Attempt])] = &[
    ("cpu.GEMV", &[cpu::gemv]),
    ("cpu.Reduction", &[cpu::reduction]),
    ("gpu.Fallback", &[fallback::fallback]),
    ("gpu.GEMV", &[gemv::gemv]),
    ("gpu.GeneralReduction", &[general_reduction::general_reduction]),
    ("gpu.LowBatchGEMV", &[low_batch::low_batch_gemv]),
    ("gpu.Matmul", &[matrix_units::tensor_cores, matrix_units::simdgroups, matmul::adreno, matmul::matmul]),
    ("gpu.RMSNorm", &[rmsnorm::rmsnorm]),
    ("gpu.Reduction", &[reduction::reduction]),
    ("gpu.Transpose", &[transpose::transpose]),
];

/// The names of the rules.
pub fn rule_names() -> impl Iterator<Item = &'static str> {
    RULES.iter().map(|(name, _)| *name)
}

/// The module with one of its functions scheduled by the first of some rules that does so, and the instructions; each rule with
/// its `bucket`. Nothing where all leave it. Each instruction is a rewrite; without fuel the rest of them is left out.
pub fn schedule_by(
    store: &mut Store,
    module: &Module,
    func: &str,
    rules: &[(&str, i64)],
    device: &Device,
) -> Outcome<Option<(Module, Vec<Step>)>> {
    for (rule, bucket) in rules {
        let device = &Device { bucket: *bucket, ..device.clone() };
        let attempts = RULES.iter().find(|(name, _)| name == rule).map_or(&[][..], |(_, attempts)| attempts);
        for attempt in attempts {
            // The first time nothing is recorded: most rules leave most functions, after having looked at them scheduled.
            let inside = store.makes_products();
            let mark = store.mark();
            if !inside {
                store.begin_products();
            }
            let tried = run(store, module, func, *attempt, device).map(|(does, module, steps)| does.then_some((module, steps)));
            if !inside {
                store.end_products(mark, None);
            }
            match tried? {
                None => {}
                Some(scheduled) if inside => return Ok(Some(scheduled)),
                Some(_) => return run(store, module, func, *attempt, device).map(|(_, module, steps)| Some((module, steps))),
            }
        }
    }
    Ok(None)
}

type Tried = (bool, Module, Vec<Step>);

fn run(store: &mut Store, module: &Module, func: &str, attempt: Attempt, device: &Device) -> Outcome<Tried> {
    let mut state = State::new(store, module);
    let Some(at) = state.function_named(func) else { return Ok((false, module.clone(), Vec::new())) };
    state.work_on(at);
    let done = attempt(&mut Sch { state: &mut state }, device);
    let stopped = !state.store.log.has_fuel() && !state.store.makes_products();
    let steps = std::mem::take(&mut state.steps);
    match done {
        Ok(does) => Ok((does, state.module(), steps)),
        Err(_) if stopped => Ok((true, state.module(), steps)),
        Err(Refused(message)) => Err(Refused(message)),
    }
}

/// The module with functions bound to threads, as `DefaultGPUSchedule` does it: those named, each with the greatest number of
/// threads in a block.
pub fn bind_threads(store: &mut Store, module: &Module, funcs: &[(String, i64)]) -> Outcome<Module> {
    let mut state = State::new(store, module);
    for (name, threads) in funcs {
        let Some(at) = state.function_named(name) else { continue };
        state.work_on(at);
        let done = default_gpu::bind_all(&mut Sch { state: &mut state }, *threads);
        if !state.store.log.has_fuel() && !state.store.makes_products() {
            break;
        }
        done?;
    }
    Ok(state.module())
}
