//! The syntax tree of small texts, as Python's own `ast` has it, and of damaged ones.

use super::tree::{Expr, Stmt, StmtKind, Tree};
use super::{MAX_BLOCKS, MAX_DEPTH, parse};
use crate::ir::{Id, List};
use std::path::{Path, PathBuf};

/// Writes an expression with all its parentheses.
fn show(tree: &Tree<'_>, id: Id<Expr>) -> String {
    let s = |id| show(tree, id);
    let o = |id: Option<Id<Expr>>| id.map(s).unwrap_or_default();
    let all = |items: List<Id<Expr>>| tree.items(items).iter().map(|id| s(*id)).collect::<Vec<_>>().join(", ");
    match tree.expr(id) {
        Expr::Attribute { value, name } => format!("{}.{}", s(value), tree.text(name)),
        Expr::Call { callee, args } => {
            let arg = |a: &super::tree::Arg| {
                let name = a.name().map(|n| format!("{}=", tree.text(n))).unwrap_or_default();
                format!("{}{name}{}", "*".repeat(a.stars.into()), s(a.value))
            };
            format!("{}({})", s(callee), tree.args(args).iter().map(arg).collect::<Vec<_>>().join(", "))
        }
        Expr::Subscript { value, items } => format!("{}[{}]", s(value), all(items)),
        Expr::Slice { lower, upper, step } => format!("{}:{}:{}", o(lower), o(upper), o(step)),
        Expr::Tuple(items) => format!("tuple({})", all(items)),
        Expr::List(items) => format!("list({})", all(items)),
        Expr::Dict(items) => format!("dict({})", all(items)),
        Expr::Unary { op, value } => format!("({op:?} {})", s(value)),
        Expr::Binary { op, left, right } => format!("({} {op:?} {})", s(left), s(right)),
        Expr::If { cond, then, other } => format!("({} if {} else {})", s(then), s(cond), s(other)),
        Expr::Lambda { params, body } => {
            let names: Vec<&str> = tree.params(params).iter().map(|p| tree.text(p.name)).collect();
            format!("(lambda {}: {})", names.join(" "), s(body))
        }
        Expr::Starred(value) => format!("*{}", s(value)),
        _ => tree.text(tree.span(id)).to_string(),
    }
}

/// Writes statements with their blocks in braces.
fn shape(tree: &Tree<'_>, list: List<Stmt>) -> String {
    let s = |id| show(tree, id);
    let b = |list| format!("{{{}}}", shape(tree, list));
    let one = |stmt: &Stmt| match stmt.kind {
        StmtKind::Assign { target, value } => format!("{} = {}", s(target), s(value)),
        StmtKind::Annotated { target, annotation, value } => {
            format!("{}: {} = {}", s(target), s(annotation), value.map(s).unwrap_or_default())
        }
        StmtKind::Augmented { target, op, value } => format!("{} {op:?}= {}", s(target), s(value)),
        StmtKind::Expr(value) => s(value),
        StmtKind::Return(value) => format!("return {}", value.map(s).unwrap_or_default()),
        StmtKind::Assert { cond, message } => format!("assert {} {}", s(cond), message.map(s).unwrap_or_default()),
        StmtKind::With { items, body } => {
            let item = |i: &super::tree::WithItem| {
                format!("{}{}", s(i.context), i.target.map(|t| format!(" as {}", s(t))).unwrap_or_default())
            };
            format!("with {} {}", tree.with_items(items).iter().map(item).collect::<Vec<_>>().join(", "), b(body))
        }
        StmtKind::For { target, iter, body } => format!("for {} in {} {}", s(target), s(iter), b(body)),
        StmtKind::While { cond, body } => format!("while {} {}", s(cond), b(body)),
        StmtKind::If { arms, other } => {
            let arms: Vec<String> = tree.arms(arms).iter().map(|a| format!("if {} {}", s(a.cond), b(a.body))).collect();
            format!("{} else {}", arms.join(" "), b(other))
        }
        StmtKind::Def(id) => {
            let def = tree.def(id);
            let params: Vec<String> = tree
                .params(def.params)
                .iter()
                .map(|p| format!("{}: {}", tree.text(p.name), p.annotation.map(s).unwrap_or_default()))
                .collect();
            let decorators: Vec<String> = tree.items(def.decorators).iter().map(|d| format!("@{} ", s(*d))).collect();
            let broken = if def.broken { "broken " } else { "" };
            let types: Vec<&str> = tree.params(def.type_params).iter().map(|p| tree.text(p.name)).collect();
            let ret = def.ret.map(s).unwrap_or_default();
            format!(
                "{broken}{}def {}[{}]({}) -> {ret} {}",
                decorators.concat(),
                tree.text(def.name),
                types.join(" "),
                params.join(", "),
                b(def.body)
            )
        }
        StmtKind::Class(id) => format!("class {} {}", tree.text(tree.class(id).name), b(tree.class(id).body)),
        StmtKind::Import { module, names } => {
            let names = tree.imports(names).iter().map(|n| format!(" {}={}", tree.text(n.alias), tree.text(n.name)));
            format!("import {}{}", tree.text(module), names.collect::<String>())
        }
        other => format!("{other:?}"),
    };
    tree.stmts(list).iter().map(one).collect::<Vec<_>>().join("; ")
}

