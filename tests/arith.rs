//! Compares the analyzer's answers for random expressions with TVM's (`tests/arith/record.py`).
//!
//! `ARITH_CASES=FILE cargo test --test arith -- --nocapture` tries another file of records and prints the differences.

use passlab::ir::{DType, DTypeCode, Id, PrimExpr, PrimId, PrimOp, Store, Symbol};
use passlab::tir::arith::iter::{Level, detect_iter_map, sum_to_prim};
use passlab::tir::arith::{Analyzer, Domains, End, IntSet, deduce_bound, eval_set};
use std::collections::HashMap;
use std::fmt::Write as _;

const OPS: [(&str, PrimOp); 17] = [
    ("+", PrimOp::Add),
    ("-", PrimOp::Sub),
    ("*", PrimOp::Mul),
    ("/", PrimOp::Div),
    ("%", PrimOp::Mod),
    ("//", PrimOp::FloorDiv),
    ("%%", PrimOp::FloorMod),
    ("min", PrimOp::Min),
    ("max", PrimOp::Max),
    ("==", PrimOp::Eq),
    ("!=", PrimOp::Ne),
    ("<", PrimOp::Lt),
    ("<=", PrimOp::Le),
    (">", PrimOp::Gt),
    (">=", PrimOp::Ge),
    ("and", PrimOp::And),
    ("or", PrimOp::Or),
];

/// Expressions in prefix notation: `(+ i (* j 4:int64))`.
struct Reader<'a> {
    store: &'a mut Store,
    vars: &'a HashMap<String, Id<Symbol>>,
    tokens: Vec<String>,
}

impl Reader<'_> {
    fn all(store: &mut Store, vars: &HashMap<String, Id<Symbol>>, text: &str) -> Vec<PrimId> {
        let spaced = text.replace('(', " ( ").replace(')', " ) ");
        let tokens: Vec<String> = spaced.split_whitespace().rev().map(str::to_owned).collect();
        let mut reader = Reader { store, vars, tokens };
        let mut found = Vec::new();
        while !reader.tokens.is_empty() {
            found.push(reader.expr());
        }
        found
    }

    fn word(&mut self) -> String {
        self.tokens.pop().expect("a word")
    }

    fn expr(&mut self) -> PrimId {
        let word = self.word();
        if word != "(" {
            return self.atom(&word);
        }
        let head = self.word();
        let result = match head.as_str() {
            "!" => {
                let value = self.expr();
                self.store.prim(PrimExpr::Not(value))
            }
            "select" => {
                let (cond, then, other) = (self.expr(), self.expr(), self.expr());
                self.store.prim(PrimExpr::Select { cond, then, other })
            }
            "cast" => {
                let dtype = DType::parse(&self.word()).expect("a type");
                let value = self.expr();
                self.store.prim(PrimExpr::Cast { dtype, value })
            }
            "ramp" => {
                let (base, stride) = (self.expr(), self.expr());
                let lanes = self.word().parse().expect("lanes");
                self.store.prim(PrimExpr::Ramp { base, stride, lanes })
            }
            "bcast" => {
                let value = self.expr();
                let lanes = self.word().parse().expect("lanes");
                self.store.prim(PrimExpr::Broadcast { value, lanes })
            }
            "call" => {
                let dtype = DType::parse(&self.word()).expect("a type");
                let name = self.word();
                let mut args = Vec::new();
                while self.tokens.last().is_some_and(|token| token != ")") {
                    args.push(self.expr());
                }
                self.store.prim_call(&name, &args, dtype)
            }
            _ => {
                let op = OPS.iter().find(|(name, _)| *name == head).unwrap_or_else(|| panic!("no operation {head}")).1;
                let (a, b) = (self.expr(), self.expr());
                self.store.prim_binary(op, a, b)
            }
        };
        assert_eq!(self.word(), ")");
        result
    }

    fn atom(&mut self, word: &str) -> PrimId {
        if let Some(symbol) = self.vars.get(word) {
            return self.store.prim(PrimExpr::Var(*symbol));
        }
        if word == "true" || word == "false" {
            return self.store.prim_int(i64::from(word == "true"), DType::BOOL);
        }
        let (number, dtype) = word.split_once(':').unwrap_or((word, "int32"));
        let dtype = DType::parse(dtype).expect("a type");
        match dtype.is_float() {
            true => self.store.prim_float(number.parse().expect("a number"), dtype),
            false => self.store.prim_int(number.parse().unwrap_or_else(|_| panic!("{word}")), dtype),
        }
    }
}

fn show(store: &Store, id: PrimId, out: &mut String) {
    let mut list = |head: &str, args: &[PrimId], tail: &str| {
        let _ = write!(out, "({head}");
        for arg in args {
            out.push(' ');
            show(store, *arg, out);
        }
        let _ = write!(out, "{tail})");
    };
    match store.prim_of_id(id) {
        PrimExpr::Int { value, dtype } => {
            let _ = match *dtype {
                DType::BOOL => write!(out, "{}", *value != 0),
                DType::I32 => write!(out, "{value}"),
                dtype if dtype.code == DTypeCode::UInt => write!(out, "{}:{dtype}", *value as u64),
                dtype => write!(out, "{value}:{dtype}"),
            };
        }
        PrimExpr::Float { value, dtype } => {
            let _ = write!(out, "{:?}:{dtype}", value.0);
        }
        PrimExpr::Var(symbol) => out.push_str(store.str(store.symbol(*symbol).name)),
        PrimExpr::Binary { op, a, b } => {
            let name = OPS.iter().find(|(_, other)| other == op).map_or("?", |(name, _)| name);
            list(name, &[*a, *b], "");
        }
        PrimExpr::Not(value) => list("!", &[*value], ""),
        PrimExpr::Select { cond, then, other } => list("select", &[*cond, *then, *other], ""),
        PrimExpr::Cast { dtype, value } => list(&format!("cast {dtype}"), &[*value], ""),
        PrimExpr::Ramp { base, stride, lanes } => list("ramp", &[*base, *stride], &format!(" {lanes}")),
        PrimExpr::Broadcast { value, lanes } => list("bcast", &[*value], &format!(" {lanes}")),
        PrimExpr::Call { op, args, dtype } => list(&format!("call {dtype} {}", store.str(*op)), args, ""),
        other => out.push_str(&format!("{other:?}")),
    }
}

