//! One version of a program.

use super::Name;
use super::attrs::AttrsId;
use super::expr::{AdtId, ExprId};
use super::id::Id;
use std::rc::Rc;

/// One version of a module: a few root ids. Cloning it is the snapshot and costs a counter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Module {
    data: Rc<ModuleData>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ModuleData {
    functions: Vec<(Id<Name>, ExprId)>,
    adts: Vec<(Id<Name>, AdtId)>,
    attrs: Option<AttrsId>,
}

impl Module {
    /// A module without definitions.
    pub fn new() -> Module {
        Module::default()
    }

    /// Global functions in the order they were added. Each is an [`super::Expr::Function`].
    pub fn functions(&self) -> &[(Id<Name>, ExprId)] {
        &self.data.functions
    }

    /// Type definitions in the order they were added.
    pub fn adts(&self) -> &[(Id<Name>, AdtId)] {
        &self.data.adts
    }

    /// Attributes of the module itself.
    pub fn attrs(&self) -> Option<AttrsId> {
        self.data.attrs
    }

    /// The function called `name`.
    pub fn function(&self, name: Id<Name>) -> Option<ExprId> {
        self.data.functions.iter().find(|(n, _)| *n == name).map(|(_, f)| *f)
    }

    /// The type definition called `name`.
    pub fn adt(&self, name: Id<Name>) -> Option<AdtId> {
        self.data.adts.iter().find(|(n, _)| *n == name).map(|(_, a)| *a)
    }

    /// Adds a function or replaces the one of that name, which keeps its place.
    pub fn set_function(&mut self, name: Id<Name>, function: ExprId) {
        if self.function(name) == Some(function) {
            return;
        }
        let data = Rc::make_mut(&mut self.data);
        match data.functions.iter_mut().find(|(n, _)| *n == name) {
            Some(slot) => slot.1 = function,
            None => data.functions.push((name, function)),
        }
    }

    /// Removes the function called `name`.
    pub fn remove_function(&mut self, name: Id<Name>) {
        if self.function(name).is_some() {
            Rc::make_mut(&mut self.data).functions.retain(|(n, _)| *n != name);
        }
    }

    /// Adds a type definition or replaces the one of that name.
    pub fn set_adt(&mut self, name: Id<Name>, adt: AdtId) {
        let data = Rc::make_mut(&mut self.data);
        match data.adts.iter_mut().find(|(n, _)| *n == name) {
            Some(slot) => slot.1 = adt,
            None => data.adts.push((name, adt)),
        }
    }

    /// Sets the attributes of the module itself.
    pub fn set_attrs(&mut self, attrs: Option<AttrsId>) {
        Rc::make_mut(&mut self.data).attrs = attrs;
    }
}
