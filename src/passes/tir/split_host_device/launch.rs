//! Calls from the host to the device become launches.

use crate::diag::Diagnostic;
use crate::ir::{
    AttrNode, AttrValue, Attrs, DType, Id, Module, Name, PrimExpr, PrimFunc, PrimId, PrimOp, PrimParam, Stmt, StmtId, Store,
    Symbol,
};
use crate::pass::PassError;
use crate::passes::tir::make_packed_api::device_type;
use crate::passes::tir::{prim_func, targets, with_func};
use crate::tir::{Rewriting, StmtMutator, binary, rewrite_func, substitute};
use rustc_hash::{FxHashMap, FxHashSet};

const DYNAMIC: &str = "tirx.use_dyn_shared_memory";
const FLAGS: [&str; 2] = ["tirx.use_programtic_dependent_launch", "tirx.use_cooperative_launch"];

/// The facts about a called function.
struct Callee {
    target: AttrValue,
    symbol: String,
    params: Vec<PrimParam>,
    /// The required launch parameters, and the values of those that have one.
    launch: Vec<String>,
    args: Vec<PrimId>,
}

/// Lowers the calls of kernels in a module to launches.
pub(super) fn lower(store: &mut Store, module: Module) -> Result<Module, PassError> {
    let mut called: FxHashSet<Id<Name>> = FxHashSet::default();
    for &(_, func) in module.functions() {
        let Some(data) = prim_func(store, func) else { continue };
        let mut names = Vec::new();
        store.for_each_stmt(data.body, |stmt| {
            store.for_each_prim_of(stmt, |root| {
                store.for_each_prim(root, &mut |_, part| {
                    if let PrimExpr::Call { op, .. } = part {
                        names.extend(store.str(*op).strip_prefix('@').map(str::to_owned));
                    }
                });
            });
        });
        called.extend(names.into_iter().map(|name| store.name(&name)));
    }
    let mut callees = FxHashMap::default();
    for &(name, func) in module.functions() {
        if let Some(data) = prim_func(store, func).filter(|_| called.contains(&name)) {
            let callee = Callee::of(store, name, &data);
            let callee = callee.map_err(|message| vec![Diagnostic::error("tir-split", message, store.source_span(func))])?;
            callees.insert(name, callee);
        }
    }
    let mut sites = Sites { callees, caller: None, launched: FxHashSet::default(), external: FxHashSet::default() };
    let mut new = module.clone();
    for &(name, func) in module.functions() {
        let Some(data) = prim_func(store, func) else { continue };
        let Some(target) = store.attr(data.attrs, "target").cloned() else { continue };
        let host = targets::host(store, &target);
        let device = targets::without_host(store, &target);
        sites.caller = Some((host, device));
        let func = rewrite_func(store, func, &mut sites)?;
        new.set_function(name, func);
    }
    let rewritten = new.clone();
    for &(name, func) in rewritten.functions() {
        let (launched, external) = (sites.launched.contains(&name), sites.external.contains(&name));
        if launched {
            let kind = prim_func(store, func).and_then(|data| store.attr(data.attrs, "target").cloned());
            let kind = kind.and_then(|target| targets::field(store, &target, "kind"));
            let early = matches!(kind, Some(AttrValue::Str(kind)) if store.str(kind) == "cuda");
            let func = rewrite_func(store, func, &mut Kernel { early })?;
            let callee = &sites.callees[&name];
            let func = with_func(store, "kernel marked", func, |store, func| marked(store, func, callee));
            new.set_function(name, func);
        } else if external {
            let func = with_func(store, "function exposed", func, |store, func| {
                let mut attrs = store.with_attr(func.attrs, "tirx.is_global_func", AttrValue::Bool(true));
                if store.attr(Some(attrs), "global_symbol").is_none() {
                    attrs = store.with_attr(Some(attrs), "global_symbol", AttrValue::Str(name));
                }
                PrimFunc { attrs: Some(attrs), ..func }
            });
            new.set_function(name, func);
        }
    }
    Ok(new)
}

