//! Common parts of the printers of TVMScript: lines and their indentation, names that are unique in the open scopes,
//! the used prefixes, symbolic variables, and the metadata section.
//!
//! TVM builds a document first and knows its header last; here the text is written once, and the parts that TVM
//! prepends later (headers, declarations of symbolic variables, the alias of the module) are inserted when their scope
//! ends.

mod dim;
mod meta;
mod names;
mod value;

use super::{LineInfo, LineRole, Marks, NameInfo, Named, PrintOptions, Printed};
use crate::ir::{Buffer, Expr, ExprId, Id, IdMap, Module, Store, Symbol, Var, VarId};
pub(super) use dim::variable_of;
use names::Names;
use std::fmt::Write;
pub(super) use value::{push_dict, push_float_literal, push_str_literal};

/// The prefixes that the text has used: each needs a line of the header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Usage {
    pub(super) ir: bool,
    pub(super) tir: bool,
    pub(super) relax: bool,
    /// True if a finished function has symbolic variables in its signature.
    pub(super) type_vars: bool,
}

/// A position in the text, to insert at or to truncate to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    at: usize,
    line: usize,
}

/// A text of TVMScript under construction.
pub(super) struct Script<'a> {
    pub(super) store: &'a Store,
    pub(super) module: Option<&'a Module>,
    pub(super) out: String,
    pub(super) lines: Vec<LineInfo>,
    pub(super) indent: usize,
    pub(super) usage: Usage,
    names: Names,
    /// All names so far, in the order of their definitions.
    named: Vec<NameInfo>,
    /// The names of defined variables, by their places in that list.
    vars: IdMap<Var, u32>,
    symbols: IdMap<Symbol, u32>,
    buffers: IdMap<Buffer, u32>,
    /// Constants in the metadata section, in the order of first use.
    pub(super) constants: Vec<ExprId>,
    constant_numbers: IdMap<Expr, u32>,
    /// Strings in the metadata section, one for each use.
    strings: Vec<String>,
    /// The number of them that belong to earlier functions.
    own_strings: usize,
    /// Symbolic variables that signatures declare, in the order of declaration, for each open header.
    pub(super) type_vars: Vec<Vec<String>>,
    /// Symbolic variables that the current signature has declared; `None` outside of a signature.
    pub(super) declaring: Option<Vec<Id<Symbol>>>,
    /// The scope of the current function, in which its symbolic variables are defined.
    pub(super) function_scope: usize,
    /// Declarations for the begin of the current function: `n = T.int64()`.
    pub(super) prelude: Vec<String>,
    /// True if the current function has used the module's alias `cls`.
    pub(super) alias: bool,
    /// True if integers are written with their types, as in TIR.
    pub(super) tir_ints: bool,
    /// True while a type stands alone: its arithmetic is no string, because no signature declares the variables.
    pub(super) unquoted: bool,
    /// Declarations of free variables that must come before the current statement.
    pub(super) pending: Vec<String>,
    /// The place before the open dataflow block, for declarations of what it uses.
    pub(super) flow: Option<Place>,
    /// True outside of functions, where symbolic variables are declared like free ones.
    pub(super) alone: bool,
    /// True if TIR is written in short forms.
    pub(super) sugar: bool,
    /// True if the types of variables of Relax are written also where they follow from the value.
    pub(super) all_types: bool,
    /// The parts of TIR that are marked.
    pub(super) marks: Option<&'a Marks>,
}

impl Place {
    /// Moves the place, because the text before it has grown from ending at `before` to ending at `after`.
    pub(super) fn shifted(self, before: Place, after: Place) -> Place {
        Place { at: self.at + after.at - before.at, line: self.line + after.line - before.line }
    }
}

impl<'a> Script<'a> {
    pub(super) fn new(store: &'a Store, module: Option<&'a Module>) -> Self {
        Script {
            store,
            module,
            out: String::new(),
            lines: Vec::new(),
            indent: 0,
            usage: Usage::default(),
            names: Names::default(),
            named: Vec::new(),
            vars: IdMap::new(),
            symbols: IdMap::new(),
            buffers: IdMap::new(),
            constants: Vec::new(),
            strings: Vec::new(),
            own_strings: 0,
            constant_numbers: IdMap::new(),
            type_vars: vec![Vec::new()],
            declaring: None,
            function_scope: 0,
            prelude: Vec::new(),
            alias: false,
            tir_ints: false,
            unquoted: false,
            pending: Vec::new(),
            flow: None,
            alone: false,
            sugar: true,
            all_types: true,
            marks: None,
        }
    }

    /// Creates a text with these options.
    pub(super) fn with(store: &'a Store, module: Option<&'a Module>, options: &PrintOptions<'a>) -> Self {
        let PrintOptions { sugar, all_types, marks, .. } = *options;
        Script { sugar, all_types, marks, ..Script::new(store, module) }
    }

