//! Running passes as TVM's pass manager does (`src/ir/transform.cc`, `src/relay/ir/transform.cc`).
//!
//! - Opt level, required and disabled lists gate only the children of a `Sequential`; a pass that is called
//!   directly always runs.
//! - A `Sequential` runs the passes a child requires right before it, each time, whatever the lists say.
//! - A function pass runs on every function that may be optimised, then InferType runs on the module.

use super::call::{PassCall, parse_calls};
use super::context::{PassContext, PassCx};
use super::instrument::Instrument;
use super::registry::Body;
pub use super::registry::{Pass, Registry, resolve, resolve_in};
use super::spec::{PassError, PassInfo, Run};
use super::trace::{LogKind, Outcome, Place, Role, Trace};
use super::user::{UserRun, checked};
use crate::diag::{Diagnostic, DiagnosticContext};
use crate::ir::{Dialect, Expr, ExprId, Id, Module, Name, Store};
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering};

/// One row of the list that is run.
pub struct Row {
    /// The pass that the row calls.
    pub pass: Pass,
    /// True if the row runs at all.
    pub enabled: bool,
}

/// A pass context that was entered, with its instruments.
struct Scope {
    /// A number that no other scope has, also of other runs.
    id: u32,
    context: Rc<PassContext>,
    instruments: Vec<Box<dyn Instrument>>,
}

impl Scope {
    fn new(context: PassContext, instruments: Vec<Box<dyn Instrument>>) -> Scope {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        Scope { id: NEXT.fetch_add(1, Ordering::Relaxed), context: Rc::new(context), instruments }
    }
}

/// A run under way.
pub struct Runner {
    registry: Registry,
    /// Entered contexts, the current one last. The first is TVM's default context, which is always there.
    scopes: Vec<Scope>,
    /// Microseconds since some fixed moment. The host gives it: there is no clock in plain wasm.
    clock: fn() -> f64,
    /// The steps so far.
    pub trace: Trace,
    row: usize,
    open: Option<usize>,
    /// The findings of the running pass of the user's.
    emitted: DiagnosticContext,
}

impl Runner {
    /// Makes a run that continues `trace`, in the default context.
    pub fn new(registry: impl Into<Registry>, clock: fn() -> f64, trace: Trace) -> Runner {
        let default = Scope::new(PassContext::default(), Vec::new());
        let emitted = DiagnosticContext::default();
        Runner { registry: registry.into(), scopes: vec![default], clock, trace, row: 0, open: None, emitted }
    }

    /// Makes a run of nothing, to stand where a runner was taken away for a while.
    pub fn idle() -> Runner {
        Runner::new(Registry::default(), || 0.0, Trace::default())
    }

    /// Returns the registry in which passes are looked up.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Replaces the passes of the user: while a script is loaded, those that it has made so far.
    pub fn set_user(&mut self, passes: Vec<Pass>) {
        self.registry = std::mem::take(&mut self.registry).with_user(passes);
    }

    /// Reports a finding of the pass of the user's that is running, which fails when it is an error. False when none runs.
    pub fn emit(&mut self, found: Diagnostic) -> bool {
        if self.open.is_some() {
            self.emitted.emit(found);
        }
        self.open.is_some()
    }

    /// Returns the number of entered contexts besides the default one.
    pub fn depth(&self) -> usize {
        self.scopes.len() - 1
    }

    /// Returns the step under way.
    pub fn open_step(&self) -> Option<usize> {
        self.open
    }

    /// Calls a pass directly, on any module, inside of the step under way.
    pub fn call(&mut self, store: &mut Store, pass: &Pass, module: &Module) -> Result<Module, PassError> {
        self.run_pass(store, pass, module, if self.open.is_some() { Role::Nested } else { Role::Listed })
    }

    /// Returns the current context (TVM's `PassContext::Current`).
    pub fn current(&self) -> &Rc<PassContext> {
        &self.scopes.last().expect("the default context is never left").context
    }

    /// Returns the number of the current context, which no other has.
    pub fn current_scope(&self) -> u32 {
        self.scopes.last().map_or(u32::MAX, |scope| scope.id)
    }

