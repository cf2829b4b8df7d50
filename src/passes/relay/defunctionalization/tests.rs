use super::super::testing::{self, after, data, failure, run, values};
use crate::ir::{DType, Store};

fn keeps(program: &str) {
    let store = &mut Store::new();
    let module = testing::read(store, program);
    let inputs = [data(DType::F32, &[4])];
    let before = values(store, &module, &inputs);
    let trace = run(store, module, "Defunctionalization(), RemoveUnusedFunctions()");
    assert!(trace.is_complete(), "{:?}", trace.failures());
    let after = trace.last().clone();
    let text = testing::show(store, &after);
    assert!(!text.contains(": fn ("), "{text}");
    assert_eq!(values(store, &after, &inputs), before, "{text}");
}

#[test]
fn polymorphic_functions_that_call_themselves_keep_their_values() {
    keeps(
        "type Items[A] { More(A, Items[A]), Done, }
         def @each[A, B](%f: fn (A) -> B, %items: Items[A]) -> Items[B] {
           match (%items) { More(%x, %rest) => More(%f(%x), @each(%f, %rest)), Done => Done, }
         }
         def @total(%items: Items[Tensor[(4), float32]], %from: Tensor[(4), float32]) -> Tensor[(4), float32] {
           match (%items) { More(%x, %rest) => add(%x, @total(%rest, %from)), Done => %from, }
         }
         def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {
           let %scaled = @each(fn (%y: Tensor[(4), float32]) -> Tensor[(4), float32] { multiply(%y, %x) }, More(%x, More(%x, Done)));
           @total(%scaled, %x)
         }",
    );
}

#[test]
fn functions_of_two_types_have_a_data_type_each() {
    keeps(
        "def @call[A, B](%f: fn (A) -> B, %x: A) -> B { %f(%x) }
         def @neg(%x: Tensor[(4), float32]) -> Tensor[(4), float32] { negative(%x) }
         def @main(%x: Tensor[(4), float32]) -> (Tensor[(4), float32], float32) {
           (@call(@neg, %x), @call(fn (%y: Tensor[(4), float32]) -> float32 { sum(%y) }, %x))
         }",
    );
}

#[test]
fn a_function_that_grows_at_each_call_is_data_that_grows() {
    // A continuation: each call gives a function that captures the one before it.
    let program = "type Nat { Zero, Next(Nat), }
         def @up(%n: Nat, %k: fn (Tensor[(4), float32]) -> Tensor[(4), float32], %x: Tensor[(4), float32]) -> Tensor[(4), float32] {
           match (%n) {
             Zero => %k(%x),
             Next(%m) => @up(%m, fn (%y: Tensor[(4), float32]) -> Tensor[(4), float32] { add(%k(%y), %x) }, %x),
           }
         }
         def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {
           @up(Next(Next(Zero)), fn (%z: Tensor[(4), float32]) -> Tensor[(4), float32] { exp(%z) }, %x)
         }";
    keeps(program);
    assert!(after("Defunctionalization()", program).contains("F1(DefuncFuncType[], Tensor[(4), float32])"));
}

#[test]
fn entries_that_take_functions_and_functions_in_variables_are_refused() {
    let entry = "def @main(%f: fn (int32) -> int32) -> int32 { %f(1) }";
    assert_eq!(failure("Defunctionalization()", entry), "program cannot have func type parameters");
    let bound = "def @main(%x: int32) -> int32 { let %f = fn (%y: int32) -> int32 { abs(%y) }; %f(%x) }";
    assert!(failure("Defunctionalization()", bound).starts_with("expected type call"));
    let yields = "def @make(%x: int32) -> fn (int32) -> int32 { fn (%y: int32) -> int32 { add(%x, %y) } }
        def @main(%x: int32) -> int32 { @make(%x)(%x) }";
    assert_eq!(failure("Defunctionalization()", yields), "returning functions not supported");
    assert!(failure("Defunctionalization(\"other\")", bound).contains("no function @other"));
}
