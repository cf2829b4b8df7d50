//! PartitionGraph: moves regions for other compilers into functions of the module.
//!
//! Four steps, as in TVM. A tuple that leaves a region leaves it field by field. Annotations for the compiler `default`
//! are removed. Each region becomes a global function with the attribute `Compiler`, and a call of it. Such functions
//! get the name of the module as a prefix. Inputs that are constants move into the function. A region with several
//! outputs returns a tuple.
//!
//! Does nothing outside of regions. The optimisations that a compiler registers (`relay.ext.*.optimize`) are not run.
//!
//! Source: `src/relay/transforms/partition_graph.cc`.

use super::support::copy::substitute;
use super::support::regions::{BEGIN, END, Region, RegionId, Regions, compiler};
use super::support::{is_external, with_dict_attrs};
use crate::diag::Diagnostic;
use crate::infer::infer_module;
use crate::ir::rewrite::{ExprMutator, Rewriting, Visit, rewrite};
use crate::ir::{AttrValue, Expr, ExprId, Function, Id, IdMap, List, Module, Name, Store, TypeId, VarId};
use crate::ops::build::{arg, call_attrs, is_call};
use crate::pass::{Args, Param, PassCx, PassError, PassSpec, Run, explained};
use rustc_hash::{FxHashMap, FxHashSet};

/// Moves each region into a global function with the attribute `Compiler`.
pub static SPEC: PassSpec = PassSpec {
    name: "PartitionGraph",
    info_name: "sequential",
    dialects: crate::pass::spec::RELAY,
    opt_level: 0,
    required: &[],
    params: &[
        Param { name: "mod_name", default: "\"default\"", doc: "What names of the new functions begin with." },
        Param { name: "bind_constants", default: "True", doc: "Constants that go into a region become a part of its function." },
    ],
    config: &[],
    summary: "Makes functions of the regions that are for external compilers.",
    doc: explained("What lies between `annotation.compiler_begin` and `annotation.compiler_end` is moved into a global function with the \
attributes `Compiler`, `Primitive` and `Inline`, which is called in its place. Its name has that of the module, the compiler, \
the function it comes from and a number: `tvmgen_default_ccompiler_main_0`."),
    example_before: explained("\
def @main(%x: Tensor[(4), float32]) {
  %0 = annotation.compiler_begin(%x, compiler=\"ccompiler\", attrs_type_key=\"relay.attrs.CompilerAttrs\");
  %1 = exp(%0);
  %2 = annotation.compiler_end(%1, compiler=\"ccompiler\", attrs_type_key=\"relay.attrs.CompilerAttrs\");
  negative(%2)
}
"),
    example_after: explained("\
def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  %0 = @tvmgen_default_ccompiler_main_0(%x);
  negative(%0)
}

def @tvmgen_default_ccompiler_main_0(%ccompiler_0_i0: Tensor[(4), float32], Compiler=\"ccompiler\", Primitive=1, Inline=1, global_symbol=\"tvmgen_default_ccompiler_main_0\") -> Tensor[(4), float32] {
  exp(%ccompiler_0_i0)
}
"),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, arguments: &Args) -> Result<Module, PassError> {
    let name = arguments.str("mod_name").unwrap_or_default();
    let prefix = if name.is_empty() { "tvmgen".to_owned() } else { format!("tvmgen_{name}") };
    let mut result = module.clone();
    for (name, function) in module.functions() {
        let flat = rewrite(cx.store, *function, &mut FlatOutputs);
        result.set_function(*name, rewrite(cx.store, flat, &mut NoDefault));
    }
    result = infer_module(cx.store, &result)?;
    let bind = arguments.bool("bind_constants");
    for (name, function) in result.clone().functions() {
        let done = partition(cx.store, &mut result, *name, *function, bind);
        done.map_err(|text| vec![Diagnostic::error("relay-compiler-regions", text, cx.store.source_span(*function))])?;
    }
    let named = mangled(cx.store, &result, &prefix);
    infer_module(cx.store, &named)
}

/// Replaces the end of a tuple by the ends of its fields.
struct FlatOutputs;

impl ExprMutator for FlatOutputs {
    fn rule(&self) -> &'static str {
        "tuple leaves its region field by field"
    }

    fn leave(&mut self, store: &mut Store, _: ExprId, post: ExprId) -> ExprId {
        if is_call(store, post, END)
            && let Expr::Tuple(fields) = store.expr(arg(store, post, 0))
        {
            let attrs = store.call(post).and_then(|call| call.attrs);
            let old: Vec<ExprId> = store.items(fields).collect();
            let new: Vec<ExprId> = old.iter().map(|field| call_attrs(store, END, &[*field], attrs)).collect();
            let fields = store.list(&new);
            return store.add(Expr::Tuple(fields));
        }
        post
    }
}

/// Removes annotations for `default`, which compiles the rest.
struct NoDefault;

impl ExprMutator for NoDefault {
    fn rule(&self) -> &'static str {
        "default region opened"
    }

    fn leave(&mut self, store: &mut Store, _: ExprId, post: ExprId) -> ExprId {
        let sign = is_call(store, post, BEGIN) || is_call(store, post, END);
        if sign && compiler(store, post) == "default" { arg(store, post, 0) } else { post }
    }
}

