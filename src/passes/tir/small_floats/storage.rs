//! Small floats in memory as the numbers that their bits are.

use super::Small;
use super::convert::{bits_of, reinterpret};
use crate::diag::Diagnostic;
use crate::ir::{AttrNode, Buffer, DType, ExprId, Id, PrimExpr, PrimFunc, PrimId, PrimParam, Stmt, StmtId, Store, Symbol};
use crate::pass::PassError;
use crate::passes::tir::with_func;
use crate::tir::{Rewriting, StmtMutator};

/// A function whose memory holds numbers where it held small floats. Its parameters must be pointers by now.
pub(in crate::passes::tir) fn legalize(store: &mut Store, func: ExprId, small: Small) -> Result<ExprId, PassError> {
    let Some(prim) = super::prim_func(store, func) else { return Ok(func) };
    if prim.params.iter().any(|param| matches!(param, PrimParam::Buffer(_))) {
        let message = "This pass must be called after MakePackedAPI: a parameter is a buffer";
        return Err(vec![Diagnostic::error("tir-float", message, store.source_span(func))]);
    }
    if !small.occurs(store, func) {
        return Ok(func);
    }
    let mut storage = Storage { small };
    Ok(with_func(store, "small floats stored as numbers", func, |store, old| {
        let mut cx = Rewriting::new(store);
        let params = (old.params.iter())
            .map(|param| match *param {
                PrimParam::Var(symbol) => PrimParam::Var(storage.pointer(&mut cx, symbol)),
                other => other,
            })
            .collect();
        let body = cx.visit(&mut storage, old.body);
        PrimFunc { params, body, ..old }
    }))
}

struct Storage {
    small: Small,
}

impl Storage {
    /// Returns the type of a pointer to numbers, where it is one to small floats.
    fn pointee(&self, store: &mut Store, dtype: DType) -> Option<DType> {
        let pointer = store.pointee(dtype).filter(|pointer| self.small.is(pointer.element))?;
        Some(store.pointer(bits_of(pointer.element), pointer.scope))
    }

    /// Returns the new variable at the definition of a pointer.
    fn pointer(&self, cx: &mut Rewriting<'_>, symbol: Id<Symbol>) -> Id<Symbol> {
        let old = cx.store.symbol(symbol).clone();
        let Some(dtype) = self.pointee(cx.store, old.dtype) else { return symbol };
        let new = cx.store.add_symbol(Symbol { dtype, ..old });
        let becomes = cx.store.prim(PrimExpr::Var(new));
        cx.set_symbol(symbol, becomes);
        new
    }
}

impl StmtMutator for Storage {
    fn rule(&self) -> &'static str {
        ""
    }

    fn prim(&mut self, cx: &mut Rewriting<'_>, pre: PrimId, post: PrimId) -> PrimId {
        let PrimExpr::Call { op, args, dtype } = &*cx.store.prim_rc(post) else { return post };
        if let Some(dtype) = self.pointee(cx.store, *dtype) {
            return cx.store.prim(PrimExpr::Call { op: *op, args: args.clone(), dtype });
        }
        if cx.store.str(*op) != "reinterpret" || args.len() != 1 || cx.store.pointee(*dtype).is_some() || *dtype == DType::HANDLE
        {
            return post;
        }
        let wanted = if self.small.is(*dtype) { bits_of(*dtype) } else { *dtype };
        let _ = pre;
        reinterpret(cx.store, wanted, args[0])
    }

    fn define_buffer(&mut self, cx: &mut Rewriting<'_>, buffer: Id<Buffer>) -> Option<Id<Buffer>> {
        let data = cx.store.buffer(buffer).clone();
        let pointer = data.data.map(|data| cx.root(self, data));
        let dtype = if self.small.is(data.dtype) { bits_of(data.dtype) } else { data.dtype };
        let new = Buffer { dtype, data: pointer, ..data };
        Some(if new == *cx.store.buffer(buffer) { buffer } else { cx.store.add_buffer(new) })
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        match cx.store.stmt(id).clone() {
            Stmt::Bind { var, value } => {
                let new = cx.root(self, value);
                let becomes = self.pointer(cx, var);
                if (becomes, new) == (var, value) {
                    return Some(id);
                }
                Some(cx.store.rebuild_stmt(id, Stmt::Bind { var: becomes, value: new }))
            }
            Stmt::Attr { node: AttrNode::Prim(_), .. } => None,
            _ => None,
        }
    }
}
