//! Signatures.

use super::value::Value;
use super::{Def, FrameKind, Node, Read, Reader, State, decorator, old};
use crate::ir::sort::sort_by;
use crate::ir::{AttrValue, Attrs, Buffer, BufferLayout, DType, DTypeCode, Id, PrimExpr, PrimFunc, PrimParam, Symbol, Type};
use crate::parse::script::tree::{Arg, StmtKind};
use crate::tir;

impl<'s> Reader<'_, 's, '_> {
    pub(super) fn function(&mut self, def: &Def) -> Read<PrimFunc> {
        let tree = self.tree;
        let flags = self.flags(def)?;
        let old = !flags.contains(&"s_tir") && old::is_old(tree, def);
        let blocks = old::has_blocks(tree, def);
        self.state = State {
            strict: !old,
            s_tir: flags.contains(&"s_tir") || old || blocks,
            private: flags.contains(&"private"),
            ..std::mem::take(&mut self.state)
        };
        if blocks && !old && !flags.contains(&"s_tir") {
            let span = def.name;
            self.old_at("a function with blocks is `@T.prim_func(s_tir=True)`, which is taken for granted here", span);
        }
        self.scalar_types(def);
        self.open_scope();
        self.define_given();
        for param in tree.params(def.type_params) {
            let name = tree.text(param.name);
            let symbol = self.new_symbol(name, DType::I64);
            let prim = self.store.prim(PrimExpr::Var(symbol));
            self.give(name, Value::Prim(prim));
        }
        let mut failed = None;
        for param in tree.params(def.params).to_vec() {
            let name = tree.text(param.name);
            let Some(annotation) = param.annotation else {
                let message = "Type annotation required for function parameters.";
                failed = Some(self.error_at("tir-syntax", message, param.name));
                continue;
            };
            match self.param(name, annotation) {
                Ok(param) => self.state.params.push(param),
                Err(stop) => failed = Some(stop),
            }
        }
        if let Some(stop) = failed {
            return Err(stop);
        }
        let ret = match def.ret {
            Some(ret) if !matches!(tree.expr(ret), Node::None) => {
                let dtype = self.dtype(ret)?;
                Some(self.store.ty(Type::Prim(dtype)))
            }
            _ => None,
        };
        self.open_frame(FrameKind::Func);
        self.lines(def.body);
        let (mut body, _) = self.close_frame();
        self.close_scope();
        self.close_scope();
        let mut fields = std::mem::take(&mut self.state.attrs);
        let mut implied = Vec::new();
        if !self.state.private && !fields.iter().any(|(key, _)| self.store.str(*key) == "global_symbol") {
            let name = self.name_of(tree.text(def.name));
            implied.push(("global_symbol", AttrValue::Str(name)));
        }
        if self.state.s_tir {
            implied.push(("s_tir", AttrValue::Bool(true)));
        }
        if flags.contains(&"persistent") {
            implied.push(("tirx.persistent_kernel", AttrValue::Bool(true)));
        }
        for (key, value) in implied {
            let key = self.name_of(key);
            fields.retain(|(known, _)| *known != key);
            fields.push((key, value));
        }
        sort_by(&mut fields, |a, b| self.store.str(a.0).cmp(self.store.str(b.0)));
        let key = self.name_of("DictAttrs");
        let attrs = (!fields.is_empty()).then(|| self.store.attrs(Attrs { key, fields: fields.into() }));
        if !self.state.handles.is_empty() {
            // A handle that turned out to be a buffer is its pointer wherever it stands.
            let handles = std::mem::take(&mut self.state.handles);
            let data = handles.into_iter().map(|(symbol, buffer)| (symbol, self.store.prim(PrimExpr::Data(buffer))));
            let data: Vec<_> = data.collect();
            body = tir::substitute_stmt(self.store, body, &data);
        }
        if !self.state.declared.is_empty() {
            let declared = std::mem::take(&mut self.state.declared);
            let mut renaming = tir::Rewriting::new(self.store);
            declared.into_iter().for_each(|(named, buffer)| renaming.set_buffer(named, buffer));
            body = renaming.visit(&mut tir::Nothing, body);
        }
        let body = if self.state.failed { body } else { self.complete(body, def.name)? };
        Ok(PrimFunc { params: std::mem::take(&mut self.state.params).into(), ret, attrs, body })
    }

