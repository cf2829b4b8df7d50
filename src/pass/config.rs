//! The registry of configuration keys (TVM's `TVM_REGISTER_PASS_CONFIG_OPTION`).

use super::spec::Literal;
use crate::parse::suggest;

/// The type of a key's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigType {
    /// An integer; truth values count as 0 and 1.
    Int,
    /// A truth value; integers count as in Python.
    Bool,
    /// A string.
    Str,
    /// A list.
    List,
    /// A dict with these fields and defaults, all of them integers or truth values. TVM makes an
    /// object of the type that is named.
    Dict(&'static str, &'static [(&'static str, &'static str)]),
}

crate::words! {
    /// The type of a configuration value, in Python's words.
    pub enum TypeWord {
        /// An integer.
        Int = "int",
        /// A truth value.
        Bool = "bool",
        /// A string.
        Str = "str",
        /// A list.
        List = "list",
        /// A dict.
        Dict = "dict",
    }
}

impl ConfigType {
    /// Returns the type in the words of TVM's `list_configs`, which reports integers and truth values alike.
    pub fn tvm_name(self) -> &'static str {
        match self {
            ConfigType::Int | ConfigType::Bool => "IntImm",
            ConfigType::Str => "runtime.String",
            ConfigType::List => "Array",
            ConfigType::Dict(name, _) => name,
        }
    }

    /// Returns the type in a word of Python.
    pub fn word(self) -> TypeWord {
        match self {
            ConfigType::Int => TypeWord::Int,
            ConfigType::Bool => TypeWord::Bool,
            ConfigType::Str => TypeWord::Str,
            ConfigType::List => TypeWord::List,
            ConfigType::Dict(..) => TypeWord::Dict,
        }
    }
}

/// A configuration key.
#[derive(Clone, Copy, Debug)]
pub struct ConfigKey {
    /// Name, e.g. `relay.FuseOps.max_depth`.
    pub key: &'static str,
    /// The type of the value.
    pub ty: ConfigType,
    default: &'static str,
    /// Its effect, in a sentence.
    pub doc: &'static str,
}

/// A configuration: keys and their values, in the order of the keys. It holds few, so a list does.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config(Vec<(String, Literal)>);

impl Config {
    /// Sets a key, replacing an earlier value.
    pub fn insert(&mut self, key: String, value: Literal) {
        match self.0.binary_search_by(|(k, _)| k.as_str().cmp(&key)) {
            Ok(at) => self.0[at].1 = value,
            Err(at) => self.0.insert(at, (key, value)),
        }
    }

    /// Returns the value of a key that is set.
    pub fn get(&self, key: &str) -> Option<&Literal> {
        self.iter().find(|(k, _)| k == key).map(|(_, value)| value)
    }

    /// Keys and values in the order of the keys.
    pub fn iter(&self) -> impl Iterator<Item = &(String, Literal)> {
        self.0.iter()
    }
}

impl FromIterator<(String, Literal)> for Config {
    fn from_iter<I: IntoIterator<Item = (String, Literal)>>(entries: I) -> Config {
        let mut config = Config::default();
        for (key, value) in entries {
            config.insert(key, value);
        }
        config
    }
}

impl ConfigKey {
    /// Returns the default value, as a Python literal.
    pub fn default(&self) -> String {
        match self.ty {
            ConfigType::Dict(_, fields) => {
                let fields: Vec<String> = fields.iter().map(|(name, value)| format!("\"{name}\": {value}")).collect();
                format!("{{{}}}", fields.join(", "))
            }
            _ => self.default.to_owned(),
        }
    }
}

const fn int(key: &'static str, default: &'static str, doc: &'static str) -> ConfigKey {
    ConfigKey { key, ty: ConfigType::Int, default, doc }
}

const fn bool(key: &'static str, default: &'static str, doc: &'static str) -> ConfigKey {
    ConfigKey { key, ty: ConfigType::Bool, default, doc }
}

const fn other(key: &'static str, ty: ConfigType, default: &'static str, doc: &'static str) -> ConfigKey {
    ConfigKey { key, ty, default, doc }
}

use ConfigType::{Dict, List, Str};

