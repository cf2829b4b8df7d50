//! Signatures, and the block at the top that goes without saying.

use super::{Def, Meaning, Node, Read, Reader, StmtKind, decorator};
use crate::ir::sort::sort_by;
use crate::ir::{AttrValue, Attrs, Block, Buffer, DType, DTypeCode, Id, PrimFunc, PrimParam, Stmt, StmtId, Store, Symbol, Type};

impl<'s> Reader<'_, 's, '_> {
    pub(super) fn function(&mut self, def: &Def) -> Read<PrimFunc> {
        let tree = self.tree;
        let mut flags: Vec<&str> = Vec::new();
        for &id in tree.items(def.decorators) {
            let Node::Call { args, .. } = tree.expr(id) else { continue };
            if decorator(tree, id).is_some() {
                flags.extend(
                    tree.args(args)
                        .iter()
                        .filter(|arg| tree.bool(arg.value) == Some(true))
                        .filter_map(|arg| arg.name().map(|name| tree.text(name))),
                );
            }
        }
        self.s_tir = flags.contains(&"s_tir");
        let params = tree.params(def.params).to_vec();
        for param in &params {
            let dtype = param.annotation.and_then(|a| self.scalar_type(a));
            if let Some(dtype) = dtype {
                self.scalars.insert(tree.text(param.name), dtype);
            }
        }
        for stmt in tree.stmts(def.body) {
            let StmtKind::Assign { target, value } = stmt.kind else { continue };
            let one = |reader: &mut Self, target, value| {
                if let (Some(name), Node::Call { callee, args }) = (tree.name(target), tree.expr(value))
                    && let Some(dtype) = reader.intrinsic(callee).and_then(DType::parse).filter(|_| args.is_empty())
                {
                    reader.scalars.entry(name).or_insert(dtype);
                }
            };
            match (tree.expr(target), tree.expr(value)) {
                (Node::Tuple(targets), Node::Tuple(values)) => {
                    for (target, value) in tree.items(targets).iter().zip(tree.items(values)) {
                        one(self, *target, *value);
                    }
                }
                _ => one(self, target, value),
            }
        }
        for param in tree.params(def.type_params) {
            let name = tree.text(param.name);
            let symbol = self.new_symbol(name, DType::I64);
            self.give(name, Meaning::Symbol(symbol));
        }
        let mut out = Vec::with_capacity(params.len());
        let mut failed = None;
        for param in &params {
            let name = tree.text(param.name);
            let Some(annotation) = param.annotation else {
                failed = Some(self.error_at("tir-syntax", format!("`{name}` needs a type"), param.name));
                continue;
            };
            match self.param(name, annotation) {
                Ok(param) => out.push(param),
                Err(stop) => failed = Some(stop),
            }
        }
        if let Some(stop) = failed {
            return Err(stop);
        }
        let ret = match def.ret {
            Some(ret) if !matches!(tree.expr(ret), Node::None) => {
                let Some(dtype) = self.scalar_type(ret) else {
                    return Err(self.error("tir-type", "expected the type of a scalar", ret));
                };
                Some(self.store.ty(Type::Prim(dtype)))
            }
            _ => None,
        };
        let mut fields = Vec::new();
        let yes = AttrValue::Bool(true);
        if !flags.contains(&"private") {
            let name = self.name_of(tree.text(def.name));
            fields.push((self.name_of("global_symbol"), AttrValue::Str(name)));
        }
        if self.s_tir {
            fields.push((self.name_of("s_tir"), yes.clone()));
        }
        if flags.contains(&"persistent") {
            fields.push((self.name_of("tirx.persistent_kernel"), yes));
        }
        let (body, written) = self.func_body(def.body, &mut out)?;
        for (key, value) in written {
            fields.retain(|(known, _)| *known != key);
            fields.push((key, value));
        }
        sort_by(&mut fields, |a, b| self.store.str(a.0).cmp(self.store.str(b.0)));
        let key = self.name_of("DictAttrs");
        let attrs = (!fields.is_empty()).then(|| self.store.attrs(Attrs { key, fields: fields.into() }));
        let body = if self.s_tir { self.with_root(body) } else { body };
        Ok(PrimFunc { params: out.into(), ret, attrs, body })
    }

