//! SplitLayoutRewritePreproc: moves layout changes of weights into separate programs.
//!
//! Tuning leaves blocks with the hint `meta_schedule.layout_rewrite_preproc` at the beginning of a tensor program: they write a
//! parameter into a local buffer in the order in which the rest reads it. They move into a program that is called before, so
//! that *LiftTransformParams* can lift the call to the loading of weights. Unused code is removed then.
//!
//! It runs as one step; in TVM it is a `Sequential` with *DeadCodeElimination*. Programs whose body is no block, with
//! which TVM fails, are left alone.
//!
//! Source: `src/relax/transform/split_layout_rewrite_preproc.cc`.

use super::calls::{args, fields, op, op_name, tuple};
use crate::build::{BlockMutator, Mutation, rewrite_module};
use crate::diag::Diagnostic;
use crate::infer::relax::prim_func_type;
use crate::ir::sort::sort_by;
use crate::ir::{
    AttrValue, AttrsId, Block, Buffer, Dim, Expr, ExprId, Id, Module, Name, PrimFunc, PrimParam, Stmt, StmtId, Store, TypeId,
};
use crate::pass::{Args, Inner, Part, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::Copier;
use rustc_hash::FxHashMap;

/// TVM's `relax.transform.SplitLayoutRewritePreproc`.
pub static SPEC: PassSpec = PassSpec {
    name: "SplitLayoutRewritePreproc",
    info_name: "SplitLayoutRewritePreproc",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Moves what brings weights into another layout out of tensor programs.",
    doc: explained("Blocks with the hint `meta_schedule.layout_rewrite_preproc` copy a parameter into a buffer with another layout. They \
become a tensor program `..._weight_prepack`; the rest, `..._prepacked`, takes its results instead. Calls of the program \
become calls of both, and what is not used any more is removed."),
    example_before: explained("\
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def f(w: T.Buffer((T.int64(2), T.int64(3)), \"float32\"), out: T.Buffer((T.int64(3), T.int64(2)), \"float32\")):
        # with T.sblock(\"root\"):
        turned = T.sblock_alloc_buffer((T.int64(3), T.int64(2)))
        for i, j in T.grid(T.int64(2), T.int64(3)):
            with T.sblock(\"turned\"):
                vi, vj = T.axis.remap(\"SS\", [i, j])
                T.reads(w[vi, vj])
                T.writes(turned[vj, vi])
                T.sblock_attr({\"meta_schedule.layout_rewrite_preproc\": True})
                turned[vj, vi] = w[vi, vj]
        for i, j in T.grid(T.int64(3), T.int64(2)):
            with T.sblock(\"out\"):
                vi, vj = T.axis.remap(\"SS\", [i, j])
                T.reads(turned[vi, vj])
                T.writes(out[vi, vj])
                out[vi, vj] = T.exp(turned[vi, vj])

    @R.function
    def main(w: R.Tensor((2, 3), dtype=\"float32\")) -> R.Tensor((3, 2), dtype=\"float32\"):
        cls = Module
        with R.dataflow():
            gv = R.call_tir(cls.f, (w,), out_ty=R.Tensor((3, 2), dtype=\"float32\"))
            R.output(gv)
        return gv
"),
    example_after: explained("\
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def f_prepacked(turned: T.Buffer((T.int64(3), T.int64(2)), \"float32\"), out: T.Buffer((T.int64(3), T.int64(2)), \"float32\")):
        # with T.sblock(\"root\"):
        for i, j in T.grid(T.int64(3), T.int64(2)):
            with T.sblock(\"out\"):
                vi, vj = T.axis.remap(\"SS\", [i, j])
                T.reads(turned[vi, vj])
                T.writes(out[vi, vj])
                out[vi, vj] = T.exp(turned[vi, vj])

    @T.prim_func(private=True, s_tir=True)
    def f_weight_prepack(w: T.Buffer((T.int64(2), T.int64(3)), \"float32\"), turned: T.Buffer((T.int64(3), T.int64(2)), \"float32\")):
        # with T.sblock(\"root\"):
        for i, j in T.grid(T.int64(2), T.int64(3)):
            with T.sblock(\"turned\"):
                vi, vj = T.axis.remap(\"SS\", [i, j])
                T.reads(w[vi, vj])
                T.writes(turned[vj, vi])
                turned[vj, vi] = w[vi, vj]

    @R.function
    def main(w: R.Tensor((2, 3), dtype=\"float32\")) -> R.Tensor((3, 2), dtype=\"float32\"):
        cls = Module
        with R.dataflow():
            lv = R.call_tir(cls.f_weight_prepack, (w,), out_ty=R.Tensor((3, 2), dtype=\"float32\"))
            lv1 = R.call_tir(cls.f_prepacked, (lv,), out_ty=R.Tensor((3, 2), dtype=\"float32\"))
            gv: R.Tensor((3, 2), dtype=\"float32\") = lv1
            R.output(gv)
        return gv
"),
    run: Run::Sequential(|_| vec![Part::Inner(&INNER), Part::call("DeadCodeElimination()")]),
};

static INNER: Inner = Inner { info_name: "SplitLayoutRewritePreproc", opt_level: 0, run: Run::Module(run) };

const HINT: &str = "meta_schedule.layout_rewrite_preproc";

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    let mut splits = FxHashMap::default();
    for &(name, function) in module.functions() {
        let Expr::PrimFunc(program) = cx.store.expr(function) else { continue };
        let split = split(cx.store, program).map_err(|message| {
            let message = format!("{}: {message}", cx.store.str(name));
            vec![Diagnostic::error("relax-split-layout", message, cx.store.source_span(function))]
        })?;
        splits.extend(split.map(|split| (name, split)));
    }
    rewrite_module(cx.store, module, &mut Rewrite { splits })
}

/// The two parts of a program.
struct Split {
    prepack: ExprId,
    compute: ExprId,
    /// The parameters that get another layout, and their new types.
    rewritten: Vec<(usize, TypeId)>,
}

/// A parameter that is copied: its position, its buffer, and the buffer with the other layout.
type Copied = (usize, Id<Buffer>, Id<Buffer>);

fn split(store: &mut Store, program: Id<PrimFunc>) -> Result<Option<Split>, String> {
    let function = store.prim_func(program).clone();
    let Stmt::Block(root) = *store.stmt(function.body) else {
        return Err("The body of the primfunc should be a root block.".to_owned());
    };
    let root = store.prim_block(root).clone();
    let parts: Vec<StmtId> = match store.stmt(root.body) {
        Stmt::Seq(stmts) => store.items(*stmts).collect(),
        _ => vec![root.body],
    };
    let (mut before, mut rest, mut copied) = (Vec::new(), Vec::new(), Vec::new());
    for part in &parts {
        match is_preparation(store, &function, *part, &mut copied)? {
            Some(true) => before.push(*part),
            Some(false) => rest.push(*part),
            None if parts.len() == 1 => {
                return Err("There should be a compute block if there is only one subtree under the root.".to_owned());
            }
            // TVM expects a block everywhere; a part without one is computation.
            None => rest.push(*part),
        }
    }
    if before.is_empty() {
        return Ok(None);
    }
    if rest.is_empty() {
        return Err("There should be a compute block if there is only one subtree under the root.".to_owned());
    }
    sort_by(&mut copied, |a, b| a.0.cmp(&b.0));
    let sources = copied.iter().map(|copied| PrimParam::Buffer(copied.1));
    let params: Vec<PrimParam> = sources.chain(copied.iter().map(|copied| PrimParam::Buffer(copied.2))).collect();
    let prepack = part_of(store, &function, &root, &params, &before, Vec::new(), "_weight_prepack");
    let mut params = function.params.to_vec();
    copied.iter().for_each(|(place, _, new)| params[*place] = PrimParam::Buffer(*new));
    let allocs = root.allocs.iter().copied().filter(|buffer| copied.iter().all(|copied| copied.2 != *buffer)).collect();
    let compute = part_of(store, &function, &root, &params, &rest, allocs, "_prepacked");
    let mut rewritten = Vec::new();
    for (place, _, buffer) in copied {
        let buffer = store.buffer(buffer).clone();
        let known = |extent: &_| store.as_prim_int(*extent).map(|value| Dim::Int { value, bits: 64 });
        let dims: Option<Vec<Dim>> = buffer.shape.iter().map(known).collect();
        let dims = dims.ok_or("Currently does not support rewrite buffer with dynamic shape.")?;
        rewritten.push((place, store.tensor_type(&dims, buffer.dtype)));
    }
    Ok(Some(Split { prepack, compute, rewritten }))
}

/// True if the blocks in a statement are layout changes; `None` when there is no block.
fn is_preparation(store: &Store, function: &PrimFunc, part: StmtId, copied: &mut Vec<Copied>) -> Result<Option<bool>, String> {
    let mut found = None;
    let mut waiting = vec![part];
    while let Some(id) = waiting.pop() {
        let stmt = store.stmt(id);
        waiting.extend(stmt.nested().into_iter().flatten());
        match stmt {
            Stmt::Seq(stmts) => waiting.extend(store.items(*stmts).rev()),
            Stmt::Block(block) => {
                let block = store.prim_block(*block);
                let own = store.attr_int(block.annotations, HINT) == Some(1);
                if found.is_some_and(|found| found != own) {
                    return Err("a layout rewrite block and another one stand under one loop".to_owned());
                }
                found = Some(own);
                waiting.extend(block.init.into_iter().chain([block.body]));
                if own {
                    copied.push(copy_of(function, block)?);
                }
            }
            _ => {}
        }
    }
    Ok(found)
}

fn copy_of(function: &PrimFunc, block: &Block) -> Result<Copied, String> {
    let ([read], [write]) = (&*block.reads, &*block.writes) else {
        return Err("There should be only one buffer read and one written in the layout rewrite".to_owned());
    };
    if !block.allocs.is_empty() || !block.matches.is_empty() {
        return Err("There should be no buffer of its own in the layout rewrite".to_owned());
    }
    let place = function.params.iter().position(|param| *param == PrimParam::Buffer(read.buffer));
    let place = place.ok_or("The preproc buffer is not found in the original primfunc.")?;
    Ok((place, read.buffer, write.buffer))
}

/// Makes a program of some statements of another one.
fn part_of(
    store: &mut Store,
    function: &PrimFunc,
    root: &Block,
    params: &[PrimParam],
    stmts: &[StmtId],
    allocs: Vec<Id<Buffer>>,
    suffix: &str,
) -> ExprId {
    let body = store.add_stmts(stmts);
    let block = Block {
        reads: [].into(),
        writes: [].into(),
        allocs: allocs.into(),
        matches: [].into(),
        annotations: None,
        init: None,
        body,
        ..root.clone()
    };
    let block = store.add_prim_block(block);
    let body = store.add_stmt(Stmt::Block(block));
    let mut copier = Copier::default();
    let params = params
        .iter()
        .map(|param| match *param {
            PrimParam::Var(symbol) => PrimParam::Var(copier.define(store, symbol)),
            PrimParam::Buffer(buffer) => PrimParam::Buffer(copier.define_buffer(store, buffer)),
        })
        .collect();
    let body = copier.stmt(store, body, &mut |store, block| block.annotations = store.without_attr(block.annotations, HINT));
    let attrs = store.without_attr(function.attrs, "layout_free_buffers");
    let attrs = renamed(store, attrs, suffix);
    let program = store.add_prim_func(PrimFunc { params, ret: None, attrs, body });
    let ty = prim_func_type(store, program);
    store.add_typed(Expr::PrimFunc(program), Some(ty))
}

fn renamed(store: &mut Store, attrs: Option<AttrsId>, suffix: &str) -> Option<AttrsId> {
    let Some(name) = store.attr_str(attrs, "global_symbol").map(|name| format!("{name}{suffix}")) else { return attrs };
    let name = AttrValue::Str(store.name(&name));
    Some(store.with_attr(attrs, "global_symbol", name))
}

struct Rewrite {
    splits: FxHashMap<Id<Name>, Split>,
}

impl BlockMutator for Rewrite {
    fn rule(&self) -> &'static str {
        "layout of weights apart"
    }

    fn wants(&self, store: &Store, id: ExprId) -> bool {
        op_name(store, id) == "call_tir"
    }

    fn leave(&mut self, store: &mut Store, cx: &mut Mutation, _: ExprId, post: ExprId) -> ExprId {
        if op_name(store, post) != "call_tir" {
            return post;
        }
        let operands = args(store, post);
        let Some(Expr::Global(name)) = operands.first().map(|program| store.expr(*program)) else { return post };
        let (Some(split), Some(mut inputs)) = (self.splits.get(&name), operands.get(1).and_then(|inputs| fields(store, *inputs)))
        else {
            return post;
        };
        let Expr::Call { info: Some(info), .. } = store.expr(post) else { return post };
        let types = store.call_info(info).type_args.to_vec();
        let name = store.str(name).to_owned();
        let prepack = cx.builder.add_function(store, split.prepack, &format!("{name}_weight_prepack"));
        let compute = cx.builder.add_function(store, split.compute, &format!("{name}_prepacked"));
        let weights: Option<Vec<ExprId>> = split.rewritten.iter().map(|(place, _)| inputs.get(*place).copied()).collect();
        let Some(weights) = weights else { return post };
        let ty = match split.rewritten[..] {
            [(_, ty)] => ty,
            _ => store.tuple_type(&split.rewritten.iter().map(|(_, ty)| *ty).collect::<Vec<_>>()),
        };
        let packed = call_tir(store, prepack, &weights, &[ty]);
        let packed = cx.builder.emit(store, packed, "");
        for (index, (place, _)) in split.rewritten.iter().enumerate() {
            inputs[*place] = match split.rewritten.len() {
                1 => packed,
                _ => store.add(Expr::TupleGetItem { tuple: packed, index: index as u32 }),
            };
        }
        let call = call_tir(store, compute, &inputs, &types);
        cx.builder.emit(store, call, "")
    }
}

fn call_tir(store: &mut Store, program: ExprId, inputs: &[ExprId], types: &[TypeId]) -> ExprId {
    let callee = op(store, "call_tir");
    let inputs = tuple(store, inputs);
    let args = store.list(&[program, inputs]);
    let info = store.add_call_info(None, types);
    store.add(Expr::Call { callee, args, info })
}
