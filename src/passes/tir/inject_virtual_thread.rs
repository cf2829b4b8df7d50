//! InjectVirtualThread: virtual threads become statements or loops.
//!
//! Source: `src/s_tir/transform/inject_virtual_thread.cc`.

mod inject;
mod touched;

use crate::ir::{AttrNode, ExprId, Kinds, Module, PrimId, Stmt, StmtId};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::{Knowing, Known, Rewriting, StmtMutator, descend_knowing, enter_knowing, rewrite_func};
use inject::Injector;

/// TVM's `s_tir.transform.InjectVirtualThread`.
pub static SPEC: PassSpec = PassSpec {
    name: "s_tir.InjectVirtualThread",
    info_name: "s_tir.InjectVirtualThread",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Lets one thread do the work of its virtual threads.",
    doc: explained(
        "Under a launch of `vthread` each statement that depends on the virtual thread runs once for each of them: written out when \
there are fewer than 16 and no loop is inside, as a loop otherwise. What does not depend on it runs once, and memory that depends \
on it is allocated once for each. Of `cthread` everything runs for each. Buffers must be flat, and loops begin at 0.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(C: T.Buffer((8,), \"float32\")):
        for i in range(4):
            vt = T.launch_thread(\"vthread\", 2)
            B = T.alloc_buffer((4,), scope=\"local\", layout=None)
            B[i] = T.float32(1.0)
            C[vt * 4 + i] = B[i]
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func
    def f(C: T.Buffer((8,), \"float32\")):
        for i in range(4):
            B = T.alloc_local((4,), layout=None)
            B[i] = T.float32(1.0)
            C[T.Mul(0, 4) + i] = B[i]
            C[T.Mul(1, 4) + i] = B[i]
",
    ),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    rewrite_func(cx.store, func, &mut Virtual::default()).map(Some)
}

#[derive(Default)]
struct Virtual {
    known: Known,
}

impl Knowing for Virtual {
    fn known(&mut self) -> &mut Known {
        &mut self.known
    }
}

impl StmtMutator for Virtual {
    fn rule(&self) -> &'static str {
        "virtual threads injected"
    }

    fn needs(&self) -> Option<Kinds> {
        Some(Kinds::ATTR | Kinds::DECIDED)
    }

    fn enter_prim(&mut self, cx: &mut Rewriting<'_>, id: PrimId) -> Option<PrimId> {
        enter_knowing(self, cx, id)
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        match cx.store.stmt(id) {
            Stmt::For(..) | Stmt::If { .. } | Stmt::Assert { .. } => return Some(descend_knowing(self, cx, id)),
            Stmt::Attr { key, node: AttrNode::Thread { .. }, .. } if cx.store.str(*key) == "virtual_thread" => {}
            _ => return None,
        }
        let inner = cx.descend(self, id);
        let Stmt::Attr { node: AttrNode::Thread { var, tag }, value, body, .. } = *cx.store.stmt(inner) else {
            return Some(inner);
        };
        let Some(threads) = cx.store.as_prim_int(value).filter(|threads| (1..=4096).contains(threads)) else {
            cx.fail("tir-threads", "the number of virtual threads must be known, and at most 4096");
            return None;
        };
        let shares = cx.store.str(tag).starts_with("vthread");
        let touched = touched::by(cx.store, body, var);
        let mut injector = Injector::new(&mut self.known.analyzer, var, threads, touched, shares);
        let new = injector.stmt(cx.store, body);
        if let Some(message) = injector.error {
            cx.fail("tir-threads", message);
            return None;
        }
        Some(new)
    }
}

#[cfg(test)]
mod tests {
    use crate::passes::tir::testing::{after, error, unchanged};

    fn source(threads: u32, body: &str) -> String {
        format!(
            "@T.prim_func(private=True)\ndef f(C: T.Buffer((64,), \"float32\")):\n    vt = T.launch_thread(\"vthread\", {threads})\n{body}"
        )
    }

    #[test]
    fn few_virtual_threads_are_written_out_and_many_are_a_loop() {
        let text = after(&source(2, "    C[vt] = T.float32(0.0)\n"), "s_tir.InjectVirtualThread()");
        assert!(text.contains("C[0] = T.float32(0.0)\n        C[1] = "), "{text}");
        let text = after(&source(16, "    C[vt] = T.float32(0.0)\n"), "s_tir.InjectVirtualThread()");
        assert!(text.contains("for vt_s in range(16):\n            C[vt_s] = "), "{text}");
    }

    #[test]
    fn memory_that_depends_on_the_thread_is_there_for_each() {
        let body = "    B = T.alloc_buffer((4,), scope=\"local\", layout=None)\n    for i in range(4):\n        B[i] = C[vt * 4 + i]\n    for i in range(4):\n        C[i] = B[i]\n";
        let text = after(&source(2, body), "s_tir.InjectVirtualThread()");
        assert!(text.contains("B = T.alloc_local((8,), layout=None)") && text.contains("C[i] = B[T.Mul(1, 4) + i]"), "{text}");
    }

    /// As TVM 0.27 has it, without a virtual thread, too.
    #[test]
    fn a_choice_by_a_number_is_made() {
        let text = "@T.prim_func(private=True)\ndef f(A: T.Buffer((64,), \"float32\")):\n    for i in range(8):\n        \
                    A[i] = T.Select(T.bool(True), A[i + 1], A[3])\n        \
                    A[i + 8] = T.if_then_else(T.bool(False), A[i + 1], A[3])\n        \
                    if T.bool(True):\n            A[i + 16] = T.float32(1.0)\n        \
                    if T.bool(False):\n            A[i + 17] = T.float32(2.0)\n";
        for pass in ["s_tir.InjectVirtualThread()", "s_tir.InjectPermutedLayout()"] {
            let made = after(text, pass);
            let body: Vec<&str> = made.lines().skip_while(|line| !line.contains("for i")).skip(1).map(str::trim).collect();
            assert_eq!(body, ["A[i] = A[i + 1]", "A[i + 8] = A[3]", "A[i + 16] = T.float32(1.0)"], "{pass}");
        }
    }

    #[test]
    fn other_threads_stay() {
        unchanged(
            &source(2, "    C[vt] = T.float32(0.0)\n").replace("\"vthread\"", "\"threadIdx.x\""),
            "s_tir.InjectVirtualThread()",
        );
    }

    #[test]
    fn a_loop_with_an_open_end_is_refused() {
        let source = source(2, "    while C[vt] > T.float32(0.0):\n        C[vt] = T.float32(0.0)\n");
        assert_eq!(error(&source, "s_tir.InjectVirtualThread()"), "WhileNode in InjectVirtualThread not supported yet");
    }
}
