//! Splits the engine's WebAssembly in two, so that a visitor waits only for the part that a first program needs.
//!
//! Functions are chosen by the modules that they stand in; the functions called only by those and the statics that only
//! they refer to (`linked`) go with them. If the first half needs such a function, a stub takes its place: it loads the
//! other half (the import that `src/wasm` declares as `loadSecond`) and calls on through the function table, whose
//! slots the other half fills when it is instantiated. The halves share memory, table and globals. No code of the
//! engine knows of the split.

use crate::kept::{Kept, calls};
use crate::linked::Linked;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;
use walrus::ir::{UnaryOp, Value};
use walrus::{
    ConstExpr, DataKind, ElementItems, ElementKind, FunctionBuilder, FunctionId, FunctionKind, GlobalKind, ImportedFunction,
    Module, ModuleConfig, TableId, ValType,
};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Bytes between two runs of statics that are written again rather than begin another segment.
const GAP: u32 = 8;

/// The two halves. Imports of the second are the exports of the first, by the module name `first`.
pub struct Halves {
    pub first: Vec<u8>,
    pub second: Vec<u8>,
}

/// Splits the engine as wasm-bindgen leaves it, with the names of its functions, by the linker's references.
pub fn split(linked: &[u8], bound: &[u8]) -> Result<Halves> {
    let (mut first, mut second) = (parse(bound)?, parse(bound)?);
    let linked = Linked::read(linked)?;
    let kept = Kept::of(&first, &linked)?;
    if std::env::var_os("PASSLAB_WEIGH").is_some() {
        kept.weigh(&first, &linked);
    }
    let moved: BTreeSet<FunctionId> =
        first.funcs.iter_local().map(|(id, _)| id).filter(|id| !kept.functions.contains(id)).collect();
    let table = first.tables.main_function_table()?.ok_or("the engine has no function table")?;
    let loader = loader(&first)?;
    let slots = slots(&first, table, &moved)?;
    let shared = called_from(&first, &moved);
    let taken = take_statics(&mut first, &kept.without(&linked))?;
    put_stubs(&mut first, table, loader, &slots, &kept, &shared)?;
    keep_only(&mut second, &slots, &shared, taken)?;
    walrus::passes::gc::run(&mut first);
    walrus::passes::gc::run(&mut second);
    Ok(Halves { first: first.emit_wasm(), second: second.emit_wasm() })
}

fn parse(wasm: &[u8]) -> Result<Module> {
    let mut module = ModuleConfig::new().generate_name_section(false).generate_producers_section(false).parse(wasm)?;
    // The linker's sections are used once, here.
    for name in ["linking", "reloc.CODE", "reloc.DATA"] {
        module.customs.remove_raw(name);
    }
    Ok(module)
}

/// Returns the functions in element segments, with the slot of the table that each fills.
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

/// Clears these places in the data of the first half; returns their bytes, each piece with its place.
fn take_statics(first: &mut Module, runs: &[Range<u32>]) -> Result<Vec<(u32, Vec<u8>)>> {
    let mut taken = Vec::<(u32, Vec<u8>)>::new();
    let ids: Vec<_> = first.data.iter().map(walrus::Data::id).collect();
    for id in ids {
        let data = first.data.get_mut(id);
        let DataKind::Active { offset: ConstExpr::Value(Value::I32(start)), .. } = data.kind else {
            return Err("a data segment of an unknown kind".into());
        };
        let start = start as u32;
        let inside = |run: &&Range<u32>| start <= run.start && run.end <= start + data.value.len() as u32;
        let inside: Vec<_> = runs.iter().filter(inside).map(|run| run.start - start..run.end - start).collect();
        // The gaps are padding, or constants that are written again as they are.
        for piece in inside.chunk_by(|a, b| b.start - a.end <= GAP) {
            let (from, to) = (piece[0].start, piece[piece.len() - 1].end);
            taken.push((start + from, data.value[from as usize..to as usize].to_vec()));
        }
        for run in inside {
            data.value[run.start as usize..run.end as usize].fill(0);
        }
    }
    Ok(taken)
}

/// Returns the imported function that fetches the second half.
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
    // A function called only from the second half itself needs no slot.
    let stays = first.funcs.iter_local().map(|(id, _)| id).filter(|id| !moved.contains(id));
    for callee in stays.flat_map(|function| calls(first, function)) {
        if moved.contains(&callee) && !of.contains_key(&callee) {
            of.insert(callee, vec![size]);
            size += 1;
        }
    }
    Ok(Slots { of, size })
}

