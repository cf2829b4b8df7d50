//! Reads constructs that hold for several statements: threads, attributes, `with`, loops.

use super::value::Value;
use super::{FrameKind, Node, Read, Reader};
use crate::ir::{
    AttrNode, AttrValue, Attrs, AttrsId, DType, DTypeCode, For, ForKind, Id, List, Name, PrimExpr, PrimId, Stmt, Symbol,
};
use crate::parse::script::tree::{Arg, Stmt as Line, WithItem};
use crate::tir;

/// The head of a loop: its first value, extent, step, kind and annotations.
type Head = (PrimId, PrimId, Option<PrimId>, ForKind, Option<AttrsId>);

/// An attribute: its node, its key, its value.
pub(super) type Said = (AttrNode, Id<Name>, PrimId);

impl Reader<'_, '_, '_> {
    /// Reads `T.launch_thread("threadIdx.x", n)`: the index of a thread and how many there are. Without a name the
    /// variable has that of its tag.
    pub(super) fn thread(&mut self, args: &[Arg], name: Option<&str>, at: Id<Node>) -> Read<Said> {
        let [tag, extent] = args else {
            return Err(self.error("tir-syntax", "expected `T.launch_thread(\"threadIdx.x\", n)`", at));
        };
        let thread = self.value(tag.value)?;
        let value = self.prim(extent.value)?;
        let (var, tag) = match &thread {
            Value::Str(text) => {
                let hint = name.unwrap_or("v");
                let var = self.new_symbol(hint, self.store.prim_dtype(value));
                (var, self.name_of(text))
            }
            other => {
                let known = self.symbol_of(other).and_then(|var| Some((var, *self.state.threads.get(&var)?)));
                match known {
                    Some(known) => known,
                    None => {
                        let message = "this is not an env_thread created using T.env_thread.";
                        return Err(self.error("tir-type", message, tag.value));
                    }
                }
            }
        };
        if let Some(name) = name {
            let prim = self.store.prim(PrimExpr::Var(var));
            self.define(name, Value::Prim(prim), at)?;
        }
        let key = if self.store.str(tag) == "vthread" { "virtual_thread" } else { "thread_extent" };
        let key = self.name_of(key);
        Ok((AttrNode::Thread { var, tag }, key, value))
    }

    /// Reads `tx = T.env_thread("threadIdx.x")`.
    pub(super) fn env_thread(&mut self, name: &str, args: &[Arg], at: Id<Node>) -> Read<Value> {
        let dtype = match args.get(1) {
            Some(arg) => self.dtype(arg.value)?,
            None => DType::I32,
        };
        let tag = match args.first() {
            Some(arg) => self.value(arg.value)?,
            None => Value::None,
        };
        let Value::Str(tag) = tag else { return Err(self.error("tir-syntax", "expected the name of a thread index", at)) };
        let (var, tag) = (self.new_symbol(name, dtype), self.name_of(&tag));
        self.state.threads.insert(var, tag);
        Ok(Value::Prim(self.store.prim(PrimExpr::Var(var))))
    }

    /// Reads `T.attr(node, "key", value)` or `T.attr({"key": value})`.
    pub(super) fn attr(&mut self, args: &[Arg], at: Id<Node>) -> Read<Vec<Said>> {
        match args {
            [dict] => {
                let Value::Dict(entries) = self.value(dict.value)? else {
                    return Err(self.error("tir-syntax", "expected `T.attr({\"key\": value})`", dict.value));
                };
                let mut out = Vec::new();
                for (key, value) in entries.iter() {
                    let Value::Str(key) = key else { return Err(self.error("tir-syntax", "a key is a string", dict.value)) };
                    out.push((AttrNode::Nothing, self.name_of(key), self.prim_from(value, dict.value)?));
                }
                Ok(out)
            }
            [node, key, value] => {
                let about = match self.value(node.value)? {
                    Value::Buffer(buffer) => AttrNode::Prim(self.store.prim(PrimExpr::Buffer(buffer))),
                    Value::Iter(var, tag) => AttrNode::Thread { var, tag },
                    Value::Int(0) => AttrNode::Nothing,
                    other => AttrNode::Prim(self.prim_from(&other, node.value)?),
                };
                let Value::Str(key_text) = self.value(key.value)? else {
                    return Err(self.error("tir-syntax", "a key is a string", key.value));
                };
                if let AttrNode::Prim(node) = about
                    && let PrimExpr::Var(var) = *self.store.prim_of_id(node)
                    && key_text.starts_with("pragma_")
                {
                    self.state.hinted.insert(var);
                }
                let key = self.name_of(&key_text);
                Ok(vec![(about, key, self.prim(value.value)?)])
            }
            _ => Err(self.error("tir-syntax", "T.attr(node, attr_key, value) requires all three arguments", at)),
        }
    }

    /// Reads `T.hint("message", key=value)`.
    pub(super) fn hint(&mut self, args: &[Arg], _at: Id<Node>) -> Read<Said> {
        let mut fields = Vec::new();
        for arg in args {
            let key = match arg.name() {
                Some(name) => self.tree.text(name),
                None => "message",
            };
            let value = self.value(arg.value)?;
            fields.push((self.name_of(key), self.attr_value(&value, arg.value)?));
        }
        let key = self.name_of("tirx_hint");
        let attrs = self.store.attrs(Attrs { key, fields: fields.into() });
        let node = AttrNode::Prim(self.store.prim(PrimExpr::Attrs(attrs)));
        let one = self.store.prim_int(1, DType::I32);
        Ok((node, key, one))
    }

    /// Reads `with` and its items.
    pub(super) fn with(&mut self, items: &[WithItem], body: List<Line>) -> Read<()> {
        let Some((item, rest)) = items.split_first() else {
            self.lines(body);
            return Ok(());
        };
        let Node::Call { callee, args } = self.tree.expr(item.context) else {
            return Err(self.error("tir-syntax", "expected `T.sblock(\"name\")` or the like", item.context));
        };
        let args = self.tree.args(args).to_vec();
        let target = item.target.and_then(|target| self.tree.name(target));
        let intrinsic = self.intrinsic(callee).unwrap_or("");
        match intrinsic {
            "sblock" | "block" => {
                if intrinsic == "block" {
                    self.old("`T.block` is the spelling of TVM 0.24 and before; today `T.sblock`", item.context);
                }
                if let Some(target) = item.target
                    && self.state.strict
                {
                    let message =
                        "Do not know how to bind type: <class 'tvm.tirx.script.builder.frame.SBlockFrame'> in with statement";
                    return Err(self.error("tir-syntax", message, target));
                }
                self.sblock(&args, item.target, body, item.context)
            }
            "init" => {
                self.head_of_block("init", item.context)?;
                self.open_frame(FrameKind::Other);
                self.open_scope();
                self.lines(body);
                self.close_scope();
                let (init, _) = self.close_frame();
                match self.head_of_block("init", item.context)?.init.replace(init) {
                    Some(_) => Err(self.error("tir-block", "Duplicate block init declaration", item.context)),
                    None => Ok(()),
                }
            }
            "launch_thread" => {
                let said = self.thread(&args, target, item.context)?;
                self.around(vec![said], rest, body)
            }
            "attr" => {
                let said = self.attr(&args, item.context)?;
                self.around(said, rest, body)
            }
            "hint" => {
                let said = self.hint(&args, item.context)?;
                self.around(vec![said], rest, body)
            }
            _ => self.old_with(intrinsic, &args, item, rest, body),
        }
    }

    /// Reads the rest of a `with` below attributes.
    pub(super) fn around(&mut self, said: Vec<Said>, rest: &[WithItem], body: List<Line>) -> Read<()> {
        self.open_frame(FrameKind::Other);
        let result = self.with(rest, body);
        let (mut inner, _) = self.close_frame();
        result?;
        for (node, key, value) in said.into_iter().rev() {
            inner = self.store.add_stmt(Stmt::Attr { node, key, value, body: inner });
        }
        self.push_id(inner);
        Ok(())
    }

    pub(super) fn for_stmt(&mut self, target: Id<Node>, iter: Id<Node>, body: List<Line>) -> Read<()> {
        let tree = self.tree;
        let wrong = "Expect the for loop to be one of the following: range, T.serial, T.grid, T.parallel, T.vectorized, T.unroll, \
                     T.thread_binding";
        let Node::Call { callee, args } = tree.expr(iter) else { return Err(self.error("tir-syntax", wrong, iter)) };
        let args = tree.args(args).to_vec();
        let kind = if tree.name(callee) == Some("range") { Some("range") } else { self.intrinsic(callee) };
        let heads = match kind {
            Some("grid") => self.grid(&args)?,
            Some(kind @ ("range" | "serial" | "parallel" | "vectorized" | "unroll" | "thread_binding")) => {
                vec![self.loop_head(kind, &args, iter)?]
            }
            _ => return Err(self.error("tir-syntax", wrong, iter)),
        };
        let names = match tree.expr(target) {
            Node::Tuple(items) | Node::List(items) => tree.items(items).to_vec(),
            _ => vec![target],
        };
        let mut loops = Vec::with_capacity(heads.len());
        let mut texts: Vec<(String, Id<Node>)> = Vec::with_capacity(heads.len());
        let stars = names.iter().filter(|name| matches!(tree.expr(**name), Node::Starred(_))).count();
        for name in &names {
            let (inner, many) = match tree.expr(*name) {
                Node::Starred(inner) if stars == 1 => (inner, (heads.len() + 1).checked_sub(names.len())),
                // One name for a grid is a list of variables.
                _ if names.len() == 1 && heads.len() > 1 => (*name, Some(heads.len())),
                _ => (*name, None),
            };
            let Some(text) = tree.name(inner) else { return Err(self.error("tir-syntax", "expected a name", inner)) };
            match many {
                Some(many) => texts.extend((0..many).map(|i| (format!("{text}_{i}"), inner))),
                None => texts.push((text.to_owned(), inner)),
            }
        }
        if texts.len() != heads.len() {
            return Err(self.error("tir-syntax", "a grid has as many variables as extents", target));
        }
        for ((text, at), (min, extent, step, kind, annotations)) in texts.iter().zip(heads) {
            let dtype = self.store.prim_dtype(extent);
            let hinted = self.meaning(text).cloned().and_then(|value| self.symbol_of(&value));
            let hinted = hinted.filter(|var| self.state.hinted.contains(var) && self.store.symbol(*var).dtype == dtype);
            let var: Id<Symbol> = hinted.unwrap_or_else(|| self.new_symbol(text, dtype));
            let prim = self.store.prim(PrimExpr::Var(var));
            self.define(text, Value::Prim(prim), *at)?;
            loops.push(For { var, min, extent, step, kind, annotations });
        }
        for name in &names {
            let inner = match tree.expr(*name) {
                Node::Starred(inner) => inner,
                _ if names.len() == 1 && texts.len() > 1 => *name,
                _ => continue,
            };
            let text = tree.name(inner).unwrap_or_default();
            let vars = (0..).map_while(|i| self.meaning(&format!("{text}_{i}")).cloned()).take(texts.len()).collect::<Vec<_>>();
            self.define(text, Value::List(vars.into()), inner)?;
        }
        self.open_frame(FrameKind::Loops(loops.iter().map(|head| (head.var, head.min, head.extent)).collect()));
        self.lines(body);
        let (mut inner, _) = self.close_frame();
        while let Some(head) = loops.pop() {
            inner = self.add(Stmt::For(head, inner));
        }
        self.push_id(inner);
        Ok(())
    }

    /// Reads `T.grid(n, (a, b))`: extents, or first values with extents.
    fn grid(&mut self, args: &[Arg]) -> Read<Vec<Head>> {
        let mut dtype = None;
        for arg in args {
            if arg.name().is_some_and(|name| self.tree.text(name) == "dtype") {
                dtype = Some(self.index_dtype(arg.value)?);
            }
        }
        let mut heads = Vec::new();
        for (value, at) in self.positional(args)? {
            let (min, extent) = match value.items().cloned() {
                Some(items) if items.len() == 2 => (Some(self.prim_from(&items[0], at)?), self.prim_from(&items[1], at)?),
                Some(_) => return Err(self.error("tir-type", "Invalid type for grid extent", at)),
                None => (None, self.prim_from(&value, at)?),
            };
            let own = self.store.prim_dtype(min.unwrap_or(extent));
            let dtype = dtype.unwrap_or(own);
            if !matches!(dtype.code, DTypeCode::Int | DTypeCode::UInt) {
                return Err(self.error("tir-type", format!("a loop counts integers, and this is {dtype}"), at));
            }
            let min = match min {
                Some(min) => tir::cast(self.store, dtype, min),
                None => self.store.prim_int(0, dtype),
            };
            heads.push((min, tir::cast(self.store, dtype, extent), None, ForKind::Serial, None));
        }
        Ok(heads)
    }

    /// Reads a type that a loop's variable may be told to have.
    fn index_dtype(&mut self, id: Id<Node>) -> Read<DType> {
        let dtype = self.dtype(id)?;
        if !matches!(dtype.code, DTypeCode::Int | DTypeCode::UInt) || dtype.bits != 32 || dtype.lanes != 1 {
            let message = format!("dtype of a loop/scope-id var must be \"int32\" or \"uint32\", got {dtype}");
            return Err(self.error("tir-type", message, id));
        }
        Ok(dtype)
    }

    fn loop_head(&mut self, kind: &str, args: &[Arg], at: Id<Node>) -> Read<Head> {
        let mut positions = Vec::new();
        let (mut step, mut fields, mut thread, mut dtype) = (None, Vec::new(), None, None);
        for arg in args {
            let name = arg.name().map(|name| self.tree.text(name));
            match name {
                None if kind == "thread_binding" && self.tree.string(arg.value).is_some() => {
                    thread = self.tree.string(arg.value).map(|text| text.into_owned());
                }
                None => match self.value(arg.value)?.bare() {
                    Value::None => {}
                    value => positions.push(self.prim_from(&value, arg.value)?),
                },
                Some("start") => positions.insert(0, self.prim(arg.value)?),
                Some("stop" | "end" | "extent") => positions.push(self.prim(arg.value)?),
                Some("step") => step = Some(self.prim(arg.value)?),
                Some("annotations") => fields.extend(self.entries(arg.value)?),
                Some("dtype") => dtype = Some(self.index_dtype(arg.value)?),
                Some("thread") => match self.value(arg.value)? {
                    Value::Str(text) => thread = Some(text.to_string()),
                    _ => return Err(self.error("tir-type", "expected the name of a thread index", arg.value)),
                },
                Some("unroll") if kind == "serial" || kind == "range" => {
                    let value = self.value(arg.value)?;
                    let (key, value) = match value {
                        Value::Bool(false) => ("disable_unroll", AttrValue::Bool(true)),
                        Value::Bool(true) => ("pragma_unroll", AttrValue::Bool(true)),
                        Value::Int(n) if n > 0 => ("pragma_unroll", AttrValue::Int { value: n, bits: 64 }),
                        _ => return Err(self.error("tir-type", "unroll must be a bool, a positive integer, or None", arg.value)),
                    };
                    fields.push((self.name_of(key), value));
                }
                Some(_) => return Err(self.error("tir-syntax", "a loop has no such argument", arg.value)),
            }
        }
        let (min, end) = match positions[..] {
            [end] => {
                // The first value has the type of the last.
                (self.store.prim_int(0, self.store.prim_dtype(end)), end)
            }
            [min, end] | [min, end, _] => (min, end),
            _ => return Err(self.error("tir-syntax", "a loop needs its extent", at)),
        };
        let [s, t] = [min, end].map(|prim| self.store.prim_dtype(prim));
        if [s, t].iter().any(|dtype| !matches!(dtype.code, DTypeCode::Int | DTypeCode::UInt) || dtype.lanes != 1) {
            return Err(self.error("tir-type", "a loop counts integers", at));
        }
        let unsigned = s.code == DTypeCode::UInt || t.code == DTypeCode::UInt;
        let code = if unsigned { DTypeCode::UInt } else { DTypeCode::Int };
        let dtype = dtype.unwrap_or(DType::new(code, s.bits.max(t.bits)));
        let [min, end] = [min, end].map(|prim| tir::cast(self.store, dtype, prim));
        let difference = self.difference(min, end);
        let extent = tir::arith::Analyzer::new().simplify(self.store, difference);
        step = step.or(positions.get(2).copied()).map(|step| tir::cast(self.store, dtype, step));
        let step = step.filter(|step| self.store.as_prim_int(*step) != Some(1));
        let kind = match kind {
            "parallel" => ForKind::Parallel,
            "vectorized" => ForKind::Vectorized,
            "unroll" => ForKind::Unrolled,
            "thread_binding" => {
                let Some(thread) = thread else {
                    return Err(self.error("tir-syntax", "Thread cannot be None for thread_binding: it needs `thread=`", at));
                };
                ForKind::Thread(self.name_of(&thread))
            }
            _ => ForKind::Serial,
        };
        let key = self.name_of("DictAttrs");
        let annotations = (!fields.is_empty()).then(|| self.store.attrs(Attrs { key, fields: fields.into() }));
        Ok((min, extent, step, kind, annotations))
    }

    /// Evaluates arguments without a name, those of a list with a star too.
    pub(super) fn positional(&mut self, args: &[Arg]) -> Read<Vec<(Value, Id<Node>)>> {
        let mut out = Vec::with_capacity(args.len());
        for arg in args {
            if arg.name().is_some() {
                continue;
            }
            let value = self.value(arg.value)?.bare();
            if arg.stars == 0 {
                out.push((value, arg.value));
                continue;
            }
            match value.items().cloned() {
                Some(items) if arg.stars == 1 => out.extend(items.iter().map(|item| (item.clone(), arg.value))),
                _ => return Err(self.error("tir-type", "expected a list behind `*`", arg.value)),
            }
        }
        Ok(out)
    }
}
