//! One version of a program.

use super::attrs::AttrsId;
use super::expr::{AdtId, ExprId};
use super::id::Id;
use super::{Name, Store};
use std::rc::Rc;

/// The language that a module is written in. It decides which nodes are allowed where; the data is the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// Relay, as TVM 0.19 has it.
    #[default]
    Relay,
    /// Relax and TIR, as TVM 0.27 has them.
    Relax,
    /// The dialect of passes over TIR alone. Its functions stand in modules of [`Dialect::Relax`].
    Tir,
}

impl Dialect {
    /// Returns its name: `Relay`, `Relax`, `TIR`.
    pub fn title(self) -> &'static str {
        match self {
            Dialect::Relay => "Relay",
            Dialect::Relax => "Relax",
            Dialect::Tir => "TIR",
        }
    }

    /// Returns the word for it: `relay`, `relax`, `tir`.
    pub fn word(self) -> &'static str {
        match self {
            Dialect::Relay => "relay",
            Dialect::Relax => "relax",
            Dialect::Tir => "tir",
        }
    }
}

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
    global_infos: Option<AttrsId>,
    dialect: Dialect,
}

impl Module {
    /// Makes a module without definitions.
    pub fn new() -> Module {
        Module::default()
    }

    /// Returns the global functions in the order they were added. Each is an [`super::Expr::Function`].
    pub fn functions(&self) -> &[(Id<Name>, ExprId)] {
        &self.data.functions
    }

    /// Says that there is no function of a name, and which there are.
    pub fn has_no_function(&self, store: &Store, name: &str) -> String {
        const MOST: usize = 8;
        let mut names: Vec<String> = self.functions().iter().take(MOST).map(|(id, _)| format!("`@{}`", store.str(*id))).collect();
        if self.functions().len() > MOST {
            names.push("others".to_owned());
        }
        let all = if names.is_empty() { "none at all".to_owned() } else { names.join(", ") };
        format!("the module has no function `@{name}`; it has {all}")
    }

    /// Returns the type definitions in the order they were added.
    pub fn adts(&self) -> &[(Id<Name>, AdtId)] {
        &self.data.adts
    }

    /// Makes a module of a dialect without definitions.
    pub fn of(dialect: Dialect) -> Module {
        Module { data: Rc::new(ModuleData { dialect, ..ModuleData::default() }) }
    }

    /// Returns the language it is written in.
    pub fn dialect(&self) -> Dialect {
        self.data.dialect
    }

    /// Lists of objects that types refer to (TVM's `global_infos`): `vdevice`, `mesh`, `dummy`.
    pub fn global_infos(&self) -> Option<AttrsId> {
        self.data.global_infos
    }

    /// Sets the lists of objects that types refer to.
    pub fn set_global_infos(&mut self, infos: Option<AttrsId>) {
        Rc::make_mut(&mut self.data).global_infos = infos;
    }

    /// Returns the attributes of the module itself.
    pub fn attrs(&self) -> Option<AttrsId> {
        self.data.attrs
    }

    /// Returns the function called `name`.
    pub fn function(&self, name: Id<Name>) -> Option<ExprId> {
        self.data.functions.iter().find(|(n, _)| *n == name).map(|(_, f)| *f)
    }

    /// Returns the type definition called `name`.
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
