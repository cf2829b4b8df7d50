//! Splits the engine's WebAssembly in two, so that a visitor waits only for what a first program needs.
//!
//! Functions are chosen by the modules that they stand in; with them goes whatever only they call. In the first half a
//! stub takes the place of each: it sees to it that the other half is there (the import that `src/wasm` declares as
//! `loadSecond`) and calls on through the function table, whose slots the other half fills when it is instantiated. The
//! halves share memory, table and globals. No code of the engine knows of the split.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use walrus::ir::{UnaryOp, Value, Visitor, dfs_in_order};
use walrus::{
    ConstExpr, ElementItems, ElementKind, FunctionBuilder, FunctionId, FunctionKind, GlobalKind, ImportedFunction, Module,
    ModuleConfig, TableId, ValType,
};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The modules of the engine that a first program in Relay does without: the other dialect, operators and kernels that are
/// seldom met, and what only scripts of the user call. Nothing breaks when one is called after all: it is fetched then.
const SECOND: &[&str] = &[
    "build::",
    "eval::relax::",
    "eval::tir::",
    "infer::relax::",
    "ir::equal::prim::",
    "ops::dynamic::",
    "ops::image::",
    "ops::nn::bitserial::",
    "ops::nn::conv_kernel::",
    "ops::nn::conv_transpose::",
    "ops::nn::loss::",
    "ops::nn::misc::",
    "ops::nn::pool_kernel::",
    "ops::nn::space",
    "ops::nn::sparse::",
    "ops::nn::winograd::",
    "ops::qnn::",
    "ops::random::",
    "ops::relax::",
    "ops::special::",
    "ops::tensor::arrange_kernels::",
    "ops::tensor::einsum::",
    "ops::tensor::fourier::",
    "ops::tensor::index_kernels::",
    "ops::tensor::reduce_kernels::",
    "ops::tensor::scatter_kernels::",
    "ops::tensor::sort_kernels::",
    "ops::vision::",
    "parse::relax::",
    "parse::relay::ndarray::",
    "parse::relay::section::",
    "parse::script::",
    "parse::tir::",
    "passes::any::apply_pass_to_function::",
    "passes::relax::",
    "passes::relay::annotate_spans::",
    "passes::relay::annotate_target::",
    "passes::relay::capture_post_dfs_index_in_spans::",
    "passes::relay::combine_parallel",
    "passes::relay::convert_layout::",
    "passes::relay::defuse_ops::",
    "passes::relay::div_to_mul::",
    "passes::relay::dynamic_to_static::",
    "passes::relay::eta_expand::",
    "passes::relay::fake_quantization_to_integer::",
    "passes::relay::fast_math::",
    "passes::relay::first_order_gradient::",
    "passes::relay::fold_explicit_padding::",
    "passes::relay::inline::",
    "passes::relay::lambda_lift::",
    "passes::relay::lazy_gradient_init::",
    "passes::relay::manifest_lifetimes::",
    "passes::relay::merge_compiler_regions::",
    "passes::relay::partial_evaluate::",
    "passes::relay::partition_graph::",
    "passes::relay::support::affine::",
    "passes::relay::support::combine",
    "passes::relay::support::let_lists::",
    "passes::relay::support::normal_form::",
    "passes::relay::support::regions::",
    "passes::relay::support::scope::",
    "passes::relay::to_a_normal_form::",
    "passes::relay::to_basic_block_normal_form::",
    "passes::relay::to_graph_normal_form::",
    "passes::relay::to_mixed_precision::",
    "pattern::",
    "print::metadata::",
    "print::relax::",
    "print::script::",
    "print::tir::",
    "session::beside::",
    "session::files::",
    "session::graph::",
    "session::history::",
    "session::place::",
    "session::trial::",
    "session::values::",
    "tir::",
    "topi::",
    "verify::relax::",
    "wasm::user::",
    "wasm::values::",
];

/// Instructions of a function that is left where it is, being about as small as what would stand for it.
const STUB: u64 = 40;

/// The two halves. Imports of the second are the exports of the first, by the module name `first`.
pub struct Halves {
    pub first: Vec<u8>,
    pub second: Vec<u8>,
}

/// Splits a module whose functions still have their demangled names.
pub fn split(wasm: &[u8]) -> Result<Halves> {
    let mut first = parse(wasm)?;
    let mut second = parse(wasm)?;
    let moved = moved(&first);
    let table = first.tables.main_function_table()?.ok_or("the engine has no function table")?;
    let loader = loader(&first)?;
    let slots = slots(&first, table, &moved)?;
    let shared = called_from(&first, &moved);
    put_stubs(&mut first, table, loader, &slots, &shared)?;
    keep_only(&mut second, &slots, &shared)?;
    walrus::passes::gc::run(&mut first);
    walrus::passes::gc::run(&mut second);
    Ok(Halves { first: first.emit_wasm(), second: second.emit_wasm() })
}

fn parse(wasm: &[u8]) -> Result<Module> {
    Ok(ModuleConfig::new().generate_name_section(false).generate_producers_section(false).parse(wasm)?)
}