    /// Begins a line; the caller appends its text.
    pub(super) fn line(&mut self, role: LineRole, node: Option<ExprId>) {
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        self.lines.push(LineInfo { start: self.out.len() as u32, role, node });
        if role != LineRole::Blank {
            self.out.extend(std::iter::repeat_n(' ', self.indent));
        }
    }

    /// Writes a line.
    pub(super) fn text_line(&mut self, role: LineRole, node: Option<ExprId>, text: &str) {
        let pending = std::mem::take(&mut self.pending);
        match self.flow {
            Some(place) if !pending.is_empty() => {
                let (before, indent) = (self.place(), self.indent);
                self.indent -= 4;
                self.insert_lines(place, LineRole::FreeVar, &pending);
                self.indent = indent;
                self.flow = Some(place.shifted(before, self.place()));
            }
            _ => {
                for declaration in pending {
                    self.line(LineRole::FreeVar, node);
                    self.out.push_str(&declaration);
                }
            }
        }
        self.line(role, node);
        self.out.push_str(text);
    }

    /// Returns the end of the text, as a place for later insertions.
    pub(super) fn place(&self) -> Place {
        Place { at: self.out.len(), line: self.lines.len() }
    }

    /// Inserts whole lines before the line that began at `place`, at the current indentation.
    pub(super) fn insert_lines(&mut self, place: Place, role: LineRole, texts: &[String]) {
        if texts.is_empty() {
            return;
        }
        let first = place.at == 0;
        let mut inserted = String::new();
        let mut infos = Vec::with_capacity(texts.len());
        for text in texts {
            if !first {
                inserted.push('\n');
            }
            infos.push(LineInfo { start: (place.at + inserted.len()) as u32, role, node: None });
            inserted.extend(std::iter::repeat_n(' ', self.indent));
            inserted.push_str(text);
            if first {
                inserted.push('\n');
            }
        }
        self.out.insert_str(place.at, &inserted);
        for info in &mut self.lines[place.line..] {
            info.start += inserted.len() as u32;
        }
        // Scopes nest, so a name from before the place ends after it only if its scope is still open.
        for name in self.named.iter_mut().rev().take_while(|name| name.line as usize >= place.line) {
            name.line += infos.len() as u32;
            name.end = name.end.saturating_add(infos.len() as u32);
        }
        self.lines.splice(place.line..place.line, infos);
    }

    /// Returns the lines of a header: imports, an empty line, symbolic variables.
    pub(super) fn header(&self, type_vars: &[String]) -> Vec<String> {
        let mut lines = Vec::new();
        if !type_vars.is_empty() || self.usage.type_vars {
            lines.push("# from typing import TypeVar".to_owned());
        }
        if self.usage.ir {
            lines.push("# from tvm.script import ir as I".to_owned());
        }
        if self.usage.tir {
            lines.push("# from tvm.script import tirx as T".to_owned());
            lines.push("# from tvm.tirx.layout import Axis".to_owned());
        }
        if self.usage.relax {
            lines.push("# from tvm.script import relax as R".to_owned());
        }
        lines.push(String::new());
        lines.extend(type_vars.iter().map(|name| format!("{name} = TypeVar(\"{name}\")")));
        lines
    }

    /// Ends the text with the metadata section, or a remark that it was left out.
    pub(super) fn finish(mut self, metadata: bool) -> Printed {
        while self.out.ends_with('\n') {
            self.out.pop();
            self.lines.pop();
        }
        let known = |id: &ExprId| matches!(self.store.expr(*id), Expr::Constant(t) if self.store.tensor(t).data.is_some());
        let complete = metadata && self.constants.iter().all(known);
        let refers = !self.constants.is_empty() || !self.strings.is_empty();
        if refers && !complete {
            if self.lines.iter().any(|line| line.role == LineRole::Definition) {
                self.line(LineRole::Blank, None);
            }
            self.text_line(LineRole::Metadata, None, "# Metadata omitted. Use show_meta=True in script() method to show it.");
        } else if refers {
            let section = meta::section(self.store, &self.constants, &self.strings);
            let texts: Vec<String> = section.lines().map(str::to_owned).collect();
            self.insert_lines(Place { at: 0, line: 0 }, LineRole::Metadata, &texts);
        }
        Printed { text: self.out, lines: self.lines, names: self.named }
    }

    /// Reserves a name that belongs to no variable: that of the class.
    pub(super) fn reserve(&mut self, name: &str) {
        self.names.define(name);
    }

    /// Gives a variable that the next line binds its name, unless it has one.
    pub(super) fn define_var(&mut self, var: VarId) -> String {
        self.define(var, Named::Line)
    }

    /// Does so for a parameter or a free variable, which stands for itself.
    pub(super) fn define_param(&mut self, var: VarId) -> String {
        self.define(var, self.store.var_use(var).map_or(Named::Line, Named::Node))
    }

