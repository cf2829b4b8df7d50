//! The kinds of targets (`src/target/target_kind.cc`), and the defaults of each.

use crate::ir::{AttrValue, Id, Name, Store};

/// The kinds of targets, their default keys, and their options with defaults, as Python literals.
pub const TARGET_KINDS: &[(&str, &[&str], &[(&str, &str)])] = &[
    ("llvm", &["cpu"], &[("mtriple", TRIPLE)]),
    ("c", &["cpu"], &[]),
    ("cuda", &["cuda", "gpu"], &[("arch", "\"sm_50\""), ("max_num_threads", "1024"), ("thread_warp_size", "32")]),
    (
        "metal",
        &["metal", "gpu"],
        &[
            ("max_function_args", "31"),
            ("thread_warp_size", "16"),
            ("max_shared_memory_per_block", "32768"),
            ("max_threads_per_block", "256"),
            ("max_num_threads", "256"),
        ],
    ),
    (
        "opencl",
        &["opencl", "gpu"],
        &[
            ("image_base_address_alignment", "64"),
            ("max_function_args", "128"),
            ("texture_depth_limit", "2048"),
            ("texture_spatial_limit", "16384"),
            ("thread_warp_size", "1"),
            ("max_num_threads", "256"),
            ("max_shared_memory_per_block", "16384"),
            ("max_threads_per_block", "256"),
        ],
    ),
    (
        "vulkan",
        &["vulkan", "gpu"],
        &[
            ("thread_warp_size", "1"),
            ("max_threads_per_block", "256"),
            ("max_num_threads", "256"),
            ("supports_int32", "True"),
            ("supports_float32", "True"),
        ],
    ),
    (
        "rocm",
        &["rocm", "gpu"],
        &[
            ("mcpu", "\"gfx900\""),
            ("mtriple", "\"amdgcn-amd-amdhsa-hcc\""),
            ("thread_warp_size", "64"),
            ("max_shared_memory_per_block", "65536"),
            ("max_threads_per_block", "256"),
            ("max_num_threads", "256"),
        ],
    ),
    (
        "webgpu",
        &["webgpu", "gpu"],
        &[
            ("thread_warp_size", "1"),
            ("supports_subgroups", "False"),
            ("max_shared_memory_per_block", "32768"),
            ("max_num_threads", "256"),
        ],
    ),
    (
        "nvptx",
        &["cuda", "gpu"],
        &[("mcpu", "\"sm_50\""), ("mtriple", "\"nvptx64-nvidia-cuda\""), ("thread_warp_size", "32"), ("max_num_threads", "1024")],
    ),
    ("hexagon", &["hexagon", "cpu"], &[]),
    ("ext_dev", &[], &[]),
];

/// The default triple of an `llvm` target, as TVM 0.27's wheel for Linux has it.
const TRIPLE: &str = "\"x86_64-conda-linux-gnu\"";

/// Adds the defaults to the fields of a target, and of its host. The error reports an unknown kind.
pub fn complete_target(store: &mut Store, fields: &mut Vec<(Id<Name>, AttrValue)>) -> Result<(), String> {
    let find = |store: &Store, name: &str| fields.iter().position(|(key, _)| store.str(*key) == name);
    if let Some(at) = find(store, "host") {
        let mut host = match &fields[at].1 {
            AttrValue::Map(host) => host.to_vec(),
            AttrValue::Str(kind) => vec![(store.name("kind"), AttrValue::Str(*kind))],
            _ => Vec::new(),
        };
        if !host.is_empty() {
            complete_target(store, &mut host)?;
            fields[at].1 = AttrValue::Map(host.into());
        }
    }
    let kind = fields.iter().find(|(key, _)| store.str(*key) == "kind").map(|(_, kind)| kind.clone());
    let Some(AttrValue::Str(kind)) = kind else { return Err("a target needs a kind: {\"kind\": \"llvm\"}".to_owned()) };
    let Some((name, keys, options)) = TARGET_KINDS.iter().find(|(known, ..)| *known == store.str(kind)) else {
        return Err(format!("Target kind \"{}\" is not defined", store.str(kind)));
    };
    let mut defaults: Vec<(&str, AttrValue)> = vec![("tag", AttrValue::Str(store.name("")))];
    defaults.push(("keys", AttrValue::Array(keys.iter().map(|key| AttrValue::Str(store.name(key))).collect())));
    // Of a processor that is named TVM takes no triple for granted.
    let has_cpu = fields.iter().any(|(key, _)| store.str(*key) == "mcpu");
    for (option, literal) in *options {
        if *name == "llvm" && has_cpu {
            continue;
        }
        let value = match literal.parse::<i64>() {
            Ok(value) => AttrValue::Int { value, bits: 64 },
            Err(_) if *literal == "True" || *literal == "False" => AttrValue::Bool(*literal == "True"),
            Err(_) => AttrValue::Str(store.name(literal.trim_matches('"'))),
        };
        defaults.push((option, value));
    }
    let subgroups = |(key, value): &(Id<Name>, AttrValue)| {
        store.str(*key) == "supports_subgroups" && matches!(value, AttrValue::Bool(true) | AttrValue::Int { value: 1, .. })
    };
    if *name == "webgpu" && fields.iter().any(subgroups) {
        defaults.retain(|(option, _)| *option != "thread_warp_size");
        defaults.push(("thread_warp_size", AttrValue::Int { value: 32, bits: 64 }));
    }
    for (option, value) in defaults {
        if !fields.iter().any(|(key, _)| store.str(*key) == option) {
            fields.push((store.name(option), value));
        }
    }
    crate::ir::sort::sort_by(fields, |a, b| store.str(a.0).cmp(store.str(b.0)));
    Ok(())
}

/// Returns the number of a kind of device (`DLDeviceType`).
pub fn device_type(kind: &str) -> i64 {
    match kind {
        "cuda" | "nvptx" => 2,
        "opencl" => 4,
        "vulkan" => 7,
        "metal" => 8,
        "rocm" => 10,
        "ext_dev" => 12,
        "webgpu" => 15,
        "hexagon" => 16,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_completed_too() {
        let store = &mut Store::new();
        let (kind, cuda) = (store.name("kind"), store.name("cuda"));
        let (host, llvm) = (store.name("host"), store.name("llvm"));
        let mut fields = vec![(kind, AttrValue::Str(cuda)), (host, AttrValue::Str(llvm))];
        complete_target(store, &mut fields).expect("a kind that is known");
        let names: Vec<&str> = fields.iter().map(|(key, _)| store.str(*key)).collect();
        assert_eq!(names, ["arch", "host", "keys", "kind", "max_num_threads", "tag", "thread_warp_size"]);
        let AttrValue::Map(host) = &fields[1].1 else { panic!("the host is told by its fields") };
        let names: Vec<&str> = host.iter().map(|(key, _)| store.str(*key)).collect();
        assert_eq!(names, ["keys", "kind", "mtriple", "tag"]);
    }
}
