//! Passes by name: those that are compiled in and those that the user wrote, made ready to run from their calls.

use super::call::{CallArg, PassCall, bind, parse_calls};
use super::names::Wanted;
use super::spec::{Args, Literal, Param, Part, PassInfo, PassSpec, Run};
use super::user::UserRun;
use crate::diag::Diagnostic;
use crate::ir::{Dialect, Module};
use crate::parse::suggest;
use std::rc::Rc;

/// A pass that is ready to run.
#[derive(Clone)]
pub struct Pass {
    /// The description for gates and instruments.
    pub info: PassInfo,
    pub(super) body: Body,
    /// The note when it runs: that it was called by an earlier name.
    pub(super) note: Option<String>,
}

/// The implementation of a pass.
#[derive(Clone)]
pub(super) enum Body {
    BuiltIn(Run, Args),
    Sequential(Vec<Pass>),
    User(UserRun),
}

impl Pass {
    /// Makes a pass that is not compiled in.
    pub fn user(info: PassInfo, run: UserRun) -> Pass {
        Pass { info, body: Body::User(run), note: None }
    }

    /// Returns the arguments of a pass that is compiled in.
    pub fn arguments(&self) -> Args {
        if let Body::BuiltIn(_, args) = &self.body { args.clone() } else { Args::default() }
    }

    /// True if types are inferred again after it: a function pass, on a program of Relay.
    pub(super) fn wants_types(&self, module: &Module) -> bool {
        let function = matches!(self.body, Body::BuiltIn(Run::Function(_), _) | Body::User(UserRun::Function(_)));
        function && module.dialect() == Dialect::Relay
    }

    /// Calls `f` with its name and those of the passes that it consists of, as gates see them.
    pub fn for_each_name(&self, f: &mut dyn FnMut(&str)) {
        f(&self.info.name);
        if let Body::Sequential(parts) = &self.body {
            parts.iter().for_each(|part| part.for_each_name(f));
        }
    }

    /// Makes a list of passes as one.
    pub fn sequential(info: PassInfo, passes: Vec<Pass>) -> Pass {
        Pass { info, body: Body::Sequential(passes), note: None }
    }
}

/// Finds passes by name: those that are compiled in and those that the user wrote. Cheap to clone.
#[derive(Clone, Default)]
pub struct Registry {
    built_in: &'static [&'static PassSpec],
    user: Rc<[Pass]>,
    dialect: Dialect,
}

impl From<&'static [&'static PassSpec]> for Registry {
    fn from(built_in: &'static [&'static PassSpec]) -> Registry {
        Registry { built_in, user: Rc::default(), dialect: Dialect::Relay }
    }
}

impl Registry {
    /// The same with passes of the user, whose names are not among those that are compiled in.
    #[must_use]
    pub fn with_user(self, passes: Vec<Pass>) -> Registry {
        Registry { user: passes.into(), ..self }
    }

    /// Returns the registry for programs of a dialect.
    #[must_use]
    pub fn of(self, dialect: Dialect) -> Registry {
        Registry { dialect, ..self }
    }

    /// Returns the dialect of the programs.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Returns the spec of a pass that is compiled in, by TVM's factory name, or else by its `PassInfo` name. Of two
    /// passes of one name it is the one for the dialect. Modules of TVM may stand in front, and earlier names do.
    pub fn lookup(&self, name: &str) -> Option<&'static PassSpec> {
        Wanted::of(name).among(self.built_in, self.dialect)
    }

    /// Succeeds if a pass has this name for gates: TVM's `PassInfo.name`, which is not always that of the factory.
    /// Otherwise fails with the name that was meant, if one is close.
    pub fn gate_name(&self, name: &str) -> Result<(), Option<&str>> {
        let built_in = || self.built_in.iter().map(|spec| spec.info_name);
        let user = || self.user.iter().map(|pass| pass.info.name.as_str());
        // A parameter in braces stands for its argument.
        let fits = |known: &str| known == name || known.find('{').is_some_and(|at| name.starts_with(&known[..at]));
        if built_in().any(fits) || user().any(fits) {
            return Ok(());
        }
        let own = self.lookup(name).map(|spec| spec.info_name);
        Err(own.or_else(|| suggest::nearest(name, built_in().chain(user()))))
    }

    /// Returns the pass of the user that has this name.
    pub fn user(&self, name: &str) -> Option<&Pass> {
        self.user.iter().find(|pass| pass.info.name == name)
    }
}