    fn define(&mut self, var: VarId, thing: Named) -> String {
        if let Some(name) = self.var_name(var) {
            return name.to_owned();
        }
        let hint = self.store.var_name(var);
        let name = self.names.define(if hint.is_empty() { "v" } else { hint });
        let at = self.note(&name, thing);
        self.names.on_close(names::Entry::Var(var));
        self.vars.insert(var, at);
        if let Some(symbol) = self.store.var_data(var).symbol {
            self.symbols.insert(symbol, at);
            self.names.on_close(names::Entry::Symbol(symbol));
        }
        name
    }

    /// Notes a name that the next line defines, and returns its place in the list.
    fn note(&mut self, name: &str, thing: Named) -> u32 {
        self.named.push(NameInfo { text: name.into(), line: self.lines.len() as u32, end: u32::MAX, thing });
        self.named.len() as u32 - 1
    }

    fn named(&self, at: Option<&u32>) -> Option<&str> {
        at.map(|at| &*self.named[*at as usize].text)
    }

    /// Returns the name of a defined variable.
    pub(super) fn var_name(&self, var: VarId) -> Option<&str> {
        self.named(self.vars.get(var))
    }

    /// Gives a symbolic variable its name in a scope, unless it has one.
    pub(super) fn define_symbol(&mut self, symbol: Id<Symbol>, scope: usize) -> String {
        if let Some(name) = self.symbol_name(symbol) {
            return name.to_owned();
        }
        let hint = self.store.str(self.store.symbol(symbol).name);
        let name = self.names.define_in(if hint.is_empty() { "v" } else { hint }, scope);
        self.names.on_close_of(names::Entry::Symbol(symbol), scope);
        let at = self.note(&name, Named::Symbol(symbol));
        self.symbols.insert(symbol, at);
        name
    }

    /// Returns the name of a defined symbolic variable.
    pub(super) fn symbol_name(&self, symbol: Id<Symbol>) -> Option<&str> {
        self.named(self.symbols.get(symbol))
    }

    /// Gives a buffer its name in a scope, unless it has one.
    pub(super) fn define_buffer(&mut self, buffer: Id<Buffer>, scope: usize) -> String {
        if let Some(name) = self.buffer_name(buffer) {
            return name.to_owned();
        }
        let hint = self.store.str(self.store.buffer(buffer).name);
        let name = self.names.define_in(if hint.is_empty() { "buffer" } else { hint }, scope);
        self.names.on_close_of(names::Entry::Buffer(buffer), scope);
        let at = self.note(&name, Named::Buffer(buffer));
        self.buffers.insert(buffer, at);
        name
    }

    /// Returns the name of a defined buffer.
    pub(super) fn buffer_name(&self, buffer: Id<Buffer>) -> Option<&str> {
        self.named(self.buffers.get(buffer))
    }

    /// Sets the text for a symbolic variable without a name of its own: `A.elem_offset`.
    pub(super) fn define_symbol_as(&mut self, symbol: Id<Symbol>, text: &str, scope: usize) {
        self.names.on_close_of(names::Entry::Symbol(symbol), scope);
        let at = self.note(text, Named::Symbol(symbol));
        self.symbols.insert(symbol, at);
    }

    /// Opens a scope and returns its index.
    pub(super) fn open_scope(&mut self) -> usize {
        self.names.open()
    }

    /// The innermost scope.
    pub(super) fn scope(&self) -> usize {
        self.names.innermost()
    }

    /// Closes the innermost scope, whose names are free again.
    pub(super) fn close_scope(&mut self) {
        for entry in self.names.close() {
            let at = match entry {
                names::Entry::Var(var) => self.vars.remove(var),
                names::Entry::Symbol(symbol) => self.symbols.remove(symbol),
                names::Entry::Buffer(buffer) => self.buffers.remove(buffer),
            };
            if let Some(at) = at {
                self.named[at as usize].end = self.lines.len() as u32;
            }
        }
    }

    /// Writes a string: one of several lines goes to the metadata section, for each use by itself unless it is shared
    /// in its function.
    pub(super) fn push_string(&mut self, out: &mut String, text: &str, shared: bool) {
        if !text.contains('\n') {
            return push_str_literal(out, text);
        }
        let known =
            (self.strings[self.own_strings..].iter().position(|known| shared && known == text)).map(|at| self.own_strings + at);
        let at = known.unwrap_or(self.strings.len());
        let _ = write!(out, "metadata[\"ir.StringImm\"][{at}]");
        if known.is_none() {
            self.strings.push(text.to_owned());
        }
    }

    /// Begins another function, to which the next strings belong.
    pub(super) fn begin_strings(&mut self) {
        self.own_strings = self.strings.len();
    }

    /// Returns the number of a constant in the metadata section.
    pub(super) fn constant_number(&mut self, id: ExprId) -> u32 {
        if let Some(&number) = self.constant_numbers.get(id) {
            return number;
        }
        let number = self.constants.len() as u32;
        self.constants.push(id);
        self.constant_numbers.insert(id, number);
        number
    }
}
