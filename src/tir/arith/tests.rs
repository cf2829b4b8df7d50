//! Tests every rule: both sides are evaluated with random numbers. `tests/arith.rs` compares the analyzer's answers
//! with TVM's.

use super::table::{Act, Fun, Node, NodeId, Table, VARS, table};
use crate::ir::PrimOp;

/// A generator of numbers that are random enough (xorshift).
struct Random(u64);

impl Random {
    fn next(&mut self, n: u64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n) as i64
    }
}

/// Values of variables, and the evaluated lane of vectors.
struct Sample {
    values: [i64; VARS.len()],
    lane: i64,
}

impl Sample {
    fn value(&self, table: &Table, at: NodeId) -> Option<i64> {
        let value = |at| self.value(table, at);
        match table.nodes[at as usize] {
            Node::Var(var) => Some(self.values[var as usize]),
            Node::Number(number) => Some(number),
            Node::Truth(truth) => Some(i64::from(truth)),
            Node::Op(op, a, b) => op.fold(value(a)?, value(b)?),
            Node::Not(a) => Some(i64::from(value(a)? == 0)),
            Node::Call(fun, [a, b, c]) => match fun {
                Fun::Select => value(if value(a)? != 0 { b } else { c }),
                Fun::Ramp => Some(value(a)? + self.lane * value(b)?),
                Fun::Broadcast | Fun::Proven => value(a),
                Fun::Zero => Some(0),
                Fun::One => Some(1),
                Fun::Ge => Some(i64::from(value(a)? >= value(b)?)),
                Fun::Lt => Some(i64::from(value(a)? < value(b)?)),
                Fun::IsZero => Some(i64::from(value(a)? == 0)),
                Fun::Pure | Fun::Vscale => Some(1),
            },
        }
    }
}

/// Collects the variables for truth values: operands of `and`, `or`, `not`, and conditions of `select`.
fn truths(table: &Table, at: NodeId, found: &mut Vec<u8>) {
    let mut truth = |at: NodeId| {
        if let Node::Var(var) = table.nodes[at as usize] {
            found.push(var);
        }
    };
    match table.nodes[at as usize] {
        Node::Op(op, a, b) => {
            if matches!(op, PrimOp::And | PrimOp::Or) {
                truth(a);
                truth(b);
            }
            truths(table, a, found);
            truths(table, b, found);
        }
        Node::Not(a) => {
            truth(a);
            truths(table, a, found);
        }
        Node::Call(fun, args) => {
            if fun == Fun::Select {
                truth(args[0]);
            }
            let count = if matches!(fun, Fun::Select) { 3 } else { 2 };
            args[..count].iter().filter(|arg| **arg != 0).for_each(|arg| truths(table, *arg, found));
        }
        _ => {}
    }
}

fn show(table: &Table, at: NodeId) -> String {
    let show = |at| show(table, at);
    match table.nodes[at as usize] {
        Node::Var(var) => VARS[var as usize].to_owned(),
        Node::Number(number) => number.to_string(),
        Node::Truth(truth) => truth.to_string(),
        Node::Op(op, a, b) => format!("{}({}, {})", op.name(), show(a), show(b)),
        Node::Not(a) => format!("!{}", show(a)),
        Node::Call(fun, [a, ..]) => format!("{fun:?}({}, ..)", show(a)),
    }
}

/// Rules of TVM that do not always hold. We keep them, because our results must be TVM's.
const WRONG_IN_TVM: [&str; 5] = [
    // (-1 + 5) / 2 - (-1 + 1) / 2 is 2, not (-1 + 1) / 2 + ...: the sum under % may be negative.
    "Sub(Div(Add(x, c1), c3), Div(Add(x, c2), c3))",
    // These are meant for a divisor of one sign, and are false on the left for the other.
    "And(LT(c1, Sub(x, Mul(y, c1))), LE(Sub(x, Mul(y, c1)), 0))",
    "And(LT(Sub(x, Mul(y, c1)), c1), LE(0, Sub(x, Mul(y, c1))))",
    "And(LE(0, Add(x, Mul(y, c2))), LT(Add(x, Mul(y, c2)), c1))",
    "And(LT(Add(x, Mul(y, c2)), c1), LE(0, Add(x, Mul(y, c2))))",
];

#[test]
fn both_sides_of_every_rule_are_equal() {
    let table = table();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut wrong = Vec::new();
    for rule in &table.rules {
        let (Act::Make { result, .. }, Some(pattern)) = (rule.act, rule.pattern) else { continue };
        let mut boolean = Vec::new();
        [Some(pattern), Some(result), rule.condition].into_iter().flatten().for_each(|at| truths(table, at, &mut boolean));
        let (mut tried, mut differ) = (0, 0);
        for _ in 0..60_000 {
            let mut sample = Sample { values: [0; VARS.len()], lane: random.next(4) };
            for (var, value) in sample.values.iter_mut().enumerate().filter(|(var, _)| *var < VARS.len() - 2) {
                *value = match var {
                    _ if boolean.contains(&(var as u8)) => random.next(2),
                    7.. => random.next(13) - 5,
                    _ => random.next(41) - 20,
                };
            }
            if matches!(table.nodes[pattern as usize], Node::Op(PrimOp::And, ..)) && show(table, pattern).contains("FloorMod") {
                // TVM takes for granted that divisors are positive and remainders below them.
                let c2 = random.next(8) + 1;
                sample.values[8..10].copy_from_slice(&[c2, random.next(c2 as u64)]);
            }
            if rule.condition.is_some_and(|condition| sample.value(table, condition).is_none_or(|truth| truth == 0)) {
                continue;
            }
            if let (Some(left), Some(right)) = (sample.value(table, pattern), sample.value(table, result)) {
                tried += 1;
                differ += i32::from(left != right);
            }
            if tried > 400 {
                break;
            }
        }
        let left = show(table, pattern);
        if tried < 20 || (differ > 0 && !WRONG_IN_TVM.contains(&&*left)) {
            wrong.push(format!("{left} => {}: {differ} of {tried}", show(table, result)));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}
