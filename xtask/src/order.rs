//! Puts functions that resemble each other side by side, so that a module is smaller after compression.
//!
//! A compressor names a repetition by its distance, and near ones are cheap; generic code is a thousand functions that differ
//! in a few bytes. Within the functions of one type, each is followed by the one that shares most with it. The order has no
//! meaning to a program: indices are renumbered. Measured on the engine: the halves weigh 2.5% and 2.9% less after brotli.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::convert::Infallible;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use wasm_encoder::reencode::{Error, Reencode, utils};
use wasm_encoder::{CodeSection, FunctionSection, Module};
use wasmparser::{CodeSectionReader, FunctionBody, FunctionSectionReader, Parser, Payload, TypeRef};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The length in bytes of the pieces that two functions are compared by.
const PIECE: usize = 6;
/// One piece of so many is looked at, chosen by its hash, so that the same ones are chosen in every function.
const SAMPLE: u64 = 3;
/// A piece of more functions than this says little about any, and comparing by it would be quadratic.
const COMMON: usize = 600;

/// Returns the module with its functions in an order that compresses well.
pub fn order(wasm: &[u8]) -> Result<Vec<u8>> {
    let mut renumber = Renumber::of(wasm)?;
    let mut module = Module::new();
    renumber.parse_core_module(&mut module, Parser::new(0), wasm).map_err(|error| error.to_string())?;
    Ok(module.finish())
}

/// The new numbers of functions, for the module that is written again with them.
struct Renumber {
    /// Imported functions come first and keep their numbers.
    imports: u32,
    /// For each new place of a function, its old one.
    order: Vec<usize>,
    /// For each old place, the new one.
    place: Vec<u32>,
}

impl Renumber {
    fn of(wasm: &[u8]) -> Result<Renumber> {
        let (mut imports, mut types, mut bodies) = (0, Vec::new(), Vec::new());
        for payload in Parser::new(0).parse_all(wasm) {
            match payload? {
                Payload::ImportSection(section) => {
                    for import in section.into_imports() {
                        imports += u32::from(matches!(import?.ty, TypeRef::Func(_)));
                    }
                }
                Payload::FunctionSection(section) => {
                    types = section.into_iter().collect::<std::result::Result<_, _>>()?;
                }
                Payload::CodeSectionEntry(body) => bodies.push(body.as_bytes()),
                _ => {}
            }
        }
        let order = chain(&types, &bodies);
        let mut place = vec![0; order.len()];
        for (new, &old) in order.iter().enumerate() {
            place[old] = u32::try_from(new)?;
        }
        Ok(Renumber { imports, order, place })
    }
}

impl Reencode for Renumber {
    type Error = Infallible;

    fn function_index(&mut self, function: u32) -> std::result::Result<u32, Error<Infallible>> {
        let local = function.checked_sub(self.imports);
        Ok(local.map_or(function, |old| self.imports + self.place[old as usize]))
    }

    fn parse_function_section(
        &mut self,
        functions: &mut FunctionSection,
        section: FunctionSectionReader<'_>,
    ) -> std::result::Result<(), Error<Infallible>> {
        let types = section.into_iter().collect::<std::result::Result<Vec<u32>, _>>()?;
        for &old in &self.order {
            functions.function(types[old]);
        }
        Ok(())
    }

    fn parse_code_section(
        &mut self,
        code: &mut CodeSection,
        section: CodeSectionReader<'_>,
    ) -> std::result::Result<(), Error<Infallible>> {
        let bodies = section.into_iter().collect::<std::result::Result<Vec<FunctionBody>, _>>()?;
        for old in self.order.clone() {
            utils::parse_function_body(self, code, bodies[old].clone())?;
        }
        Ok(())
    }
}

/// Returns the functions, by their places, type after type and within each as neighbours that resemble each other: a greedy
/// path, which begins anew where nothing is left that shares anything.
fn chain(types: &[u32], bodies: &[&[u8]]) -> Vec<usize> {
    let mut groups = BTreeMap::<u32, Vec<usize>>::new();
    for (function, &ty) in types.iter().enumerate() {
        groups.entry(ty).or_default().push(function);
    }
    let mut order = Vec::with_capacity(types.len());
    for mut group in groups.into_values() {
        // Beginnings tell locals and first instructions: a fair order by themselves.
        group.sort_by_key(|&function| bodies[function]);
        let pieces: Vec<Vec<u64>> = group.iter().map(|&function| pieces(bodies[function])).collect();
        order.extend(neighbours(&pieces).into_iter().map(|member| group[member]));
    }
    order
}

/// Returns the hashes of the pieces of a body that are looked at, each once.
fn pieces(body: &[u8]) -> Vec<u64> {
    let hasher = BuildHasherDefault::<DefaultHasher>::default();
    let hashes = body.windows(PIECE).map(|piece| hasher.hash_one(piece));
    let chosen: BTreeSet<u64> = hashes.filter(|hash| hash % SAMPLE == 0).collect();
    chosen.into_iter().collect()
}