/// The function of a region while it is built.
#[derive(Default)]
struct Made {
    /// The parameters of its function, with their arguments.
    inputs: Vec<(VarId, ExprId)>,
    /// The parameter of each value from outside.
    known: FxHashMap<ExprId, VarId>,
    /// The values that leave the region, each once.
    outputs: Vec<ExprId>,
    /// The call of its function, which yields a tuple when there are several outputs.
    call: Option<ExprId>,
}

/// Moves the regions of a function into functions of their own, and adds those to `module`.
fn partition(store: &mut Store, module: &mut Module, name: Id<Name>, function: ExprId, bind: bool) -> Result<(), String> {
    let regions = Regions::of_function(store, function)?;
    let all: Vec<RegionId> = regions.standing().collect();
    if all.is_empty() {
        return Ok(());
    }
    let mut inputs = Inputs { regions: &regions, made: FxHashMap::default(), ends: IdMap::new() };
    let mut rewriting = Rewriting::new();
    let open = store.rewrite(inputs.rule(), function, function, |store| rewriting.run(store, function, &mut inputs));
    let (mut made, ends) = (inputs.made, inputs.ends);
    for region in all {
        let outputs = unique(regions.region(region).outputs.iter().map(|end| arg(store, *end, 0)));
        let fields: Vec<ExprId> = outputs.iter().map(|id| rewriting.get(*id).unwrap_or(*id)).collect();
        let types: Option<Vec<TypeId>> = outputs.iter().map(|id| store.checked_type(*id)).collect();
        let ret = match types.as_deref() {
            Some([one]) => Some(*one),
            Some(types) => Some(store.tuple_type(types)),
            None => None,
        };
        let made = made.entry(region).or_default();
        let body = match fields.as_slice() {
            [one] => *one,
            fields => {
                let list = store.list(fields);
                store.add(Expr::Tuple(list))
            }
        };
        let call = create(store, module, (name, regions.region(region)), made, (body, ret), bind);
        made.call = Some(call);
        made.outputs = outputs;
    }
    let mut outputs = Outputs { regions: &regions, made, ends };
    let closed = store.rewrite(outputs.rule(), function, open, |store| Rewriting::new().run(store, open, &mut outputs));
    module.set_function(name, closed);
    Ok(())
}

fn unique(ids: impl Iterator<Item = ExprId>) -> Vec<ExprId> {
    let mut seen = FxHashSet::default();
    ids.filter(|id| seen.insert(*id)).collect()
}

/// Replaces the begins of regions by parameters. The annotations at the ends stay.
struct Inputs<'a> {
    regions: &'a Regions,
    made: FxHashMap<RegionId, Made>,
    /// The new end of a region, and the old one.
    ends: IdMap<Expr, ExprId>,
}

