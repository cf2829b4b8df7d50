use super::*;
use crate::ir::rewrite::{ExprMutator, rewrite};
use crate::ir::{Expr, Function, List};
use crate::ops::build;

fn diff(store: &Store, before: &Module, after: &Module) -> Diff {
    super::diff(store, &Naming::of(store, [before, after]), before, after)
}

fn main_of(store: &mut Store, body: ExprId) -> Module {
    let vars = crate::ir::walk::free_vars(store, body);
    let params = store.list(&vars);
    let f = store.function_expr(Function {
        params,
        type_params: List::EMPTY,
        ret: None,
        body,
        attrs: None,
        device: None,
        pure: true,
    });
    let mut module = Module::new();
    let name = store.name("main");
    module.set_function(name, f);
    module
}

fn same(diff: &Diff) -> usize {
    diff.rows.iter().filter(|row| row.kind == DiffKind::Same).count()
}

/// `exp` 200 times, and a `negative` in between.
fn chain(store: &mut Store, at: usize) -> Module {
    let x = store.var("x", None);
    let mut body = store.use_var(x);
    for i in 0..200 {
        body = build::call(store, if i == at { "negative" } else { "exp" }, &[body]);
    }
    main_of(store, body)
}

struct Drop(&'static str);
impl ExprMutator for Drop {
    fn rule(&self) -> &'static str {
        "drop"
    }
    fn leave(&mut self, store: &mut Store, _: ExprId, post: ExprId) -> ExprId {
        if build::is_call(store, post, self.0) { build::arg(store, post, 0) } else { post }
    }
}

struct Swap;
impl ExprMutator for Swap {
    fn rule(&self) -> &'static str {
        "swap"
    }
    fn leave(&mut self, store: &mut Store, _: ExprId, post: ExprId) -> ExprId {
        if build::is_call(store, post, "negative") {
            let arg = build::arg(store, post, 0);
            return build::call(store, "abs", &[arg]);
        }
        post
    }
}

fn after(store: &mut Store, module: &Module, mutator: &mut impl ExprMutator) -> Module {
    let mut new = module.clone();
    for (name, f) in module.functions().to_vec() {
        let f = rewrite(store, f, mutator);
        new.set_function(name, f);
    }
    new
}

#[test]
fn removing_one_binding_of_200_shows_one_removed_line() {
    let mut s = Store::new();
    let before = chain(&mut s, 100);
    let after = after(&mut s, &before, &mut Drop("negative"));
    let diff = diff(&s, &before, &after);
    assert_eq!(diff.removed, 1);
    assert_eq!(diff.added, 0);
    // The line that used it has changed: its argument is another temporary.
    assert_eq!(diff.renumbered, 1);
    assert_eq!(same(&diff), diff.rows.len() - 2);
    let row = diff.rows.iter().find(|row| row.kind == DiffKind::Removed).unwrap();
    assert_eq!(diff.left_text(row), "  %100 = negative(%99);");
    assert_eq!(diff.summary, ["removed 1 negative"]);
}

#[test]
fn a_rewritten_call_is_one_changed_line_with_its_word_marked() {
    let mut s = Store::new();
    let before = chain(&mut s, 7);
    let after = after(&mut s, &before, &mut Swap);
    let diff = diff(&s, &before, &after);
    assert_eq!(diff.changed, 1);
    assert_eq!(same(&diff), diff.rows.len() - 1);
    let row = diff.rows.iter().find(|row| row.kind == DiffKind::Changed).unwrap();
    assert_eq!(diff.left_text(row), "  %7 = negative(%6);");
    assert_eq!(diff.right_text(row), "  %7 = abs(%6);");
    assert_eq!((&row.left_words[..], &row.right_words[..]), (&[7, 15][..], &[7, 10][..]));
    assert_eq!(diff.summary, ["removed 1 negative", "added 1 abs"]);
}

