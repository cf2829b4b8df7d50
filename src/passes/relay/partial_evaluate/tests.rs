use super::super::testing::{after, check, failure, read, run, show};
use crate::ir::Store;

/// The pass, and then the removal of unused bindings and the inlining of single uses.
const TIDY: &str = "PartialEvaluate(), InferType(), DeadCodeElimination(inline_once=True), InferType()";
/// The same for programs with references, which are removed too when they are never read.
const PURE: &str = "PartialEvaluate(), InferType(), DeadCodeElimination(inline_once=True, ignore_impurity=True), InferType()";

/// Returns the body of `@main` after the calls.
fn main_after(calls: &str, program: &str) -> String {
    let text = after(calls, program);
    let start = text.find("def @main").unwrap_or_default();
    let body = text[start..].split_once("{\n").map_or("", |(_, body)| body);
    body.split("\n}").next().unwrap_or_default().replace("\n  ", "\n").trim().to_owned()
}

const LIST: &str = "type List[A] { Cons(A, List[A]), Nil, }
    def @map[A, B](%f: fn (A) -> B, %l: List[A]) -> List[B] {
      match (%l) { Cons(%h, %t) => { Cons(%f(%h), @map(%f, %t)) }, Nil => { Nil }, }
    } ";
const NAT: &str = "type nat { zero, succ(nat), } ";

#[test]
fn constants_are_computed_and_branches_taken_through_any_number_of_calls() {
    check(
        TIDY,
        "def @main(%x: int32) -> int32 {
           let %f = fn (%n: int32) -> int32 { if (less(%n, 1)) { 0 } else { add(%n, %f(subtract(%n, 1))) } };
           multiply(%x, %f(4))
         }",
        "def @main(%x: int32) -> int32 { multiply(%x, 10) }",
    );
    // The exponent is known in part, the base not at all.
    check(
        TIDY,
        "def @power(%x: float32, %n: int32) -> float32 {
           if (equal(%n, 0)) { 1f } else { multiply(%x, @power(%x, subtract(%n, 1))) }
         }
         def @main(%y: float32) -> float32 { @power(%y, 2) }",
        "def @power(%x: float32, %n: int32) -> float32 {
           if (equal(%n, 0)) { 1f } else { multiply(%x, @power(%x, subtract(%n, 1))) }
         }
         def @main(%y: float32) -> float32 { multiply(%y, multiply(%y, 1f)) }",
    );
}

#[test]
fn names_count_on_over_those_that_the_interpreter_of_tvm_takes() {
    // Two constants, the function of the operator and its call: four names before that of the sum.
    let text = after(
        "PartialEvaluate()",
        "def @main(%x: int32) -> int32 { let %t = (add(1, 2), %x); let %u = concatenate((expand_dims(%x, axis=0), )); %t.0 }",
    );
    let names: Vec<&str> = text.lines().filter_map(|line| line.trim().strip_prefix("let %")?.split([' ', ':']).next()).collect();
    assert_eq!(names, ["x_0", "x_1", "x_6", "x_7", "x_8", "x_9", "x_10"]);
}

#[test]
fn data_that_is_known_is_matched_and_data_that_is_not_is_left() {
    let double = "fn (%n: int32) -> int32 { add(%n, %n) }";
    let text = main_after(TIDY, &format!("{LIST} def @main(%x: int32) {{ @map({double}, Cons(2, Cons(%x, Nil))) }}"));
    assert_eq!(text, "%0 = add(%x, %x);\n%1 = Nil;\n%2 = Cons(%0, %1);\nCons(4, %2)");
    check(
        TIDY,
        "def @main(%x: int32, %p: (int32, int32)) -> int32 {
           match (((%x, 1), %p)) { ((%a, %b), (%c, _)) => { add(add(%a, %b), %c) }, }
         }",
        "def @main(%x: int32, %p: (int32, int32)) -> int32 {
           match (((%x, 1), %p)) { ((%a, %b), (%c, _)) => { add(add(%a, %b), %c) }, }
         }",
    );
}