/// Returns the members of a group so that each is followed by the one that shares most with it, for the size of both.
fn neighbours(pieces: &[Vec<u64>]) -> Vec<usize> {
    let mut holders = HashMap::<u64, Vec<usize>>::new();
    for (member, pieces) in pieces.iter().enumerate() {
        for &piece in pieces {
            holders.entry(piece).or_default().push(member);
        }
    }
    holders.retain(|_, holders| (2..=COMMON).contains(&holders.len()));
    let mut left = vec![true; pieces.len()];
    let mut order = Vec::with_capacity(pieces.len());
    let (mut next, mut shared) = (0, vec![0.0; pieces.len()]);
    while next < pieces.len() {
        if !left[next] {
            next += 1;
            continue;
        }
        let mut follows = Some(next);
        while let Some(member) = follows {
            left[member] = false;
            order.push(member);
            follows = closest(member, pieces, &holders, &left, &mut shared);
        }
    }
    order
}

/// Returns the member that is left and shares most with this one. `shared` is zero for all, before and after.
fn closest(
    of: usize,
    pieces: &[Vec<u64>],
    holders: &HashMap<u64, Vec<usize>>,
    left: &[bool],
    shared: &mut [f64],
) -> Option<usize> {
    let mut met = Vec::new();
    for holders in pieces[of].iter().filter_map(|piece| holders.get(piece)) {
        // A piece that few have says more.
        let weight = 1.0 / (1.0 + holders.len() as f64).log2();
        for &member in holders.iter().filter(|&&member| left[member]) {
            if shared[member] == 0.0 {
                met.push(member);
            }
            shared[member] += weight;
        }
    }
    let size = |member: usize| (pieces[of].len() + pieces[member].len() + 8) as f64;
    let scored = met.into_iter().map(|member| (std::mem::take(&mut shared[member]) / size(member), member));
    scored.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1))).map(|(_, member)| member)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wasm_encoder::{ExportKind, ExportSection, Function, TypeSection, ValType};
    use wasmparser::Operator;

    /// A function that adds these constants.
    fn adds(constants: &[i32]) -> Function {
        let mut function = Function::new([]);
        let mut code = function.instructions();
        code.i32_const(0);
        for &constant in constants {
            code.i32_const(constant).i32_add();
        }
        code.end();
        function
    }

    /// Functions of one shape stand apart here, in an order that is not theirs after.
    #[test]
    fn calls_and_exports_name_the_functions_that_they_did_before() {
        let (mut types, mut functions) = (TypeSection::new(), FunctionSection::new());
        let (mut exports, mut code) = (ExportSection::new(), CodeSection::new());
        types.ty().function([], [ValType::I32]);
        types.ty().function([ValType::I64], [ValType::I32]);
        let of: Vec<Vec<i32>> = (0..6).map(|at| (0..20).map(|k| if at % 2 == 0 { k } else { 1000 + k * k }).collect()).collect();
        for (at, constants) in (0..).zip(&of) {
            functions.function(0);
            code.function(&adds(constants));
            exports.export(&format!("f{at}"), ExportKind::Func, at);
        }
        // Of another type, and calls the second one.
        functions.function(1);
        let mut caller = Function::new([]);
        caller.instructions().call(1).end();
        code.function(&caller);
        let mut module = Module::new();
        module.section(&types).section(&functions).section(&exports).section(&code);
        let ordered = order(&module.finish()).expect("it is a module");
        wasmparser::validate(&ordered).expect("it still is");

        let (mut named, mut bodies) = (HashMap::new(), Vec::new());
        for payload in Parser::new(0).parse_all(&ordered) {
            match payload.expect("it is valid") {
                Payload::ExportSection(section) => {
                    named.extend(section.into_iter().flatten().map(|export| (export.name, export.index as usize)));
                }
                Payload::CodeSectionEntry(body) => {
                    let operators = body.get_operators_reader().expect("it has code").into_iter().flatten();
                    bodies.push(operators.collect::<Vec<_>>());
                }
                _ => {}
            }
        }
        let constants = |at: usize| -> Vec<i32> {
            let values = bodies[at].iter().filter_map(|operator| match operator {
                Operator::I32Const { value } => Some(*value),
                _ => None,
            });
            values.skip(1).collect()
        };
        let places: Vec<usize> = (0..6).map(|at| named[format!("f{at}").as_str()]).collect();
        for (place, expected) in places.iter().zip(&of) {
            assert_eq!(constants(*place), *expected);
        }
        assert_ne!(places, (0..6).collect::<Vec<_>>(), "nothing was moved");
        let [Operator::Call { function_index }, _] = bodies[6][..] else { panic!("it called") };
        assert_eq!(function_index as usize, places[1]);
    }
}