/// Returns the answers for sets and iterator maps, with each variable running through its range.
fn answer_of_iters(
    store: &mut Store,
    ranges: &[(Id<Symbol>, (PrimId, PrimId))],
    conds: &[PrimId],
    question: &str,
    exprs: &[PrimId],
) -> String {
    let show_end = |store: &mut Store, end: End| match end {
        End::NegInf => "neg_inf".to_owned(),
        End::PosInf => "pos_inf".to_owned(),
        End::At(value) => {
            let mut text = String::new();
            let value = if question == "set" { Analyzer::new().simplify(store, value) } else { value };
            show(store, value, &mut text);
            text
        }
    };
    let mut domains: Domains =
        ranges.iter().map(|(var, (min, extent))| (*var, IntSet::from_range(store, *min, *extent))).collect();
    let set = match question {
        "set" => eval_set(store, exprs[0], &domains),
        "deduce" => {
            let first = ranges[0].0;
            let hints: Domains = domains.remove_entry(&first).into_iter().collect();
            let target = store.prim(PrimExpr::Var(first));
            deduce_bound(store, target, exprs[0], &hints, &domains)
        }
        _ => {
            let level = if question == "bijective" { Level::Bijective } else { Level::Surjective };
            let analyzer = &mut Analyzer::new();
            let Ok(map) = detect_iter_map(store, analyzer, exprs, ranges, conds.first().copied(), level, true) else {
                return "none".to_owned();
            };
            let mut text = Vec::new();
            for sum in &map.indices {
                let prim = sum_to_prim(store, &mut Analyzer::new(), sum);
                let mut out = String::new();
                show(store, prim, &mut out);
                text.push(out);
            }
            return text.join(" ");
        }
    };
    format!("{} {}", show_end(store, set.min), show_end(store, set.max))
}

fn answer(line: &str) -> (String, String) {
    let fields: Vec<&str> = line.split(" | ").map(str::trim).collect();
    let [spec, conds, question, expr, expected] = fields[..] else { panic!("{line}") };
    let store = &mut Store::new();
    let analyzer = &mut Analyzer::new();
    let mut vars = HashMap::new();
    let mut ranges = Vec::new();
    for var in spec.split_whitespace().chain(["p:bool", "q:bool", "a:float32", "b:float32"]) {
        let (name, rest) = var.split_once(':').expect("a type");
        let (dtype, range) = rest.split_once('[').unwrap_or((rest, ""));
        let dtype = DType::parse(dtype).expect("a type");
        let id = store.name(name);
        let symbol = store.add_symbol(Symbol { name: id, dtype, size: false });
        vars.insert(name.to_owned(), symbol);
        if let Some((min, extent)) = range.trim_end_matches(']').split_once(',') {
            let [min, extent] = [min, extent].map(|end| Reader::all(store, &vars, &format!("{end}:{dtype}"))[0]);
            analyzer.bind_range(store, symbol, min, extent);
            ranges.push((symbol, (min, extent)));
        }
    }
    let exprs = Reader::all(store, &vars, expr);
    if ["set", "deduce", "iters", "bijective"].contains(&question) {
        let conds = Reader::all(store, &vars, conds);
        return (answer_of_iters(store, &ranges, &conds, question, &exprs), expected.to_owned());
    }
    let expr = exprs[0];
    let scopes: Vec<_> = Reader::all(store, &vars, conds).into_iter().map(|cond| analyzer.enter(store, cond)).collect();
    let simple = match question {
        "simplify" => analyzer.simplify(store, expr),
        "rewrite" => analyzer.rewrite_simplify(store, expr),
        "canonical" => analyzer.canonical_simplify(store, expr),
        "prove" => return (u8::from(analyzer.can_prove(store, expr)).to_string(), expected.to_owned()),
        "bound" => {
            let bound = analyzer.const_int_bound(store, expr);
            return (format!("{} {}", bound.min, bound.max), expected.to_owned());
        }
        "modular" => {
            let set = analyzer.modular_set(store, expr);
            return (format!("{} {}", set.coeff, set.base), expected.to_owned());
        }
        _ => panic!("no question {question}"),
    };
    scopes.into_iter().rev().for_each(|scope| analyzer.exit(scope));
    let mut text = String::new();
    show(store, simple, &mut text);
    (text, expected.to_owned())
}

#[test]
fn answers_are_those_of_tvm() {
    let asked = std::env::var("ARITH_CASES").ok();
    let text = match &asked {
        Some(path) => std::fs::read_to_string(path).expect("ARITH_CASES names a file"),
        None => include_str!("arith/recorded.txt").to_owned(),
    };
    let (mut count, mut wrong) = (0, Vec::new());
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        count += 1;
        let (ours, theirs) = answer(line);
        if ours != theirs {
            wrong.push(format!("{line}\n    ours: {ours}"));
        }
    }
    let shown = wrong.iter().take(30).cloned().collect::<Vec<_>>().join("\n");
    if asked.is_some() {
        println!("{shown}\n{} of {count} differ", wrong.len());
    } else {
        assert!(wrong.is_empty(), "{} of {count} differ:\n{shown}", wrong.len());
    }
}
