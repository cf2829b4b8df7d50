//! Modules with functions of Python among them (`BasePyModule`, `@I.pyfunc`).

use super::{Node, Reader};
use crate::diag::Diagnostic;
use crate::ir::{AttrValue, Attrs, Expr, ExprId};
use crate::parse::script::tree::{Class, Def};

impl Reader<'_, '_> {
    /// True if a member of a module is a function of Python.
    pub(super) fn is_python(&self, def: &Def) -> bool {
        let names = self.tree.items(def.decorators).iter().map(|id| match self.tree.expr(*id) {
            Node::Call { callee, .. } => self.tree.dotted(callee),
            _ => self.tree.dotted(*id),
        });
        names.flatten().any(|name| matches!(name, "I.pyfunc" | "ir.pyfunc" | "pyfunc"))
    }

    /// Makes an external function, which a function of Python is to TVM's passes. Its body is not read.
    pub(super) fn python_function(&mut self, def: &Def) -> ExprId {
        let inside = |d: &Diagnostic| d.span.is_some_and(|span| def.span.start <= span.start && span.end <= def.span.end);
        self.diagnostics.retain(|d| !inside(d));
        let symbol = self.store.name(self.tree.text(def.name));
        let function = self.store.add(Expr::Extern(symbol));
        self.store.set_span(function, def.span);
        let message = "a function of Python is an external function to passes: `R.ExternFunc`";
        self.diagnostics.push(Diagnostic::note("relax-python", message, def.name));
        function
    }

    /// Marks a module that Python runs, as TVM does.
    pub(super) fn python_module(&mut self, class: &Class) {
        let tree = self.tree;
        let is_base = |name: &str| name.rsplit('.').next() == Some("BasePyModule");
        if !tree.args(class.bases).iter().any(|base| tree.dotted(base.value).is_some_and(is_base)) {
            return;
        }
        let key = self.store.name("base_py_module");
        let known = self.module.attrs().map(|attrs| self.store.attrs_of_id(attrs).fields.to_vec());
        let mut fields = known.unwrap_or_default();
        if fields.iter().all(|(name, _)| *name != key) {
            fields.push((key, AttrValue::Bool(true)));
            let dict = self.store.name("DictAttrs");
            let attrs = self.store.attrs(Attrs { key: dict, fields: fields.into() });
            self.module.set_attrs(Some(attrs));
        }
    }
}