/// The keys that TVM registers for passes over Relay and TIR (0.19), Relax and TIR (0.27), without those of compilers for
/// single devices, which are there only when TVM was built with them.
pub static KEYS: &[ConfigKey] = &[
    int("relay.FuseOps.max_depth", "256", "The most nodes in one group."),
    bool("relay.FuseOps.link_params", "False", "Tensor constants stay inside of the groups that use them."),
    bool("relay.ToMixedPrecision.keep_orig_output_dtype", "False", "The result of a function keeps its type."),
    bool("relay.backend.use_auto_scheduler", "False", "Schedules come from the auto scheduler."),
    bool("relay.backend.use_meta_schedule", "False", "Schedules come from MetaSchedule."),
    int("relay.backend.use_meta_schedule_dispatch", "0", "How MetaSchedule dispatches tasks: a set of flags."),
    other("relay.backend.tir_converter", Str, "\"default\"", "How TE becomes TIR: `default` or `allow_extern`."),
    int("relay.collage.tvm_max_depth", "8", "How deep the collage partitioner looks for groups for TVM; it wants to be told."),
    int("relay.collage.byoc_max_depth", "8", "How deep it looks for groups for an external compiler; it wants to be told."),
    other("relay.collage.byoc_fusion_style", List, "[]", "How it fuses for external compilers: `compiler.style` each."),
    int("relay.fallback_device_type", "1", "The device of whatever is not placed (1 is the CPU)."),
    bool("relay.frontend.fill_span", "False", "Importers record where each expression comes from."),
    bool("relay.remove_standalone_reshapes.enable", "True", "Lowered reshapes by themselves are removed."),
    bool("ir.enable_si_builder", "False", "Passes record which expressions a new one comes from. passlab always does."),
    bool("testing.immutable_module", "False", "A pass that changes its input fails. Here none can: versions never change."),
    int("relax.FuseOps.max_depth", "256", "The most operators in one group."),
    int("relax.fallback_device_type", "1", "The device of whatever is not placed (1 is the CPU)."),
    bool("relax.transform.apply_legalize_ops", "True", "Lowering pipelines legalise operators."),
    bool("relax.backend.use_cuda_graph", "False", "Static regions are captured as CUDA graphs."),
    bool("relax.lift_transform_params.consume_params", "False", "Lifted functions free parameters once they are used."),
    bool("te.keep_schedule_record", "False", "Schedules keep the primitives that made them."),
    bool("tir.noalias", "True", "Buffers of a function do not overlap."),
    bool("tir.detect_global_barrier", "False", "Looks for places that need a barrier across blocks."),
    bool("tir.instrument_bound_checkers", "False", "Accesses of buffers are checked when the program runs."),
    bool("tir.disable_assert", "False", "Assertions are left out."),
    bool("tir.disable_vectorize", "False", "Vectorised loops become serial ones."),
    bool("tir.enable_buffer_level_predication", "False", "Vectorised accesses may carry a predicate."),
    bool("tir.disable_cse_tir", "False", "Common subexpressions stay."),
    bool("tir.enable_equiv_terms_in_cse_tir", "False", "Subexpressions count as common when they are equal by algebra."),
    bool("tir.enable_debug", "False", "Functions carry debugging information."),
    bool("tir.disable_storage_rewrite", "False", "Buffers do not share memory."),
    bool("tir.is_entry_func", "False", "The function is the entry of the module."),
    other("tir.add_lower_pass", List, "[]", "Passes to run in addition while lowering: pairs of phase and pass."),
    bool("tir.debug_keep_trivial_loop", "False", "Loops of one round stay."),
    bool("tir.use_async_copy", "False", "Copies to shared memory are asynchronous."),
    bool("tir.merge_static_smem", "False", "Static shared memory is merged into one buffer."),
    bool("tir.instrument_lwp", "False", "Loops are instrumented for the light weight profiler."),
    bool("tir.lwp_disable_func_prof", "False", "That profiler leaves functions out."),
    int("tir.lwp_max_depth", "0", "Loops deeper than this are not profiled."),
    int("tir.lwp_min_height", "1", "Loops with fewer loops inside are not profiled."),
    bool("tir.instr_siblings", "True", "Only loops that have siblings are profiled."),
    bool("tir.reset_start_id", "False", "Numbers of profiled loops begin anew."),
    int("tir.vtcm_capacity", "0", "Bytes of tightly coupled memory; 0 does not check."),
    bool("tir.ptx_ldg32", "False", "Guarded loads become 32 bit loads of PTX."),
    bool("tir.experimental_dma_bypass_cache", "False", "Copies by DMA bypass the cache."),
    bool("tir.usmp.enable", "False", "Memory of all functions is planned as one."),
    other("tir.usmp.algorithm", Str, "\"greedy_by_size\"", "How memory is planned."),
    bool("tir.usmp.use_workspace_io", "False", "Inputs and outputs are planned too."),
    other("tir.usmp.custom_algorithm", Str, "\"\"", "The name of a function that plans memory."),
    other(
        "tir.UnrollLoop",
        Dict(
            "tir.transform.UnrollLoopConfig",
            &[
                ("auto_max_step", "0"),
                ("auto_max_depth", "8"),
                ("auto_max_extent", "0"),
                ("explicit_unroll", "True"),
                ("unroll_local_access", "False"),
            ],
        ),
        "",
        "Which loops are unrolled without being asked to, and whether into statements.",
    ),
    other(
        "tir.Simplify",
        Dict(
            "tir.transform.SimplifyConfig",
            &[
                ("transitively_prove_inequalities", "False"),
                ("propagate_knowns_to_prove_conditional", "False"),
                ("propagate_knowns_to_simplify_expressions", "False"),
                ("convert_boolean_to_and_of_ors", "False"),
                ("apply_constraints_to_boolean_branches", "False"),
            ],
        ),
        "",
        "What Simplify may use beside plain algebra.",
    ),
    other(
        "tir.RemoveNoOp",
        Dict(
            "tir.transform.RemoveNoOpConfig",
            &[("use_dataflow_analysis", "False"), ("max_simplification_steps", "0"), ("ignore_profiler_call", "False")],
        ),
        "",
        "How hard RemoveNoOp looks for statements without effect.",
    ),
    other(
        "tir.HoistExpression",
        Dict("tir.transform.HoistExpressionConfig", &[("hoisted_conditionals", "7"), ("hoisted_let_bindings", "7")]),
        "",
        "What HoistExpression hoists: sets of flags.",
    ),
    other(
        "tir.HoistIfThenElse",
        Dict("tir.transform.HoistIfThenElseConfig", &[("support_block_scope_hosting", "False")]),
        "",
        "Whether conditions on block variables are hoisted.",
    ),
    other(
        "tir.InjectDoubleBuffer",
        Dict("tir.transform.InjectDoubleBufferConfig", &[("split_loop", "1")]),
        "",
        "By what the loop around a double buffer is split.",
    ),
    other(
        "tir.LoopPartition",
        Dict(
            "tir.transform.LoopPartitionConfig",
            &[
                ("partition_const_loop", "False"),
                ("no_unroll_loop_with_extent_one", "False"),
                ("unroll_loop_with_partition_hint_no_interval", "False"),
            ],
        ),
        "",
        "Which loops are partitioned.",
    ),
    other(
        "tir.ReduceBranchingThroughOvercompute",
        Dict("tir.transform.ReduceBranchingThroughOvercomputeConfig", &[("use_dataflow_analysis", "False")]),
        "",
        "Whether data flow is used to prove that computing more is harmless.",
    ),
    other(
        "tirx.UnrollLoop",
        Dict(
            "tirx.transform.UnrollLoopConfig",
            &[
                ("auto_max_step", "0"),
                ("auto_max_depth", "8"),
                ("auto_max_extent", "0"),
                ("explicit_unroll", "1"),
                ("unroll_local_access", "0"),
            ],
        ),
        "",
        "Which loops are unrolled without being asked to, and whether into statements.",
    ),
    other(
        "tirx.StmtSimplify",
        Dict(
            "tirx.transform.StmtSimplifyConfig",
            &[
                ("transitively_prove_inequalities", "False"),
                ("convert_boolean_to_and_of_ors", "False"),
                ("apply_constraints_to_boolean_branches", "False"),
            ],
        ),
        "",
        "What StmtSimplify may use beside plain algebra.",
    ),
    other(
        "tirx.RemoveNoOp",
        Dict("tirx.transform.RemoveNoOpConfig", &[("max_simplification_steps", "0"), ("ignore_profiler_call", "False")]),
        "",
        "How hard RemoveNoOp looks for statements without effect.",
    ),
    other(
        "s_tir.HoistExpression",
        Dict("s_tir.transform.HoistExpressionConfig", &[("hoisted_conditionals", "7"), ("hoisted_let_bindings", "7")]),
        "",
        "What HoistExpression hoists: sets of flags.",
    ),
    other(
        "s_tir.HoistIfThenElse",
        Dict("s_tir.transform.HoistIfThenElseConfig", &[("support_block_scope_hoisting", "False")]),
        "",
        "Whether conditions on block variables are hoisted.",
    ),
    other(
        "s_tir.InjectDoubleBuffer",
        Dict("s_tir.transform.InjectDoubleBufferConfig", &[("split_loop", "1")]),
        "",
        "By what the loop around a double buffer is split.",
    ),
    other(
        "s_tir.LoopPartition",
        Dict(
            "s_tir.transform.LoopPartitionConfig",
            &[
                ("partition_const_loop", "False"),
                ("no_unroll_loop_with_extent_one", "False"),
                ("unroll_loop_with_partition_hint_no_interval", "False"),
            ],
        ),
        "",
        "Which loops are partitioned.",
    ),
    other("tirx.add_lower_pass", List, "[]", "Passes to run in addition while lowering: pairs of phase and pass."),
    bool("tirx.debug_keep_trivial_loop", "False", "Loops of one round stay."),
    bool("tirx.disable_assert", "False", "Assertions are left out."),
    bool("tirx.disable_cse_tir", "False", "Common subexpressions stay."),
    bool("tirx.disable_storage_rewrite", "False", "Buffers do not share memory."),
    bool("tirx.disable_vectorize", "False", "Vectorised loops become serial ones."),
    bool("tirx.enable_buffer_level_predication", "False", "Vectorised accesses may carry a predicate."),
    bool("tirx.enable_debug", "False", "Functions carry debugging information."),
    bool("tirx.enable_fast_math", "False", "Functions of the device that are quick and less exact are called."),
    bool("tirx.instrument_bound_checkers", "False", "Accesses of buffers are checked when the program runs."),
    bool("tirx.instrument_lwp", "False", "Loops are instrumented for the light weight profiler."),
    bool("tirx.is_entry_func", "False", "The function is the entry of the module."),
    bool("tirx.merge_static_smem", "False", "Static shared memory is merged into one buffer."),
    bool("tirx.noalias", "True", "Buffers of a function do not overlap."),
    bool("tirx.s_tir.ldg32", "False", "Guarded loads become 32 bit loads of PTX."),
    bool("tirx.use_async_copy", "False", "Copies to shared memory are asynchronous."),
    int("tirx.vtcm_capacity", "0", "Bytes of tightly coupled memory; 0 does not check."),
    bool("s_tir.instr_siblings", "True", "Only loops that have siblings are profiled."),
    bool("s_tir.lwp_disable_func_prof", "False", "That profiler leaves functions out."),
    int("s_tir.lwp_max_depth", "0", "Loops deeper than this are not profiled."),
    int("s_tir.lwp_min_height", "1", "Loops with fewer loops inside are not profiled."),
    bool("s_tir.reset_start_id", "False", "Numbers of profiled loops begin anew."),
];

