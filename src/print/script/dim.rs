//! Scalar expressions in Relax programs: extents, and scalars as values.

use super::super::tir::type_name;
use super::Script;
use super::value::push_float_literal;
use crate::ir::{DType, Dim, Id, PrimExpr, PrimId, PrimOp, Store, Symbol};
use std::fmt::Write;

/// The precedence of an operator in Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) enum Precedence {
    /// `or`
    Or,
    /// `and`
    And,
    /// `not`
    Not,
    /// `<`, `==`
    Compare,
    /// `+` and `-`
    Sum,
    /// `*`, `//`, `%`
    Product,
    /// An expression that needs no parentheses.
    Atom,
}

/// Returns an operator as Python writes it; `None` if it has no symbol.
fn operator(op: PrimOp) -> Option<(&'static str, Precedence)> {
    Some(match op {
        PrimOp::Add => (" + ", Precedence::Sum),
        PrimOp::Sub => (" - ", Precedence::Sum),
        PrimOp::Mul => (" * ", Precedence::Product),
        PrimOp::FloorDiv => (" // ", Precedence::Product),
        PrimOp::FloorMod => (" % ", Precedence::Product),
        PrimOp::Eq => (" == ", Precedence::Compare),
        PrimOp::Ne => (" != ", Precedence::Compare),
        PrimOp::Lt => (" < ", Precedence::Compare),
        PrimOp::Le => (" <= ", Precedence::Compare),
        PrimOp::Gt => (" > ", Precedence::Compare),
        PrimOp::Ge => (" >= ", Precedence::Compare),
        PrimOp::And => (" and ", Precedence::And),
        PrimOp::Or => (" or ", Precedence::Or),
        PrimOp::Div | PrimOp::Mod | PrimOp::Min | PrimOp::Max => return None,
    })
}

