//! Tests that PartialEvaluate keeps the results of programs, whatever is known of their arguments: programs with data
//! types, references, closures and recursion, each with several inputs. Deep recursion needs memory and no call stack.

use crate::{close, opened, run};
use passlab::eval::{self, EvalOptions, Value};
use passlab::ir::{DType, Module, Store, Tensor};
use passlab::pass::trace::Trace;

const TIDY: &str = "PartialEvaluate(), InferType(), DeadCodeElimination(inline_once=True), InferType()";

/// Each with `%c` and `%n` as its parameters.
const PROGRAMS: &[&str] = &[
    // A closure chosen at run time writes to a reference that others read.
    "def @main(%c: bool, %n: int32) -> (int32, int32) {
       let %r = ref(1);
       let %add = fn (%m: int32) -> () { ref_write(%r, add(ref_read(%r), %m)) };
       let %double = fn (%m: int32) -> () { ref_write(%r, multiply(ref_read(%r), %m)) };
       let %a = %add(2);
       let %f = if (%c) { %add } else { %double };
       let %b = %f(%n);
       let %x = ref_read(%r);
       let %d = %double(%x);
       let %e = if (less(%n, 3)) { %f(2) } else { () };
       (%x, ref_read(%r))
     }",
    // Lists whose length is known and whose elements are not.
    "type List[A] { Cons(A, List[A]), Nil, }
     def @fold[A, B](%f: fn (B, A) -> B, %z: B, %l: List[A]) -> B {
       match (%l) { Cons(%h, %t) => { @fold(%f, %f(%z, %h), %t) }, Nil => { %z }, }
     }
     def @upto(%n: int32) -> List[int32] {
       if (less(%n, 1)) { Nil } else { Cons(%n, @upto(subtract(%n, 1))) }
     }
     def @main(%c: bool, %n: int32) -> (int32, int32, int32) {
       let %plus = fn (%x: int32, %y: int32) -> int32 { add(multiply(%x, 3), %y) };
       let %l = Cons(%n, Cons(if (%c) { 5 } else { %n }, @upto(3)));
       (@fold(%plus, 0, %l), @fold(%plus, %n, @upto(%n)), match (%l) { Cons(_, Cons(%k, _)) => { %k }, _ => { 0 }, })
     }",
    // Functions that give functions, polymorphic ones among them.
    "def @compose[A, B, C](%f: fn (B) -> C, %g: fn (A) -> B) -> fn (A) -> C { fn (%x: A) -> C { %f(%g(%x)) } }
     def @iterate[A](%f: fn (A) -> A, %n: int32) -> fn (A) -> A {
       if (equal(%n, 0)) { fn (%x: A) -> A { %x } } else { @compose(%f, @iterate(%f, subtract(%n, 1))) }
     }
     def @main(%c: bool, %n: int32) -> (int32, (int32, bool)) {
       let %step = fn (%p: (int32, bool)) -> (int32, bool) { (add(%p.0, %n), logical_not(%p.1)) };
       let %three = @iterate(%step, 3);
       let %inc = fn (%x: int32) -> int32 { add(%x, 1) };
       (@iterate(%inc, %n)(4), %three((1, %c)))
     }",
    // A reference to a function that calls itself through it.
    "def @main(%c: bool, %n: int32) -> int32 {
       let %r = ref(fn (%x: int32) -> int32 { %x });
       let %fact = fn (%x: int32) -> int32 {
         if (less(%x, 1)) { 1 } else { let %f = ref_read(%r); multiply(%x, %f(subtract(%x, 1))) }
       };
       let %u = ref_write(%r, %fact);
       let %v = if (%c) { ref_write(%r, fn (%x: int32) -> int32 { add(%x, 7) }) } else { () };
       %fact(%n)
     }",
];

fn scalar(dtype: DType, bytes: &[u8]) -> Value {
    Value::Tensor(Tensor::new(dtype, [], bytes))
}

fn apply(store: &mut Store, module: &Module, args: &[Value]) -> Value {
    eval::eval_function(store, module, "main", args, EvalOptions::default()).expect("it runs")
}

#[test]
fn programs_evaluated_in_part_compute_the_same() {
    for source in PROGRAMS {
        let mut store = Store::new();
        let module = opened(&mut store, &format!("#[version = \"0.0.5\"]\n{source}")).module;
        for calls in ["PartialEvaluate()", TIDY, "ToANormalForm(), PartialEvaluate(), InferType(), PartialEvaluate()"] {
            let after = run(&mut store, Trace::new(module.clone()), calls).last().clone();
            for (c, n) in [(0, 0i32), (1, 0), (0, 2), (1, 2), (0, 5), (1, 6)] {
                let args = [scalar(DType::BOOL, &[c]), scalar(DType::I32, &n.to_le_bytes())];
                let (expected, found) = (apply(&mut store, &module, &args), apply(&mut store, &after, &args));
                let shown = [&expected, &found].map(|value| eval::show(&store, value));
                assert!(close(&expected, &found), "{calls} with {c} and {n}: {shown:?}\n{source}");
            }
        }
    }
}

#[test]
fn a_recursion_of_thousands_of_known_steps_is_expanded_without_call_stack() {
    let source = "#[version = \"0.0.5\"]
        type nat { zero, succ(nat), }
        def @build(%n: int32) -> nat { if (equal(%n, 0)) { zero } else { succ(@build(subtract(%n, 1))) } }
        def @count(%x: nat) -> int32 { match (%x) { zero => { 0 }, succ(%y) => { add(1, @count(%y)) }, } }
        def @main() -> int32 { @count(@build(4000)) }";
    let work = move || {
        let mut store = Store::new();
        let module = opened(&mut store, source).module;
        let module = run(&mut store, Trace::new(module), TIDY).last().clone();
        let text = passlab::print::module(&store, &module, &passlab::print::PrintOptions::default());
        assert!(text.contains("def @main() -> int32 {\n  4000 "), "{}", &text[..text.len().min(2000)]);
    };
    let thread = std::thread::Builder::new().stack_size(512 << 10).spawn(work).expect("a thread starts");
    thread.join().expect("it neither panics nor overflows");
}
