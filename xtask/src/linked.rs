//! Reads the references between functions and statics from the linker's output, which lists them in full with
//! `--emit-relocs`: every place in code and data with an address or a slot of the function table, and the target of
//! that reference. Splitting needs them, because afterwards such a place is a number like any other.
//!
//! The format: <https://github.com/WebAssembly/tool-conventions/blob/main/Linking.md>.

use std::collections::HashMap;
use std::ops::Range;
use wasmparser::{
    DataKind, ImportSectionReader, KnownCustom, Linking, Name, Operator, Parser, Payload, RelocAddendKind, RelocationEntry,
    RelocationType, SymbolInfo, TypeRef,
};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The references of an item, apart from the functions that it calls by name.
#[derive(Default)]
pub struct Uses {
    /// Functions that it holds a pointer to, by their mangled names.
    pub functions: Vec<String>,
    /// Indices into `Linked::statics`.
    pub statics: Vec<usize>,
}

/// A static of the program: a text, a table, the target of a constant expression.
pub struct Static {
    /// Its place in memory, in bytes.
    pub place: Range<u32>,
    /// Nothing writes it.
    pub constant: bool,
    pub uses: Uses,
}

/// The functions of a module, by their mangled names, and its statics.
pub struct Linked {
    pub functions: HashMap<String, Uses>,
    pub statics: Vec<Static>,
}

/// A segment of data: its name, its place in memory and its place in the section.
struct Segment {
    name: String,
    memory: u32,
    file: usize,
}

/// A symbol as relocations name it.
enum Symbol {
    Function(u32),
    Static(usize),
    Other,
}

/// The parts of the file, by offsets into it.
#[derive(Default)]
struct Sections<'a> {
    /// The number of imported functions: their indices come first.
    imported: u32,
    /// The bodies of functions.
    bodies: Vec<Range<usize>>,
    /// Index and beginning of the sections of code and data.
    code: Option<(u32, usize)>,
    data: Option<(u32, usize)>,
    segments: Vec<Segment>,
    /// Names of functions.
    names: HashMap<u32, String>,
    symbols: Vec<SymbolInfo<'a>>,
    /// With the index of the section that they are about.
    relocations: Vec<(u32, Vec<RelocationEntry>)>,
}

