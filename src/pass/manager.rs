//! Running passes as TVM's pass manager does (`src/ir/transform.cc`, `src/relay/ir/transform.cc`).
//!
//! - Opt level, required and disabled lists gate only the children of a `Sequential`; a pass that is called
//!   directly always runs.
//! - A `Sequential` runs the passes a child requires right before it, each time, whatever the lists say.
//! - A function pass runs on every function that may be optimised, then InferType runs on the module.

use super::call::{CallArg, PassCall, bind, parse_calls};
use super::context::{PassContext, PassCx};
use super::instrument::Instrument;
use super::names::Wanted;
use super::spec::{Args, Literal, Part, PassError, PassInfo, PassSpec, Run};
use super::trace::{LogKind, Outcome, Place, Role, Trace};
use super::user::{UserRun, checked};
use crate::diag::{Diagnostic, DiagnosticContext};
use crate::ir::{Dialect, Expr, ExprId, Id, Module, Name, Store};
use std::rc::Rc;

/// A pass that is ready to run.
#[derive(Clone)]
pub struct Pass {
    /// What gates and instruments see.
    pub info: PassInfo,
    body: Body,
    /// What is told when it runs: that it was called by an earlier name.
    note: Option<String>,
}

#[derive(Clone)]
enum Body {
    BuiltIn(Run, Args),
    Sequential(Vec<Pass>),
    User(UserRun),
}

impl Pass {
    /// A pass that is not compiled in.
    pub fn user(info: PassInfo, run: UserRun) -> Pass {
        Pass { info, body: Body::User(run), note: None }
    }

    /// Whether it works on functions, so that InferType follows.
    /// Whether it is one after which the types are inferred again: a function pass, on a program of Relay.
    fn wants_types(&self, module: &Module) -> bool {
        let function = matches!(self.body, Body::BuiltIn(Run::Function(_), _) | Body::User(UserRun::Function(_)));
        function && module.dialect() == Dialect::Relay
    }

    /// A list of passes as one.
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

    /// The same for programs of a dialect.
    #[must_use]
    pub fn of(self, dialect: Dialect) -> Registry {
        Registry { dialect, ..self }
    }

    /// The spec of a pass that is compiled in, by TVM's factory name, or else by its `PassInfo` name. Of two
    /// passes of one name it is the one for the dialect. Modules of TVM may stand in front, and earlier names do.
    pub fn lookup(&self, name: &str) -> Option<&'static PassSpec> {
        Wanted::of(name).among(self.built_in, self.dialect)
    }

    /// The pass of the user that has this name.
    pub fn user(&self, name: &str) -> Option<&Pass> {
        self.user.iter().find(|pass| pass.info.name == name)
    }
}

/// Makes a pass from its call. The error names what does not fit.
pub fn resolve(registry: impl Into<Registry>, call: &PassCall) -> Result<Pass, Diagnostic> {
    resolve_in(&registry.into(), call)
}

/// Makes a pass from its call. The error names what does not fit.
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

/// One row of the list that is run.
pub struct Row {
    /// The pass.
    pub pass: Pass,
    /// Whether the row is run at all.
    pub enabled: bool,
}

/// A pass context that was entered, with its instruments.
struct Scope {
    context: Rc<PassContext>,
    instruments: Vec<Box<dyn Instrument>>,
}

/// A run under way.
pub struct Runner {
    registry: Registry,
    /// Entered contexts, the current one last. The first is TVM's default context, which is always there.
    scopes: Vec<Scope>,
    /// Microseconds since some fixed moment. The host gives it: there is no clock in plain wasm.
    clock: fn() -> f64,
    /// What happened so far.
    pub trace: Trace,
    row: usize,
    open: Option<usize>,
}

impl Runner {
    /// A run that continues `trace`, in the default context.
    pub fn new(registry: impl Into<Registry>, clock: fn() -> f64, trace: Trace) -> Runner {
        let default = Scope { context: Rc::default(), instruments: Vec::new() };
        Runner { registry: registry.into(), scopes: vec![default], clock, trace, row: 0, open: None }
    }

    /// A run of nothing, to stand where a runner was taken away for a while.
    pub fn idle() -> Runner {
        Runner::new(Registry::default(), || 0.0, Trace::default())
    }

    /// Where passes are looked up.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// How many contexts are entered besides the default one.
    pub fn depth(&self) -> usize {
        self.scopes.len() - 1
    }

    /// The step under way.
    pub fn open_step(&self) -> Option<usize> {
        self.open
    }

    /// Calls a pass directly, on any module, inside of the step under way.
    pub fn call(&mut self, store: &mut Store, pass: &Pass, module: &Module) -> Result<Module, PassError> {
        self.run_pass(store, pass, module, if self.open.is_some() { Role::Nested } else { Role::Listed })
    }

