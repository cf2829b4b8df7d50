//! The rules of `rules.txt`, parsed once: their patterns and conditions. Applying them is [`super::rewrite`].

use crate::ir::{PrimExpr, PrimId, PrimOp, Store};
use std::sync::OnceLock;

/// Kinds of operands that a rule is about, as bits.
pub(super) mod class {
    pub const VECTOR: u8 = 1;
    pub const INDEX: u8 = 2;
    pub const UNSIGNED: u8 = 4;
    pub const OTHER: u8 = 8;
    pub const ANY: u8 = 0xff;
}

/// Place of a [`Node`] in its table.
pub(super) type NodeId = u16;

/// A node of a rule: of its pattern, its result, or its condition.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Node {
    /// A variable, a place in [`Match::found`].
    Var(u8),
    Number(i64),
    Truth(bool),
    Op(PrimOp, NodeId, NodeId),
    Not(NodeId),
    Call(Fun, [NodeId; 3]),
}

/// The operators that are written like functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fun {
    Select,
    Ramp,
    Broadcast,
    Zero,
    One,
    /// `x >= c` is proved.
    Ge,
    /// `x < c` is proved.
    Lt,
    /// `x == 0` is proved by bounds.
    IsZero,
    /// It may be left out or be there twice.
    Pure,
    /// A call of `vscale` is in it.
    Vscale,
    /// It is proved by all means.
    Proven,
}

/// Rules that are functions, after the lines with `@`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hook {
    RampDiv,
    RampMod,
    RampFdiv,
    RampFmod,
    ModBySet,
    FmodBySet,
    FdivOfMultiple,
    UnsignedFdiv,
    UnsignedFmod,
    MinByBounds,
    MaxByBounds,
    EqByComparing,
    LtByComparing,
    LtOfOffsets,
    LtOfMultiples,
}

const FUNS: [(&str, Fun, usize); 11] = [
    ("select", Fun::Select, 3),
    ("ramp", Fun::Ramp, 3),
    ("bcast", Fun::Broadcast, 2),
    ("zero", Fun::Zero, 1),
    ("one", Fun::One, 1),
    ("ge", Fun::Ge, 2),
    ("lt", Fun::Lt, 2),
    ("is0", Fun::IsZero, 1),
    ("pure", Fun::Pure, 1),
    ("vscale", Fun::Vscale, 1),
    ("proven", Fun::Proven, 1),
];

const HOOKS: [(&str, Hook); 15] = [
    ("ramp_div", Hook::RampDiv),
    ("ramp_mod", Hook::RampMod),
    ("ramp_fdiv", Hook::RampFdiv),
    ("ramp_fmod", Hook::RampFmod),
    ("mod_by_set", Hook::ModBySet),
    ("fmod_by_set", Hook::FmodBySet),
    ("fdiv_of_multiple", Hook::FdivOfMultiple),
    ("unsigned_fdiv", Hook::UnsignedFdiv),
    ("unsigned_fmod", Hook::UnsignedFmod),
    ("min_by_bounds", Hook::MinByBounds),
    ("max_by_bounds", Hook::MaxByBounds),
    ("eq_by_comparing", Hook::EqByComparing),
    ("lt_by_comparing", Hook::LtByComparing),
    ("lt_of_offsets", Hook::LtOfOffsets),
    ("lt_of_multiples", Hook::LtOfMultiples),
];

/// Names of operations in heads of sections; those that are written like functions have the same name.
const OPS: [(&str, PrimOp); 15] = [
    ("add", PrimOp::Add),
    ("sub", PrimOp::Sub),
    ("mul", PrimOp::Mul),
    ("div", PrimOp::Div),
    ("mod", PrimOp::Mod),
    ("fdiv", PrimOp::FloorDiv),
    ("fmod", PrimOp::FloorMod),
    ("min", PrimOp::Min),
    ("max", PrimOp::Max),
    ("eq", PrimOp::Eq),
    ("ne", PrimOp::Ne),
    ("lt", PrimOp::Lt),
    ("le", PrimOp::Le),
    ("and", PrimOp::And),
    ("or", PrimOp::Or),
];

