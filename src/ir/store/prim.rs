//! Scalar expressions, buffers, statements and functions of TIR.

use super::{Mentions, Store};
use crate::diag::Span;
use crate::ir::id::{Id, IdMap};
use crate::ir::prim::{Block, Buffer, BufferLayout, PrimExpr, PrimFunc, PrimId, PrimOp, PrimParam, Stmt, StmtId};
use crate::ir::ty::{DType, DTypeCode, Dim};
use crate::ir::{Double, Expr, ExprId, Name, Origin};
use std::rc::Rc;

/// The target of a pointer (TVM's `PointerType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pointer {
    /// The type of the elements.
    pub element: DType,
    /// The kind of memory.
    pub scope: Id<Name>,
}

/// The mark in `bits` of a handle that is a [`Pointer`].
const POINTER: u8 = 1 << 7;

/// The expressions that a walk has met.
#[derive(Default)]
struct Seen {
    /// The first of them: so many are found faster in a list than in a table, and need no memory.
    few: [Option<PrimId>; 16],
    many: IdMap<PrimExpr, ()>,
}

impl Seen {
    /// True for an expression that is met for the first time.
    fn is_first(&mut self, id: PrimId) -> bool {
        for place in &mut self.few {
            match place {
                Some(known) if *known == id => return false,
                Some(_) => {}
                None => {
                    *place = Some(id);
                    return true;
                }
            }
        }
        self.many.insert(id, ()).is_none()
    }
}

macro_rules! arena {
    ($add:ident, $get:ident, $field:ident, $kind:ty, $what:literal) => {
        #[doc = concat!("Adds ", $what, ".")]
        pub fn $add(&mut self, value: $kind) -> Id<$kind> {
            self.$field.push(value);
            Id::from_index(self.$field.len() - 1)
        }

        #[doc = concat!("The data of ", $what, ".")]
        pub fn $get(&self, id: Id<$kind>) -> &$kind {
            &self.$field[id.index()]
        }
    };
}

impl Store {
    arena!(add_buffer, buffer, buffers, Buffer, "a buffer");
    arena!(add_prim_func, prim_func, prim_funcs, PrimFunc, "a function of TIR");

    /// Adds a block of computation.
    pub fn add_prim_block(&mut self, block: Block) -> Id<Block> {
        self.prim_blocks.push(Rc::new(block));
        Id::from_index(self.prim_blocks.len() - 1)
    }

    /// Returns the data of a block of computation.
    pub fn prim_block(&self, id: Id<Block>) -> &Block {
        &self.prim_blocks[id.index()]
    }

    /// Returns the data of a block of computation, shared, for when the store has to be changed meanwhile.
    pub fn prim_block_rc(&self, id: Id<Block>) -> Rc<Block> {
        self.prim_blocks[id.index()].clone()
    }

    /// Adds a statement.
    pub fn add_stmt(&mut self, stmt: Stmt) -> StmtId {
        let origin = self.current_origin();
        self.push_stmt(stmt, origin)
    }

    /// Adds a copy of `pre` over other expressions or statements that means the same.
    pub fn rebuild_stmt(&mut self, pre: StmtId, stmt: Stmt) -> StmtId {
        self.push_stmt(stmt, Origin::Rebuilt(self.stmt_node(pre)))
    }

    fn push_stmt(&mut self, stmt: Stmt, origin: Origin) -> StmtId {
        self.stmts.push(Rc::new(stmt));
        let id = Id::from_index(self.stmts.len() - 1);
        let node = self.push(Expr::Stmt(id), None, origin);
        self.stmt_nodes.push(node);
        id
    }

    /// Returns the data of a statement.
    pub fn stmt(&self, id: StmtId) -> &Stmt {
        &self.stmts[id.index()]
    }

    /// Returns the data of a statement, shared, for when the store has to be changed meanwhile.
    pub fn stmt_rc(&self, id: StmtId) -> Rc<Stmt> {
        self.stmts[id.index()].clone()
    }

    /// Returns the node that represents a statement among the nodes with origins and places.
    pub fn stmt_node(&self, id: StmtId) -> ExprId {
        self.stmt_nodes[id.index()]
    }