/// Does this function stand in one of the modules of the second half? Methods of a trait are named `<type as trait>::method`.
fn is_named(name: &str) -> bool {
    let name = name.trim_start_matches(['<', '&', '*', '(', '[']).trim_start_matches("mut ").trim_start_matches("dyn ");
    name.strip_prefix("passlab::").is_some_and(|path| SECOND.iter().any(|prefix| path.starts_with(prefix)))
}

struct Calls<'m> {
    found: &'m mut Vec<FunctionId>,
}

impl<'m> Visitor<'m> for Calls<'_> {
    fn visit_function_id(&mut self, function: &FunctionId) {
        self.found.push(*function);
    }
}

fn calls(module: &Module, function: FunctionId) -> Vec<FunctionId> {
    let mut found = Vec::new();
    if let FunctionKind::Local(local) = &module.funcs.get(function).kind {
        dfs_in_order(&mut Calls { found: &mut found }, local, local.entry_block());
    }
    found
}

/// The functions in element segments, with the slot of the table that each fills.
fn elements(module: &Module, wanted: TableId) -> Result<Vec<(u32, FunctionId)>> {
    let mut found = Vec::new();
    for element in module.elements.iter() {
        let (ElementKind::Active { table, offset }, ElementItems::Functions(functions)) = (&element.kind, &element.items) else {
            return Err("an element segment of an unknown kind".into());
        };
        let ConstExpr::Value(Value::I32(offset)) = offset else { return Err("an offset that is not a constant".into()) };
        if *table == wanted {
            found.extend((*offset as u32..).zip(functions.iter().copied()));
        }
    }
    Ok(found)
}

/// The functions that go: those that are named, and those that nothing else reaches.
fn moved(module: &Module) -> BTreeSet<FunctionId> {
    let pointed: HashSet<FunctionId> = (module.elements.iter())
        .flat_map(|element| match &element.items {
            ElementItems::Functions(functions) => functions.clone(),
            ElementItems::Expressions(..) => Vec::new(),
        })
        .collect();
    // Of equal functions the compiler keeps one, under whichever name. Those that are called through a pointer are mostly
    // small closures, which both halves may have: they stay, where a stub would hardly be smaller.
    let small: HashSet<FunctionId> =
        module.funcs.iter_local().filter(|(id, local)| local.size() <= STUB && pointed.contains(id)).map(|(id, _)| id).collect();
    let named: HashSet<FunctionId> = module
        .funcs
        .iter_local()
        .map(|(id, _)| id)
        .filter(|id| !small.contains(id) && module.funcs.get(*id).name.as_deref().is_some_and(is_named))
        .collect();
    let exported = module.exports.iter().filter_map(|export| match export.item {
        walrus::ExportItem::Function(function) => Some(function),
        _ => None,
    });
    // An exported function has to stay, whatever its name.
    let mut kept: HashSet<FunctionId> = exported.chain(module.start).collect();
    kept.extend(pointed.into_iter().filter(|function| !named.contains(function)));
    let mut waiting: Vec<FunctionId> = kept.iter().copied().collect();
    while let Some(function) = waiting.pop() {
        for callee in calls(module, function) {
            if !named.contains(&callee) && kept.insert(callee) {
                waiting.push(callee);
            }
        }
    }
    module.funcs.iter_local().map(|(id, _)| id).filter(|id| !kept.contains(id)).collect()
}

/// The imported function that fetches the second half.
fn loader(first: &Module) -> Result<FunctionId> {
    let import = first.imports.iter().find(|import| import.name.contains("loadSecond")).ok_or("nothing imports `loadSecond`")?;
    match import.kind {
        walrus::ImportKind::Function(function) => Ok(function),
        _ => Err("`loadSecond` is no function".into()),
    }
}

/// The slot of the table through which each moved function is called, and further slots that point to it.
struct Slots {
    of: BTreeMap<FunctionId, Vec<u32>>,
    /// The size that the table needs.
    size: u32,
}

fn slots(first: &Module, table: TableId, moved: &BTreeSet<FunctionId>) -> Result<Slots> {
    let mut of: BTreeMap<FunctionId, Vec<u32>> = BTreeMap::new();
    for (slot, function) in elements(first, table)? {
        if moved.contains(&function) {
            of.entry(function).or_default().push(slot);
        }
    }
    let mut size = u32::try_from(first.tables.get(table).initial)?;
    // What is only called from the second half itself needs no slot.
    let stays = first.funcs.iter_local().map(|(id, _)| id).filter(|id| !moved.contains(id));
    for callee in stays.flat_map(|function| calls(first, function)) {
        if moved.contains(&callee) && !of.contains_key(&callee) {
            of.insert(callee, vec![size]);
            size += 1;
        }
    }
    Ok(Slots { of, size })
}

/// What the second half calls and does not hold, with the name under which the first exports it.
fn called_from(whole: &Module, moved: &BTreeSet<FunctionId>) -> BTreeMap<FunctionId, String> {
    let mut found = BTreeMap::new();
    for callee in moved.iter().flat_map(|&function| calls(whole, function)) {
        let next = format!("f{}", found.len());
        if !moved.contains(&callee) {
            found.entry(callee).or_insert(next);
        }
    }
    found
}