impl ExprMutator for Inputs<'_> {
    fn rule(&self) -> &'static str {
        "input of a region"
    }

    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        if is_call(store, pre, END) {
            self.ends.insert(post, pre);
            return post;
        }
        let Some(region) = self.regions.get(pre).filter(|_| is_call(store, pre, BEGIN)) else { return post };
        let mut origin = arg(store, pre, 0);
        while is_call(store, origin, BEGIN) || is_call(store, origin, END) {
            origin = arg(store, origin, 0);
        }
        let made = self.made.entry(region).or_default();
        let var = *made.known.entry(origin).or_insert_with(|| {
            let region = self.regions.region(region);
            let index = region.inputs.iter().position(|begin| *begin == pre).unwrap_or(0);
            let ty = store.checked_type(pre);
            let var = store.var(&format!("{}_{}_i{index}", region.target, region.id), ty);
            made.inputs.push((var, arg(store, post, 0)));
            var
        });
        store.use_var(var)
    }
}

/// Adds the function of a region to the module, and calls it. `from` is the function that the region was in, and `ret`
/// the type of `body`.
fn create(
    store: &mut Store,
    module: &mut Module,
    (from, region): (Id<Name>, &Region),
    made: &Made,
    (mut body, ret): (ExprId, Option<TypeId>),
    bind: bool,
) -> ExprId {
    let (mut params, mut args, mut bound) = (Vec::new(), Vec::new(), Vec::new());
    for (var, value) in &made.inputs {
        if bind && is_constant(store, *value) {
            bound.push((*var, *value));
        } else {
            params.push(*var);
            args.push(*value);
        }
    }
    if !bound.is_empty() {
        body = substitute(store, body, &bound);
    }
    let wanted = format!("{}_{}_{}", region.target, store.str(from), region.id);
    let name = free_name(store, module, &wanted);
    let text = |store: &mut Store, text: &str| AttrValue::Str(store.name(text));
    let values = [
        ("Compiler", text(store, &region.target)),
        ("Primitive", AttrValue::int(1)),
        ("Inline", AttrValue::int(1)),
        ("global_symbol", text(store, &wanted)),
    ];
    let values = values.map(|(key, value)| (store.name(key), value));
    let attrs = with_dict_attrs(store, None, &values);
    let params = store.list(&params);
    let function = store.function_expr(Function {
        params,
        type_params: List::EMPTY,
        ret,
        body,
        attrs: Some(attrs),
        device: None,
        pure: true,
    });
    module.set_function(name, function);
    let callee = store.add(Expr::Global(name));
    store.add_call(callee, &args, None)
}

fn is_constant(store: &Store, id: ExprId) -> bool {
    match store.expr(id) {
        Expr::Constant(_) => true,
        Expr::Tuple(fields) => store.items(fields).all(|field| matches!(store.expr(field), Expr::Constant(_))),
        _ => false,
    }
}

fn free_name(store: &mut Store, module: &Module, wanted: &str) -> Id<Name> {
    let mut name = store.name(wanted);
    let mut number = 0;
    while module.function(name).is_some() {
        number += 1;
        name = store.name(&format!("{wanted}_{number}"));
    }
    name
}

/// Replaces the ends of regions by calls.
struct Outputs<'a> {
    regions: &'a Regions,
    made: FxHashMap<RegionId, Made>,
    ends: IdMap<Expr, ExprId>,
}

impl ExprMutator for Outputs<'_> {
    fn rule(&self) -> &'static str {
        "region became a function"
    }

    fn enter(&mut self, store: &mut Store, id: ExprId) -> Visit {
        let Some(end) = self.ends.get(id).copied() else { return Visit::Descend };
        let made = self.regions.get(end).and_then(|region| self.made.get(&region));
        let Some((made, call)) = made.and_then(|made| Some((made, made.call?))) else { return Visit::Descend };
        if made.outputs.len() == 1 {
            return Visit::Follow(call);
        }
        let output = arg(store, end, 0);
        let index = made.outputs.iter().position(|other| *other == output).unwrap_or(0) as u32;
        Visit::Follow(store.add(Expr::TupleGetItem { tuple: call, index }))
    }
}

