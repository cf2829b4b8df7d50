//! What holds for several statements: threads, attributes, `with`, loops.

use super::{Meaning, Node, Read, Reader};
use crate::ir::{AttrNode, AttrValue, Attrs, AttrsId, For, ForKind, Id, List, Name, PrimId, Stmt as TirStmt, StmtId, Symbol};
use crate::parse::script::tree::{Arg, Stmt, WithItem};
use crate::tir;

/// The head of a loop: its variable, first value, extent, step, kind and annotations.
type Head = (Id<Node>, PrimId, PrimId, Option<PrimId>, ForKind, Option<AttrsId>);

impl Reader<'_, '_, '_> {
    /// The index of a thread and how many there are.
    pub(super) fn thread(&mut self, args: &[Arg], name: Option<&str>, at: Id<Node>) -> Read<(AttrNode, PrimId)> {
        let [tag, extent] = args else {
            return Err(self.error("tir-syntax", "expected `T.launch_thread(\"threadIdx.x\", n)`", at));
        };
        let value = self.prim(extent.value)?;
        let Some(tag) = self.tree.string(tag.value) else {
            return Err(self.error("tir-syntax", "expected the name of a thread index", tag.value));
        };
        let hint = name.map_or_else(|| tag.replace('.', "_"), str::to_owned);
        let var = self.new_symbol(&hint, self.store.prim_dtype(value));
        if let Some(name) = name {
            self.give(name, Meaning::Symbol(var));
        }
        let tag = self.name_of(&tag);
        Ok((AttrNode::Thread { var, tag }, value))
    }

    /// `T.attr(node, "key", value)` or `T.attr({"key": value})`
    pub(super) fn attr(&mut self, args: &[Arg], at: Id<Node>) -> Read<Vec<(AttrNode, Id<Name>, PrimId)>> {
        match args {
            [dict] => {
                let Node::Dict(items) = self.tree.expr(dict.value) else {
                    return Err(self.error("tir-syntax", "expected `T.attr({\"key\": value})`", dict.value));
                };
                let mut out = Vec::new();
                for pair in self.tree.items(items).to_vec().chunks(2) {
                    let key = self.tree.string(pair[0]).unwrap_or_default();
                    out.push((AttrNode::Nothing, self.name_of(&key), self.prim(pair[1])?));
                }
                Ok(out)
            }
            [node, key, value] => {
                let node = self.prim(node.value)?;
                let Some(key) = self.tree.string(key.value) else {
                    return Err(self.error("tir-syntax", "a key is a string", key.value));
                };
                let key = self.name_of(&key);
                Ok(vec![(AttrNode::Prim(node), key, self.prim(value.value)?)])
            }
            _ => Err(self.error("tir-syntax", "expected `T.attr(node, \"key\", value)`", at)),
        }
    }

    /// What `with` opens; nothing for `T.init()`, which belongs to the block around.
    pub(super) fn with(&mut self, items: &[WithItem], body: List<Stmt>) -> Read<Option<StmtId>> {
        let Some((item, rest)) = items.split_first() else { return self.body(body).map(Some) };
        let Node::Call { callee, args } = self.tree.expr(item.context) else {
            return Err(self.error("tir-syntax", "expected `T.sblock(\"name\")` or the like", item.context));
        };
        let args = self.tree.args(args).to_vec();
        let target = item.target.and_then(|target| self.tree.name(target));
        match self.intrinsic(callee).unwrap_or("") {
            "sblock" | "block" => self.sblock(&args, body).map(Some),
            "init" => {
                let body = self.body(body)?;
                match &mut self.block {
                    Some(open) => open.init = Some(body),
                    None => return Err(self.error("tir-syntax", "`T.init` belongs into a block", item.context)),
                }
                Ok(None)
            }
            "launch_thread" => {
                let (node, value) = self.thread(&args, target, item.context)?;
                let key = self.name_of("thread_extent");
                let Some(body) = self.with(rest, body)? else { return Ok(None) };
                Ok(Some(self.store.add_stmt(TirStmt::Attr { node, key, value, body })))
            }
            "attr" => {
                let attrs = self.attr(&args, item.context)?;
                let Some(mut body) = self.with(rest, body)? else { return Ok(None) };
                for (node, key, value) in attrs.into_iter().rev() {
                    body = self.store.add_stmt(TirStmt::Attr { node, key, value, body });
                }
                Ok(Some(body))
            }
            other => Err(self.error("tir-syntax", format!("`T.{other}` opens no block"), item.context)),
        }
    }

    pub(super) fn for_stmt(&mut self, target: Id<Node>, iter: Id<Node>, body: List<Stmt>) -> Read<StmtId> {
        let tree = self.tree;
        let names = match tree.expr(target) {
            Node::Tuple(items) | Node::List(items) => tree.items(items).to_vec(),
            _ => vec![target],
        };
        let Node::Call { callee, args } = tree.expr(iter) else {
            return Err(self.error("tir-syntax", "expected `range`, `T.grid` or another loop of TIR", iter));
        };
        let args = tree.args(args).to_vec();
        let kind = if tree.name(callee) == Some("range") { Some("serial") } else { self.intrinsic(callee) };
        let mut heads = Vec::new();
        match kind {
            Some("grid") => {
                if names.len() != args.len() {
                    return Err(self.error("tir-syntax", "a grid has as many variables as extents", target));
                }
                for (name, arg) in names.iter().zip(&args) {
                    let extent = self.prim(arg.value)?;
                    let min = self.store.prim_int(0, self.store.prim_dtype(extent));
                    heads.push((*name, min, extent, None, ForKind::Serial, None));
                }
            }
            Some(kind @ ("serial" | "parallel" | "vectorized" | "unroll" | "thread_binding")) => {
                let [name] = names[..] else {
                    return Err(self.error("tir-syntax", "this loop has one variable", target));
                };
                heads.push(self.loop_head(name, kind, &args, iter)?);
            }
            _ => return Err(self.error("tir-syntax", "expected `range`, `T.grid` or another loop of TIR", iter)),
        }
        let mut loops = Vec::new();
        for (name, min, extent, step, kind, annotations) in heads {
            let Some(text) = tree.name(name) else { return Err(self.error("tir-syntax", "expected a name", name)) };
            let var: Id<Symbol> = self.new_symbol(text, self.store.prim_dtype(extent));
            self.loops.insert(var, (min, extent));
            self.give(text, Meaning::Symbol(var));
            loops.push(For { var, min, extent, step, kind, annotations });
        }
        let mut body = self.body(body)?;
        while let Some(head) = loops.pop() {
            body = self.store.add_stmt(TirStmt::For(Box::new(head), body));
        }
        Ok(body)
    }

    fn loop_head(&mut self, name: Id<Node>, kind: &str, args: &[Arg], at: Id<Node>) -> Read<Head> {
        let mut positions = Vec::new();
        let (mut step, mut annotations, mut thread) = (None, None, None);
        for arg in args {
            match arg.name().map(|name| self.tree.text(name)) {
                None => positions.push(self.prim(arg.value)?),
                Some("step") => step = Some(self.prim(arg.value)?),
                Some("annotations") => annotations = self.dict(arg.value)?,
                Some("thread") => thread = self.tree.string(arg.value),
                Some("unroll") => {
                    let no = self.tree.bool(arg.value) == Some(false);
                    let key = self.name_of(if no { "disable_unroll" } else { "pragma_unroll" });
                    let set = self.name_of("DictAttrs");
                    let fields = [(key, AttrValue::Bool(true))].into();
                    annotations = Some(self.store.attrs(Attrs { key: set, fields }));
                }
                Some(_) => return Err(self.error("tir-syntax", "a loop has no such argument", arg.value)),
            }
        }
        let (min, extent) = match positions[..] {
            [extent] => (self.store.prim_int(0, self.store.prim_dtype(extent)), extent),
            [min, end] | [min, end, _] => {
                let (min, end) = tir::match_types(self.store, min, end);
                (min, self.difference(min, end))
            }
            _ => return Err(self.error("tir-syntax", "a loop needs its extent", at)),
        };
        step = step.or(positions.get(2).copied()).filter(|step| self.store.as_prim_int(*step) != Some(1));
        let kind = match kind {
            "parallel" => ForKind::Parallel,
            "vectorized" => ForKind::Vectorized,
            "unroll" => ForKind::Unrolled,
            "thread_binding" => {
                let Some(thread) = thread else {
                    return Err(self.error("tir-syntax", "`T.thread_binding` needs `thread=`", at));
                };
                ForKind::Thread(self.name_of(&thread))
            }
            _ => ForKind::Serial,
        };
        Ok((name, min, extent, step, kind, annotations))
    }
}