impl Script<'_> {
    /// Prints an extent in a Relax program: integers are plain.
    pub(in super::super) fn dim(&mut self, dim: Dim, out: &mut String) -> Precedence {
        match dim {
            Dim::Int { value, bits: 1 } => out.push_str(if value != 0 { "True" } else { "False" }),
            Dim::Int { value, bits } if self.tir_ints && bits != 32 => {
                self.usage.tir = true;
                let _ = write!(out, "T.int{bits}({value})");
            }
            Dim::Int { value, .. } => {
                let _ = write!(out, "{value}");
            }
            Dim::Any => out.push('?'),
            Dim::Symbol(symbol) => self.symbol(symbol, out),
            Dim::Expr(id) => return self.prim(id, out),
        }
        Precedence::Atom
    }

    /// Prints a scalar expression in a Relax program. Its depth is limited by the parser and the arithmetic of passes,
    /// so this may recurse.
    pub(in super::super) fn prim(&mut self, id: PrimId, out: &mut String) -> Precedence {
        let store = self.store;
        let (name, args): (String, Vec<PrimId>) = match store.prim_of_id(id) {
            PrimExpr::Binary { op, a, b } => {
                // TVM writes an operator only where Python would not evaluate it.
                let known = [a, b].iter().all(|arg| store.as_prim_int(**arg).is_some());
                match operator(*op).filter(|_| !known) {
                    Some((sign, precedence)) => {
                        self.binary([*a, *b], sign, precedence, out);
                        return precedence;
                    }
                    None => (name_of(*op), vec![*a, *b]),
                }
            }
            PrimExpr::Int { value, dtype: DType::BOOL } => {
                out.push_str(if *value != 0 { "True" } else { "False" });
                return Precedence::Atom;
            }
            PrimExpr::Int { value, dtype } => {
                let _ = match dtype.bits {
                    bits if self.tir_ints && bits != 32 => write!(out, "T.int{bits}({value})"),
                    _ => write!(out, "{value}"),
                };
                return Precedence::Atom;
            }
            PrimExpr::Float { value, dtype } => {
                self.usage.tir = true;
                let _ = write!(out, "T.{dtype}(");
                push_float_literal(out, value.0);
                out.push(')');
                return Precedence::Atom;
            }
            PrimExpr::Any | PrimExpr::Var(_) => return self.dim(store.dim_of_prim(id), out),
            PrimExpr::Not(value) => {
                out.push_str("not ");
                let start = out.len();
                if self.prim(*value, out) < Precedence::Not {
                    out.insert(start, '(');
                    out.push(')');
                }
                return Precedence::Not;
            }
            PrimExpr::Cast { dtype, value } => {
                self.usage.tir = true;
                let _ = write!(out, "T.Cast(\"{dtype}\", ");
                self.prim(*value, out);
                out.push(')');
                return Precedence::Atom;
            }
            PrimExpr::Select { cond, then, other } => ("Select".to_owned(), vec![*cond, *then, *other]),
            PrimExpr::Call { op, args, .. } => (store.str(*op).to_owned(), args.to_vec()),
            // It does not occur in Relax.
            _ => ("expression".to_owned(), Vec::new()),
        };
        self.usage.tir = true;
        let _ = write!(out, "T.{name}(");
        for (i, arg) in args.iter().enumerate() {
            out.push_str(if i > 0 { ", " } else { "" });
            self.prim(*arg, out);
        }
        out.push(')');
        Precedence::Atom
    }

    fn binary(&mut self, args: [PrimId; 2], sign: &str, precedence: Precedence, out: &mut String) {
        for (i, arg) in args.into_iter().enumerate() {
            out.push_str(if i > 0 { sign } else { "" });
            let start = out.len();
            let inner = self.prim(arg, out);
            // Operators of one kind are left-associative.
            if inner < precedence || (i > 0 && inner == precedence) {
                out.insert(start, '(');
                out.push(')');
            }
        }
    }

    /// Prints a symbolic variable. One without a definition is declared by the current signature or at the begin of the
    /// function.
    pub(in super::super) fn symbol(&mut self, symbol: Id<Symbol>, out: &mut String) {
        if let Some(name) = self.symbol_name(symbol) {
            out.push_str(name);
            return;
        }
        let scope = if self.alone && self.declaring.is_none() { self.scope() } else { self.function_scope };
        let name = self.define_symbol(symbol, scope);
        match &mut self.declaring {
            Some(declared) => declared.push(symbol),
            None if self.alone => {
                self.usage.tir = true;
                self.pending.push(format!("{name} = {}", variable_of(self.store, symbol)));
            }
            None => {
                self.usage.tir = true;
                self.prelude.push(format!("{name} = {}", variable_of(self.store, symbol)));
            }
        }
        out.push_str(&name);
    }

    /// True if an extent is arithmetic over a symbolic variable that the current signature declares.
    pub(in super::super) fn is_quoted(&self, dim: Dim) -> bool {
        let (Some(declared), Dim::Expr(id)) = (&self.declaring, dim) else { return false };
        if self.unquoted {
            return false;
        }
        let mut found = false;
        self.store.for_each_prim(id, &mut |_, part| found |= matches!(part, PrimExpr::Var(symbol) if declared.contains(symbol)));
        found
    }
}

/// Returns what makes a variable of that type: `T.int64()`, `T.handle("int64", "global")`.
pub(in super::super) fn variable_of(store: &Store, symbol: Id<Symbol>) -> String {
    let dtype = store.symbol(symbol).dtype;
    let made = if store.pointee(dtype).is_some() { "" } else { "()" };
    format!("{}{made}", type_name(store, dtype))
}

/// Returns the function form of an operation.
fn name_of(op: PrimOp) -> String {
    match op {
        PrimOp::Max => "max".to_owned(),
        PrimOp::Min => "min".to_owned(),
        PrimOp::Mod => "truncmod".to_owned(),
        other => other.name().to_owned(),
    }
}
