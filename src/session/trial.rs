//! Tries passes without making steps: stops a pass after some of its rewrites, and previews its effect.

use super::Session;
use super::place::label;
use crate::diag::Diagnostic;
use crate::diff::{self, Diff};
use crate::ir::Module;
use crate::pass::call::parse_calls;
use crate::pass::manager::{Runner, resolve_in};
use crate::pass::trace::{Role, Step, Trace, Version};

/// One rewrite of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rewritten {
    /// The rule.
    pub rule: &'static str,
    /// Names the rewritten node, in a word or two.
    pub pre: String,
    /// Names its replacement; the same when it was removed.
    pub post: String,
}

/// The effect of a pass on a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preview {
    /// True if it changes anything.
    pub changed: bool,
    /// The number of rewrites that it records.
    pub rewrites: usize,
}

impl Session {
    /// Returns the rewrites of a step, in order, those of steps inside of it included.
    pub fn rewrites(&self, step: usize) -> Vec<Rewritten> {
        let range = self.trace.steps.get(step).map_or(0..0, |step| step.rewrites.clone());
        let done = self.store.log.done.get(range).unwrap_or_default().iter();
        let describe = |id| label(&self.store, id);
        done.map(|rewrite| Rewritten { rule: rewrite.rule, pre: describe(rewrite.pre), post: describe(rewrite.post) }).collect()
    }

    /// Returns the difference that a step makes with `fuel` of its rewrites.
    pub fn partial(&mut self, step: usize, fuel: u32) -> Result<Diff, Diagnostic> {
        let after = self.stopped_after(step, fuel)?;
        let before = self.trace.steps.get(step).map_or(0, |step| step.before);
        Ok(diff::diff(&self.store, self.naming(before), &self.trace.versions[before], &after))
    }

    /// Returns the program when a step stops after `fuel` of its rewrites.
    pub fn stopped_after(&mut self, step: usize, fuel: u32) -> Result<Module, Diagnostic> {
        let found = self.trace.steps.get(step).ok_or_else(|| none("step", step))?;
        let (before, call) = (found.before, self.call_of(found));
        self.attempt(before, &call, Some(fuel))
    }

    /// Returns the effect of a pass on a version, called directly.
    pub fn preview(&mut self, version: Version, call: &str) -> Result<Preview, Diagnostic> {
        let done = self.store.log.done.len();
        let after = self.attempt(version, call, None)?;
        Ok(Preview { changed: self.trace.versions[version] != after, rewrites: self.store.log.done.len() - done })
    }

    /// Returns the number of calls of each operator in two versions: name, before, after; sorted by name.
    pub fn operators(&self, before: Version, after: Version) -> Vec<(&'static str, usize, usize)> {
        let (Some(old), Some(new)) = (self.version(before), self.version(after)) else {
            return Vec::new();
        };
        diff::operators(&self.store, old, new)
    }

    /// Returns the call of a step in the list; a nested pass has its default arguments.
    fn call_of(&self, step: &Step) -> String {
        let row = self.document.rows.get(step.row).filter(|_| step.role == Role::Listed && step.parent.is_none());
        row.map_or_else(|| step.name.clone(), |row| row.call.clone())
    }

    fn attempt(&mut self, version: Version, call: &str, fuel: Option<u32>) -> Result<Module, Diagnostic> {
        let module = self.trace.versions.get(version).ok_or_else(|| none("version", version))?.clone();
        let refuse = |message: String| Diagnostic::error("trial", message, None);
        let registry = self.registry(module.dialect());
        let calls = parse_calls(call)?;
        let [call] = calls.as_slice() else { return Err(refuse(format!("`{call}` is not one pass"))) };
        // Passes of a script may keep state of their own, which a trial would change.
        if registry.user(&call.name).is_some() {
            return Err(refuse("passes of a script are not tried".to_owned()));
        }
        let pass = resolve_in(&registry, call)?;
        let mut runner = Runner::new(registry, self.clock, Trace::new(module.clone()));
        let entered = runner.enter(self.document.context.clone(), Vec::new());
        self.store.log.fuel = fuel;
        let result = entered.and_then(|()| runner.call(&mut self.store, &pass, &module));
        self.store.log.fuel = None;
        result.map_err(|found| found.into_iter().next().unwrap_or_else(|| refuse("it failed".to_owned())))
    }
}

fn none(what: &str, number: usize) -> Diagnostic {
    Diagnostic::error("trial", format!("there is no {what} {number}"), None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pass::PassContext;
    use crate::session::document;

    const SOURCE: &str = "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2), float32]) {\n  %0 = add(1f, 2f);\n  %1 = multiply(3f, 4f);\n  \
                          %2 = add(%x, %0);\n  add(%2, %1)\n}\n";

    fn session(calls: &str) -> Session {
        let mut session = Session::new(|| 0.0);
        let context = PassContext { opt_level: 3, ..PassContext::default() };
        assert!(session.run(&document(SOURCE, calls, context).expect("passes"), false), "{:?}", session.problems());
        session
    }

    #[test]
    fn a_step_is_gone_through_rewrite_by_rewrite() {
        let mut session = session("FoldConstant");
        let step = session.trace().steps.iter().position(|step| step.name == "FoldConstant").expect("it ran");
        let (rewrites, versions) = (session.rewrites(step), session.trace().versions.len());
        assert_eq!(
            rewrites.iter().map(|r| (r.pre.as_str(), r.post.as_str())).collect::<Vec<_>>(),
            [("add", "constant"), ("multiply", "constant")]
        );
        let removed = |diff: Diff| diff.rows.iter().filter(|row| row.right.is_none()).count();
        assert_eq!(session.partial(step, 0).map(|diff| diff.rows.len()), Ok(0));
        assert_eq!(session.partial(step, 1).map(removed), Ok(1));
        assert_eq!(session.partial(step, 2).map(removed), Ok(2));
        // The step itself is unchanged.
        assert_eq!(session.rewrites(step), rewrites);
        assert_eq!(session.trace().versions.len(), versions);
    }

    #[test]
    fn what_a_pass_would_do_is_told_without_a_step() {
        let mut session = session("InferType");
        assert_eq!(session.preview(0, "FoldConstant").map(|preview| preview.changed), Ok(true));
        assert_eq!(session.preview(0, "FastMath"), Ok(Preview { changed: false, rewrites: 0 }));
        assert!(session.preview(0, "Nothing").is_err());
        assert_eq!(session.trace().steps.len(), 1);
    }
}