    /// Returns the arguments of the decorator that are true.
    fn flags(&mut self, def: &Def) -> Read<Vec<&'s str>> {
        let tree = self.tree;
        let mut flags: Vec<&str> = Vec::new();
        for &id in tree.items(def.decorators) {
            let Node::Call { args, .. } = tree.expr(id) else { continue };
            if decorator(tree, id).is_none() {
                continue;
            }
            for arg in tree.args(args) {
                let Some(name) = arg.name().map(|name| tree.text(name)) else { continue };
                match name {
                    "private" | "s_tir" | "persistent" if tree.bool(arg.value) == Some(true) => flags.push(name),
                    "private" | "s_tir" | "persistent" | "check_well_formed" => {}
                    "is_stir" | "tirx" => return Err(self.device_dialect(name, arg.value)),
                    _ => return Err(self.error("tir-syntax", format!("`T.prim_func` takes no argument `{name}`"), arg.value)),
                }
            }
        }
        Ok(flags)
    }

    /// Collects the types of scalar parameters and of declarations in the body, for variables that a shape names first.
    fn scalar_types(&mut self, def: &Def) {
        let tree = self.tree;
        let simple = |reader: &Self, id| reader.intrinsic(id).and_then(super::intrin::type_named);
        for param in tree.params(def.params) {
            if let Some(dtype) = param.annotation.and_then(|annotation| simple(self, annotation)) {
                self.state.scalars.insert(tree.text(param.name).to_owned(), dtype);
            }
        }
        // Old texts declare in the body the variables of quoted shapes in the signature. TVM prints the same where the
        // module has a type variable of that name.
        for stmt in tree.stmts(def.body) {
            let StmtKind::Assign { target, value } = stmt.kind else { continue };
            if let (Some(name), Node::Call { callee, args }) = (tree.name(target), tree.expr(value))
                && args.is_empty()
                && (!self.state.strict || self.around.type_vars.contains(name))
                && let Some(dtype) = simple(self, callee)
            {
                self.state.scalars.entry(name.to_owned()).or_insert(dtype);
            }
        }
    }

    fn param(&mut self, name: &'s str, annotation: Id<Node>) -> Read<PrimParam> {
        if let Some(args) = self.buffer_annotation(annotation) {
            let mut data = self.declared(name, &args, "Buffer", true, annotation)?.buffer;
            if self.state.s_tir {
                data.layout = BufferLayout::Unsaid;
            }
            let buffer = self.store.add_buffer(data);
            self.define(name, Value::Buffer(buffer), annotation)?;
            return Ok(PrimParam::Buffer(buffer));
        }
        let value = self.value(annotation)?;
        let dtype = match value {
            Value::Type(dtype) | Value::Fresh(dtype) => dtype,
            _ => {
                let message = "expected `T.Buffer(...)`, `T.handle` or the type of a scalar";
                return Err(self.error("tir-type", message, annotation));
            }
        };
        let known = self.meaning(name).cloned().and_then(|value| self.symbol_of(&value));
        let symbol = match known.filter(|symbol| self.state.matched.contains(symbol)) {
            Some(symbol) if self.store.symbol(symbol).dtype != dtype => {
                let had = self.store.symbol(symbol).dtype;
                let message = format!("Expected the same dtype for PrimVars but got {dtype} vs {had}");
                return Err(self.error("tir-type", message, annotation));
            }
            Some(symbol) => symbol,
            None => {
                let symbol = self.new_symbol(name, dtype);
                let prim = self.store.prim(PrimExpr::Var(symbol));
                self.define(name, Value::Prim(prim), annotation)?;
                symbol
            }
        };
        Ok(PrimParam::Var(symbol))
    }

    /// Returns the arguments of `T.Buffer(...)` or of the old `T.Buffer[...]`.
    fn buffer_annotation(&mut self, annotation: Id<Node>) -> Option<Vec<Arg>> {
        match self.tree.expr(annotation) {
            Node::Call { callee, args } if matches!(self.intrinsic(callee), Some("Buffer" | "buffer")) => {
                Some(self.tree.args(args).to_vec())
            }
            Node::Subscript { value, items } if self.intrinsic(value) == Some("Buffer") => {
                Some(self.old_buffer_args(items, annotation))
            }
            _ => None,
        }
    }

    /// Reads `A = T.match_buffer(a, ...)` of a parameter: the parameter is a buffer.
    pub(super) fn match_param(&mut self, symbol: Id<Symbol>, mut buffer: Buffer) -> Option<Id<Buffer>> {
        let handle = self.store.symbol(symbol).dtype.code == DTypeCode::Handle;
        if self.state.s_tir {
            buffer.layout = BufferLayout::Unsaid;
        }
        let old = self.state.handles.get(&symbol).copied();
        let wanted = |param: &PrimParam| match (*param, old) {
            (PrimParam::Var(var), _) => var == symbol,
            (PrimParam::Buffer(known), Some(old)) => known == old,
            _ => false,
        };
        let place = self.state.params.iter().position(wanted).filter(|_| handle)?;
        let buffer = self.store.add_buffer(buffer);
        self.state.params[place] = PrimParam::Buffer(buffer);
        self.state.handles.insert(symbol, buffer);
        Some(buffer)
    }

    /// Reads `T.func_attr({"key": value})`.
    pub(super) fn func_attr(&mut self, dict: Id<Node>, at: Id<Node>) -> Read<()> {
        if !matches!(self.state.frames.last().map(|frame| &frame.kind), Some(FrameKind::Func)) {
            return Err(self.error("tir-syntax", "T.func_attr must be called at the top of a PrimFunc.", at));
        }
        for (mut key, value) in self.entries(dict)? {
            let text = self.store.str(key).to_owned();
            if let Some(rest) = text.strip_prefix("tir.")
                && !self.state.strict
            {
                self.old("`tir.noalias` is the spelling of TVM 0.24 and before; today `tirx.noalias`", dict);
                key = self.name_of(&format!("tirx.{rest}"));
            }
            if text == "global_symbol" && self.state.private {
                let found = match &value {
                    AttrValue::Str(name) => self.store.str(*name).to_owned(),
                    _ => String::new(),
                };
                let message = format!(
                    "A private function may not have the kGlobalSymbol (\"global_symbol\") attribute.  However, a private \
                     function specified the global symbol as \"{found}\""
                );
                return Err(self.error("tir-type", message, dict));
            }
            if self.state.attrs.iter().any(|(known, _)| *known == key) {
                let message = format!("Duplicate prim func annotation for key = \"{text}\".");
                return Err(self.error("tir-type", message, dict));
            }
            self.state.attrs.push((key, value));
        }
        Ok(())
    }
}