    /// Records that a statement was read from the text, with the loops and branches that stand in the same line of it. For
    /// the parser only.
    pub fn set_stmt_span(&mut self, id: StmtId, span: Span) {
        let mut at = Some(id);
        while let Some(id) = at {
            let node = self.stmt_node(id);
            if matches!(self.origin(node), Origin::Parsed(_)) {
                return;
            }
            self.set_span(node, span);
            at = match *self.stmt(id) {
                Stmt::For(_, body) => Some(body),
                Stmt::If { other, .. } => other,
                _ => None,
            };
        }
    }

    /// Returns the id of a scalar expression.
    pub fn prim(&mut self, expr: PrimExpr) -> PrimId {
        let dtype = self.dtype_of(&expr);
        let id = self.prims.intern(expr);
        if id.index() == self.prim_dtypes.len() {
            let expr = self.prims.get(id);
            let (mut depth, mut mentions) = (0, Mentions::of(expr));
            expr.for_each_child(&mut |child| {
                depth = depth.max(self.prim_depth(child).saturating_add(1));
                mentions |= self.prim_mentions(child);
            });
            self.prim_dtypes.push(dtype);
            self.prim_depths.push(depth);
            self.prim_mentions.push(mentions);
        }
        id
    }

    /// Returns the nesting depth below this expression; 65,535 also stands for more. A recursive walk checks it first.
    pub fn prim_depth(&self, id: PrimId) -> u16 {
        self.prim_depths[id.index()]
    }

    /// Returns the variables and buffers in a scalar expression.
    pub fn prim_mentions(&self, id: PrimId) -> Mentions {
        self.prim_mentions[id.index()]
    }

    /// Returns the scalar expression behind an id.
    pub fn prim_of_id(&self, id: PrimId) -> &PrimExpr {
        self.prims.get(id)
    }

    /// Returns the scalar expression behind an id, shared, for when the store has to be changed meanwhile.
    pub fn prim_rc(&self, id: PrimId) -> Rc<PrimExpr> {
        self.prims.get_rc(id)
    }

    /// Returns the type of a scalar expression.
    pub fn prim_dtype(&self, id: PrimId) -> DType {
        self.prim_dtypes[id.index()]
    }

    fn dtype_of(&self, expr: &PrimExpr) -> DType {
        let vector = |element: PrimId, lanes: u16| DType { lanes, ..self.prim_dtype(element) };
        match *expr {
            PrimExpr::Int { dtype, .. } | PrimExpr::Float { dtype, .. } => dtype,
            PrimExpr::Cast { dtype, .. } | PrimExpr::Call { dtype, .. } => dtype,
            PrimExpr::Str(_) | PrimExpr::Data(_) | PrimExpr::Buffer(_) | PrimExpr::Reducer(_) | PrimExpr::Attrs(_) => {
                DType::HANDLE
            }
            PrimExpr::Shuffle { ref vectors, ref indices } => {
                let element = vectors.first().map_or(DType::VOID, |vector| self.prim_dtype(*vector).element());
                DType { lanes: indices.len() as u16, ..element }
            }
            PrimExpr::Any => DType::I32,
            PrimExpr::Var(symbol) => self.symbol(symbol).dtype,
            PrimExpr::Binary { op, a, .. } if op.is_logic() => DType { lanes: self.prim_dtype(a).lanes, ..DType::BOOL },
            PrimExpr::Binary { a, b, .. } => {
                // Operands have one type, except in extents of Relay, where the wider one counts.
                let (a, b) = (self.prim_dtype(a), self.prim_dtype(b));
                if b.bits > a.bits { b } else { a }
            }
            PrimExpr::Not(value) => self.prim_dtype(value),
            PrimExpr::Select { then, .. } => self.prim_dtype(then),
            PrimExpr::Load { buffer, ref indices } => {
                let dtype = self.buffer(buffer).dtype;
                let lanes = indices.last().map_or(1, |index| self.prim_dtype(*index).lanes);
                DType { lanes: if dtype.lanes == 1 { lanes } else { dtype.lanes.wrapping_mul(lanes) }, ..dtype }
            }
            PrimExpr::Ramp { base, lanes, .. } => vector(base, lanes),
            PrimExpr::Broadcast { value, lanes } => vector(value, lanes),
            PrimExpr::Let { body, .. } => self.prim_dtype(body),
        }
    }