/// Returns the key of that name.
pub fn key(name: &str) -> Option<&'static ConfigKey> {
    KEYS.iter().find(|key| key.key == name)
}

/// Returns the default of a field in a key's object.
pub(super) fn field_default(name: &str, field: &str) -> i64 {
    let fields = match key(name).map(|key| key.ty) {
        Some(Dict(_, fields)) => fields,
        _ => &[],
    };
    fields.iter().find(|(known, _)| *known == field).map_or(0, |(_, value)| match *value {
        "True" => 1,
        number => number.parse().unwrap_or(0),
    })
}

/// A key that the user's own passes read, with its type (the user's `TVM_REGISTER_PASS_CONFIG_OPTION`).
pub type OwnKey = (String, ConfigType);

/// Checks a configuration as TVM's `PassContext` does when it is built; `own` are keys beside those of TVM. The errors are
/// TVM's words, each with the key that it is about.
pub fn validate<'c>(config: &'c Config, own: &[OwnKey]) -> Vec<(&'c str, String)> {
    config.iter().filter_map(|(name, value)| wrong(name, value, own).map(|error| (name.as_str(), error))).collect()
}

/// Returns the key that was meant by one that there is not.
pub fn nearest_key<'k>(name: &str, own: &'k [OwnKey]) -> Option<&'k str> {
    if key(name).is_some() || own.iter().any(|(known, _)| known == name) {
        return None;
    }
    suggest::nearest(name, KEYS.iter().map(|k| k.key).chain(own.iter().map(|(name, _)| name.as_str())))
}