fn marked(store: &mut Store, func: PrimFunc, callee: &Callee) -> PrimFunc {
    let symbol = AttrValue::Str(store.name(&callee.symbol));
    let launch = AttrValue::Array(callee.launch.iter().map(|tag| AttrValue::Str(store.name(tag))).collect());
    let mut attrs = func.attrs;
    for (key, value) in [
        ("tirx.is_global_func", AttrValue::Bool(true)),
        ("calling_conv", AttrValue::Int { value: 2, bits: 64 }),
        ("tirx.kernel_launch_params", launch),
        ("global_symbol", symbol),
    ] {
        attrs = Some(store.with_attr(attrs, key, value));
    }
    PrimFunc { attrs, ret: None, ..func }
}

impl Callee {
    fn of(store: &mut Store, name: Id<Name>, func: &PrimFunc) -> Result<Callee, String> {
        let shown = store.str(name).to_owned();
        let target = store.attr(func.attrs, "target").cloned();
        let Some(target) = target else { return Err(format!("{shown} has no target: BindTarget does that")) };
        let target = targets::without_host(store, &target);
        let mut launch = Vec::new();
        let asked = match store.attr(func.attrs, "tirx.kernel_launch_params") {
            Some(AttrValue::Array(tags)) => tags.to_vec(),
            _ => Vec::new(),
        };
        let mut found = Launch::default();
        found.stmt(store, func.body)?;
        let mut args = Vec::new();
        for (tag, extent) in found.extents {
            launch.push(tag);
            args.push(extent);
        }
        for flag in FLAGS {
            if asked.iter().any(|tag| matches!(tag, AttrValue::Str(tag) if store.str(*tag) == flag)) {
                launch.push(flag.to_owned());
            }
        }
        if let (None, Some(size)) = (found.said, found.inferred)
            && store.as_prim_int(size) == Some(0)
        {
            return Err(format!(
                "PrimFunc {shown} allocates dynamic shared memory with a placeholder extent but does not declare its size; \
                 annotate the kernel with tirx.dyn_smem_bytes"
            ));
        }
        if let Some(size) = found.said.or(found.inferred) {
            launch.push(DYNAMIC.to_owned());
            args.push(size);
        }
        let symbol = store.attr_str(func.attrs, "global_symbol").unwrap_or(&shown).to_owned();
        Ok(Callee { target, symbol, params: func.params.to_vec(), launch, args })
    }
}

/// The launch parameters of a kernel.
#[derive(Default)]
struct Launch {
    extents: Vec<(String, PrimId)>,
    /// Variables of the kernel in terms of its parameters.
    bound: FxHashMap<Id<Symbol>, PrimId>,
    said: Option<PrimId>,
    inferred: Option<PrimId>,
}

impl Launch {
    /// Visits a statement. Statements nest as deep as the parser's limit.
    fn stmt(&mut self, store: &mut Store, id: StmtId) -> Result<(), String> {
        match store.stmt(id).clone() {
            Stmt::Bind { var, value } => {
                let value = self.outside(store, value);
                self.bound.insert(var, value);
            }
            Stmt::Attr { node, key, value, .. } => match (store.str(key), node) {
                ("tirx.dyn_smem_bytes", _) => {
                    let earlier = self.said.replace(value);
                    if earlier.is_some() {
                        return Err("Only one tirx.dyn_smem_bytes declaration is allowed per kernel.".to_owned());
                    }
                }
                ("virtual_thread", _) => {}
                (_, AttrNode::Thread { tag, .. }) => {
                    let tag = store.str(tag).to_owned();
                    if !self.extents.iter().any(|(known, _)| *known == tag) {
                        let value = self.outside(store, value);
                        self.extents.push((tag, value));
                    }
                }
                _ => {}
            },
            Stmt::Alloc(buffer, _) if store.str(store.buffer(buffer).scope) == "shared.dyn" => {
                if self.inferred.is_some() {
                    return Err("Only one dynamic shared memory allocation is allowed.".to_owned());
                }
                let data = store.buffer(buffer).clone();
                let one = store.prim_int(1, DType::I32);
                let size = data.shape.iter().fold(one, |size, extent| binary(store, PrimOp::Mul, size, *extent));
                let bits = i64::from(if data.dtype.bits == 1 { 8 } else { data.dtype.bits }) * i64::from(data.dtype.lanes);
                let bytes = store.prim_int((bits + 7) / 8, DType::I64);
                let size = binary(store, PrimOp::Mul, size, bytes);
                self.inferred = Some(self.outside(store, size));
            }
            _ => {}
        }
        let mut inner = Vec::new();
        store.for_each_inner_stmt(id, |stmt| inner.push(stmt));
        inner.into_iter().try_for_each(|stmt| self.stmt(store, stmt))
    }

