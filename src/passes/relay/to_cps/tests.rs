use super::super::testing::{self, after, data, failure, run, values};
use crate::ir::{DType, Store};

/// Evaluates a program as it is, and turned into continuation passing style and back.
fn both(program: &str, calls: &str) -> [Vec<f64>; 2] {
    let store = &mut Store::new();
    let module = testing::read(store, program);
    let inputs = [data(DType::BOOL, &[]), data(DType::F32, &[4])];
    let before = values(store, &module, &inputs);
    let trace = run(store, module, calls);
    assert!(trace.is_complete(), "{:?}", trace.failures());
    let after = trace.last().clone();
    [before, values(store, &after, &inputs)]
}

const BRANCHES: &str = "def @main(%c: bool, %x: Tensor[(4), float32]) -> (Tensor[(4), float32], float32) {
    let %r = ref(%x);
    let %f = fn (%y: Tensor[(4), float32]) -> Tensor[(4), float32] { if (%c) { negative(%y) } else { exp(%y) } };
    let %w = ref_write(%r, %f(%x));
    let %z = ref_read(%r);
    (add(%f(%z), %z), 2f)
}";

#[test]
fn a_program_there_and_back_gives_the_same_value() {
    let [before, after] = both(BRANCHES, "ToCPS(), UnCPS()");
    assert_eq!(before, after);
    let [before, after] = both(BRANCHES, "ToCPS(), UnCPS(), ToANormalForm(), PartialEvaluate(), InferType()");
    assert_eq!(before, after);
}

#[test]
fn functions_that_call_themselves_get_a_version_of_their_own() {
    let program = "type Nat { Zero, Next(Nat), }
        def @times(%n: Nat, %x: Tensor[(4), float32]) -> Tensor[(4), float32] {
          match (%n) { Zero => %x, Next(%m) => @times(%m, add(%x, %x)), }
        }
        def @main(%c: bool, %x: Tensor[(4), float32]) -> Tensor[(4), float32] { @times(Next(Next(Next(Zero))), %x) }";
    assert!(after("ToCPS()", program).contains("@times_cps["), "{}", after("ToCPS()", program));
    let [before, after] = both(program, "ToCPS(), ApplyPassToFunction(UnCPS(), \"main\")");
    assert_eq!(before, after);
}

#[test]
fn a_call_is_the_last_thing_a_function_does() {
    let made = after("ToCPS()", "def @main(%f: fn (int32) -> int32, %x: int32) -> int32 { negative(%f(%x)) }");
    let wanted = "(%f: fn (int32, fn (int32) -> answer) -> answer, %x: int32, %k: fn (int32) -> answer) -> answer {";
    assert!(made.contains(wanted) && made.trim_end().ends_with("%f(%x, %0)\n}"), "{made}");
}

#[test]
fn what_is_shared_or_primitive_is_refused() {
    let said = failure("ToCPS()", "def @main(%x: int32) { %0 = abs(%x); add(%0, %0) }");
    assert!(said.contains("[fGraph, ]"), "{said}");
    let primitive = "def @main(%x: int32) { %0 = fn (%p: int32, Primitive=1) -> int32 { abs(%p) }; %0(%x) }";
    assert_eq!(failure("ToCPS()", primitive), "primitive func not supported yet.");
    let value = "type Box { Full(int32), }\ndef @main() -> fn (int32) -> Box { Full }";
    assert_eq!(failure("ToCPS()", value), "Do not have a default for relay.Constructor");
}