    /// Enters a context: its instruments first, then the context is current. When an instrument fails, those entered
    /// already are exited, the last one first, and the context is not entered.
    pub fn enter(&mut self, context: PassContext, instruments: Vec<Box<dyn Instrument>>) -> Result<(), PassError> {
        let mut scope = Scope::new(context, instruments);
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

    /// Replaces the instruments of the context with that number, whether or not it is the current one: the old ones are
    /// exited, the new ones entered. Does nothing when it is not entered.
    pub fn override_instruments(&mut self, id: u32, instruments: Vec<Box<dyn Instrument>>) -> Result<(), PassError> {
        let Some(at) = self.scopes.iter().position(|scope| scope.id == id) else { return Ok(()) };
        let mut old = Scope { id, context: self.scopes[at].context.clone(), instruments: Vec::new() };
        std::mem::swap(&mut old.instruments, &mut self.scopes[at].instruments);
        self.exit_instruments(&mut old)?;
        old.instruments = instruments;
        let entered = self.enter_instruments(&mut old);
        self.scopes[at].instruments = old.instruments;
        entered
    }

    fn enter_instruments(&mut self, scope: &mut Scope) -> Result<(), PassError> {
        for index in 0..scope.instruments.len() {
            let entered = self.hook(&mut *scope.instruments[index], "enter_pass_ctx");
            if entered.is_err() {
                for instrument in scope.instruments[..index].iter_mut().rev() {
                    // A second failure while unwinding has no receiver; TVM would abort.
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

    /// Calls a hook of the context, and logs it.
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

    /// Returns the reason why a `Sequential` skips a pass, if it does (TVM's `PassEnabled`).
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

    /// Runs a child of a `Sequential`: gated, its required passes first.
    fn run_child(&mut self, store: &mut Store, pass: &Pass, module: &Module) -> Result<Module, PassError> {
        if let Some(reason) = self.gate(&pass.info) {
            let step = self.begin(store, pass, module, Role::Listed);
            self.trace.steps[step].outcome = Outcome::Skipped(reason);
            return Ok(module.clone());
        }
        let mut module = module.clone();
        for name in &pass.info.required {
            let required = match self.required_pass(name, module.dialect()) {
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

    /// Finds a pass as TVM's `GetPass`: by name, called without arguments, which a factory with parameters refuses.
    fn required_pass(&self, name: &str, dialect: Dialect) -> Result<Pass, Diagnostic> {
        if let Some(pass) = self.registry.user(name) {
            return Ok(pass.clone());
        }
        // The registry of TVM's functions has the names of factories, not those of PassInfos.
        let factory = name.strip_prefix("relay._transform.").or_else(|| name.strip_prefix("transform.")).unwrap_or(name);
        let registry = self.registry.clone().of(dialect);
        let spec = (registry.lookup(factory).filter(|spec| spec.name == factory))
            .ok_or_else(|| Diagnostic::error("pass-required", format!("Cannot use {name} to create the pass"), None))?;
        if !spec.params.is_empty() {
            let message = format!("{name} expects {} arguments, but 0 were provided.", spec.params.len());
            return Err(Diagnostic::error("pass-required", message, None)
                .with_note("TVM creates required passes without arguments; list this one before instead"));
        }
        resolve_in(&registry, &PassCall { name: factory.to_owned(), args: Vec::new() })
    }

    /// Runs a pass at any opt level, with instruments and a step of its own.
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
        // One context for the whole pass, as in TVM: errors in several functions are all reported.
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
            Body::User(run) => {
                let outer = std::mem::take(&mut self.emitted);
                let new = self.user(store, run, module);
                diagnostics = std::mem::replace(&mut self.emitted, outer);
                new
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

    fn user(&mut self, store: &mut Store, run: &UserRun, module: &Module) -> Result<Module, PassError> {
        let new = match run {
            UserRun::Module(run) => run(self, store, module)?,
            UserRun::Function(run) => {
                let mut new = module.clone();
                for (name, function) in optimisable(store, module) {
                    new.set_function(name, run(self, store, module, function)?);
                }
                new
            }
        };
        checked(store, module, new, &mut self.emitted)
    }

    fn with_cx<T>(
        &mut self,
        store: &mut Store,
        diagnostics: &mut DiagnosticContext,
        step: usize,
        run: impl FnOnce(&mut PassCx<'_>) -> Result<T, PassError>,
    ) -> Result<T, PassError> {
        let context = self.current().clone();
        let (mut printed, mut stages) = (Vec::new(), Vec::new());
        let mut nested = |store: &mut Store, call: &str, module: &Module| self.run_nested(store, call, module);
        let result = run(&mut PassCx {
            store,
            context: &context,
            diagnostics,
            printed: &mut printed,
            stages: &mut stages,
            nested: &mut nested,
        });
        self.trace.tell(step, stages);
        for text in printed {
            self.trace.note(Some(step), LogKind::Printed, text);
        }
        result
    }

    fn run_nested(&mut self, store: &mut Store, call: &str, module: &Module) -> Result<Module, PassError> {
        let mut module = module.clone();
        for call in parse_calls(call).map_err(|e| vec![e])? {
            let pass = resolve_in(&self.registry.clone().of(module.dialect()), &call).map_err(|e| vec![e])?;
            module = self.run_pass(store, &pass, &module, Role::Nested)?;
        }
        Ok(module)
    }

    fn begin(&mut self, store: &Store, pass: &Pass, module: &Module, role: Role) -> usize {
        let place = Place { parent: self.open, row: self.row };
        self.trace.begin(&pass.info, module, role, place, store.log.done.len())
    }
}

/// Returns the functions that function passes look at: not those for an external compiler, nor those marked `Extern` or
/// `SkipOptimization`.
pub fn optimisable(store: &Store, module: &Module) -> Vec<(Id<Name>, ExprId)> {
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