fn put_stubs(
    first: &mut Module,
    table: TableId,
    loader: FunctionId,
    slots: &Slots,
    shared: &BTreeMap<FunctionId, String>,
) -> Result<()> {
    let loaded = first.globals.add_local(ValType::I32, true, false, ConstExpr::Value(Value::I32(0)));
    for (&function, slots) in &slots.of {
        let ty = first.funcs.get(function).ty();
        let (params, results) = (first.types.params(ty).to_vec(), first.types.results(ty).to_vec());
        let args: Vec<_> = params.iter().map(|ty| first.locals.add(*ty)).collect();
        let mut builder = FunctionBuilder::new(&mut first.types, &params, &results);
        let mut body = builder.func_body();
        body.global_get(loaded).unop(UnaryOp::I32Eqz).if_else(
            None,
            |then| {
                then.call(loader).i32_const(1).global_set(loaded);
            },
            |_| {},
        );
        for &arg in &args {
            body.local_get(arg);
        }
        body.i32_const(slots[0] as i32).call_indirect(ty, table);
        first.funcs.get_mut(function).kind = FunctionKind::Local(builder.local_func(args));
    }
    for (&function, name) in shared {
        first.exports.add(name, function);
    }
    let globals: Vec<_> = first.globals.iter().map(walrus::Global::id).filter(|&id| id != loaded).collect();
    for (index, global) in globals.into_iter().enumerate() {
        first.exports.add(&format!("g{index}"), global);
    }
    let memory = first.get_memory_id()?;
    first.exports.add("m", memory);
    let tables: Vec<_> = first.tables.iter().map(walrus::Table::id).collect();
    for (index, table) in tables.into_iter().enumerate() {
        first.exports.add(&format!("t{index}"), table);
    }
    let table = first.tables.get_mut(table);
    table.initial = slots.size.into();
    table.maximum = table.maximum.map(|most| most.max(slots.size.into()));
    Ok(())
}

/// Turns the whole engine into its second half: everything that is not moved comes from the first.
fn keep_only(second: &mut Module, slots: &Slots, shared: &BTreeMap<FunctionId, String>) -> Result<()> {
    // The same bytes were numbered alike, so a place in one module means the same function in the other.
    let twins: Vec<FunctionId> = second.funcs.iter().map(walrus::Function::id).collect();
    let table = second.tables.main_function_table()?.ok_or("the engine has no function table")?;
    let gone: Vec<_> = second.exports.iter().map(walrus::Export::id).collect();
    gone.into_iter().for_each(|id| second.exports.delete(id));
    let gone: Vec<_> = second.elements.iter().map(walrus::Element::id).collect();
    gone.into_iter().for_each(|id| second.elements.delete(id));
    let gone: Vec<_> = second.data.iter().map(walrus::Data::id).collect();
    gone.into_iter().for_each(|id| second.data.delete(id));
    second.start = None;

    for (&function, name) in shared {
        let function = twins[function.index()];
        let ty = second.funcs.get(function).ty();
        // What JavaScript gives to the first half comes from there too.
        if let FunctionKind::Import(old) = &second.funcs.get(function).kind {
            second.imports.delete(old.import);
        }
        let import = second.imports.add("first", name, function);
        second.funcs.get_mut(function).kind = FunctionKind::Import(ImportedFunction { import, ty });
    }
    let globals: Vec<_> = second.globals.iter().map(walrus::Global::id).collect();
    for (index, global) in globals.into_iter().enumerate() {
        let import = second.imports.add("first", &format!("g{index}"), global);
        second.globals.get_mut(global).kind = GlobalKind::Import(import);
    }
    let memory = second.get_memory_id()?;
    let import = second.imports.add("first", "m", memory);
    let memory = second.memories.get_mut(memory);
    memory.import = Some(import);
    memory.data_segments.clear();
    let tables: Vec<_> = second.tables.iter().map(walrus::Table::id).collect();
    for (index, table) in tables.into_iter().enumerate() {
        let import = second.imports.add("first", &format!("t{index}"), table);
        let table = second.tables.get_mut(table);
        table.import = Some(import);
        table.elem_segments.clear();
    }
    let shared_table = second.tables.get_mut(table);
    shared_table.initial = slots.size.into();
    shared_table.maximum = shared_table.maximum.map(|most| most.max(slots.size.into()));

    // One segment for each run of neighbouring slots.
    let mut filled: Vec<(u32, FunctionId)> =
        slots.of.iter().flat_map(|(&function, slots)| slots.iter().map(move |&slot| (slot, function))).collect();
    filled.sort_unstable_by_key(|(slot, _)| *slot);
    for run in filled.chunk_by(|a, b| a.0 + 1 == b.0) {
        let offset = ConstExpr::Value(Value::I32(run[0].0 as i32));
        let items = ElementItems::Functions(run.iter().map(|(_, function)| twins[function.index()]).collect());
        let id = second.elements.add(ElementKind::Active { table, offset }, items);
        second.tables.get_mut(table).elem_segments.insert(id);
    }
    Ok(())
}
