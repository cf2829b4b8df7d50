//! Functions of TIR as TVMScript, exactly as TVM 0.27 prints them (`src/tirx/script/printer/`).
//!
//! A variable without a definition at its first use is declared in the innermost block around all its uses,
//! before the current statement; so every open block knows where that statement begins.

mod buffer;
mod expr;
mod stmt;
#[cfg(test)]
mod tests;
mod uses;

use super::script::{Place, Script};
use super::{LineRole, MARK, MARK_END};
use crate::ir::sort::sort_by;
use crate::ir::{AttrValue, Block, DType, Expr, ExprId, For, Id, Name, PrimFunc, PrimId, PrimParam, Stmt, StmtId, Symbol, Type};
pub(super) use expr::type_name;
use rustc_hash::FxHashSet;
use stmt::Step;
use uses::{Spot, Uses};

/// An open block of lines.
struct Frame {
    /// The scope of its names.
    scope: usize,
    /// The construct that it belongs to.
    spot: Spot,
    /// The begin of its current statement.
    place: Place,
    indent: usize,
}

/// A function under construction.
struct Tir<'p, 'a> {
    script: &'p mut Script<'a>,
    /// The current statement as a node, for its lines; the function before the first.
    node: ExprId,
    /// True if lines belong to a statement that has its first line already: the head of a block.
    detail: bool,
    func: Id<PrimFunc>,
    frames: Vec<Frame>,
    /// The uses of variables and buffers, computed when first needed.
    uses: Option<Uses>,
    /// True if the name of the allocation implies the scope of a buffer.
    scope_said: bool,
    /// True if the current buffer is only named, and declared elsewhere.
    only_named: bool,
    /// True if the function is `s_tir`, so that buffers print without their layout.
    s_tir: bool,
    /// The loops around.
    loops: Vec<(Id<Symbol>, PrimId, PrimId)>,
    /// True if the next line begins a marked statement.
    mark: bool,
}

impl Script<'_> {
    /// Prints a function of TIR. `alone`: in no module, so it has a header of its own.
    pub(super) fn prim_func(&mut self, node: ExprId, name: &str, alone: bool) {
        let Expr::PrimFunc(func) = self.store.expr(node) else { return };
        let head = alone.then(|| {
            self.type_vars.push(Vec::new());
            self.place()
        });
        self.usage.tir = true;
        let (frames, loops) = (Vec::new(), Vec::new());
        let mut tir = Tir {
            script: self,
            node,
            detail: false,
            func,
            frames,
            uses: None,
            scope_said: false,
            only_named: false,
            s_tir: false,
            loops,
            mark: false,
        };
        tir.function(name);
        if let Some(head) = head {
            let declared = self.type_vars.pop().unwrap_or_default();
            let header = self.header(&declared);
            self.insert_lines(head, LineRole::Header, &header);
        }
    }
}