    /// The current context (TVM's `PassContext::Current`).
    pub fn current(&self) -> &Rc<PassContext> {
        &self.scopes.last().expect("the default context is never left").context
    }

    /// Enters a context: its instruments first, then the context is current. When an instrument fails,
    /// those entered already are exited, the last one first, and the context is not entered.
    pub fn enter(&mut self, context: PassContext, instruments: Vec<Box<dyn Instrument>>) -> Result<(), PassError> {
        let mut scope = Scope { context: Rc::new(context), instruments };
        self.enter_instruments(&mut scope)?;
        self.scopes.push(scope);
        Ok(())
    }

    /// Leaves the current context: first it is no longer current, then its instruments are exited
    /// in order. The default context stays.
    pub fn exit(&mut self) -> Result<(), PassError> {
        if self.scopes.len() == 1 {
            return Ok(());
        }
        let mut scope = self.scopes.pop().expect("there is one besides the default");
        self.exit_instruments(&mut scope)
    }

    /// Replaces the instruments of the current context: the old ones are exited, the new ones entered.
    pub fn override_instruments(&mut self, instruments: Vec<Box<dyn Instrument>>) -> Result<(), PassError> {
        let mut scope = self.scopes.pop().expect("the default context is never left");
        let mut result = self.exit_instruments(&mut scope);
        if result.is_ok() {
            scope.instruments = instruments;
            result = self.enter_instruments(&mut scope);
        }
        self.scopes.push(scope);
        result
    }

    fn enter_instruments(&mut self, scope: &mut Scope) -> Result<(), PassError> {
        for index in 0..scope.instruments.len() {
            let entered = self.hook(&mut *scope.instruments[index], "enter_pass_ctx");
            if entered.is_err() {
                for instrument in scope.instruments[..index].iter_mut().rev() {
                    // A second failure while unwinding has nobody to go to; TVM would abort.
                    let _ = self.hook(&mut **instrument, "exit_pass_ctx");
                }
                scope.instruments.clear();
                return entered;
            }
        }
        Ok(())
    }

    fn exit_instruments(&mut self, scope: &mut Scope) -> Result<(), PassError> {
        for instrument in &mut scope.instruments {
            let left = self.hook(&mut **instrument, "exit_pass_ctx");
            if left.is_err() {
                scope.instruments.clear();
                return left;
            }
        }
        Ok(())
    }

    /// Calls a hook that is about the context, and logs it.
    fn hook(&mut self, instrument: &mut dyn Instrument, hook: &'static str) -> Result<(), PassError> {
        let call = format!("{}.{hook}()", instrument.name());
        self.trace.note(None, LogKind::Call, call.clone());
        let result = if hook == "enter_pass_ctx" { instrument.enter_pass_ctx() } else { instrument.exit_pass_ctx() };
        result.inspect_err(|found| self.trace.note_failure(None, &call, found))
    }

    /// Runs rows from `first` on. As the children of a `Sequential`, which the context gates, or each
    /// directly, which nothing gates. After a failure the rest is not reached.
    pub fn run_rows(&mut self, store: &mut Store, rows: &[Row], first: usize, direct: bool) {
        let mut module = self.trace.last().clone();
        let mut failed = !self.trace.is_complete();
        for (index, row) in rows.iter().enumerate().skip(first).filter(|(_, row)| row.enabled) {
            self.row = index;
            if failed {
                let step = self.begin(store, &row.pass, &module, Role::Listed);
                self.trace.steps[step].outcome = Outcome::NotReached;
                continue;
            }
            let result = match direct {
                true => self.run_pass(store, &row.pass, &module, Role::Listed),
                false => self.run_child(store, &row.pass, &module),
            };
            match result {
                Ok(new) => module = new,
                Err(_) => failed = true,
            }
        }
    }

    /// Why a `Sequential` leaves a pass out, if it does (TVM's `PassEnabled`).
    fn gate(&self, info: &PassInfo) -> Option<String> {
        let context = self.current();
        if context.disabled.contains(&info.name) {
            return Some("disabled".to_owned());
        }
        if context.required.contains(&info.name) || context.opt_level >= info.opt_level {
            return None;
        }
        Some(format!("needs opt level {}", info.opt_level))
    }

