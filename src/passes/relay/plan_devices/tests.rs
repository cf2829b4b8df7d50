use super::super::testing::{after, failure};

/// Programs of the tests say `CPU` and `GPU`.
fn program(text: &str) -> String {
    let text =
        text.replace("CPU", "virtual_device=meta[VirtualDevice][0]").replace("GPU", "virtual_device=meta[VirtualDevice][1]");
    let device = |kind: i64| {
        format!(
            "{{\"type_key\": \"VirtualDevice\", \"attrs\": {{\"device_type_int\": \"{kind}\", \"memory_scope\": \"5\", \
             \"target\": \"0\", \"virtual_device_id\": \"0\"}}}}"
        )
    };
    format!(
        "#[version = \"0.0.5\"]\n{text}\n#[metadata]\n{{\"root\": 1, \"b64ndarrays\": [], \"attrs\": {{\"tvm_version\": \
         \"0.19.0\"}}, \"nodes\": [{{\"type_key\": \"\"}}, {{\"type_key\": \"Map\", \"keys\": [\"VirtualDevice\"], \"data\": \
         [2]}}, {{\"type_key\": \"Array\", \"data\": [3, 4]}}, {}, {}, {{\"type_key\": \"runtime.String\"}}]}}",
        device(1),
        device(2)
    )
}

const BOTH: &str = "PlanDevices(config=[\"llvm\", \"cuda\"])";

fn planned(text: &str) -> String {
    let made = after(BOTH, &program(text));
    // In the order in which they are printed, devices have their numbers.
    made.replace("virtual_device=meta[VirtualDevice]", "on").replace("meta[VirtualDevice]", "")
}

#[test]
fn a_value_is_copied_to_where_it_is_needed() {
    let made = planned(
        "def @main(%a: Tensor[(4), float32], %b: Tensor[(4), float32]) {
           %0 = on_device(exp(%a), GPU);
           add(%0, %b)
         }",
    );
    let [gpu, cpu] = if made.contains("%a {on[0]}") { [0, 1] } else { [1, 0] };
    assert!(made.contains(&format!("%a {{on[{gpu}]}}")) && made.contains(&format!("%b {{on[{cpu}]}}")), "{made}");
    assert!(made.contains(&format!("on_device(%0, on[{gpu}], constrain_result=True)")), "{made}");
    assert!(made.contains(&format!("device_copy(%1, src_on[{gpu}], dst_on[{cpu}])")), "{made}");
}

#[test]
fn with_one_target_nothing_moves() {
    let made = after(
        "PlanDevices()",
        "def @main(%x: Tensor[(4), float32]) { let %y = exp(%x); if (True) { %y } else { negative(%y) } }",
    );
    assert!(!made.contains("device_copy") && made.matches("virtual_device=").count() == 3, "{made}");
    assert!(made.contains("= on_device(%0, virtual_device=meta[VirtualDevice][0], constrain_result=True)"), "{made}");
}

#[test]
fn a_value_that_is_needed_on_two_devices_is_copied_once() {
    let made = planned(
        "def @main(%a: Tensor[(4), float32]) {
           %0 = exp(%a);
           %1 = on_device(negative(%0), CPU);
           %2 = on_device(sqrt(%0), GPU);
           add(%1, %2)
         }",
    );
    assert_eq!(made.matches("device_copy(").count(), 2, "{made}");
}

#[test]
fn branches_and_bound_functions_are_where_their_result_is() {
    let made = planned(
        "def @main(%p: bool, %a: Tensor[(4), float32]) {
           let %f = fn (%x: Tensor[(4), float32]) { on_device(exp(%x), GPU) };
           if (%p) { %f(%a) } else { %a }
         }",
    );
    // The function computes on the other device, and so is everything that depends on it.
    assert!(!made.contains("device_copy") && made.matches("on[0]").count() == made.matches("on[").count(), "{made}");
}

#[test]
fn shapes_are_computed_on_the_host() {
    let made = planned(
        "def @main(%x: Tensor[(?), float32]) {
           %0 = on_device(%x, GPU, constrain_result=True);
           vm.shape_of(%0, dtype=\"int64\")
         }",
    );
    assert!(made.contains("%x {on[0]}") && made.contains("on[1])") && !made.contains("device_copy"), "{made}");
}

#[test]
fn the_default_is_what_the_context_says() {
    let run = |config: i64| {
        let store = &mut crate::ir::Store::new();
        let devices = super::Devices::new(
            store,
            &crate::pass::Literal::List(["llvm", "cuda"].map(|t| crate::pass::Literal::Str(t.to_owned())).to_vec()),
            Some(config),
        );
        devices.map(|devices| devices.show(store, devices.default))
    };
    assert_eq!(run(2).unwrap(), "VirtualDevice(device_type=2, virtual_device_id=0, target=cuda)");
    assert!(run(8).unwrap_or_else(|error| error).contains("No target is specified for device type 8"));
}

#[test]
fn a_planned_program_stays() {
    let store = &mut crate::ir::Store::new();
    let source = program(
        "def @main(%a: Tensor[(4), float32]) {
           let %x = on_device((exp(%a), %a), GPU);
           add(%x.0, on_device(negative(%x.1), CPU))
         }",
    );
    let module = super::super::testing::read(store, &source);
    let calls = format!("{BOTH}, InferType()");
    let once = super::super::testing::run(store, module, &calls).last().clone();
    let twice = super::super::testing::run(store, once.clone(), &calls).last().clone();
    assert_eq!(once, twice, "{}", super::super::testing::show(store, &twice));
}

#[test]
fn devices_that_contradict_each_other_and_unknown_targets_are_refused() {
    let both = program("def @main(%a {CPU}: Tensor[(4), float32], GPU) -> Tensor[(4), float32] { %a }");
    assert!(failure(BOTH, &both).contains("Incompatible virtual devices"), "{}", failure(BOTH, &both));
    let plain = "def @main(%x: float32) { %x }";
    assert!(failure("PlanDevices(config=\"llvn\")", plain).contains("\"llvn\" is not defined"));
    assert!(failure("PlanDevices(config=[])", plain).contains("at least one target"));
    assert!(failure("PlanDevices(config=[\"llvm\", \"llvm -mcpu=core-avx2\"])", plain).contains("Multiple targets"));
    let gpu = program("def @main(%a {GPU}: Tensor[(4), float32]) { %a }");
    assert!(failure("PlanDevices()", &gpu).contains("No target is specified for device type 2"));
}