#[test]
fn a_pattern_that_is_undecided_after_it_bound_a_variable_leaves_the_match() {
    let text = main_after(
        TIDY,
        &format!(
            "{LIST} def @main(%x: int32, %t: List[int32]) -> int32 {{
               match? (Cons(%x, %t)) {{ Cons(%a, Nil) => {{ %a }}, Cons(%c, Cons(%b, _)) => {{ add(%c, %b) }}, }}
             }}"
        ),
    );
    assert!(text.starts_with("%0 = Cons(%x, %t);\nmatch? (%0) {\n  Cons(%a: int32, Nil) => {\n    %a\n  },\n"), "{text}");
    assert!(text.contains("  Cons(%c: int32, Cons(%b: int32, _)) => {\n    add(%c, %b)\n  },\n"), "{text}");
}

#[test]
fn a_recursion_without_progress_is_left_as_a_call() {
    let program = "def @loop[A](%x: A) -> A { @loop(%x) } def @main() -> int32 { @loop(1) }";
    check(TIDY, program, program);
    // Each argument comes to stand in the place of the other, which is progress once.
    let swapped = "def @loop[A](%x: A, %y: A) -> A { @loop(%y, %x) } def @main(%a: int32, %b: int32) -> int32 { @loop(%a, %b) }";
    assert_eq!(main_after(TIDY, swapped), "@loop(%a, %b)");
    assert_eq!(main_after(TIDY, &swapped.replace("@loop(%a, %b)", "@loop(%b, %a)")), "@loop(%b, %a)");
    // Both functions that call each other are expanded once.
    let text = "def @even(%n: int32) -> bool { if (equal(%n, 0)) { True } else { @odd(subtract(%n, 1)) } }
        def @odd(%n: int32) -> bool { if (equal(%n, 0)) { False } else { @even(subtract(%n, 1)) } }
        def @main(%x: int32) -> (bool, bool) { (@even(7), @odd(%x)) }";
    let text = after(TIDY, text);
    assert!(text.contains("@even(%") && text.contains("(False, "), "{text}");
}

#[test]
fn a_literal_that_is_met_again_in_its_own_expansion_calls_itself_as_in_tvm_and_a_warning_tells() {
    let program = "def @iterate(%n: int32) -> fn (int32) -> int32 {
          if (equal(%n, 0)) { fn (%x: int32) -> int32 { %x } } else { fn (%i: int32) -> int32 { add(1, @iterate(subtract(%n, 1))(%i)) } }
        }
        def @main(%x: int32) -> int32 { @iterate(2)(%x) }";
    let store = &mut Store::new();
    let module = read(store, program);
    let trace = run(store, module, "PartialEvaluate()");
    let told: Vec<&str> = trace.steps[0].reported.iter().map(|found| found.message.as_str()).collect();
    let expected = "this function is met again while it is expanded: TVM makes of it one that only calls itself";
    assert_eq!(told, [expected, expected]);
}

#[test]
fn what_a_call_without_fuel_writes_is_not_seen_as_in_tvm() {
    let text = main_after(
        "PartialEvaluate()",
        "def @main(%n: int32) -> int32 {
           let %r = ref(0);
           let %f = fn (%x: int32) -> int32 { let %u = ref_write(%r, %x); let %v = %f(add(%x, 1)); ref_read(%r) };
           %f(%n)
         }",
    );
    assert!(text.contains("let %x_9 = %f(%x_8)") && text.ends_with("\n%n"), "{text}");
}

#[test]
fn data_shrinks_from_both_sides() {
    let nat = |n: usize| format!("{}zero{}", "succ(".repeat(n), ")".repeat(n));
    let diff = format!(
        "{NAT} def @diff(%x: nat, %y: nat) -> nat {{
           match (%x) {{
             zero => {{ %y }},
             succ(%a) => {{ match (%y) {{ zero => {{ %x }}, succ(%b) => {{ @diff(%b, %a) }}, }} }},
           }}
         }} "
    );
    let text = after(TIDY, &format!("{diff} def @main() -> nat {{ @diff({}, {}) }}", nat(5), nat(2)));
    assert_eq!(text.matches("succ(").count() - after(TIDY, &diff).matches("succ(").count(), 3, "{text}");
}