/// Makes a pass from its call. The error names an argument that does not fit.
pub fn resolve(registry: impl Into<Registry>, call: &PassCall) -> Result<Pass, Diagnostic> {
    resolve_in(&registry.into(), call)
}

/// Makes a pass from its call. The error names an argument that does not fit.
pub fn resolve_in(registry: &Registry, call: &PassCall) -> Result<Pass, Diagnostic> {
    if call.name == "Sequential" {
        return resolve_sequential(registry, call);
    }
    if let Some(pass) = registry.user(&call.name) {
        if !call.args.is_empty() {
            return Err(Diagnostic::error("pass-argument", format!("{} takes no arguments", call.name), None));
        }
        return Ok(pass.clone());
    }
    let wanted = Wanted::of(&call.name);
    let Some(spec) = wanted.among(registry.built_in, registry.dialect) else {
        let error = Diagnostic::error("pass-unknown", format!("there is no pass called `{}`", call.name), None);
        return Err(wanted.missing(registry.built_in).into_iter().fold(error, Diagnostic::with_note));
    };
    if !spec.works_on(registry.dialect) {
        let (pass, program) = (spec.dialects.first().map_or("", |d| d.title()), registry.dialect.title());
        let message = format!("{} is a pass of {pass}, and the program is {program}", spec.name);
        return Err(Diagnostic::error("pass-dialect", message, None));
    }
    for (_, arg) in &call.args {
        if let CallArg::Pass(pass) = arg
            && pass.as_target().is_none()
            && !spec.params.iter().any(Param::is_rest)
        {
            resolve_in(registry, pass)?;
        }
    }
    let args = bind(spec.params, call)?;
    let mut name = spec.info_name.to_owned();
    for (param, value) in args.0.iter().filter(|_| spec.info_name.contains('{')) {
        if let Literal::Str(text) = value {
            name = name.replace(&format!("{{{param}}}"), text);
        }
    }
    let body = resolve_run(registry, spec.run, args)?;
    let required = spec.required.iter().map(|s| (*s).to_owned()).collect();
    let info = PassInfo { name, opt_level: spec.opt_level, required, traceable: false };
    Ok(Pass { info, body, note: wanted.note() })
}

fn resolve_run(registry: &Registry, run: Run, args: Args) -> Result<Body, Diagnostic> {
    let Run::Sequential(parts) = run else { return Ok(Body::BuiltIn(run, args)) };
    let mut passes = Vec::new();
    for part in parts(&args) {
        match part {
            Part::Call(text) => {
                for call in parse_calls(&text)? {
                    passes.push(resolve_in(registry, &call)?);
                }
            }
            Part::Inner(inner) => {
                let (name, opt_level) = (inner.info_name.to_owned(), inner.opt_level);
                let info = PassInfo { name, opt_level, ..PassInfo::default() };
                let body = resolve_run(registry, inner.run, args.clone())?;
                passes.push(Pass { info, body, note: None });
            }
        }
    }
    Ok(Body::Sequential(passes))
}

fn resolve_sequential(registry: &Registry, call: &PassCall) -> Result<Pass, Diagnostic> {
    let wrong = |what: &str| Err(Diagnostic::error("pass-argument", format!("Sequential: {what}"), None));
    let mut info = PassInfo { name: "sequential".into(), ..PassInfo::default() };
    let mut passes = Vec::new();
    for (place, (name, arg)) in call.args.iter().enumerate() {
        let name =
            name.as_deref().unwrap_or(["passes", "opt_level", "name", "required", "traceable"].get(place).copied().unwrap_or(""));
        match (name, arg) {
            ("passes", CallArg::Passes(calls)) => {
                passes = calls.iter().map(|c| resolve_in(registry, c)).collect::<Result<_, _>>()?;
            }
            ("passes", CallArg::Literal(Literal::List(items))) if items.is_empty() => {}
            ("opt_level", CallArg::Literal(Literal::Int(level))) => info.opt_level = *level,
            ("name", CallArg::Literal(Literal::Str(text))) => info.name = text.clone(),
            ("required", CallArg::Literal(Literal::List(items))) => {
                for item in items {
                    let Literal::Str(text) = item else { return wrong("`required` is a list of names") };
                    info.required.push(text.clone());
                }
            }
            ("traceable", CallArg::Literal(Literal::Bool(on))) => info.traceable = *on,
            (name, _) => return wrong(&format!("cannot use the argument `{name}`")),
        }
    }
    Ok(Pass::sequential(info, passes))
}