/// Operators between their operands, those that bind least first.
const INFIX: [&[(&str, PrimOp)]; 5] = [
    &[("||", PrimOp::Or)],
    &[("&&", PrimOp::And)],
    &[("<=", PrimOp::Le), (">=", PrimOp::Ge), ("==", PrimOp::Eq), ("!=", PrimOp::Ne), ("<", PrimOp::Lt), (">", PrimOp::Gt)],
    &[("+", PrimOp::Add), ("-", PrimOp::Sub)],
    &[("*", PrimOp::Mul), ("/", PrimOp::Div), ("%", PrimOp::Mod)],
];

/// Variables: for any expressions, for integers, for floats, for lanes.
pub(super) const VARS: [&str; 12] = ["x", "y", "z", "b1", "b2", "s1", "s2", "c1", "c2", "c3", "f", "n"];
const FIRST_INT: u8 = 7;
const FLOAT: u8 = 10;

/// The action of a rule that fits.
#[derive(Clone, Copy, Debug)]
pub(super) enum Act {
    /// Makes `result`; `again` where that is simplified in its turn.
    Make {
        result: NodeId,
        again: bool,
    },
    Call(Hook),
}

/// A rule with one left side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    /// Operands that it is about: bits of [`class`].
    pub class: u8,
    /// Kinds that the second operand may have, as bits.
    second: u32,
    /// The pattern to match; a hook matches by itself.
    pub pattern: Option<NodeId>,
    pub condition: Option<NodeId>,
    pub act: Act,
}

/// Root operations: those of [`PrimOp`], then `not`.
const ROOTS: usize = 18;
pub(super) const NOT: usize = 17;
const SELECT: usize = 18;
/// Kinds of expressions: those of [`PrimOp`], `not`, `select` and these.
const KINDS: usize = 24;
const INT: usize = 19;
const FLOAT_KIND: usize = 20;
const RAMP: usize = 21;
const BROADCAST: usize = 22;
const REST: usize = 23;

/// All rules.
pub(super) struct Table {
    pub nodes: Vec<Node>,
    pub rules: Vec<Rule>,
    /// For each root operation and kind of its first operand the rules that may fit, in their order.
    index: Vec<Vec<u16>>,
}

/// The expressions bound to the variables of a rule.
#[derive(Clone, Copy, Default)]
pub(super) struct Match {
    pub found: [Option<PrimId>; VARS.len() - 1],
    pub lanes: u16,
    has_lanes: bool,
}

/// Returns the table, read when it is asked for first.
pub(super) fn table() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| Reader::read(include_str!("rules.txt")))
}

/// Returns the kind of an expression, for [`Table::candidates`].
pub(super) fn kind(expr: &PrimExpr) -> usize {
    match expr {
        PrimExpr::Binary { op, .. } => *op as usize,
        PrimExpr::Not(_) => NOT,
        PrimExpr::Select { .. } => SELECT,
        PrimExpr::Int { .. } => INT,
        PrimExpr::Float { .. } => FLOAT_KIND,
        PrimExpr::Ramp { .. } => RAMP,
        PrimExpr::Broadcast { .. } => BROADCAST,
        _ => REST,
    }
}

impl Table {
    /// Rules for an operation whose first and second operand are of these kinds, in their order.
    pub fn candidates(&self, root: usize, kinds: [usize; 2], class: u8) -> impl Iterator<Item = &Rule> {
        let list = &self.index[root * KINDS + kinds[0]];
        let fits = move |rule: &&Rule| rule.class & class != 0 && rule.second >> kinds[1] & 1 == 1;
        list.iter().map(|at| &self.rules[*at as usize]).filter(fits)
    }