#[test]
fn a_reference_is_followed_until_something_unknown_may_have_written_to_it() {
    check(
        PURE,
        "def @main(%x: int32) -> int32 {
           let %r = ref(%x);
           let %u = ref_write(%r, add(ref_read(%r), 1));
           ref_read(%r)
         }",
        "def @main(%x: int32) -> int32 { add(%x, 1) }",
    );
    // In either branch the reference is known to hold 1; after them its content is unknown.
    check(
        TIDY,
        "def @main(%c: bool) -> int32 {
           let %r = ref(1);
           let %u = if (%c) { ref_write(%r, add(ref_read(%r), 1)) } else { ref_write(%r, add(ref_read(%r), 2)) };
           ref_read(%r)
         }",
        "def @main(%c: bool) -> int32 {
           let %r = ref(1);
           let %u = if (%c) { let %a = ref_write(%r, 2); %a } else { let %b = ref_write(%r, 3); %b };
           let %v = ref_read(%r);
           %v
         }",
    );
    let text = after(
        TIDY,
        "def @main(%f: fn () -> ()) -> (int32, int32) {
           let %r = ref(1);
           let %a = ref_read(%r);
           let %u = %f();
           (%a, ref_read(%r))
         }",
    );
    assert_eq!(text.matches("ref_read").count(), 1, "{text}");
}

#[test]
fn gradients_that_are_passed_back_through_references_and_closures_become_straight_code() {
    check(
        PURE,
        "def @main(%d: float32) -> (float32, float32) {
           let %back = ref(fn () -> () { () });
           let %square = fn (%x: (float32, ref(float32))) -> (float32, ref(float32)) {
             let %result = (multiply(%x.0, %x.0), ref(zeros_like(%x.0)));
             let %rest = ref_read(%back);
             let %u = ref_write(%back, fn () -> () {
               let %g = ref_read(%result.1);
               let %a = ref_write(%x.1, add(ref_read(%x.1), multiply(%g, %x.0)));
               let %b = ref_write(%x.1, add(ref_read(%x.1), multiply(%g, %x.0)));
               %rest()
             });
             %result
           };
           let %x = (%d, ref(zeros_like(%d)));
           let %y = %square(%x);
           let %v = ref_write(%y.1, ones_like(%y.0));
           let %go = ref_read(%back);
           let %w = %go();
           (%y.0, ref_read(%x.1))
         }",
        "def @main(%d: float32) -> (float32, float32) {
           let %y = multiply(%d, %d);
           let %one = ones_like(%y);
           (%y, add(add(zeros_like(%d), multiply(%one, %d)), multiply(%one, %d)))
         }",
    );
}

#[test]
fn a_function_is_evaluated_with_references_that_anyone_may_have_written() {
    // The function is chosen when the program runs, so its call may write; its body reads the content at that time.
    let text = after(
        TIDY,
        "def @main(%c: bool) -> int32 {
           let %r = ref(0);
           let %get = fn () -> int32 { ref_read(%r) };
           let %other = fn () -> int32 { 7 };
           let %f = if (%c) { %get } else { %other };
           let %u = ref_write(%r, 1);
           %f()
         }",
    );
    assert!(text.contains("ref_write") && text.contains("ref_read"), "{text}");
}

#[test]
fn functions_take_the_values_around_them_with_them() {
    check(
        TIDY,
        "def @main(%x: int32) -> (int32, int32) {
           let %adder = fn (%n: int32) -> fn (int32) -> int32 { fn (%m: int32) -> int32 { add(%m, %n) } };
           let %a = %adder(1);
           let %b = %adder(%x);
           (%a(2), %b(%a(3)))
         }",
        "def @main(%x: int32) -> (int32, int32) { (3, add(4, %x)) }",
    );
}

#[test]
fn type_parameters_become_what_they_stand_for() {
    check(
        TIDY,
        "def @pair[A](%x: A) -> (A, A) { let %f = fn (%y: A) -> (A, A) { (%y, %y) }; %f(%x) }
         def @main(%x: int32, %t: (bool, int32)) -> ((int32, int32), ((bool, int32), (bool, int32))) {
           let %id = fn [B](%z: B) -> B { %z };
           (@pair(%id(%x)), @pair(%id(%t)))
         }",
        "def @pair[A](%x: A) -> (A, A) { (%x, %x) }
         def @main(%x: int32, %t: (bool, int32)) -> ((int32, int32), ((bool, int32), (bool, int32))) {
           ((%x, %x), (%t, %t))
         }",
    );
    // A function that stays in the copy has the type of the copy.
    let text = after(
        "PartialEvaluate()",
        "def @const[A](%x: A) -> fn () -> A { fn () -> A { %x } } def @main() -> fn () -> int32 { @const(1) }",
    );
    assert!(text.contains("fn () -> A {") && text.contains("fn () -> int32 {"), "{text}");
}