    /// Makes an integer.
    pub fn prim_int(&mut self, value: i64, dtype: DType) -> PrimId {
        self.prim(PrimExpr::Int { value, dtype })
    }

    /// Makes a floating point number.
    pub fn prim_float(&mut self, value: f64, dtype: DType) -> PrimId {
        self.prim(PrimExpr::Float { value: Double(value), dtype })
    }

    /// Makes `a op b`, as it is written.
    pub fn prim_binary(&mut self, op: PrimOp, a: PrimId, b: PrimId) -> PrimId {
        self.prim(PrimExpr::Binary { op, a, b })
    }

    /// Makes a call of the intrinsic `op`.
    pub fn prim_call(&mut self, op: &str, args: &[PrimId], dtype: DType) -> PrimId {
        let op = self.name(op);
        self.prim(PrimExpr::Call { op, args: args.into(), dtype })
    }

    /// Returns the integer, if the expression is one.
    pub fn as_prim_int(&self, id: PrimId) -> Option<i64> {
        match *self.prim_of_id(id) {
            PrimExpr::Int { value, .. } => Some(value),
            _ => None,
        }
    }

    /// Returns the expression that an extent is.
    pub fn prim_of_dim(&mut self, dim: Dim) -> PrimId {
        match dim {
            Dim::Int { value, bits } => self.prim_int(value, DType::new(DTypeCode::Int, bits)),
            Dim::Any => self.prim(PrimExpr::Any),
            Dim::Symbol(symbol) => self.prim(PrimExpr::Var(symbol)),
            Dim::Expr(id) => id,
        }
    }

    /// Returns the extent that an expression is.
    pub fn dim_of_prim(&self, id: PrimId) -> Dim {
        match *self.prim_of_id(id) {
            PrimExpr::Int { value, dtype } if dtype.code == DTypeCode::Int => Dim::Int { value, bits: dtype.bits },
            PrimExpr::Any => Dim::Any,
            PrimExpr::Var(symbol) => Dim::Symbol(symbol),
            _ => Dim::Expr(id),
        }
    }

    /// Makes `a op b` as an extent, as it is written.
    pub fn dim_binary(&mut self, op: PrimOp, a: Dim, b: Dim) -> Dim {
        let (a, b) = (self.prim_of_dim(a), self.prim_of_dim(b));
        Dim::Expr(self.prim_binary(op, a, b))
    }

    /// Calls `visit` with each expression in `root` once, operands before the expressions that they are in.
    pub fn for_each_prim(&self, root: PrimId, visit: &mut dyn FnMut(PrimId, &PrimExpr)) {
        /// The greatest depth of an expression that is visited by recursion.
        const SHALLOW: u16 = 16;
        match self.prim_depth(root) {
            0 => return visit(root, self.prim_of_id(root)),
            1..=SHALLOW => return self.for_each_shallow(root, &mut Seen::default(), visit),
            _ => {}
        }
        let mut seen = Seen::default();
        let mut stack = vec![(root, false)];
        while let Some((id, open)) = stack.pop() {
            let expr = self.prim_of_id(id);
            if open {
                visit(id, expr);
                continue;
            }
            if !seen.is_first(id) {
                continue;
            }
            stack.push((id, true));
            let first = stack.len();
            expr.for_each_child(&mut |child| stack.push((child, false)));
            stack[first..].reverse();
        }
    }

    fn for_each_shallow(&self, id: PrimId, seen: &mut Seen, visit: &mut dyn FnMut(PrimId, &PrimExpr)) {
        if seen.is_first(id) {
            let expr = self.prim_of_id(id);
            expr.for_each_child(&mut |child| self.for_each_shallow(child, seen, visit));
            visit(id, expr);
        }
    }

    /// Calls `visit` with each statement directly inside of one, in the order of the text.
    pub fn for_each_inner_stmt(&self, id: StmtId, visit: impl FnMut(StmtId)) {
        match self.stmt(id) {
            Stmt::Seq(list) => self.items(*list).for_each(visit),
            Stmt::Block(block) => {
                let block = self.prim_block(*block);
                block.init.into_iter().chain([block.body]).for_each(visit);
            }
            stmt => stmt.nested().into_iter().flatten().for_each(visit),
        }
    }