/// Puts the prefix before the names of all functions for other compilers.
fn mangled(store: &mut Store, module: &Module, prefix: &str) -> Module {
    let mut names = FxHashMap::default();
    for (name, function) in module.functions() {
        if is_external(store, *function) {
            let text = format!("{prefix}_{}", store.str(*name));
            let safe: String = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
            names.insert(*name, store.name(&safe));
        }
    }
    if names.is_empty() {
        return module.clone();
    }
    let mut result = module.clone();
    for (name, function) in module.functions() {
        let mut new = rewrite(store, *function, &mut Renamed(&names));
        if let Some(mangled) = names.get(name) {
            result.remove_function(*name);
            if let Some(old) = store.as_function(new) {
                let values = [(store.name("global_symbol"), AttrValue::Str(*mangled))];
                let attrs = Some(with_dict_attrs(store, old.attrs, &values));
                let ty = store.checked_type(new);
                let function = store.add_function(Function { attrs, ..old });
                new = store.rebuild(new, Expr::Function(function), ty);
            }
        }
        result.set_function(*names.get(name).unwrap_or(name), new);
    }
    result
}

struct Renamed<'a>(&'a FxHashMap<Id<Name>, Id<Name>>);

impl ExprMutator for Renamed<'_> {
    fn rule(&self) -> &'static str {
        "function for another compiler renamed"
    }

    fn leave(&mut self, store: &mut Store, _: ExprId, post: ExprId) -> ExprId {
        if let Some(call) = store.call(post)
            && let Expr::Global(name) = store.expr(call.callee)
            && let Some(mangled) = self.0.get(&name)
        {
            let callee = store.add(Expr::Global(*mangled));
            let ty = store.checked_type(post);
            let Expr::Call { args, info, .. } = store.expr(post) else { return post };
            return store.rebuild(post, Expr::Call { callee, args, info }, ty);
        }
        post
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{after, failure};

    #[test]
    fn constants_go_into_the_function_unless_they_shall_not() {
        let program = "def @main(%x: Tensor[(4), float32]) {
          %0 = annotation.compiler_begin(%x, compiler=\"c\", attrs_type_key=\"relay.attrs.CompilerAttrs\");
          %1 = annotation.compiler_begin(2f, compiler=\"c\", attrs_type_key=\"relay.attrs.CompilerAttrs\");
          annotation.compiler_end(multiply(%0, %1), compiler=\"c\", attrs_type_key=\"relay.attrs.CompilerAttrs\")
        }";
        assert!(after("PartitionGraph()", program).contains("multiply(%c_0_i0, 2f"));
        assert!(after("PartitionGraph(bind_constants=False)", program).contains("multiply(%c_0_i0, %c_0_i1)"));
        assert!(after("PartitionGraph(mod_name=\"net\")", program).contains("@tvmgen_net_c_main_0(%x)"));
    }

    #[test]
    fn a_tuple_leaves_its_region_field_by_field() {
        let text = after(
            "PartitionGraph()",
            "def @main(%x: Tensor[(4), float32]) {
               %0 = annotation.compiler_begin(%x, compiler=\"c\", attrs_type_key=\"relay.attrs.CompilerAttrs\");
               annotation.compiler_end((exp(%0), negative(%0)), compiler=\"c\", attrs_type_key=\"relay.attrs.CompilerAttrs\")
             }",
        );
        assert!(text.contains("%0.0") && text.contains("%0.1"), "{text}");
    }

    #[test]
    fn an_end_without_a_beginning_is_an_error() {
        let text = failure(
            "PartitionGraph()",
            "def @main(%x: Tensor[(4), float32]) { annotation.compiler_end(exp(%x), compiler=\"c\", attrs_type_key=\"relay.attrs.CompilerAttrs\") }",
        );
        assert_eq!(text, "Cannot find the corresponding region for end annotation");
    }
}
