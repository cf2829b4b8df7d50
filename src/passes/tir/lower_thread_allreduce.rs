//! LowerThreadAllreduce: reductions over threads become exchanges.
//!
//! Source: `src/s_tir/transform/lower_thread_allreduce.cc`.

mod exchange;

use super::{prim_func, targets};
use crate::diag::Diagnostic;
use crate::ir::{
    AttrNode, AttrValue, Buffer, ExprId, Id, Module, Name, PrimExpr, PrimId, PrimParam, Reducer, Stmt, StmtId, Symbol,
};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::{Rewriting, StmtMutator, rewrite_body};
use exchange::{Device, exchange};
use rustc_hash::FxHashMap;

/// TVM's `s_tir.transform.LowerThreadAllreduce`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.LowerThreadAllreduce",
    info_name: "s_tir.LowerThreadAllreduce",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Exchanges values between threads to reduce them.",
    doc: explained("`T.tvm_thread_allreduce` becomes exchanges between the threads of a warp (`T.tvm_warp_shuffle_down`), where the target has \
them and the threads fit, or steps through shared memory with barriers. More threads than a warp has are reduced in two rounds. \
The buffer of the result is replaced by what the result stands in; a function without a `target` is an error."),
    example_before: explained("\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((4,), \"float32\"), B: T.Buffer((1,), \"float32\")):
        T.func_attr({\"target\": T.target({\"kind\": \"cuda\", \"arch\": \"sm_80\"})})
        with T.launch_thread(\"threadIdx.x\", 4) as tx:
            C = T.alloc_buffer((1,), scope=\"local\")
            with T.attr(T.comm_reducer(lambda x, y: x + y, [T.float32(0.0)]), \"reduce_scope\", 0):
                T.tvm_thread_allreduce(T.uint32(1), A[tx], T.bool(True), C[0], tx)
            if tx == 0:
                B[0] = C[0]
"),
    example_after: explained("\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(A: T.Buffer((4,), \"float32\"), B: T.Buffer((1,), \"float32\")):
        T.func_attr({\"target\": T.target({\"arch\": \"sm_80\", \"keys\": [\"cuda\", \"gpu\"], \"kind\": \"cuda\", \"max_num_threads\": 1024, \"tag\": \"\", \"thread_warp_size\": 32})})
        with T.launch_thread(\"threadIdx.x\", 4) as tx:
            red_buf0 = T.alloc_local((1,))
            with T.attr(T.comm_reducer(lambda x, y: x + y, [T.float32(0.0)]), \"reduce_scope\", 0):
                t0 = T.alloc_local((1,))
                mask = T.alloc_local((1,), \"uint32\")
                red_buf0[0] = A[tx]
                mask[0] = T.tvm_warp_activemask()
                t0[0] = T.tvm_warp_shuffle_down(mask[0], red_buf0[0], 2, 32, 32)
                red_buf0[0] = red_buf0[0] + t0[0]
                t0[0] = T.tvm_warp_shuffle_down(mask[0], red_buf0[0], 1, 32, 32)
                red_buf0[0] = red_buf0[0] + t0[0]
                red_buf0[0] = T.tvm_warp_shuffle(mask[0], red_buf0[0], 0, 32, 32)
            if tx == 0:
                B[0] = red_buf0[0]
"),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    let Some(prim) = prim_func(cx.store, func) else { return Ok(Some(func)) };
    let Some(target) = cx.store.attr(prim.attrs, "target").cloned() else {
        let message = "LowerThreadAllreduce: Require the target attribute; BindTarget gives it";
        return Err(vec![Diagnostic::error("tir-target", message, cx.store.source_span(func))]);
    };
    let number = |name: &str, or: i64| targets::field(cx.store, &target, name).and_then(|value| value.as_int()).unwrap_or(or);
    let (warp, most) = (number("thread_warp_size", 1).max(1), number("max_num_threads", -1));
    let kind = match targets::field(cx.store, &target, "kind") {
        Some(AttrValue::Str(kind)) => cx.store.str(kind).to_owned(),
        _ => String::new(),
    };
    let mut reduce = Reduce { device: Device { kind, warp, most }, ..Reduce::default() };
    for param in &prim.params {
        if let PrimParam::Buffer(buffer) = param {
            reduce.roots.insert(*buffer, *buffer);
        }
    }
    rewrite_body(cx.store, func, &mut reduce, |reduce, cx, body| {
        let body = cx.visit(reduce, body);
        if reduce.becomes.is_empty() {
            return body;
        }
        // Allocations stand before what says what they become.
        reduce.replaces = true;
        cx.forget();
        cx.visit(reduce, body)
    })
    .map(Some)
}

/// A binding of threads: its variable, index and number.
type Threads = (Id<Symbol>, Id<Name>, PrimId);

#[derive(Default)]
struct Reduce {
    device: Device,
    threads: Vec<Threads>,
    reducers: Vec<Reducer>,
    /// The allocation or parameter that a buffer is a view of.
    roots: FxHashMap<Id<Buffer>, Id<Buffer>>,
    /// The results that were in buffers.
    results: FxHashMap<Id<Buffer>, (Id<Buffer>, PrimId)>,
    /// The allocations in the place of buffers.
    becomes: FxHashMap<Id<Buffer>, Id<Buffer>>,
    replaces: bool,
}

impl StmtMutator for Reduce {
    fn rule(&self) -> &'static str {
        "reductions over threads made exchanges"
    }

    fn stepwise(&self) -> bool {
        false
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        if self.replaces {
            return self.replace(cx, id);
        }
        match cx.store.stmt(id).clone() {
            Stmt::Attr { node: AttrNode::Thread { var, tag }, value, .. } => {
                self.threads.push((var, tag, value));
                let new = cx.descend(self, id);
                self.threads.pop();
                Some(new)
            }
            Stmt::Attr { node: AttrNode::Prim(node), key, .. } if cx.store.str(key) == "reduce_scope" => {
                let PrimExpr::Reducer(reducer) = &*cx.store.prim_rc(node) else { return None };
                self.reducers.push((**reducer).clone());
                let new = cx.descend(self, id);
                self.reducers.pop();
                Some(new)
            }
            Stmt::Alloc(buffer, _) => {
                self.roots.insert(buffer, buffer);
                None
            }
            Stmt::Declare(buffer) => {
                let source = cx.store.buffer(buffer).data.map(|data| cx.store.prim_of_id(data));
                let root = match source {
                    Some(PrimExpr::Data(source)) => self.root(*source),
                    _ => buffer,
                };
                self.roots.insert(buffer, root);
                None
            }
            Stmt::Evaluate(_) => {
                let new = cx.descend(self, id);
                let Stmt::Evaluate(value) = *cx.store.stmt(new) else { return Some(new) };
                let PrimExpr::Call { op, args, .. } = &*cx.store.prim_rc(value) else { return Some(new) };
                if cx.store.str(*op) != "tvm_thread_allreduce" {
                    return Some(new);
                }
                match self.exchange(cx, args) {
                    Ok(new) => Some(new),
                    Err(message) => {
                        cx.fail("tir-threads", message);
                        Some(id)
                    }
                }
            }
            _ => None,
        }
    }

    fn access(&mut self, cx: &mut Rewriting<'_>, buffer: Id<Buffer>, indices: &[PrimId]) -> Option<(Id<Buffer>, Vec<PrimId>)> {
        if self.replaces {
            return None;
        }
        let (buffer, index) = *self.results.get(&self.root(buffer))?;
        if indices.iter().any(|index| cx.store.as_prim_int(*index) != Some(0)) {
            cx.fail("tir-threads", "the result of a reduction over threads is one value, which is read and written at 0");
        }
        Some((buffer, vec![index]))
    }
}

impl Reduce {
    fn root(&self, buffer: Id<Buffer>) -> Id<Buffer> {
        self.roots.get(&buffer).copied().unwrap_or(buffer)
    }

    /// Allocates what the results stand in, and declares nothing that is a view of what went.
    fn replace(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        match cx.store.stmt(id).clone() {
            Stmt::Alloc(buffer, annotations) => {
                let new = *self.becomes.get(&buffer)?;
                let shared = cx.store.str(cx.store.buffer(new).scope) == "shared";
                let annotations = match shared {
                    true => Some(cx.store.with_attr(annotations, "tirx.volatile", AttrValue::Bool(true))),
                    false => annotations,
                };
                Some(cx.store.add_stmt(Stmt::Alloc(new, annotations)))
            }
            Stmt::Declare(buffer) => self.becomes.contains_key(&self.root(buffer)).then(|| cx.store.no_op()),
            _ => None,
        }
    }

    /// The exchanges that a call becomes, with notes of where its results stand.
    fn exchange(&mut self, cx: &mut Rewriting<'_>, args: &[PrimId]) -> Result<StmtId, String> {
        let Some(reducer) = self.reducers.last().cloned() else {
            return Err(
                "a reduction over threads stands in an attribute `reduce_scope` that says how two values are made one".into()
            );
        };
        let made = exchange(cx.store, &self.device, &self.threads, &reducer, args)?;
        for (of, (buffer, index)) in made.results {
            let root = self.root(of);
            if self.results.insert(root, (buffer, index)).is_some() {
                return Err("a buffer is the result of one reduction over threads, and here of a second one".into());
            }
            self.becomes.insert(root, buffer);
        }
        cx.forget();
        Ok(cx.store.flat_seq(None, &made.stmts))
    }
}

#[cfg(test)]
mod tests {
    use super::SPEC;
    use crate::passes::tir::testing::{after, error, unchanged};

    const CALL: &str = "s_tir.LowerThreadAllreduce()";

    #[test]
    fn a_program_without_work_for_it_stays() {
        unchanged(SPEC.example_after, CALL);
    }

    #[test]
    fn without_exchanges_between_threads_it_goes_through_shared_memory() {
        let source = SPEC.example_before.replace("float32", "int8").replace("0.0", "0").replace("scope=", "\"int8\", scope=");
        let text = after(&source, CALL);
        for part in [
            "red_buf0 = T.alloc_shared((4,), \"int8\", annotations={\"tirx.volatile\": True})",
            "red_buf0[tx] = A[tx]",
            "if tx < 2:\n",
            "red_buf0[tx] = w_1_0",
            "B[0] = red_buf0[0]",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    #[test]
    fn more_threads_than_a_warp_are_reduced_in_two_rounds() {
        let text = after(&SPEC.example_before.replace("4", "64"), CALL);
        for part in ["red_buf_staging = T.alloc_shared((2,))", "if tx % 32 == 0:", "red_result[0] = red_buf0_1[0]"] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    #[test]
    fn it_needs_to_know_what_it_is_for() {
        let source = SPEC.example_before.replace("T.func_attr", "T.evaluate(0)  # ");
        assert!(error(&source, CALL).contains("Require the target attribute"));
    }
}
