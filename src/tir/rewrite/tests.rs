use super::*;
use crate::ir::{DType, DTypeCode, For, ForKind, PrimOp, Stmt};

/// Makes `for i in range(4): A[i] = i * 2` and `A[0] = 1`, in sequence, each with a place in a text.
fn program(store: &mut Store) -> (StmtId, [StmtId; 3]) {
    let [i, scope, name] = ["i", "global", "A"].map(|text| store.name(text));
    let var = store.add_symbol(Symbol { name: i, dtype: DType::I32, size: false });
    let [zero, one, two, four] = [0, 1, 2, 4].map(|value| store.prim_int(value, DType::I32));
    let buffer = store.add_buffer(Buffer {
        name,
        dtype: DType::I32,
        shape: [four].into(),
        strides: [].into(),
        elem_offset: None,
        offset_factor: 1,
        scope,
        align: 64,
        data: None,
        layout: Default::default(),
    });
    let index = store.prim(PrimExpr::Var(var));
    let value = store.prim_binary(PrimOp::Mul, index, two);
    let inner = store.add_stmt(Stmt::Store { buffer, indices: [index].into(), value });
    let head = For { var, min: zero, extent: four, step: None, kind: ForKind::Serial, annotations: None };
    let outer = store.add_stmt(Stmt::For(head, inner));
    let last = store.add_stmt(Stmt::Store { buffer, indices: [zero].into(), value: one });
    for (at, stmt) in [outer, inner, last].into_iter().enumerate() {
        let node = store.stmt_node(stmt);
        store.set_span(node, crate::diag::Span::new(at, at + 1));
    }
    (store.add_stmts(&[outer, last]), [outer, inner, last])
}

/// Turns products into sums, and takes loops away.
#[derive(Default)]
struct Change {
    loops: bool,
    products: bool,
}

impl StmtMutator for Change {
    fn rule(&self) -> &'static str {
        "changed"
    }
    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        match *cx.store.stmt(id) {
            Stmt::For(_, body) if self.loops => {
                cx.set_rule("loop removed");
                Some(cx.visit(self, body))
            }
            _ => None,
        }
    }
    fn prim(&mut self, cx: &mut Rewriting<'_>, _: PrimId, post: PrimId) -> PrimId {
        match *cx.store.prim_of_id(post) {
            PrimExpr::Binary { op: PrimOp::Mul, a, b } if self.products => cx.store.prim_binary(PrimOp::Add, a, b),
            _ => post,
        }
    }
}

#[test]
fn what_does_not_change_is_the_same_statement() {
    let store = &mut Store::new();
    let (root, _) = program(store);
    let before = store.n_exprs();
    assert_eq!(Rewriting::new(store).visit(&mut Change::default(), root), root);
    assert_eq!(store.n_exprs(), before);
    assert!(store.log.done.is_empty());
}

#[test]
fn a_statement_is_rewritten_and_those_around_it_are_copies() {
    let store = &mut Store::new();
    let (root, [outer, inner, last]) = program(store);
    let new = Rewriting::new(store).visit(&mut Change { products: true, ..Change::default() }, root);
    let [new_outer, new_last] = store.stmts_of(new)[..] else { panic!("two statements") };
    assert_eq!(new_last, last);
    let Stmt::For(_, new_inner) = *store.stmt(new_outer) else { panic!("a loop") };
    let [outer, inner, new_outer, new_inner] = [outer, inner, new_outer, new_inner].map(|id| store.stmt_node(id));
    assert_eq!(store.origin(new_outer), Origin::Rebuilt(outer));
    // A statement over a rewritten expression counts as the rule's result, though the driver rebuilt it.
    assert_eq!(store.log.done.len(), 1);
    assert_eq!((store.log.done[0].rule, store.log.done[0].pre, store.log.done[0].post), ("changed", inner, new_inner));
    assert_eq!(store.source_span(new_inner).map(|span| span.start), Some(1));
}