    /// A child of a `Sequential`: gated, its required passes first.
    fn run_child(&mut self, store: &mut Store, pass: &Pass, module: &Module) -> Result<Module, PassError> {
        if let Some(reason) = self.gate(&pass.info) {
            let step = self.begin(store, pass, module, Role::Listed);
            self.trace.steps[step].outcome = Outcome::Skipped(reason);
            return Ok(module.clone());
        }
        let mut module = module.clone();
        for name in &pass.info.required {
            let required = match self.required_pass(name) {
                Ok(required) => required,
                Err(error) => {
                    let step = self.begin(store, pass, &module, Role::Listed);
                    self.trace.steps[step].outcome = Outcome::Failed(vec![error.clone()]);
                    return Err(vec![error]);
                }
            };
            module = self.run_pass(store, &required, &module, Role::Required)?;
        }
        self.run_pass(store, pass, &module, Role::Listed)
    }

    /// TVM's `GetPass`: by name, called without arguments, which a factory with parameters refuses.
    fn required_pass(&self, name: &str) -> Result<Pass, Diagnostic> {
        if let Some(pass) = self.registry.user(name) {
            return Ok(pass.clone());
        }
        // The registry of TVM's functions has the names of factories, not those of PassInfos.
        let factory = name.strip_prefix("relay._transform.").or_else(|| name.strip_prefix("transform.")).unwrap_or(name);
        let spec = (self.registry.lookup(factory).filter(|spec| spec.name == factory))
            .ok_or_else(|| Diagnostic::error("pass-required", format!("Cannot use {name} to create the pass"), None))?;
        if !spec.params.is_empty() {
            let message = format!("{name} expects {} arguments, but 0 were provided.", spec.params.len());
            return Err(Diagnostic::error("pass-required", message, None)
                .with_note("TVM creates required passes without arguments; list this one before instead"));
        }
        resolve_in(&self.registry, &PassCall { name: factory.to_owned(), args: Vec::new() })
    }

    /// Runs a pass whatever the opt level, with instruments and a step of its own.
    fn run_pass(&mut self, store: &mut Store, pass: &Pass, module: &Module, role: Role) -> Result<Module, PassError> {
        let step = self.begin(store, pass, module, role);
        let start = (self.clock)();
        let outer = self.open.replace(step);
        let result = self.instrumented(store, pass, module, step);
        self.open = outer;
        let end = (self.clock)();
        self.trace.end(step, result.as_ref().ok());
        let entry = &mut self.trace.steps[step];
        entry.micros = end - start;
        entry.rewrites.end = store.log.done.len();
        if let Err(found) = &result {
            entry.outcome = Outcome::Failed(found.clone());
        }
        result
    }

    fn instrumented(&mut self, store: &mut Store, pass: &Pass, module: &Module, step: usize) -> Result<Module, PassError> {
        if !self.before(store, pass, module, step)? {
            return Ok(module.clone());
        }
        let new = self.body(store, pass, module, step);
        if let Err(found) = &new
            && !self.scopes.last().expect("never empty").instruments.is_empty()
        {
            self.trace.note_failure(Some(step), &pass.info.name, found);
        }
        let new = new?;
        self.after(store, pass, &new, step)?;
        Ok(new)
    }

    /// Asks all instruments whether the pass may run and, when all agree, tells them that it will.
    fn before(&mut self, store: &mut Store, pass: &Pass, module: &Module, step: usize) -> Result<bool, PassError> {
        let info = &pass.info;
        let asked = !self.current().required.contains(&info.name);
        let trace = &mut self.trace;
        let instruments = &mut self.scopes.last_mut().expect("never empty").instruments;
        let mut refused = None;
        for instrument in instruments.iter_mut().filter(|_| asked) {
            let call = format!("{}.should_run({})", instrument.name(), info.name);
            trace.note(Some(step), LogKind::Call, call.clone());
            let answer = instrument.should_run(store, module, info);
            if !answer.inspect_err(|found| trace.note_failure(Some(step), &call, found))? {
                trace.note(Some(step), LogKind::Refused, format!("{} refuses {}", instrument.name(), info.name));
                refused.get_or_insert_with(|| instrument.name().to_owned());
            }
        }
        if let Some(by) = refused {
            trace.steps[step].outcome = Outcome::Skipped(format!("refused by {by}"));
            return Ok(false);
        }
        for instrument in instruments {
            let call = format!("{}.run_before_pass({})", instrument.name(), info.name);
            trace.note(Some(step), LogKind::Call, call.clone());
            let text = instrument.run_before_pass(store, module, info);
            trace.note_printed(step, &call, text)?;
        }
        Ok(true)
    }

    /// Tells all instruments that the pass has run.
    fn after(&mut self, store: &mut Store, pass: &Pass, module: &Module, step: usize) -> Result<(), PassError> {
        let trace = &mut self.trace;
        for instrument in &mut self.scopes.last_mut().expect("never empty").instruments {
            let call = format!("{}.run_after_pass({})", instrument.name(), pass.info.name);
            trace.note(Some(step), LogKind::Call, call.clone());
            let text = instrument.run_after_pass(store, module, &pass.info);
            trace.note_printed(step, &call, text)?;
        }
        Ok(())
    }