    /// Matches an expression with a pattern, and binds the pattern's variables.
    pub fn matches(&self, store: &Store, at: NodeId, id: PrimId, found: &mut Match) -> bool {
        let expr = store.prim_of_id(id);
        match self.nodes[at as usize] {
            Node::Var(var) => {
                let fits = match var {
                    FLOAT => matches!(expr, PrimExpr::Float { .. }),
                    FIRST_INT..FLOAT => matches!(expr, PrimExpr::Int { .. }),
                    _ => true,
                };
                match found.found[var as usize] {
                    _ if !fits => false,
                    None => {
                        found.found[var as usize] = Some(id);
                        true
                    }
                    // Numbers are compared by value, not by type.
                    Some(old) => old == id || (var >= FIRST_INT && store.as_prim_int(old) == store.as_prim_int(id)),
                }
            }
            Node::Number(number) => matches!(expr, PrimExpr::Int { value, .. } if *value == number),
            Node::Truth(_) => false,
            Node::Op(op, a, b) => match *expr {
                PrimExpr::Binary { op: found_op, a: x, b: y } if found_op == op => {
                    self.matches(store, a, x, found) && self.matches(store, b, y, found)
                }
                _ => false,
            },
            Node::Not(a) => matches!(*expr, PrimExpr::Not(x) if self.matches(store, a, x, found)),
            Node::Call(Fun::Select, [a, b, c]) => match *expr {
                PrimExpr::Select { cond, then, other } => {
                    self.matches(store, a, cond, found)
                        && self.matches(store, b, then, found)
                        && self.matches(store, c, other, found)
                }
                _ => false,
            },
            Node::Call(Fun::Ramp, [a, b, _]) => match *expr {
                PrimExpr::Ramp { base, stride, lanes } => {
                    self.matches(store, a, base, found) && self.matches(store, b, stride, found) && found.take_lanes(lanes)
                }
                _ => false,
            },
            Node::Call(Fun::Broadcast, [a, ..]) => match *expr {
                PrimExpr::Broadcast { value, lanes } => self.matches(store, a, value, found) && found.take_lanes(lanes),
                _ => false,
            },
            Node::Call(..) => false,
        }
    }

    /// Returns the kinds of expressions that can look like a pattern, as bits.
    fn kinds(&self, at: NodeId) -> u32 {
        match self.nodes[at as usize] {
            Node::Var(FLOAT) => 1 << FLOAT_KIND,
            Node::Var(FIRST_INT..FLOAT) | Node::Number(_) => 1 << INT,
            Node::Op(op, ..) => 1 << op as usize,
            Node::Not(_) => 1 << NOT,
            Node::Call(Fun::Select, _) => 1 << SELECT,
            Node::Call(Fun::Ramp, _) => 1 << RAMP,
            Node::Call(Fun::Broadcast, _) => 1 << BROADCAST,
            _ => u32::MAX,
        }
    }
}

impl Match {
    fn take_lanes(&mut self, lanes: u16) -> bool {
        let fits = !self.has_lanes || self.lanes == lanes;
        (self.lanes, self.has_lanes) = (lanes, true);
        fits
    }
}