fn wrong(name: &str, value: &Literal, own: &[OwnKey]) -> Option<String> {
    let ty = key(name).map(|key| key.ty).or_else(|| own.iter().find(|(known, _)| known == name).map(|(_, ty)| *ty));
    let Some(ty) = ty else {
        // TVM writes the comma before a key and not behind it.
        let candidates: Vec<&str> = KEYS.iter().map(|k| k.key).chain(own.iter().map(|(name, _)| name.as_str())).collect();
        return Some(format!("Invalid config option '{name}' candidates are: {}", candidates.join(" ,")));
    };
    let fits = match (ty, value) {
        (_, Literal::None) => return Some(format!("{name} is None")),
        (ConfigType::Int | ConfigType::Bool, Literal::Int(_) | Literal::Bool(_)) => true,
        (Str, Literal::Str(_)) | (List, Literal::List(_)) => true,
        (Dict(_, fields), Literal::Dict(entries)) => {
            for (field, value) in entries {
                let Literal::Str(field) = field else { return Some(convert(name, ty)) };
                if !fields.iter().any(|(known, _)| known == field) {
                    let known: Vec<&str> = fields.iter().map(|(known, _)| *known).collect();
                    let what = ty.tvm_name();
                    return Some(format!("{what}: does not have field '{field}', Possible fields: {}", known.join(", ")));
                }
                if !matches!(value, Literal::Int(_) | Literal::Bool(_)) {
                    return Some(convert(name, ty));
                }
            }
            true
        }
        _ => false,
    };
    (!fits).then(|| convert(name, ty))
}

