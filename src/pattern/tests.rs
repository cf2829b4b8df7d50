//! Patterns over small programs; the expectations come from TVM's documentation of the language.

use super::*;
use crate::ir::{Binding, Expr, Module, Store, VarId};

/// The bindings of the only function of a text.
fn read(store: &mut Store, body: &str) -> (Vec<Binding>, Bound) {
    let body: String = body.lines().map(|line| format!("    {line}\n")).collect();
    let text = format!(
        "@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor((\"n\", 4), dtype=\"float32\"), y: R.Tensor((\"n\", \
         4), dtype=\"float32\")):\n        n = T.int64()\n        with R.dataflow():\n{body}        return gv\n"
    );
    let parsed = crate::parse::parse(store, &text);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    let module: Module = crate::infer::infer_module(store, &parsed.program.module).expect("types");
    let Expr::Function(function) = store.expr(module.functions()[0].1) else { panic!("a function") };
    let Expr::Seq { blocks, .. } = store.expr(store.function(function).body) else { panic!("a sequence") };
    let bindings: Vec<Binding> = store.bindings(blocks).collect();
    let bound = bindings.iter().map(|binding| (binding.var, binding.value)).collect();
    (bindings, bound)
}

fn name(store: &Store, var: VarId) -> &str {
    store.var_name(var)
}

const DIAMOND: &str = "        a = R.add(x, y)\n        b = R.nn.relu(a)\n        c = R.exp(a)\n        d = R.add(b, c)\n        \
                       gv = R.multiply(d, x)\n        R.output(gv)\n";

#[test]
fn sums_match_with_their_operands_swapped_and_one_pattern_stands_for_one_expression() {
    let store = &mut Store::new();
    let (bindings, bound) = read(store, DIAMOND);
    let mut patterns = Patterns::new();
    let any = patterns.wildcard();
    let exp = patterns.call_op("exp", &[any]);
    let relu = patterns.call_op("nn.relu", &[any]);
    let swapped = patterns.call_op("add", &[exp, relu]);
    let found = Matcher::new(&patterns, &bound).matches(store, swapped, bindings[3].value).expect("it matches");
    assert_eq!(found.get(any), Some(bindings[0].value));
    assert_eq!(found.iter().last(), Some((swapped, bindings[3].value)));
    let twice = patterns.call_op("add", &[any, any]);
    assert!(!Matcher::new(&patterns, &bound).is_match(store, twice, bindings[3].value));
}

#[test]
fn alternatives_negations_attributes_and_types_narrow_a_pattern() {
    let store = &mut Store::new();
    let (bindings, bound) = read(store, "        a = R.nn.softmax(x, axis=1)\n        gv = R.exp(a)\n        R.output(gv)\n");
    let softmax = bindings[0].value;
    let mut patterns = Patterns::new();
    let any = patterns.wildcard();
    let call = patterns.call_op("nn.softmax", &[any]);
    let exp = patterns.call_op("exp", &[any]);
    let ty = store.checked_type(softmax).expect("a type");
    let other_type = store.tensor_type(&[crate::ir::Dim::Int { value: 7, bits: 64 }], DType::F32);
    for (pattern, wanted) in [
        (Pattern::Or(exp, call), true),
        (Pattern::And(exp, call), false),
        (Pattern::Not(exp), true),
        (Pattern::Attrs(call, vec![("axis".to_owned(), AttrValue::int(1))]), true),
        (Pattern::Attrs(call, vec![("axis".to_owned(), AttrValue::int(0))]), false),
        (Pattern::Type(call, ty), true),
        (Pattern::Type(call, other_type), false),
        (Pattern::DType(call, DType::F32), true),
        (Pattern::DType(call, DType::F16), false),
    ] {
        let pat = patterns.add(pattern.clone());
        assert_eq!(Matcher::new(&patterns, &bound).is_match(store, pat, softmax), wanted, "{pattern:?}");
    }
}

#[test]
fn fields_of_an_unordered_tuple_are_tried_in_every_order() {
    let store = &mut Store::new();
    let body = "        a = R.exp(x)\n        b = R.nn.relu(x)\n        t = (a, b)\n        gv = t[0]\n        R.output(gv)\n";
    let (bindings, bound) = read(store, body);
    let mut patterns = Patterns::new();
    let any = patterns.wildcard();
    let relu = patterns.call_op("nn.relu", &[any]);
    let ordered = patterns.tuple(&[relu, any]);
    let pattern = patterns.add(Pattern::UnorderedTuple(vec![relu, any]));
    assert!(!Matcher::new(&patterns, &bound).is_match(store, ordered, bindings[2].value));
    // The parameter is the operand of `relu` and no field, so no field is left for it.
    assert!(!Matcher::new(&patterns, &bound).is_match(store, pattern, bindings[2].value));
    let other = patterns.wildcard();
    let pattern = patterns.add(Pattern::UnorderedTuple(vec![relu, other]));
    assert!(Matcher::new(&patterns, &bound).is_match(store, pattern, bindings[2].value));
}

#[test]
fn a_graph_of_patterns_is_found_by_who_uses_whom() {
    let store = &mut Store::new();
    let (bindings, bound) = read(store, DIAMOND);
    let mut patterns = Patterns::new();
    let any = patterns.wildcard();
    let [more, left, right] = [(); 3].map(|()| patterns.wildcard());
    let root = patterns.call_op("add", &[any, more]);
    let relu = patterns.call_op("nn.relu", &[root]);
    let exp = patterns.call_op("exp", &[root]);
    let join = patterns.call_op("add", &[left, right]);
    let mut context = Context::new();
    context.sequence(&[root, relu, join], false);
    context.sequence(&[root, exp, join], false);
    context.same_shape(&[root, join]);
    let found = match_graph(store, &patterns, &context, &bindings, &bound).expect("it is there");
    assert_eq!([root, relu, exp, join].map(|pat| name(store, found[&pat]).to_owned()), ["a", "b", "c", "d"]);
    // The first sum has two users.
    let mut alone = Context::new();
    alone.used_by(root, relu, Edge { only: true, index: None });
    assert!(match_graph(store, &patterns, &alone, &bindings, &bound).is_none());
    let mut second = Context::new();
    second.used_by(exp, join, Edge { only: true, index: Some(1) });
    assert!(match_graph(store, &patterns, &second, &bindings, &bound).is_some());
    let mut first = Context::new();
    first.used_by(exp, join, Edge { only: true, index: Some(0) });
    assert!(match_graph(store, &patterns, &first, &bindings, &bound).is_none());
}

/// Each sum adds a value to itself, so that every order of operands is another way to the constant that is not there.
#[test]
fn a_match_that_is_given_up_is_not_taken_for_one_that_is_not_there() {
    let store = &mut Store::new();
    let sums: String = (1..24).map(|n| format!("        a{n} = R.add(a{0}, a{0})\n", n - 1)).collect();
    let body = format!("        a0 = R.add(x, y)\n{sums}        gv = R.exp(a23)\n        R.output(gv)\n");
    let (bindings, bound) = read(store, &body);
    let mut patterns = Patterns::new();
    let mut sum = patterns.constant();
    for _ in 0..24 {
        let any = patterns.wildcard();
        sum = patterns.call_op("add", &[sum, any]);
    }
    assert!(!Matcher::new(&patterns, &bound).is_match(store, sum, bindings[2].value) && !patterns.gave_up());
    assert!(!Matcher::new(&patterns, &bound).is_match(store, sum, bindings[23].value) && patterns.gave_up());
}