fn read(source: &str) -> String {
    let (tree, diagnostics) = parse(source);
    assert!(diagnostics.is_empty(), "{source}\n{diagnostics:#?}");
    shape(&tree, tree.top)
}

/// Returns the errors, with lines, and the parts that were read all the same.
fn wrong(source: &str) -> (Vec<String>, String) {
    let (tree, diagnostics) = parse(source);
    let index = crate::diag::LineIndex::new(source);
    let place = |d: &crate::diag::Diagnostic| index.line_column(source, d.span.unwrap().start);
    let found = diagnostics.iter().map(|d| format!("{}:{} {}", place(d).0, place(d).1, d.message)).collect();
    (found, shape(&tree, tree.top))
}

#[test]
fn operators_bind_as_in_python() {
    for (source, tree) in [
        ("a + b * c - d", "((a Add (b Mul c)) Sub d)"),
        ("-x ** 2", "(Neg (x Pow 2))"),
        ("2 ** -x ** y * 3", "((2 Pow (Neg (x Pow y))) Mul 3)"),
        ("not a == b and c or d", "(((Not (a Eq b)) And c) Or d)"),
        ("a < b < c", "((a Lt b) And (b Lt c))"),
        ("a | b ^ c & d << 1", "(a BitOr (b BitXor (c BitAnd (d Shl 1))))"),
        ("a not in b, c is not d", "tuple((a NotIn b), (c IsNot d))"),
        ("(a + b) // c % d", "(((a Add b) FloorDiv c) Mod d)"),
        ("a if b else c if d else e", "(a if b else (c if d else e))"),
        ("lambda x, y: x + y", "(lambda x y: (x Add y))"),
        ("~a - -b", "((Invert a) Sub (Neg b))"),
    ] {
        assert_eq!(read(source), tree, "{source}");
    }
}

#[test]
fn operands_calls_and_subscripts() {
    for (source, tree) in [
        ("R.nn.relu(x, axis=[1, 2], *a, **b)", "R.nn.relu(x, axis=list(1, 2), *a, **b)"),
        ("A[0:4, i, :, ::2]", "A[0:4:, i, ::, ::2]"),
        ("t[0][1](x).y", "t[0][1](x).y"),
        ("(), (a,), (a), [*b], {1: 2, \"k\": []}", "tuple(tuple(), tuple(a), a, list(*b), dict(1, 2, \"k\", list()))"),
        ("f(\n  a,  # why\n  b,\n)", "f(a, b)"),
        ("1_000 + 0x1f + 1.5e-3 + .5", "(((1_000 Add 0x1f) Add 1.5e-3) Add .5)"),
        ("x = \\\n  None", "x = None"),
    ] {
        assert_eq!(read(source), tree, "{source}");
    }
}