#[test]
fn rewrites_are_numbered_from_the_inside_and_stop_without_fuel() {
    for (fuel, loops, sums) in [(0, 1, 0), (1, 1, 1), (2, 0, 1)] {
        let store = &mut Store::new();
        let (root, _) = program(store);
        store.log.fuel = Some(fuel);
        let new = Rewriting::new(store).visit(&mut Change { products: true, loops: true }, root);
        let (mut found_loops, mut found_sums) = (0, 0);
        store.for_each_stmt(new, |stmt| {
            found_loops += usize::from(matches!(stmt, Stmt::For(..)));
            if let Stmt::Store { value, .. } = stmt {
                found_sums += usize::from(matches!(store.prim_of_id(*value), PrimExpr::Binary { op: PrimOp::Add, .. }));
            }
        });
        assert_eq!((found_loops, found_sums), (loops, sums), "with fuel {fuel}");
        assert_eq!(store.log.done.len(), fuel as usize);
    }
}

#[test]
fn a_copy_defines_its_own_variables() {
    let store = &mut Store::new();
    let (_, [outer, ..]) = program(store);
    let copy = copy_stmt(store, outer, &[]);
    let (Stmt::For(old, body), Stmt::For(new, other)) = (store.stmt(outer), store.stmt(copy)) else { panic!("loops") };
    assert_ne!(old.var, new.var);
    let (Stmt::Store { indices: before, .. }, Stmt::Store { indices: after, .. }) = (store.stmt(*body), store.stmt(*other))
    else {
        panic!("stores")
    };
    assert_ne!(before, after);
    assert_eq!(substitute_stmt(store, outer, &[]), outer);
}

#[test]
fn a_chain_of_any_length_is_rewritten_without_recursion() {
    let store = &mut Store::new();
    let one = store.prim_int(1, DType::I64);
    let name = store.name("n");
    let n = store.add_symbol(Symbol { name, dtype: DType::new(DTypeCode::Int, 64), size: false });
    let mut chain = store.prim(PrimExpr::Var(n));
    for _ in 0..100_000 {
        chain = store.prim_binary(PrimOp::Mul, chain, one);
    }
    let stmt = store.add_stmt(Stmt::Evaluate(chain));
    let new = Rewriting::new(store).visit(&mut Change { products: true, ..Change::default() }, stmt);
    let Stmt::Evaluate(value) = *store.stmt(new) else { panic!("the same kind of statement") };
    assert!(matches!(store.prim_of_id(value), PrimExpr::Binary { op: PrimOp::Add, .. }));
}

/// Counts the expressions that it is asked about.
struct Asked {
    looks_for: Mentions,
    count: usize,
}

impl StmtMutator for Asked {
    fn rule(&self) -> &'static str {
        "asked"
    }
    fn looks_for(&self) -> Mentions {
        self.looks_for
    }
    fn prim(&mut self, _: &mut Rewriting<'_>, _: PrimId, post: PrimId) -> PrimId {
        self.count += 1;
        post
    }
}

#[test]
fn hooks_are_asked_only_about_what_they_look_for() {
    let store = &mut Store::new();
    let (root, [outer, ..]) = program(store);
    let Stmt::For(head, _) = *store.stmt(outer) else { panic!("a loop") };
    let mut asked = |looks_for| {
        let mut mutator = Asked { looks_for, count: 0 };
        Rewriting::new(store).visit(&mut mutator, root);
        mutator.count
    };
    // `0`, `4`, `i`, `2`, `i * 2` and `1`; with `i` only two of them.
    assert_eq!(asked(Mentions::ALL), 6);
    assert_eq!(asked(Mentions::symbol(head.var)), 2);
    assert_eq!(asked(Mentions::NONE) + asked(Mentions::BUFFERS), 0);
}

#[test]
fn replaced_variables_are_found_at_every_depth() {
    for depth in [0, 1, 5, 6, 7, 8, 40] {
        let store = &mut Store::new();
        let [x, y] = ["x", "y"].map(|text| {
            let name = store.name(text);
            store.add_symbol(Symbol { name, dtype: DType::I32, size: false })
        });
        let mut sum = |symbol| {
            let leaf = store.prim(PrimExpr::Var(symbol));
            let one = store.prim_int(1, DType::I32);
            (0..depth).fold(leaf, |sum, _| store.prim_binary(PrimOp::Add, sum, one))
        };
        let (of_x, of_y) = (sum(x), sum(y));
        let stmt = store.add_stmt(Stmt::Evaluate(of_x));
        let value = store.prim(PrimExpr::Var(y));
        let new = substitute_stmt(store, stmt, &[(x, value)]);
        assert!(matches!(*store.stmt(new), Stmt::Evaluate(found) if found == of_y), "{depth} deep");
    }
}
