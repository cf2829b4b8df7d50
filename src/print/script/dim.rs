//! Extents as Python expressions.

use super::Script;
use crate::ir::{Dim, Id, PrimExpr, PrimOp, Symbol};
use std::fmt::Write;

/// How tightly an operator binds, as Python has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) enum Precedence {
    /// `+` and `-`
    Sum,
    /// `*`, `//`, `%`
    Product,
    /// What needs no parentheses.
    Atom,
}

impl Script<'_> {
    /// An extent in a Relax program: integers are plain.
    pub(in super::super) fn dim(&mut self, dim: Dim, out: &mut String) -> Precedence {
        match dim {
            Dim::Int { value, bits: 1 } => out.push_str(if value != 0 { "True" } else { "False" }),
            Dim::Int { value, .. } => {
                let _ = write!(out, "{value}");
            }
            Dim::Any => out.push('?'),
            Dim::Symbol(symbol) => self.symbol(symbol, out),
            Dim::Expr(id) => {
                let expr = self.store.prim_of_id(id);
                let mut args = Vec::new();
                expr.for_each_child(&mut |arg| args.push(self.store.dim_of_prim(arg)));
                let (operator, precedence) = match expr {
                    PrimExpr::Binary { op: PrimOp::Add, .. } => (" + ", Precedence::Sum),
                    PrimExpr::Binary { op: PrimOp::Sub, .. } => (" - ", Precedence::Sum),
                    PrimExpr::Binary { op: PrimOp::Mul, .. } => (" * ", Precedence::Product),
                    PrimExpr::Binary { op: PrimOp::FloorDiv, .. } => (" // ", Precedence::Product),
                    PrimExpr::Binary { op: PrimOp::FloorMod, .. } => (" % ", Precedence::Product),
                    _ => {
                        self.usage.tir = true;
                        let name = match expr {
                            PrimExpr::Binary { op: PrimOp::Max, .. } => "T.max(".to_owned(),
                            PrimExpr::Binary { op: PrimOp::Min, .. } => "T.min(".to_owned(),
                            PrimExpr::Binary { op: PrimOp::Div, .. } => "T.Div(".to_owned(),
                            PrimExpr::Binary { op: PrimOp::Mod, .. } => "T.truncmod(".to_owned(),
                            _ => format!("T.Cast(\"{}\", ", self.store.prim_dtype(id)),
                        };
                        out.push_str(&name);
                        for (i, arg) in args.iter().enumerate() {
                            if i > 0 {
                                out.push_str(", ");
                            }
                            self.dim(*arg, out);
                        }
                        out.push(')');
                        return Precedence::Atom;
                    }
                };
                for (i, arg) in args.iter().enumerate() {
                    if i > 0 {
                        out.push_str(operator);
                    }
                    let start = out.len();
                    let inner = self.dim(*arg, out);
                    // Operators of one kind lean to the left.
                    if inner < precedence || (i > 0 && inner == precedence) {
                        out.insert(start, '(');
                        out.push(')');
                    }
                }
                return precedence;
            }
        }
        Precedence::Atom
    }

    /// A symbolic variable. One that nobody has defined yet is declared by the signature that it stands in or
    /// at the begin of the function.
    pub(in super::super) fn symbol(&mut self, symbol: Id<Symbol>, out: &mut String) {
        if let Some(name) = self.symbol_name(symbol) {
            out.push_str(name);
            return;
        }
        let name = self.define_symbol(symbol, self.function_scope);
        match &mut self.declaring {
            Some(declared) => declared.push(symbol),
            None => {
                self.usage.tir = true;
                let dtype = self.store.symbol(symbol).dtype;
                self.prelude.push(format!("{name} = T.{dtype}()"));
            }
        }
        out.push_str(&name);
    }

    /// Whether an extent is arithmetic over a symbolic variable that the signature under way declares.
    pub(in super::super) fn is_quoted(&self, dim: Dim) -> bool {
        let (Some(declared), Dim::Expr(id)) = (&self.declaring, dim) else { return false };
        let mut found = false;
        self.store.for_each_prim(id, &mut |_, part| found |= matches!(part, PrimExpr::Var(symbol) if declared.contains(symbol)));
        found
    }
}