#[test]
fn statements_and_blocks() {
    let source = "\
# header
from __future__ import annotations
import tvm.script as s, os
n = TypeVar(\"n\")
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def f[n, m: int](A: T.Buffer((n,), \"f\"), b=1) -> T.int32:
        # with T.sblock(\"root\"):
        for i, j in T.grid(2, 3):
            with T.sblock(\"b\"), T.x() as tx:
                A[i] = 1; A[j] += 2
        while c: pass

        if a:
            break
        elif b:
            continue
        else:
            assert c, \"no\"
        x: T.let[T.int32] = 1
        y, *z = x, x
        return
# Metadata omitted. Use show_meta=True in script() method to show it.";
    let (tree, diagnostics) = parse(source);
    assert!(diagnostics.is_empty(), "{diagnostics:#?}");
    let comments: Vec<&str> = tree.comments.iter().map(|c| &tree.text(*c)[..4]).collect();
    assert_eq!(comments, ["# he", "# Me"], "only those that begin a line");
    assert_eq!(
        shape(&tree, tree.top),
        "import __future__ annotations=annotations; import  tvm.script=s os=os; n = TypeVar(\"n\"); \
         class Module {@T.prim_func(private=True) def f[n m](A: T.Buffer(tuple(n), \"f\"), b: ) -> T.int32 \
         {for tuple(i, j) in T.grid(2, 3) {with T.sblock(\"b\"), T.x() as tx {A[i] = 1; A[j] Add= 2}}; while c {Pass}; \
         if a {Break} if b {Continue} else {assert c \"no\"}; x: T.let[T.int32] = 1; tuple(y, *z) = tuple(x, x); return }}"
            .replace("import  tvm.script=s", "import  s=tvm.script")
    );
}

#[test]
fn an_error_in_a_statement_hides_no_other() {
    let source = "\
def f():
    x = (a, b
    y = 1 +
    z = 2 $ 3
    return z
def g(x: R.Tensor((2,):
    y = ]
    return x
def h(): pass
";
    let (found, shape) = wrong(source);
    assert_eq!(
        found,
        [
            "3:5 expected `,` or `)`, found `y`",
            "3:12 expected an expression, found the end of the line",
            "4:11 unexpected character `$`",
            "6:23 expected `,` or `)`, found `:`",
            "7:9 expected an expression, found `]`",
        ]
    );
    assert_eq!(
        shape,
        "broken def f[]() ->  {Broken; Broken; Broken; return z}; broken def g[]() ->  {Broken; return x}; def h[]() ->  {Pass}"
    );
}

#[test]
fn blocks_that_do_not_line_up() {
    let (found, shape) = wrong("if a:\n    b\n      c\n   d\ne\n");
    assert_eq!(
        found,
        ["3:1 this line is indented and begins no block", "4:1 the indentation of this line is that of no block around it"]
    );
    assert_eq!(shape, "if a {b; c; Broken; d} else {}; e");
    let (found, shape) = wrong("for i in x:\ny\nelse: z\n");
    assert_eq!(
        found,
        ["2:1 expected an indented block", "3:1 expected a statement: this belongs to no `if` before it;, found `else`"]
    );
    assert_eq!(shape, "for i in x {Broken}; y; Broken");
}

#[test]
fn what_is_python_and_not_tvmscript_is_said() {
    for (source, message) in [
        ("a = b = c", "several assignments in one statement are not part of TVMScript"),
        ("f\"{x}\"", "strings of bytes and formatted strings are not part of TVMScript"),
        ("try:\n    x\n", "`try` is not part of TVMScript"),
        ("f(x) = 1", "nothing can be assigned to this"),
        ("a[]", "a subscript needs an index"),
        ("1st", "`1st` is not a number"),
        ("'abc", "this string is not closed"),
        ("a == not b", "expected an operand, found `not`"),
    ] {
        let (found, _) = wrong(source);
        assert_eq!(found.len(), 1, "{source} {found:?}");
        assert!(found[0].ends_with(message), "{found:?}");
    }
}

#[test]
fn depth_is_limited_and_length_is_not() {
    let nested = |n: usize| format!("x = {}1{}", "f(".repeat(n), ")".repeat(n));
    assert!(parse(&nested(MAX_DEPTH)).1.is_empty());
    assert_eq!(parse(&nested(MAX_DEPTH + 1)).1[0].code, "script-too-deep");
    for one in ["(", "[", "{1: ", "f(", "-", "not ", "lambda: ", "a if b else ", "2 ** ", "f(x)(y", "a.b."] {
        let (_, found) = parse(&one.repeat(50_000));
        assert_eq!(found[0].code, "script-too-deep", "{one}");
    }
    let sum = format!("x = 0{}", " + 1".repeat(100_000));
    assert!(parse(&sum).1.is_empty());
    let blocks: String = (0..=MAX_BLOCKS).map(|i| format!("{}if a:\n", " ".repeat(i))).collect();
    assert_eq!(parse(&format!("{blocks}{}pass\ny = 1", " ".repeat(MAX_BLOCKS + 1))).1[0].code, "script-too-deep");
}

fn shared(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared").join(folder);
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.map(|e| e.unwrap().path()).filter(|p| p.is_file()).collect()
}

#[test]
fn everything_that_tvm_printed_is_read() {
    let mut texts = Vec::new();
    for path in shared("corpus/relax").into_iter().chain(shared("corpus/relax/expected")) {
        texts.push(std::fs::read_to_string(path).unwrap());
    }
    for path in shared("cases/relax") {
        for line in std::fs::read_to_string(path).unwrap().lines() {
            let case: serde_json::Value = serde_json::from_str(line).unwrap();
            texts.extend(["before", "after", "printed"].iter().filter_map(|key| case[key].as_str()).map(str::to_string));
        }
    }
    for text in texts {
        let (_, diagnostics) = parse(&text);
        assert!(diagnostics.is_empty(), "{}", crate::diag::render(&diagnostics, "text", &text));
    }
}

#[test]
fn no_damage_makes_it_panic() {
    let source = "@I.ir_module\nclass M:\n    def f(x: R.T((1, \"n\"))) -> R.T:\n        with R.d():\n            y = x[0:1] + \"\"\"a\n\"\"\"\n        return (y, -1.5e-3)\n";
    let pieces = ["(", ")", "\n", "    ", "\"", "'", ":", "\t", "\\", "#", "é", "=", "if ", ".", "@", "\r", "0x", "\"\"\""];
    for at in (0..=source.len()).filter(|at| source.is_char_boundary(*at)) {
        parse(&source[..at]);
        parse(&source[at..]);
        for piece in pieces {
            parse(&format!("{}{piece}{}", &source[..at], &source[at..]));
            parse(&format!("{}{piece}", &source[..at]));
        }
    }
}