#[test]
fn equal_versions_are_not_printed() {
    let mut s = Store::new();
    let before = chain(&mut s, 7);
    let diff = diff(&s, &before, &before.clone());
    assert_eq!(diff, Diff::default());
}

#[test]
fn versions_that_do_not_know_each_other_are_compared_by_their_text() {
    let mut s = Store::new();
    let (before, after) = (chain(&mut s, 20), chain(&mut s, 30));
    let diff = diff(&s, &before, &after);
    assert_eq!(diff.rows.iter().filter(|row| row.left.is_some()).count(), 203);
    assert_eq!(diff.rows.iter().filter(|row| row.right.is_some()).count(), 203);
    // The one line without an equal anchors the rest: ten calls less behind it, ten more before.
    assert_eq!((diff.removed, diff.added), (10, 10), "{:?}", diff.summary);
}

#[test]
fn functions_that_come_and_go_are_named() {
    let mut s = Store::new();
    let before = chain(&mut s, 20);
    let mut after = before.clone();
    let (f, g) = (s.name("f"), s.name("main"));
    let function = before.function(g).unwrap();
    after.remove_function(g);
    after.set_function(f, function);
    let diff = diff(&s, &before, &after);
    assert_eq!(diff.summary, ["removed @main", "added @f"]);
}

#[test]
fn a_variable_keeps_its_name_when_an_earlier_one_of_that_name_goes() {
    let mut s = Store::new();
    let (a, b) = (s.var("x", None), s.var("x", None));
    let (use_a, use_b) = (s.use_var(a), s.use_var(b));
    let one = build::scalar(&mut s, crate::ir::DType::F32, 1.0);
    let inner = build::call(&mut s, "exp", &[use_b]);
    let second = s.add(Expr::Let { var: b, value: one, body: inner });
    let first = s.add(Expr::Let { var: a, value: one, body: second });
    let _ = use_a;
    let before = main_of(&mut s, first);
    let after = main_of(&mut s, second);
    let diff = diff(&s, &before, &after);
    assert_eq!(diff.removed, 1);
    assert_eq!(same(&diff), diff.rows.len() - 1, "{:?}", diff.rows);
}

#[test]
fn bindings_keep_the_numbers_that_the_text_gives_them() {
    let mut s = Store::new();
    let source =
        "#[version = \"0.0.5\"]\ndef @main(%x: int32) {\n  %7 = negative(%x);\n  %9 = exp(%7);\n  %4 = exp(%9);\n  abs(%4)\n}\n";
    let before = crate::parse::parse(&mut s, source).program.module;
    let after = after(&mut s, &before, &mut Drop("negative"));
    let diff = diff(&s, &before, &after);
    let rows: Vec<(&str, &str, &str)> =
        diff.rows.iter().skip(2).map(|row| (row.kind.word(), diff.left_text(row), diff.right_text(row))).collect();
    assert_eq!(rows[0], ("removed", "  %7 = negative(%x);", ""));
    assert_eq!(rows[1], ("changed", "  %9 = exp(%7);", "  %9 = exp(%x);"));
    assert_eq!(rows[2], ("same", "  %4 = exp(%9);", "  %4 = exp(%9);"));
    assert_eq!(rows[3], ("same", "  abs(%4)", "  abs(%4)"));
}

#[test]
fn exchanged_arguments_are_a_change_and_not_other_numbers() {
    let mut s = Store::new();
    let x = s.var("x", None);
    let x = s.use_var(x);
    let (a, b) = (build::call(&mut s, "exp", &[x]), build::call(&mut s, "log", &[x]));
    let [before, after] = [[a, b], [b, a]].map(|args| build::call(&mut s, "subtract", &args));
    let keep = s.add_tuple(&[a, b]);
    let [before, after] = [before, after].map(|root| {
        let both = s.add_tuple(&[keep, root]);
        main_of(&mut s, both)
    });
    let diff = diff(&s, &before, &after);
    // The line that uses it has another number in it.
    assert_eq!((diff.renumbered, diff.changed), (1, 1), "{:?}", diff.rows);
}