/// Parses the text of rules. It is part of the program, so the first test finds an error in it.
struct Reader<'a> {
    table: Table,
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn read(text: &'a str) -> Table {
        let table = Table { nodes: Vec::new(), rules: Vec::new(), index: vec![Vec::new(); ROOTS * KINDS] };
        let mut reader = Reader { table, rest: "" };
        let (mut root, mut class) = (0, class::ANY);
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(head) = line.strip_prefix('[') {
                (root, class) = section(head.trim_end_matches(']'));
            } else if let Some(name) = line.strip_prefix('@') {
                let hook = HOOKS.iter().find(|(hook, _)| *hook == name).unwrap_or_else(|| panic!("no hook {name}")).1;
                reader.add(root, Rule { class, second: u32::MAX, pattern: None, condition: None, act: Act::Call(hook) });
            } else {
                reader.rule(root, class, line);
            }
        }
        reader.table
    }

    fn rule(&mut self, root: usize, class: u8, line: &'a str) {
        let (left, right) = line.split_once(" =>").unwrap_or_else(|| panic!("no arrow: {line}"));
        let (again, right) = right.strip_prefix('>').map_or((false, right), |right| (true, right));
        let (right, condition) = right.split_once(" if ").map_or((right, None), |(right, condition)| (right, Some(condition)));
        let result = self.whole(right);
        let condition = condition.map(|condition| self.whole(condition));
        for pattern in left.split(" ; ") {
            let pattern = Some(self.whole(pattern));
            self.add(root, Rule { class, second: u32::MAX, pattern, condition, act: Act::Make { result, again } });
        }
    }

    fn add(&mut self, root: usize, mut rule: Rule) {
        let (first, second) = match rule.pattern.map(|at| self.table.nodes[at as usize]) {
            Some(Node::Op(_, a, b) | Node::Call(_, [a, b, _])) => (self.table.kinds(a), self.table.kinds(b)),
            Some(Node::Not(a)) => (self.table.kinds(a), u32::MAX),
            _ => (u32::MAX, u32::MAX),
        };
        rule.second = second;
        let number = self.table.rules.len() as u16;
        self.table.rules.push(rule);
        for kind in (0..KINDS).filter(|kind| first >> kind & 1 == 1) {
            self.table.index[root * KINDS + kind].push(number);
        }
    }

    fn node(&mut self, node: Node) -> NodeId {
        self.table.nodes.push(node);
        (self.table.nodes.len() - 1) as NodeId
    }

    fn whole(&mut self, text: &'a str) -> NodeId {
        self.rest = text.trim();
        let node = self.infix(0);
        assert!(self.rest.is_empty(), "not understood: {} in {text}", self.rest);
        node
    }

    fn infix(&mut self, level: usize) -> NodeId {
        let Some(ops) = INFIX.get(level) else { return self.operand() };
        let mut left = self.infix(level + 1);
        while let Some((op, rest)) = ops.iter().find_map(|(text, op)| Some((*op, self.rest.trim_start().strip_prefix(text)?))) {
            self.rest = rest.trim_start();
            let right = self.infix(level + 1);
            left = self.node(Node::Op(op, left, right));
        }
        left
    }

    fn operand(&mut self) -> NodeId {
        self.rest = self.rest.trim_start();
        if self.take("(") {
            let inner = self.infix(0);
            assert!(self.take(")"), "no bracket: {}", self.rest);
            return inner;
        }
        if self.take("!") {
            let inner = self.operand();
            return self.node(Node::Not(inner));
        }
        if self.take("-") {
            let (zero, inner) = (self.node(Node::Number(0)), self.operand());
            return self.node(Node::Op(PrimOp::Sub, zero, inner));
        }
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        if let Ok(number) = word.parse() {
            return self.node(Node::Number(number));
        }
        if let Some(var) = VARS.iter().position(|name| *name == word) {
            return self.node(Node::Var(var as u8));
        }
        if word == "true" || word == "false" {
            return self.node(Node::Truth(word == "true"));
        }
        assert!(self.take("("), "not understood: {word} {rest}");
        let mut args = [0; 3];
        let mut count = 0;
        loop {
            args[count] = self.infix(0);
            count += 1;
            if !self.take(",") {
                break;
            }
        }
        assert!(self.take(")"), "no bracket: {}", self.rest);
        if let Some((_, fun, expected)) = FUNS.iter().find(|(name, ..)| *name == word) {
            assert_eq!(count, *expected, "{word}");
            return self.node(Node::Call(*fun, args));
        }
        let (_, op) = OPS.iter().find(|(name, _)| *name == word).unwrap_or_else(|| panic!("no function {word}"));
        assert_eq!(count, 2, "{word}");
        self.node(Node::Op(*op, args[0], args[1]))
    }

    fn take(&mut self, text: &str) -> bool {
        match self.rest.trim_start().strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }
}

/// Returns the operation and the operands that a section is about.
fn section(head: &str) -> (usize, u8) {
    let (name, of) = head.split_once(' ').unwrap_or((head, ""));
    let class = match of {
        "" => class::ANY,
        "vector" => class::VECTOR,
        "index" => class::INDEX,
        "unsigned" => class::UNSIGNED,
        "other" => class::OTHER,
        _ => panic!("no such operands: {of}"),
    };
    let root = match name {
        "not" => NOT,
        _ => OPS.iter().find(|(op, _)| *op == name).unwrap_or_else(|| panic!("no operation {name}")).1 as usize,
    };
    (root, class)
}