    /// Calls `visit` with each statement in `root`, in the order of the text.
    pub fn for_each_stmt(&self, root: StmtId, mut visit: impl FnMut(&Stmt)) {
        let mut stack = vec![root];
        while let Some(id) = stack.pop() {
            visit(self.stmt(id));
            let first = stack.len();
            self.for_each_inner_stmt(id, |inner| stack.push(inner));
            stack[first..].reverse();
        }
    }

    /// Returns a statement in a word or two: `for i`, `B[...] =`.
    pub fn stmt_label(&self, id: StmtId) -> String {
        let name = |name: Id<Name>| self.str(name);
        match self.stmt(id) {
            Stmt::Seq(_) => "statements".to_owned(),
            Stmt::For(head, _) => format!("for {}", name(self.symbol(head.var).name)),
            Stmt::Block(block) => format!("block {}", name(self.prim_block(*block).name)),
            Stmt::Store { buffer, .. } => format!("store to {}", name(self.buffer(*buffer).name)),
            Stmt::If { .. } => "if".to_owned(),
            Stmt::While { .. } => "while".to_owned(),
            Stmt::Bind { var, .. } => format!("let {}", name(self.symbol(*var).name)),
            Stmt::Attr { key, .. } => format!("attribute {}", name(*key)),
            Stmt::Alloc(buffer, _) => format!("allocation of {}", name(self.buffer(*buffer).name)),
            Stmt::Declare(buffer) => format!("declaration of {}", name(self.buffer(*buffer).name)),
            Stmt::Assert { .. } => "assert".to_owned(),
            Stmt::Evaluate(_) => "evaluate".to_owned(),
            Stmt::Return(_) => "return".to_owned(),
            Stmt::Break => "break".to_owned(),
            Stmt::Continue => "continue".to_owned(),
        }
    }

    /// Calls `visit` with each expression that stands in a statement itself, rather than in a statement inside of it.
    pub fn for_each_prim_of(&self, stmt: &Stmt, mut visit: impl FnMut(PrimId)) {
        match stmt {
            Stmt::Block(block) => {
                let block = self.prim_block(*block);
                block.iters.iter().filter_map(|iter| iter.value).chain(block.predicate).for_each(visit);
            }
            Stmt::Store { indices, value, .. } => indices.iter().copied().chain([*value]).for_each(visit),
            Stmt::For(head, _) => [head.min, head.extent].into_iter().chain(head.step).for_each(visit),
            Stmt::If { cond: value, .. } | Stmt::While { cond: value, .. } | Stmt::Assert { cond: value, .. } => visit(*value),
            Stmt::Bind { value, .. } | Stmt::Attr { value, .. } | Stmt::Evaluate(value) | Stmt::Return(value) => visit(*value),
            Stmt::Seq(_) | Stmt::Alloc(..) | Stmt::Declare(_) | Stmt::Break | Stmt::Continue => {}
        }
    }

    /// Returns the statements of a body in order: those of a sequence, or the one that it is.
    pub fn stmts_of(&self, id: StmtId) -> Vec<StmtId> {
        let mut stmts = Vec::new();
        self.push_stmts_of(id, &mut stmts);
        stmts
    }

    /// Appends the statements of a body to a list.
    pub fn push_stmts_of(&self, id: StmtId, to: &mut Vec<StmtId>) {
        match self.stmt(id) {
            Stmt::Seq(list) => to.extend(self.items(*list)),
            _ => to.push(id),
        }
    }

    /// Joins statements; a single one stands for itself, and sequences inside are opened.
    pub fn add_stmts(&mut self, stmts: &[StmtId]) -> StmtId {
        let mut flat = Vec::with_capacity(stmts.len());
        stmts.iter().for_each(|id| self.push_stmts_of(*id, &mut flat));
        if let [only] = flat[..] {
            return only;
        }
        let list = self.list(&flat);
        self.add_stmt(Stmt::Seq(list))
    }

    /// True if a buffer is a scalar variable, which is read and written by its name alone (TVM's
    /// `BufferVar::IsScalar`). One with an offset into its memory is a scalar variable only if it is `declared`.
    pub fn is_scalar(&self, buffer: Id<Buffer>, declared: bool) -> bool {
        let data = self.buffer(buffer);
        matches!(*data.shape, [extent] if self.as_prim_int(extent) == Some(1))
            && data.strides.is_empty()
            && (declared || data.elem_offset.is_none_or(|offset| self.as_prim_int(offset) == Some(0)))
            && data.align == 64
            && data.offset_factor == 1
            && data.layout == BufferLayout::Rows
    }