impl<'a> Tir<'_, 'a> {
    fn function(&mut self, name: &str) {
        let store = self.script.store;
        let func = store.prim_func(self.func);
        let fields = func.attrs.map_or(&[][..], |attrs| &store.attrs_of_id(attrs).fields);
        let field = |key: &str| fields.iter().find(|(name, _)| store.str(*name) == key).map(|(_, value)| value);
        self.s_tir = field("s_tir").is_some();
        self.script.begin_strings();
        self.open(Spot::Func);
        let scope = self.frames[0].scope;
        let type_vars = self.type_vars(func, scope);
        for param in &func.params {
            if let PrimParam::Var(symbol) = *param {
                self.script.define_symbol(symbol, scope);
            }
        }
        let mut text = format!("def {name}(");
        let mut prelude = Vec::new();
        let mut bound: FxHashSet<Id<Symbol>> = FxHashSet::default();
        for (i, param) in func.params.iter().enumerate() {
            text.push_str(if i > 0 { ", " } else { "" });
            match *param {
                PrimParam::Var(symbol) => {
                    text.push_str(self.script.symbol_name(symbol).unwrap_or("v"));
                    text.push_str(": ");
                    text.push_str(&expr::type_name(store, store.symbol(symbol).dtype));
                    bound.insert(symbol);
                }
                PrimParam::Buffer(buffer) => self.buffer_param(buffer, &type_vars, &mut bound, &mut prelude, &mut text),
            }
        }
        text.push(')');
        if let Some(Type::Prim(dtype)) = func.ret.map(|ty| store.type_of_id(ty)) {
            text.push_str(" -> T.");
            text.push_str(&dtype.to_string());
        }
        text.push(':');
        let mut flags = Vec::new();
        for (flag, stands) in [
            ("private=True", field("global_symbol").is_none()),
            ("s_tir=True", field("s_tir").is_some()),
            ("persistent=True", field("tirx.persistent_kernel").is_some()),
        ] {
            if stands {
                flags.push(flag);
            }
        }
        let arguments = if flags.is_empty() { String::new() } else { format!("({})", flags.join(", ")) };
        self.mark = self.is_marked(self.node);
        let marked = self.mark;
        self.line(LineRole::Definition, &format!("@T.prim_func{arguments}"));
        self.line(LineRole::Definition, &text);
        self.indent();
        for declaration in prelude {
            self.line(LineRole::Binding, &declaration);
        }
        let hidden = |(key, value): &&(Id<Name>, AttrValue)| match store.str(*key) {
            "s_tir" | "tirx.persistent_kernel" => true,
            "global_symbol" => matches!(value, AttrValue::Str(symbol) if store.str(*symbol) == name),
            _ => false,
        };
        let shown: Vec<_> = fields.iter().filter(|field| !hidden(field)).cloned().collect();
        self.begin();
        if !shown.is_empty() {
            let mut text = "T.func_attr(".to_owned();
            self.dict(&shown, &mut text);
            text.push(')');
            self.line(LineRole::Definition, &text);
        }
        let mut body = func.body;
        if let Some(root) = self.hidden_root(func.body) {
            let block = store.prim_block(root);
            self.line(LineRole::Definition, "# with T.sblock(\"root\"):");
            for &buffer in &block.allocs {
                self.begin();
                self.alloc(buffer, "sblock_alloc_buffer", None);
            }
            body = block.body;
        }
        let mut steps = vec![Step::Close];
        self.push_body(body, &mut steps);
        self.run(steps);
        if marked {
            self.script.out.push_str(MARK_END);
        }
        self.script.line(LineRole::Blank, None);
    }

    /// Declares extents of 64 bits that the signature defines in front of everything.
    fn type_vars(&mut self, func: &PrimFunc, scope: usize) -> Vec<Id<Symbol>> {
        let store = self.script.store;
        let mut params: FxHashSet<Id<Symbol>> = FxHashSet::default();
        params.extend(func.params.iter().filter_map(|param| match param {
            PrimParam::Var(symbol) => Some(*symbol),
            PrimParam::Buffer(_) => None,
        }));
        let mut declared: Vec<Id<Symbol>> = Vec::new();
        for param in &func.params {
            let PrimParam::Buffer(buffer) = *param else { continue };
            let buffer = store.buffer(buffer);
            for &prim in buffer.shape.iter().chain(&buffer.strides).chain(&buffer.elem_offset) {
                store.for_each_prim(prim, &mut |_, part| {
                    if let crate::ir::PrimExpr::Var(symbol) = part
                        && store.symbol(*symbol).dtype == DType::I64
                        && params.insert(*symbol)
                    {
                        declared.push(*symbol);
                    }
                });
            }
        }
        // Of several with one name TVM numbers the last one first.
        declared.reverse();
        sort_by(&mut declared, |a, b| store.str(store.symbol(*a).name).cmp(store.str(store.symbol(*b).name)));
        let names: Vec<String> = declared.iter().map(|symbol| self.script.define_symbol(*symbol, scope)).collect();
        if let Some(known) = self.script.type_vars.last_mut() {
            for name in names {
                if !known.contains(&name) {
                    known.push(name);
                }
            }
        }
        declared
    }

    /// Returns the root block, when it is implicit.
    fn hidden_root(&self, body: StmtId) -> Option<Id<Block>> {
        let store = self.script.store;
        let Stmt::Block(id) = *store.stmt(body) else { return None };
        if !self.script.sugar {
            return None;
        }
        let block = store.prim_block(id);
        let plain = !block.bare
            && block.iters.is_empty()
            && block.predicate.is_none()
            && block.annotations.is_none()
            && block.matches.is_empty()
            && block.reads.is_empty()
            && block.writes.is_empty()
            && block.init.is_none();
        let shows = !block.allocs.is_empty()
            || match store.stmt(block.body) {
                Stmt::Block(inner) if !store.prim_block(*inner).bare => !store.prim_block(*inner).iters.is_empty(),
                _ => uses::contains_block(store, block.body),
            };
        (plain && shows).then_some(id)
    }

    fn line(&mut self, role: LineRole, text: &str) {
        let role = if self.detail && role == LineRole::Binding { LineRole::Detail } else { role };
        if std::mem::take(&mut self.mark) {
            return self.script.text_line(role, Some(self.node), &format!("{MARK}{text}"));
        }
        self.script.text_line(role, Some(self.node), text);
    }

    /// True if a statement or function is to be marked.
    fn is_marked(&self, node: ExprId) -> bool {
        self.script.marks.is_some_and(|marks| marks.nodes.contains(&node))
    }

    /// Opens a block for the lines of `spot`. Its names are free again when it is closed.
    fn open(&mut self, spot: Spot) {
        let scope = self.script.open_scope();
        let place = self.script.place();
        self.frames.push(Frame { scope, spot, place, indent: self.script.indent });
    }

    /// Indents the next lines.
    fn indent(&mut self) {
        self.script.indent += 4;
        let (place, indent) = (self.script.place(), self.script.indent);
        if let Some(frame) = self.frames.last_mut() {
            (frame.place, frame.indent) = (place, indent);
        }
    }

    /// Begins a statement.
    fn begin(&mut self) {
        let place = self.script.place();
        if let Some(frame) = self.frames.last_mut() {
            frame.place = place;
        }
    }

    fn scope(&self) -> usize {
        self.frames.last().map_or(0, |frame| frame.scope)
    }

    /// Returns the frame that a variable is to be declared in.
    fn home(&mut self, of: uses::Named) -> usize {
        let (store, func) = (self.script.store, self.func);
        let uses = self.uses.get_or_insert_with(|| Uses::of(store, func));
        uses.home(of, |spot| self.frames.iter().rposition(|frame| frame.spot == spot)).unwrap_or(0)
    }

    /// True if all uses of a variable are in this block.
    fn all_within(&mut self, symbol: Id<Symbol>, block: Spot) -> bool {
        let (store, func) = (self.script.store, self.func);
        self.uses.get_or_insert_with(|| Uses::of(store, func)).all_within(symbol, block)
    }

    /// Inserts a line before the current statement of a frame.
    fn declare(&mut self, frame: usize, text: &str) {
        let Frame { place, indent, .. } = self.frames[frame];
        let before = self.script.place();
        let outer = std::mem::replace(&mut self.script.indent, indent);
        self.script.insert_lines(place, LineRole::Binding, &[text.to_owned()]);
        self.script.indent = outer;
        let after = self.script.place();
        for frame in &mut self.frames[frame..] {
            frame.place = frame.place.shifted(before, after);
        }
    }
}

/// Returns the head of a loop, if the statement is one.
fn as_loop(store: &crate::ir::Store, id: StmtId) -> Option<(&For, StmtId)> {
    match store.stmt(id) {
        Stmt::For(head, body) => Some((head, *body)),
        _ => None,
    }
}