fn convert(name: &str, ty: ConfigType) -> String {
    format!("expect config {name} to have type {}, but received error when converting to this type.", ty.tvm_name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pass::call::parse_literal;

    fn error(key: &str, value: &str) -> Option<String> {
        let config = Config::from_iter([(key.to_owned(), parse_literal(value).expect("a literal"))]);
        validate(&config, &[]).pop().map(|(_, error)| error)
    }

    #[test]
    fn wrong_configurations_are_refused_in_tvms_words() {
        assert_eq!(error("relay.FuseOps.max_depth", "10"), None);
        assert_eq!(error("relay.FuseOps.link_params", "1"), None);
        let unknown = error("relay.FuseOps.depth", "10").unwrap_or_default();
        let begin =
            "Invalid config option 'relay.FuseOps.depth' candidates are: relay.FuseOps.max_depth ,relay.FuseOps.link_params ,";
        assert!(unknown.starts_with(begin), "{unknown}");
        assert_eq!(error("relay.FuseOps.max_depth", "None").as_deref(), Some("relay.FuseOps.max_depth is None"));
        let wrong = "expect config relay.FuseOps.max_depth to have type IntImm, but received error when converting to this type.";
        assert_eq!(error("relay.FuseOps.max_depth", "\"a\"").as_deref(), Some(wrong));
        assert_eq!(error("relay.FuseOps.max_depth", "1.5").as_deref(), Some(wrong));
        assert_eq!(error("relay.backend.tir_converter", "\"allow_extern\""), None);
    }

    #[test]
    fn keys_of_ones_own_are_checked_like_those_of_tvm() {
        let own = [("mine.depth".to_owned(), ConfigType::Int)];
        let config = |key: &str, value| Config::from_iter([(key.to_owned(), value)]);
        assert!(validate(&config("mine.depth", Literal::Int(3)), &own).is_empty());
        assert_eq!(validate(&config("mine.depth", Literal::Str("a".into())), &own).len(), 1);
        assert_eq!(validate(&config("mine.depth", Literal::Int(3)), &[]).len(), 1);
        assert_eq!(nearest_key("mine.dept", &own), Some("mine.depth"));
        assert_eq!(nearest_key("relay.FuseOps.max_dept", &[]), Some("relay.FuseOps.max_depth"));
    }

    #[test]
    fn a_dict_has_the_fields_of_its_object() {
        assert_eq!(error("tir.UnrollLoop", "{\"auto_max_step\": 16, \"explicit_unroll\": False}"), None);
        let unknown = error("tir.UnrollLoop", "{\"max\": 16}").unwrap_or_default();
        assert!(
            unknown.starts_with("tir.transform.UnrollLoopConfig: does not have field 'max', Possible fields: auto_max_step, ")
        );
        let wrong = error("tir.UnrollLoop", "16").unwrap_or_default();
        assert!(wrong.starts_with("expect config tir.UnrollLoop to have type tir.transform.UnrollLoopConfig, "), "{wrong}");
    }

    #[test]
    fn every_key_stands_once_and_its_default_fits() {
        for (i, key) in KEYS.iter().enumerate() {
            assert!(KEYS[..i].iter().all(|other| other.key != key.key), "{} twice", key.key);
            assert_eq!(error(key.key, &key.default()), None);
            assert!(key.doc.ends_with('.'), "{}", key.key);
        }
    }
}