    /// Returns the offset of a buffer in its memory; for the default, 0, the error holds its type, which is that of the
    /// extents.
    pub fn offset_of_buffer(&self, buffer: Id<Buffer>) -> Result<PrimId, DType> {
        let data = self.buffer(buffer);
        let index_type = data.shape.first().map_or(DType::I64, |extent| self.prim_dtype(*extent));
        match data.elem_offset {
            None => Err(index_type),
            Some(offset) => match *self.prim_of_id(offset) {
                PrimExpr::Int { value: 0, dtype } => Err(dtype),
                _ => Ok(offset),
            },
        }
    }

    /// Returns the type of a pointer to elements in a kind of memory: `T.handle("float32", "shared")`. Vectors may be
    /// elements, and [`DType::VOID`] is an unknown element.
    pub fn pointer(&mut self, element: DType, scope: Id<Name>) -> DType {
        if element == DType::VOID && self.str(scope) == "global" {
            return DType::HANDLE;
        }
        let index = self.pointers.intern(Pointer { element, scope }).index();
        // The number of the pair is kept in bits and lanes, where a handle has 64 and 1.
        let (high, low) = ((index >> 16) as u8 & !POINTER, index as u16);
        DType { code: DTypeCode::Handle, bits: POINTER | high, lanes: low }
    }

    /// Returns the target of a type of [`Store::pointer`]; `None` for every other type.
    pub fn pointee(&self, dtype: DType) -> Option<Pointer> {
        let is_pointer = dtype.code == DTypeCode::Handle && dtype.bits & POINTER != 0;
        let index = usize::from(dtype.bits & !POINTER) << 16 | usize::from(dtype.lanes);
        is_pointer.then(|| *self.pointers.get(Id::from_index(index)))
    }

    /// Returns the name of a parameter.
    pub fn prim_param_name(&self, param: PrimParam) -> Id<Name> {
        match param {
            PrimParam::Var(symbol) => self.symbol(symbol).name,
            PrimParam::Buffer(buffer) => self.buffer(buffer).name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Symbol;

    #[test]
    fn equal_expressions_are_one_and_know_their_type() {
        let store = &mut Store::new();
        let name = store.name("n");
        let n = store.add_symbol(Symbol { name, dtype: DType::I64, size: false });
        let sum = |store: &mut Store| {
            let n = store.prim(PrimExpr::Var(n));
            let one = store.prim_int(1, DType::I64);
            store.prim_binary(PrimOp::Add, n, one)
        };
        let (a, b) = (sum(store), sum(store));
        assert_eq!(a, b);
        assert_eq!(store.prim_dtype(a), DType::I64);
        let less = store.prim_binary(PrimOp::Lt, a, b);
        assert_eq!(store.prim_dtype(less), DType::BOOL);
        let mut order = Vec::new();
        store.for_each_prim(less, &mut |id, _| order.push(id));
        assert_eq!(order.len(), 4, "n, 1, n + 1 and the comparison, each once");
        assert_eq!(order.last(), Some(&less));
    }

    #[test]
    fn pointers_know_what_they_point_to() {
        let store = &mut Store::new();
        let (global, shared) = (store.name("global"), store.name("shared.dyn"));
        for (element, scope) in [(DType::I64, global), (DType { lanes: 4, ..DType::F32 }, shared), (DType::VOID, shared)] {
            let dtype = store.pointer(element, scope);
            assert_eq!(store.pointee(dtype), Some(Pointer { element, scope }));
            assert_eq!(store.pointer(element, scope), dtype);
        }
        assert_eq!(store.pointer(DType::VOID, global), DType::HANDLE);
        assert_eq!(store.pointee(DType::HANDLE), None);
    }

    #[test]
    fn an_extent_and_its_expression_are_the_same() {
        let store = &mut Store::new();
        for dim in [Dim::int(3), Dim::Int { value: 3, bits: 64 }, Dim::Any] {
            let prim = store.prim_of_dim(dim);
            assert_eq!(store.dim_of_prim(prim), dim);
        }
    }
}