impl<'a> Sections<'a> {
    fn read(wasm: &'a [u8]) -> Result<Sections<'a>> {
        let mut found = Sections::default();
        let mut segment_names = HashMap::<u32, String>::new();
        let mut sections = 0;
        for payload in Parser::new(0).parse_all(wasm) {
            let payload = payload?;
            let index = sections;
            sections += u32::from(payload.as_section().is_some());
            match payload {
                Payload::ImportSection(imports) => found.imported = functions_among(imports)?,
                Payload::CodeSectionStart { range, .. } => found.code = Some((index, range.start)),
                Payload::CodeSectionEntry(body) => found.bodies.push(body.range()),
                Payload::DataSection(reader) => {
                    found.data = Some((index, reader.range().start));
                    for segment in reader {
                        let segment = segment?;
                        let file = segment.range.end - segment.data.len();
                        let DataKind::Active { offset_expr, .. } = segment.kind else { return Err("a passive segment".into()) };
                        let Operator::I32Const { value } = offset_expr.get_operators_reader().read()? else {
                            return Err("a segment at a place that is not a constant".into());
                        };
                        found.segments.push(Segment { name: String::new(), memory: value as u32, file });
                    }
                }
                Payload::CustomSection(section) => match section.as_known() {
                    KnownCustom::Linking(reader) => {
                        for part in reader.subsections() {
                            if let Linking::SymbolTable(symbols) = part? {
                                found.symbols = symbols.into_iter().collect::<std::result::Result<_, _>>()?;
                            }
                        }
                    }
                    KnownCustom::Reloc(reader) => {
                        let entries = reader.entries().into_iter().collect::<std::result::Result<_, _>>()?;
                        found.relocations.push((reader.section_index(), entries));
                    }
                    KnownCustom::Name(reader) => {
                        for part in reader {
                            let (map, into) = match part? {
                                Name::Function(map) => (map, &mut found.names),
                                Name::Data(map) => (map, &mut segment_names),
                                _ => continue,
                            };
                            for naming in map {
                                let naming = naming?;
                                into.insert(naming.index, naming.name.to_owned());
                            }
                        }
                    }
                    _ => {}
                },
                _ => {}
            }
        }
        for name in found.names.values_mut() {
            name.truncate(without_schema(name).len());
        }
        for (index, segment) in (0..).zip(&mut found.segments) {
            segment.name = segment_names.remove(&index).unwrap_or_default();
        }
        Ok(found)
    }

    /// Returns the name of the function with this body.
    fn name(&self, body: usize) -> Result<&String> {
        Ok(self.names.get(&(self.imported + body as u32)).ok_or("a function without a name")?)
    }
}

impl Linked {
    /// Reads a module that was linked with `--emit-relocs`.
    pub fn read(wasm: &[u8]) -> Result<Linked> {
        let sections = Sections::read(wasm)?;
        let mut statics = Vec::new();
        let mut symbols = Vec::with_capacity(sections.symbols.len());
        // The place of each static in the file.
        let mut files = Vec::<(Range<usize>, usize)>::new();
        for info in &sections.symbols {
            symbols.push(match info {
                SymbolInfo::Func { index, .. } => Symbol::Function(*index),
                SymbolInfo::Data { symbol: Some(place), .. } => {
                    let segment = sections.segments.get(place.index as usize).ok_or("a symbol in no segment")?;
                    let (start, file) = (segment.memory + place.offset, segment.file + place.offset as usize);
                    files.push((file..file + place.size as usize, statics.len()));
                    let constant = segment.name.starts_with(".rodata");
                    statics.push(Static { place: start..start + place.size, constant, uses: Uses::default() });
                    Symbol::Static(statics.len() - 1)
                }
                _ => Symbol::Other,
            });
        }
        if statics.is_empty() || sections.relocations.is_empty() {
            return Err("the linker left no relocations".into());
        }
        files.sort_by_key(|(file, _)| (file.start, file.end));

        let mut functions = HashMap::<String, Uses>::new();
        for body in 0..sections.bodies.len() {
            functions.entry(sections.name(body)?.clone()).or_default();
        }
        for (section, entries) in &sections.relocations {
            for entry in entries {
                let offset = entry.offset as usize;
                let add = |uses: &mut Uses| refer(uses, entry, &symbols, &sections.names);
                if let Some((_, start)) = sections.code.filter(|(index, _)| index == section) {
                    let after = sections.bodies.partition_point(|body| body.start <= start + offset);
                    let body = after.checked_sub(1).filter(|&body| sections.bodies[body].contains(&(start + offset)));
                    let name = sections.name(body.ok_or("a relocation outside of functions")?)?;
                    functions.get_mut(name).map_or(Ok(()), add)?;
                } else if let Some((_, start)) = sections.data.filter(|(index, _)| index == section) {
                    let place = start + offset;
                    let after = files.partition_point(|(file, _)| file.start <= place);
                    // Of statics that lie over each other, which few do, each refers to it.
                    let mut owners = files[..after].iter().rev().take(16).filter(|(file, _)| file.contains(&place)).peekable();
                    owners.peek().ok_or("a relocation outside of statics")?;
                    owners.try_for_each(|&(_, owner)| add(&mut statics[owner].uses))?;
                }
            }
        }
        Ok(Linked { functions, statics })
    }
}

/// Returns the name of an exported function without wasm-bindgen's temporary mark: sixteen digits.
fn without_schema(name: &str) -> &str {
    match name.rsplit_once('_') {
        Some((start, mark)) if mark.len() == 16 && mark.bytes().all(|digit| digit.is_ascii_hexdigit()) => start,
        _ => name,
    }
}

fn functions_among(imports: ImportSectionReader) -> Result<u32> {
    let mut count = 0;
    for import in imports.into_imports() {
        count += u32::from(matches!(import?.ty, TypeRef::Func(_) | TypeRef::FuncExact(_)));
    }
    Ok(count)
}

/// Adds the reference of a relocation. Calls are left out: they can be read off the code.
fn refer(uses: &mut Uses, entry: &RelocationEntry, symbols: &[Symbol], names: &HashMap<u32, String>) -> Result<()> {
    use RelocationType::{FunctionIndexLeb, GlobalIndexLeb, TableIndexI32, TableIndexSleb, TableNumberLeb, TypeIndexLeb};
    // The index of one is that of a type, and no symbol's.
    if matches!(entry.ty, TypeIndexLeb | FunctionIndexLeb | GlobalIndexLeb | TableNumberLeb) {
        return Ok(());
    }
    let symbol = symbols.get(entry.index as usize).ok_or("a relocation of no symbol")?;
    match (symbol, entry.ty) {
        (Symbol::Function(index), TableIndexSleb | TableIndexI32) => {
            uses.functions.push(names.get(index).ok_or("a pointer to a function without a name")?.clone());
        }
        (Symbol::Static(index), ty) if ty.addend_kind() == RelocAddendKind::Addend32 => uses.statics.push(*index),
        (_, ty) => return Err(format!("a relocation of the unexpected kind {ty:?}").into()),
    }
    Ok(())
}