    fn body(&mut self, store: &mut Store, pass: &Pass, module: &Module, step: usize) -> Result<Module, PassError> {
        // One context for the whole pass, as in TVM: what is wrong in several functions is all told.
        let mut diagnostics = DiagnosticContext::default();
        let notes = pass.note.iter().map(|note| Diagnostic::note("pass-name", note.clone(), None));
        self.trace.steps[step].reported.extend(notes);
        let result = match &pass.body {
            Body::Sequential(children) => {
                let mut module = module.clone();
                for child in children {
                    module = self.run_child(store, child, &module)?;
                }
                return Ok(module);
            }
            Body::BuiltIn(Run::Sequential(_), _) => unreachable!("resolved into a list of passes"),
            Body::BuiltIn(Run::Module(run), args) => self.with_cx(store, &mut diagnostics, step, |cx| run(cx, module, args)),
            Body::BuiltIn(Run::Function(run), args) => self.with_cx(store, &mut diagnostics, step, |cx| {
                let mut new = module.clone();
                for (name, function) in optimisable(cx.store, module) {
                    new.set_function(name, run(cx, module, function, args)?);
                }
                Ok(new)
            }),
            Body::BuiltIn(Run::PrimFunc(run), args) => self.with_cx(store, &mut diagnostics, step, |cx| {
                let mut new = module.clone();
                for &(name, function) in module.functions() {
                    if !matches!(cx.store.expr(function), Expr::PrimFunc(_)) {
                        continue;
                    }
                    match run(cx, module, function, args)? {
                        Some(function) => new.set_function(name, function),
                        None => new.remove_function(name),
                    }
                }
                Ok(new)
            }),
            Body::User(UserRun::Module(run)) => {
                let new = run(self, store, module)?;
                checked(store, module, new)
            }
            Body::User(UserRun::Function(run)) => {
                let mut new = module.clone();
                for (name, function) in optimisable(store, module) {
                    new.set_function(name, run(self, store, module, function)?);
                }
                checked(store, module, new)
            }
        };
        let (mut errors, rest) = diagnostics.render();
        self.trace.steps[step].reported.extend(rest);
        let new = match result {
            Ok(new) if errors.is_empty() => new,
            Ok(_) => return Err(errors),
            Err(found) => {
                errors.extend(found);
                return Err(errors);
            }
        };
        if !pass.wants_types(module) {
            return Ok(new);
        }
        let typed = self.run_nested(store, "InferType", &new);
        typed.map_err(|found| found.into_iter().map(|d| d.with_note(format!("in what {} made", pass.info.name))).collect())
    }

    fn with_cx<T>(
        &mut self,
        store: &mut Store,
        diagnostics: &mut DiagnosticContext,
        step: usize,
        run: impl FnOnce(&mut PassCx<'_>) -> Result<T, PassError>,
    ) -> Result<T, PassError> {
        let context = self.current().clone();
        let mut printed = Vec::new();
        let mut nested = |store: &mut Store, call: &str, module: &Module| self.run_nested(store, call, module);
        let result = run(&mut PassCx { store, context: &context, diagnostics, printed: &mut printed, nested: &mut nested });
        for text in printed {
            self.trace.note(Some(step), LogKind::Printed, text);
        }
        result
    }

    fn run_nested(&mut self, store: &mut Store, call: &str, module: &Module) -> Result<Module, PassError> {
        let mut module = module.clone();
        for call in parse_calls(call).map_err(|e| vec![e])? {
            let pass = resolve_in(&self.registry, &call).map_err(|e| vec![e])?;
            module = self.run_pass(store, &pass, &module, Role::Nested)?;
        }
        Ok(module)
    }

    fn begin(&mut self, store: &Store, pass: &Pass, module: &Module, role: Role) -> usize {
        let place = Place { parent: self.open, row: self.row };
        self.trace.begin(&pass.info, module, role, place, store.log.done.len())
    }
}

/// The functions that function passes look at: not those for an external compiler, nor those marked
/// `Extern` or `SkipOptimization`.
fn optimisable(store: &Store, module: &Module) -> Vec<(Id<Name>, ExprId)> {
    let may = |function: ExprId| {
        let Expr::Function(function) = store.expr(function) else { return false };
        if module.dialect() == Dialect::Relax {
            return true;
        }
        let attrs = store.function(function).attrs;
        let set = |name| store.attr_int(attrs, name).is_some_and(|v| v != 0);
        store.attr(attrs, "Compiler").is_none() && !set("Extern") && !set("SkipOptimization")
    };
    module.functions().iter().copied().filter(|(_, function)| may(*function)).collect()
}
