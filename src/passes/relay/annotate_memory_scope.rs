//! AnnotateMemoryScope: puts tensors into textures where the target has those.
//!
//! Does nothing to a program without devices of `opencl -device=adreno`. One with such devices is refused: its rules are
//! not here.
//!
//! Source: `src/relay/transforms/annotate_texture_storage.cc`.

use crate::diag::Diagnostic;
use crate::ir::walk::post_order;
use crate::ir::{AttrValue, ExprId, Id, Module, Object, Store};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};

/// Leaves programs without textures as they are.
pub static SPEC: PassSpec = PassSpec {
    name: "AnnotateMemoryScope",
    info_name: "AnnotateMemoryScope",
    dialects: crate::pass::spec::RELAY,
    opt_level: 2,
    required: &[],
    params: &[],
    config: &[],
    summary: "Puts tensors into textures, on Adreno graphics processors only.",
    doc: explained(
        "TVM asks the targets of the devices in the program in which memory each tensor is to be. Only one answers: \
`opencl -device=adreno`, which has textures. For all others the pass does nothing, in TVM as here. A program that is placed on \
an Adreno (by PlanDevices) is refused, because the rules of its textures are not here.",
    ),
    example_before: explained(
        "\
def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  nn.relu(%x)
}
",
    ),
    example_after: explained(
        "\
def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  nn.relu(%x)
}
",
    ),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, function: ExprId, _: &Args) -> Result<ExprId, PassError> {
    for id in post_order(cx.store, function) {
        let Some(inner) = cx.store.as_function(id) else { continue };
        let params = cx.store.items(inner.params).map(|param| cx.store.var_data(param).device);
        if params.chain([inner.device]).flatten().any(|device| is_adreno(cx.store, device)) {
            let message = "the rules for textures of Adreno graphics processors are not here";
            return Err(vec![Diagnostic::error("relay-memory-scope", message, cx.store.source_span(id))]);
        }
    }
    Ok(function)
}

/// True if the target of a device is `opencl -device=adreno`.
fn is_adreno(store: &Store, device: Id<Object>) -> bool {
    let Some(AttrValue::Object(target)) = store.object_field(device, "target") else { return false };
    let Some(AttrValue::Map(attrs)) = store.object_field(*target, "attrs") else { return false };
    let is_it = |value: &AttrValue| matches!(value, AttrValue::Str(name) if store.str(*name) == "adreno");
    attrs.iter().any(|(name, value)| store.str(*name) == "device" && is_it(value))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{failure, unchanged};

    #[test]
    fn a_program_on_other_targets_stays() {
        unchanged("AnnotateMemoryScope()", "def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] { nn.relu(%x) }");
    }

    #[test]
    fn a_program_on_an_adreno_is_refused() {
        let calls = "PlanDevices(config=\"opencl -device=adreno\"), AnnotateMemoryScope()";
        let message = failure(calls, "def @main(%x: Tensor[(4), float32]) { nn.relu(%x) }");
        assert!(message.contains("Adreno"), "{message}");
    }
}
