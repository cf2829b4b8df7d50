//! Expressions over pairs in place of values, by a stack of its own.

use super::pairs::{Lets, Reverse};
use super::refused;
use crate::ir::walk::{for_each_binder, for_each_child};
use crate::ir::{Expr, ExprId, Function, Id, Name, VarId, map_children};
use crate::ops::build::op_name;
use crate::pass::PassError;

enum Task {
    Enter(ExprId, ExprId),
    Leave(ExprId, ExprId),
    /// Around a function, with its cell.
    Close(ExprId, VarId),
    /// The version of a function of the module.
    Global(Id<Name>, ExprId, ExprId),
}

impl Reverse<'_> {
    /// Returns the variable that stands for the pair of a variable.
    fn var(&mut self, var: VarId) -> VarId {
        if let Some(&known) = self.vars.get(&var) {
            return known;
        }
        let annotation = self.store.var_data(var).annotation.map(|ty| self.reversed(ty));
        let new = self.store.var_from(var, annotation, None);
        self.vars.insert(var, new);
        new
    }

    pub(super) fn translated(&mut self, root: ExprId, cell: ExprId) -> Result<ExprId, PassError> {
        let (mut tasks, mut done) = (vec![Task::Enter(root, cell)], Vec::new());
        while let Some(task) = tasks.pop() {
            match task {
                Task::Enter(id, cell) => self.enter(id, cell, &mut tasks, &mut done)?,
                Task::Leave(id, cell) => {
                    let made = self.leave(id, cell, &mut done)?;
                    done.push(made);
                }
                Task::Close(id, own) => {
                    let body = done.pop().unwrap_or(id);
                    let made = self.closed(id, own, body);
                    done.push(made);
                }
                Task::Global(name, id, cell) => {
                    let body = done.pop().unwrap_or(id);
                    let Expr::Var(cell) = self.store.expr(cell) else { continue };
                    let made = self.closed(id, cell, body);
                    self.module.set_function(name, made);
                }
            }
        }
        Ok(done.pop().unwrap_or(root))
    }

    /// Rebuilds a function over its reversed body, with a cell as a further parameter.
    fn closed(&mut self, id: ExprId, cell: VarId, body: ExprId) -> ExprId {
        let Some(function) = self.store.as_function(id) else { return body };
        let params: Vec<VarId> = self.store.items(function.params).collect();
        let mut params: Vec<VarId> = params.into_iter().map(|param| self.var(param)).collect();
        params.push(cell);
        let params = self.store.list(&params);
        let ret = function.ret.map(|ret| self.reversed(ret));
        let new = self.store.add_function(Function { params, ret, body, ..function });
        self.store.add(Expr::Function(new))
    }

    fn enter(&mut self, id: ExprId, cell: ExprId, tasks: &mut Vec<Task>, done: &mut Vec<ExprId>) -> Result<(), PassError> {
        let mut children = Vec::new();
        match self.store.expr(id) {
            Expr::Var(var) => {
                let var = self.var(var);
                done.push(self.store.use_var(var));
                return Ok(());
            }
            Expr::Ctor(_) => {
                done.push(id);
                return Ok(());
            }
            Expr::Op(_) => return Err(refused(self.store, id, "op should only be inside call")),
            Expr::Constant(_) => {
                let mut lets = Lets::new();
                let value = self.push(&mut lets, id);
                let pair = self.zero_pair(value);
                let made = self.bound(lets, pair);
                done.push(made);
                return Ok(());
            }
            Expr::Global(name) => {
                let new = match self.globals.get(&name) {
                    Some(&known) => known,
                    None => {
                        let text = format!("{}_grad", self.store.str(name));
                        let new = self.store.name(&text);
                        self.globals.insert(name, new);
                        if let Some(function) = self.module.function(name)
                            && let Some(data) = self.store.as_function(function)
                        {
                            let own = self.store.var("bp", Some(self.cell));
                            let own = self.store.use_var(own);
                            tasks.push(Task::Global(new, function, own));
                            tasks.push(Task::Enter(data.body, own));
                        }
                        new
                    }
                };
                done.push(self.store.add(Expr::Global(new)));
                // Its body, if it is new, is done before anything else and leaves nothing behind.
                return Ok(());
            }
            Expr::Function(function) => {
                let body = self.store.function(function).body;
                let own = self.store.var("bp", Some(self.cell));
                tasks.push(Task::Close(id, own));
                tasks.push(Task::Enter(body, self.store.use_var(own)));
                return Ok(());
            }
            Expr::Call { callee, args, .. } => {
                children.extend(self.store.items(args));
                if !matches!(self.store.expr(callee), Expr::Op(_) | Expr::Ctor(_)) {
                    children.push(callee);
                }
            }
            node => {
                for_each_child(self.store, id, |child| children.push(child));
                if let Expr::Match { .. } = node {
                    let vars = &mut self.vars;
                    for_each_binder(self.store, id, |var| {
                        vars.insert(var, var);
                    });
                }
            }
        }
        tasks.push(Task::Leave(id, cell));
        tasks.extend(children.into_iter().rev().map(|child| Task::Enter(child, cell)));
        Ok(())
    }

    fn leave(&mut self, id: ExprId, cell: ExprId, done: &mut Vec<ExprId>) -> Result<ExprId, PassError> {
        let mut take = |count: usize| done.split_off(done.len().saturating_sub(count));
        let new = match self.store.expr(id) {
            Expr::Call { callee, args: list, info } => {
                if !op_name(self.store, id).is_empty() {
                    let parts = take(list.len());
                    return self.operator(id, cell, &parts);
                }
                if matches!(self.store.expr(callee), Expr::Ctor(_)) {
                    let parts = take(list.len());
                    let args = self.store.list(&parts);
                    return Ok(self.store.add(Expr::Call { callee, args, info }));
                }
                let mut parts = take(list.len() + 1);
                let callee = parts.pop().unwrap_or(callee);
                parts.push(cell);
                return Ok(self.store.add_call(callee, &parts, None));
            }
            node => {
                let mut children = 0;
                for_each_child(self.store, id, |_| children += 1);
                let mut parts = take(children);
                if let Expr::If { .. } = node {
                    parts[0] = self.field(parts[0], 0);
                }
                if let Expr::Let { var, .. } = node {
                    self.var(var);
                }
                let vars = &self.vars;
                map_children(self.store, id, &parts, &|var| vars.get(&var).copied().unwrap_or(var))
            }
        };
        Ok(new.map_or(id, |new| self.store.add(new)))
    }
}