#[test]
fn operators_without_arguments_are_run_and_those_with_effects_are_not() {
    check(
        TIDY,
        "def @main(%x: int32) { (add(%x, zeros(shape=[], dtype=\"int32\")), nn.dropout(1f)) }",
        "def @main(%x: int32) { let %d = nn.dropout(1f); (add(%x, 0), %d) }",
    );
}

#[test]
fn a_primitive_function_is_run_on_constants_and_called_with_anything_else_once() {
    let program = |result: &str| {
        format!("def @main(%x: int32) -> int32 {{ let %f = fn (%p: int32, Primitive=1) -> int32 {{ add(%p, 1) }}; {result} }}")
    };
    check(TIDY, &program("add(%f(2), %f(3))"), "def @main(%x: int32) -> int32 { 7 }");
    let called = "def @main(%x: int32) -> int32 { %0 = fn (%p: int32, Primitive=1) -> int32 { add(%p, 1) }; %0(%x) }";
    check(TIDY, &program("%f(%x)"), called);
    let message = failure("PartialEvaluate()", &program("%f(%f(%x))"));
    assert!(message.starts_with("has unsupported feature: [fGraph, ]: a primitive"), "{message}");
    // Each expansion of the function around it has its own, but one from outside is shared. TVM 0.19 takes and refuses these.
    let inside =
        "let %g = fn (%y: int32) -> int32 { let %f = fn (%p: int32, Primitive=1) -> int32 { add(%p, 1) }; %f(%y) }; %g(%g(%x))";
    let made = after(TIDY, &format!("def @main(%x: int32) -> int32 {{ {inside} }}"));
    assert_eq!(made.matches("Primitive=1").count(), 2, "{made}");
    failure("PartialEvaluate()", &program("let %g = fn (%y: int32) -> int32 { %f(%y) }; %g(%x)"));
    let global = "def @f(%p: int32, Primitive=1) -> int32 { add(%p, 1) } def @main(%x: int32) -> int32 { @f(%x) }";
    assert!(failure("PartialEvaluate()", global).starts_with("@f is primitive"));
}

#[test]
fn a_graph_is_refused() {
    let graph = "def @main(%x: int32) -> int32 { %0 = add(%x, 1); multiply(%0, %0) }";
    assert!(failure("PartialEvaluate()", graph).starts_with("has unsupported feature: [fGraph, ]: this is used more than once"));
    check(&format!("ToANormalForm(), {TIDY}"), graph, "def @main(%x: int32) -> int32 { let %y = add(%x, 1); multiply(%y, %y) }");
}

#[test]
fn a_match_without_an_arm_for_what_is_known_is_an_error() {
    let program =
        format!("{LIST} def @main() -> int32 {{ let %l: List[int32] = Nil; match? (%l) {{ Cons(%h, _) => {{ %h }}, }} }}");
    assert_eq!(failure("PartialEvaluate()", &program), "No case Match");
}

#[test]
fn an_evaluation_without_end_in_sight_is_an_error() {
    // Each function calls the one before it twice.
    let mut program = "def @main(%x: int32) -> int32 { let %f0 = fn (%n: int32) -> int32 { add(%n, 1) };\n".to_owned();
    for i in 1..30 {
        program += &format!("let %f{i} = fn (%n: int32) -> int32 {{ %f{j}(%f{j}(%n)) }};\n", j = i - 1);
    }
    let message = failure("PartialEvaluate()", &format!("{program} %f29(%x) }}"));
    assert!(message.starts_with("the evaluation takes more than"), "{message}");
}

#[test]
fn what_cannot_be_run_here_stays_with_a_warning() {
    let store = &mut Store::new();
    let module = read(store, "def @main() { sum(zeros(shape=[9999, 9999], dtype=\"float32\")) }");
    let trace = run(store, module, "PartialEvaluate()");
    let [warning] = &trace.steps[0].reported[..] else { panic!("{:?}", trace.steps[0].reported) };
    assert!(warning.message.starts_with("a call of `zeros` on constants was not evaluated: zeros: "), "{}", warning.message);
    let text = show(store, trace.last());
    assert!(text.contains("let %x_0 = zeros(") && text.contains("let %x_1 = sum(%x_0)"), "{text}");
}
