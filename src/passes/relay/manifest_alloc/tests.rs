use super::super::testing::{self, after, data, failure, run, unchanged, values};
use crate::ir::{DType, Store};

const CALLS: &str = "PlanDevices(), FuseOps(), ToANormalForm(), InferType(), ManifestAlloc()";

#[test]
fn kernels_write_into_what_is_allocated_and_values_stay() {
    let store = &mut Store::new();
    let program = "def @main(%x: Tensor[(2, 3), float32]) -> (Tensor[(2, 3), float32], Tensor[(6), float32]) {
        %0 = nn.softmax(%x);
        (exp(%0), reshape(%0, newshape=[6]))
    }";
    let module = testing::read(store, program);
    let inputs = [data(DType::F32, &[2, 3])];
    let before = values(store, &module, &inputs);
    let trace = run(store, module, &format!("{CALLS}, ManifestLifetimes()"));
    assert!(trace.is_complete(), "{:?}", trace.failures());
    let after = trace.last().clone();
    let text = testing::show(store, &after);
    let counts = ["memory.alloc_storage(", "memory.alloc_tensor(", "vm.invoke_tvm_op(", "vm.reshape_tensor("];
    assert_eq!(counts.map(|call| text.matches(call).count()), [2, 2, 2, 1], "{text}");
    // 2 x 3 floats, aligned to 64 bytes.
    assert!(
        text.contains("on_device(24i64") && text.contains(", 64i64, virtual_device=") && !text.contains("meta[VirtualDevice][1]"),
        "{text}"
    );
    assert_eq!(values(store, &after, &inputs), before, "{text}");
}

#[test]
fn a_branch_allocates_inside() {
    let program = "def @main(%c: bool, %x: Tensor[(2), float32]) { if (%c) { exp(%x) } else { %x } }";
    let text = after(CALLS, program);
    let branch = text.find("if (").expect("a branch");
    assert!(text.find("memory.alloc_storage").is_some_and(|at| at > branch), "{text}");
}

#[test]
fn a_result_of_unknown_extents_stays_a_call_with_a_warning() {
    let store = &mut Store::new();
    let module = testing::read(store, "def @main(%x: Tensor[(?), float32]) { exp(%x) }");
    let trace = run(store, module, CALLS);
    assert!(trace.is_complete(), "{:?}", trace.failures());
    assert!(!testing::show(store, trace.last()).contains("memory.alloc"));
    assert!(trace.steps.iter().flat_map(|step| &step.reported).any(|found| found.message.contains("shape function")));
}

#[test]
fn programs_that_are_not_prepared_are_refused() {
    let program = "def @main(%x: Tensor[(2), float32]) { exp(%x) }";
    assert!(failure("PlanDevices(), FuseOps(), ManifestAlloc()", program).starts_with("Calls out of a let block"));
    let said = failure("FuseOps(), ToANormalForm(), InferType(), ManifestAlloc()", program);
    assert!(said.contains("PlanDevices comes before"), "{said}");
    unchanged("MemoryPlan()", "extern type Storage\ndef @main(%x: int32) { %x }");
    assert!(failure(&format!("{CALLS}, MemoryPlan()"), program).contains("too many values to unpack"));
}

#[test]
fn the_passes_of_the_virtual_machine_keep_values_of_recursion_and_closures() {
    let program = "type Nat { Zero, Next(Nat), }
        def @times(%n: Nat, %f: fn (Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32], %x: Tensor[(2, 3), float32])
            -> Tensor[(2, 3), float32] {
          match (%n) { Zero => %x, Next(%m) => %f(@times(%m, %f, %x)), }
        }
        def @main(%x: Tensor[(2, 3), float32]) {
          let %double = fn (%y: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] { add(%y, exp(%x)) };
          let %c = less(sum(%x), 0f);
          if (%c) { @times(Next(Next(Zero)), %double, %x) } else { tanh(%x) }
        }";
    let store = &mut Store::new();
    let module = testing::read(store, program);
    let inputs = [data(DType::F32, &[2, 3])];
    let before = values(store, &module, &inputs);
    let calls = crate::passes::pipeline("relay.vm").expect("it is there").calls();
    let trace = run(store, module, &calls.join(", "));
    assert!(trace.is_complete(), "{:?}", trace.failures());
    let after = trace.last().clone();
    let text = testing::show(store, &after);
    assert!(text.contains("vm.invoke_tvm_op(") && text.contains("memory.kill("), "{text}");
    // Both values come from the same kernels, in another order of operations at most.
    for (ours, wanted) in values(store, &after, &inputs).into_iter().zip(before) {
        assert!((ours - wanted).abs() < 1e-3 * wanted.abs().max(1.0), "{text}");
    }
}
