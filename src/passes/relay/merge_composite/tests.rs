use super::super::testing::{self, after, data, failure, run, unchanged, values};
use crate::ir::{DType, Store};

fn call(pattern: &str) -> String {
    format!("MergeComposite([[\"mine\", \"{pattern}\"]])")
}

const CONV: &str = "def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(2, 3), float32]) {
    %0 = add(%x, %y);
    %1 = subtract(%x, %y);
    %2 = multiply(%0, %1);
    nn.relu(%2)
}";

#[test]
fn a_name_stands_for_one_value_and_values_stay() {
    let store = &mut Store::new();
    let module = testing::read(store, CONV);
    let inputs = [data(DType::F32, &[2, 3]), data(DType::F32, &[2, 3])];
    let before = values(store, &module, &inputs);
    let trace = run(store, module, &call("(x + y) * (x - y)"));
    assert!(trace.is_complete(), "{:?}", trace.failures());
    let after = trace.last().clone();
    let text = testing::show(store, &after);
    assert!(text.contains("PartitionedFromPattern=\"add_subtract_multiply_\", Composite=\"mine\""), "{text}");
    assert_eq!(values(store, &after, &inputs), before);
    unchanged(&call("(x + y) * (y - x)"), CONV);
}

#[test]
fn patterns_are_tried_in_their_order_and_not_inside_of_matches() {
    let table = "MergeComposite([[\"long\", \"is_op('nn.relu')(a * b)\"], [\"short\", \"a * b\"], [\"sum\", \"a + b\"]])";
    let text = after(table, CONV);
    assert_eq!((text.matches("Composite=\"long\"").count(), text.matches("Composite=\"sum\"").count()), (1, 1), "{text}");
    assert!(!text.contains("\"short\""), "{text}");
}

#[test]
fn a_result_that_is_used_elsewhere_is_not_taken_inside() {
    let program = "def @main(%x: Tensor[(2), float32]) { %0 = exp(%x); (nn.relu(%0), %0) }";
    unchanged(&call("is_op('nn.relu')(is_op('exp')(wildcard()))"), program);
}

#[test]
fn attributes_types_constants_and_tuples_are_looked_at() {
    let program = "def @main(%x: Tensor[(2, 2), float32]) {
        %0 = split(%x, indices_or_sections=2, axis=1);
        concatenate((add(%0.0, 1f), %0.1), axis=1)
    }";
    let text = after(
        &call("is_op('concatenate')(is_tuple([wildcard() + is_constant(), is_tuple_get_item(s, 1)])).has_attr({'axis': 1})"),
        program,
    );
    // The constant stays inside, both parts of the split are given.
    assert!(text.contains("PartitionedFromPattern=\"add_TupleGetItem1_Tuple_concatenate_\""), "{text}");
    unchanged(&call("is_op('concatenate')(wildcard()).has_attr({'axis': 0})"), program);
    unchanged(&call("is_op('add')(wildcard(), is_var())"), program);
    unchanged(&call("is_op('add')(wildcard(), wildcard()).has_dtype('int8')"), program);
}

#[test]
fn what_is_not_understood_in_a_pattern_is_refused_with_the_nearest_name() {
    let said = |pattern: &str| failure(&call(pattern), CONV);
    assert!(said("is_op('nn.rleu')(x)").contains("did you mean `nn.relu`?"), "{}", said("is_op('nn.rleu')(x)"));
    assert!(said("nn.rleu(x)").contains("did you mean `nn.relu`?"), "{}", said("nn.rleu(x)"));
    assert!(said("sqrtt(x)").contains("did you mean `sqrt`?"), "{}", said("sqrtt(x)"));
    assert!(said("wildcrad()").contains("did you mean `wildcard`?"));
    assert!(said("x.has_atr({'a': 1})").contains("did you mean `has_attr`?"));
    assert!(said("is_op('add')(x").contains("`)` was expected"));
    assert!(said("x + ").contains("a pattern was expected"));
    assert!(failure("MergeComposite([\"a\"])", CONV).contains("a row is"));
    assert!(failure(&call(&format!("{}x", "(".repeat(100))), CONV).contains("too deeply"));
}

/// Matching did not end: each sum is tried in both orders, and each operand is a sum.
#[test]
fn a_pattern_with_too_many_orders_is_refused() {
    let sums: String = (1..40).map(|i| format!("%{i} = add(%{0}, %{0});", i - 1)).collect();
    let program = format!("def @main(%x: Tensor[(2), float32]) {{ %0 = add(%x, %x); {sums} %39 }}");
    let pattern = (0..30).fold("is_constant()".to_owned(), |inner, i| format!("({inner} + a{i})"));
    assert!(failure(&call(&pattern), &program).contains("too many steps"));
}

#[test]
fn parts_have_names_and_operators_may_be_said_in_short() {
    let program = "def @main(%x: Tensor[(2), float32]) {
        %0 = add(%x, 1f);
        %1 = multiply(%0, 1f);
        (nn.relu(cast(cast(%1, dtype=\"int32\"), dtype=\"float32\")), %x)
    }";
    let composite = |pattern: &str| {
        let text = after(&call(pattern), program);
        let names = text.split("PartitionedFromPattern=\"").nth(1).and_then(|rest| rest.split('"').next());
        names.unwrap_or_default().to_owned()
    };
    assert_eq!(composite("add(x, is_constant()) * is_constant()"), "add_multiply_");
    // The same constant is asked for twice, and there are two.
    unchanged(&call("add(x, (c := is_constant())) * c"), program);
    assert_eq!(composite("nn.relu((is_op('add')(a, b) * c).through('cast'))"), "add_multiply_cast_cast_nn.relu_");
    assert_eq!(composite("(is_op('exp') | is_op('nn.relu'))(x)"), "nn.relu_");
    assert_eq!(composite("wildcard().has_attr({'TOpPattern': 1})(x, is_constant())"), "add_");
    assert!(failure(&call("wildcard().has_attr({'TOpPattern': 12})(x)"), program).contains("not `12`"));
}

#[test]
fn a_name_is_kept_behind_an_optional_part() {
    let pattern = call("(r := nn.relu(x)).optional(lambda y: exp(y)) + r");
    let program = |other: &str| format!("def @main(%x: Tensor[(2), float32]) {{ %0 = nn.relu(%x); add(exp(%0), {other}) }}");
    unchanged(&pattern, &program("%x"));
    assert!(after(&pattern, &program("%0")).contains("Composite"));
}