/// Returns the callees of the second half that the first half holds, with the names of their exports.
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
    kept: &Kept,
    shared: &BTreeMap<FunctionId, String>,
) -> Result<()> {
    let called: HashSet<FunctionId> = kept.functions.iter().flat_map(|&function| calls(first, function)).collect();
    let loaded = first.globals.add_local(ValType::I32, true, false, ConstExpr::Value(Value::I32(0)));
    for (&function, slots) in &slots.of {
        if !called.contains(&function) && !kept.pointed.contains(&function) {
            continue;
        }
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
    // Leaves out slots that only the second half points to, as the second half fills them.
    let filled: Vec<(u32, FunctionId)> = elements(first, table)?
        .into_iter()
        .filter(|(_, function)| kept.functions.contains(function) || kept.pointed.contains(function))
        .collect();
    fill(first, table, &filled);
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
fn keep_only(
    second: &mut Module,
    slots: &Slots,
    shared: &BTreeMap<FunctionId, String>,
    statics: Vec<(u32, Vec<u8>)>,
) -> Result<()> {
    // The same bytes were numbered alike, so a place in one module means the same function in the other.
    let twins: Vec<FunctionId> = second.funcs.iter().map(walrus::Function::id).collect();
    let table = second.tables.main_function_table()?.ok_or("the engine has no function table")?;
    let gone: Vec<_> = second.exports.iter().map(walrus::Export::id).collect();
    gone.into_iter().for_each(|id| second.exports.delete(id));
    let gone: Vec<_> = second.data.iter().map(walrus::Data::id).collect();
    gone.into_iter().for_each(|id| second.data.delete(id));
    second.start = None;

    for (&function, name) in shared {
        let function = twins[function.index()];
        let ty = second.funcs.get(function).ty();
        // Imports of JavaScript in the first half come from there too.
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
    let memory = memory.id();
    for (place, bytes) in statics {
        let offset = ConstExpr::Value(Value::I32(place as i32));
        let id = second.data.add(DataKind::Active { memory, offset }, bytes);
        second.memories.get_mut(memory).data_segments.insert(id);
    }
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

    let mut filled: Vec<(u32, FunctionId)> = (slots.of.iter())
        .flat_map(|(&function, slots)| slots.iter().map(move |&slot| (slot, function)))
        .map(|(slot, function)| (slot, twins[function.index()]))
        .collect();
    filled.sort_unstable_by_key(|(slot, _)| *slot);
    fill(second, table, &filled);
    Ok(())
}

/// Makes these the elements of the table, in one segment for each run of neighbouring slots.
fn fill(module: &mut Module, table: TableId, filled: &[(u32, FunctionId)]) {
    let gone: Vec<_> = module.elements.iter().map(walrus::Element::id).collect();
    gone.into_iter().for_each(|id| module.elements.delete(id));
    module.tables.get_mut(table).elem_segments.clear();
    for run in filled.chunk_by(|a, b| a.0 + 1 == b.0) {
        let offset = ConstExpr::Value(Value::I32(run[0].0 as i32));
        let items = ElementItems::Functions(run.iter().map(|(_, function)| *function).collect());
        let id = module.elements.add(ElementKind::Active { table, offset }, items);
        module.tables.get_mut(table).elem_segments.insert(id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{setup, sh::target_dir};
    use std::process::Command;

    /// Stands in for the engine: both halves refer to one text, and each to another, one of them through a pointer.
    const PROGRAM: &str = r#"
        use std::hint::black_box;
        #[link(wasm_import_module = "page")]
        unsafe extern "C" {
            fn loadSecond();
        }
        fn sum(text: &str, of: usize) -> usize {
            black_box(text).bytes().map(|byte| byte as usize * of).sum()
        }
        const BOTH: &str = "a text of both halves";
        mod tir {
            use super::*;
            static TABLE: &[fn(usize) -> usize] = &[one, |of| sum("a text behind a pointer", of)];
            fn one(of: usize) -> usize {
                sum("a text of the second half", of)
            }
            #[inline(never)]
            pub fn length(of: usize) -> usize {
                black_box(TABLE).iter().map(|one| one(of)).sum::<usize>() + sum(BOTH, of)
            }
        }
        #[unsafe(no_mangle)]
        pub extern "C" fn start(of: usize) -> usize {
            if of == 7 {
                unsafe { loadSecond() }
            }
            sum("a text of the first half", of) + sum(BOTH, of) + tir::length(of)
        }
    "#;

    fn holds(wasm: &[u8], text: &str) -> bool {
        wasm.windows(text.len()).any(|part| part == text.as_bytes())
    }

    /// A static in the wrong half would be read as zeros, or weigh on every first visit.
    #[test]
    fn statics_go_with_the_functions_that_refer_to_them() {
        setup::wasm_target().expect("the target can be had");
        let folder = target_dir().join("split-test");
        std::fs::create_dir_all(&folder).expect("the target folder can be written");
        let (source, wasm) = (folder.join("passlab.rs"), folder.join("passlab.wasm"));
        std::fs::write(&source, PROGRAM).expect("it can be written");
        let mut rustc = Command::new("rustc");
        rustc.args(["--edition", "2024", "--crate-type", "cdylib", "--target", setup::WASM_TARGET]);
        rustc.args(["-O", "-C", "panic=abort", "-C", "strip=debuginfo", "-C", "link-arg=--emit-relocs"]);
        let compiled = rustc.arg("-o").arg(&wasm).arg(&source).status().expect("there is a rustc");
        assert!(compiled.success());

        let whole = std::fs::read(&wasm).expect("it was made");
        let halves = split(&whole, &whole).expect("it can be split");
        let where_is = |text: &str| (holds(&halves.first, text), holds(&halves.second, text));
        assert_eq!(where_is("a text of the first half"), (true, false));
        assert_eq!(where_is("a text of both halves"), (true, false));
        assert_eq!(where_is("a text of the second half"), (false, true));
        assert_eq!(where_is("a text behind a pointer"), (false, true));
        // Each is a module that a browser would take: it is read and checked again.
        for half in [&halves.first, &halves.second] {
            wasmparser::validate(half).expect("the half is valid");
        }
    }
}