    fn outside(&self, store: &mut Store, value: PrimId) -> PrimId {
        substitute(store, value, &mut |_, symbol| self.bound.get(&symbol).copied())
    }
}

/// Rewrites calls.
struct Sites {
    callees: FxHashMap<Id<Name>, Callee>,
    /// The host of the caller's target, and the target without it.
    caller: Option<(Option<AttrValue>, AttrValue)>,
    launched: FxHashSet<Id<Name>>,
    external: FxHashSet<Id<Name>>,
}

impl StmtMutator for Sites {
    fn rule(&self) -> &'static str {
        "kernel launched"
    }

    fn prim(&mut self, cx: &mut Rewriting<'_>, _: PrimId, post: PrimId) -> PrimId {
        let PrimExpr::Call { op, args, dtype } = &*cx.store.prim_rc(post) else { return post };
        let Some(name) = cx.store.str(*op).strip_prefix('@').map(str::to_owned) else { return post };
        let name = cx.store.name(&name);
        let (Some(callee), Some((host, device))) = (self.callees.get(&name), &self.caller) else { return post };
        let caller = host.as_ref().unwrap_or(device);
        if callee.launch.is_empty() || host.is_none() {
            if targets::same(cx.store, caller, &callee.target) {
                return post;
            }
            if device_type(cx.store, caller) == device_type(cx.store, &callee.target) {
                self.external.insert(name);
                let mut external = vec![cx.store.prim(PrimExpr::Str(name))];
                external.extend(args);
                return cx.store.prim_call("call_extern", &external, *dtype);
            }
        }
        if args.len() != callee.params.len() {
            let message = format!(
                "Function {} accepts {} arguments as input, but is called using {} arguments",
                cx.store.str(name),
                callee.params.len(),
                args.len()
            );
            cx.fail("tir-split", message);
            return post;
        }
        self.launched.insert(name);
        let symbol = cx.store.name(&callee.symbol);
        let mut launch = vec![cx.store.prim(PrimExpr::Str(symbol))];
        launch.extend(args);
        for arg in &callee.args {
            let given = |symbol| callee.params.iter().position(|param| *param == PrimParam::Var(symbol)).map(|at| args[at]);
            launch.push(substitute(cx.store, *arg, &mut |_, symbol| given(symbol)));
        }
        let tags = AttrValue::Array(callee.launch.iter().map(|tag| AttrValue::Str(cx.store.name(tag))).collect());
        let (key, field) = (cx.store.name("tirx.CallFFIKernelAttr"), cx.store.name("launch_params"));
        let attrs = cx.store.attrs(Attrs { key, fields: [(field, tags)].into() });
        launch.push(cx.store.prim(PrimExpr::Attrs(attrs)));
        let result = if *dtype == DType::VOID { DType::I32 } else { *dtype };
        cx.store.prim_call("call_ffi_kernel", &launch, result)
    }
}

/// The body of a kernel: it returns nothing.
struct Kernel {
    /// True if it may return early.
    early: bool,
}

impl StmtMutator for Kernel {
    fn rule(&self) -> &'static str {
        "return of a kernel removed"
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        match *cx.store.stmt(id) {
            Stmt::Return(value) => {
                if cx.store.as_prim_int(value) != Some(0) {
                    cx.fail("tir-split", "Device kernel may only contain a successful return, return 0");
                    return Some(id);
                }
                Some(if self.early { id } else { cx.store.no_op() })
            }
            Stmt::Attr { key, body, .. } if cx.store.str(key) == "tirx.dyn_smem_bytes" => Some(cx.visit(self, body)),
            _ => None,
        }
    }
}