    /// The type in `n: T.int64`, `p: T.handle`.
    fn scalar_type(&mut self, id: Id<Node>) -> Option<DType> {
        match self.tree.expr(id) {
            Node::Call { callee, args } if self.intrinsic(callee) == Some("handle") && !args.is_empty() => self.dtype(id).ok(),
            Node::Call { callee, .. } => DType::parse(self.intrinsic(callee)?),
            _ => DType::parse(self.intrinsic(id)?),
        }
    }

    fn param(&mut self, name: &'s str, annotation: Id<Node>) -> Read<PrimParam> {
        if let Some(dtype) = self.scalar_type(annotation) {
            let known = match self.meaning(name) {
                Some(Meaning::Symbol(symbol)) if self.matched.contains(&symbol) => Some(symbol),
                _ => None,
            };
            let symbol = known.unwrap_or_else(|| self.new_symbol(name, dtype));
            self.give(name, Meaning::Symbol(symbol));
            return Ok(PrimParam::Var(symbol));
        }
        if let Node::Call { callee, args } = self.tree.expr(annotation)
            && self.intrinsic(callee) == Some("Buffer")
        {
            let args = self.tree.args(args).to_vec();
            let buffer = self.declared(name, &args, "global", true, annotation)?;
            let buffer = self.store.add_buffer(buffer);
            self.give(name, Meaning::Buffer(buffer));
            return Ok(PrimParam::Buffer(buffer));
        }
        Err(self.error("tir-type", "expected `T.Buffer(...)`, `T.handle` or the type of a scalar", annotation))
    }

    /// `A = T.match_buffer(a, ...)` of a parameter: the parameter is a buffer.
    pub(super) fn match_param(&mut self, symbol: Id<Symbol>, buffer: Buffer, params: &mut [PrimParam]) -> Option<Id<Buffer>> {
        let handle = self.store.symbol(symbol).dtype.code == DTypeCode::Handle;
        let param = params.iter_mut().find(|param| **param == PrimParam::Var(symbol)).filter(|_| handle)?;
        let buffer = self.store.add_buffer(buffer);
        *param = PrimParam::Buffer(buffer);
        Some(buffer)
    }

    /// Puts the body into a block of its own where TVM's `ScriptComplete` does.
    fn with_root(&mut self, body: StmtId) -> StmtId {
        let allocs = std::mem::take(&mut self.root);
        let needed = !allocs.is_empty()
            || match self.store.stmt(body) {
                Stmt::Block(block) => {
                    let block = self.store.prim_block(*block);
                    !block.bare && !block.iters.is_empty()
                }
                _ => contains_block(self.store, body),
            };
        if !needed {
            return body;
        }
        let name = self.name_of("root");
        let block = self.store.add_prim_block(Block {
            name,
            iters: [].into(),
            predicate: None,
            reads: [].into(),
            writes: [].into(),
            allocs: allocs.into(),
            matches: [].into(),
            annotations: None,
            init: None,
            body,
            bare: false,
        });
        self.store.add_stmt(Stmt::Block(block))
    }
}

/// Whether a block stands somewhere in a statement.
fn contains_block(store: &Store, root: StmtId) -> bool {
    let mut todo = vec![root];
    while let Some(id) = todo.pop() {
        match store.stmt(id) {
            Stmt::Block(block) if !store.prim_block(*block).bare => return true,
            Stmt::Block(block) => todo.push(store.prim_block(*block).body),
            Stmt::Seq(list) => todo.extend(store.items(*list)),
            other => todo.extend(other.nested().into_iter().flatten()),
        }
    }
    false
}
