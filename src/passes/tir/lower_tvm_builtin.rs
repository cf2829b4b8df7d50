//! LowerTVMBuiltin: calls of packed functions get their arguments on a stack.
//!
//! Source: `src/tirx/transform/lower_tvm_builtin.cc`.

mod stack;

use super::emit::{call, when};
use super::{make_packed_api, prim_func, targets};
use crate::ir::{
    AttrNode, AttrValue, Buffer, DType, DTypeCode, ExprId, ForKind, Id, Module, PrimExpr, PrimId, PrimOp, Stmt, StmtId, Store,
    Symbol,
};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};
use crate::tir::{Rewriting, StmtMutator, binary, cast, rewrite_body};
use stack::{Frame, Sizes};

/// TVM's `tirx.transform.LowerTVMBuiltin`.
pub static SPEC: PassSpec = PassSpec {
    name: "tirx.LowerTVMBuiltin",
    info_name: "tirx.LowerTVMBuiltin",
    dialects: crate::pass::spec::TIR,
    opt_level: 0,
    required: &[],
    params: &[],
    config: &[],
    summary: "Calls of packed functions get their arguments on a stack.",
    doc: explained(
        "In functions for the host, `T.call_packed` and its kin write their arguments, with their kinds, to a stack that is allocated \
at the beginning of the function or of a parallel loop; `T.tvm_stack_make_array` and `T.tvm_stack_make_shape` write to stacks of \
their own. Buffers of 1024 bytes and more, and buffers of devices, become a workspace of the runtime that is checked and freed \
when what allocated it is over. Attributes `device_id` and `device_type` go. A function for a device stays as it is.",
    ),
    example_before: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(n: T.int32):
        T.func_attr({\"tirx.is_host_func\": True})
        T.call_packed(\"show\", n)
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @T.prim_func(s_tir=True)
    def f(n: T.int32):
        T.func_attr({\"tirx.is_host_func\": True})
        stack_ffi_any: T.let[T.handle] = T.tvm_stack_alloca(\"tvm_ffi_any\", 2)
        T.tvm_struct_set(stack_ffi_any, 0, 13, 1)
        T.tvm_struct_set(stack_ffi_any, 0, 14, 0)
        T.tvm_struct_set(stack_ffi_any, 0, 15, T.Cast(\"int64\", n))
        T.tvm_struct_set(stack_ffi_any, 1, 13, 0)
        T.tvm_struct_set(stack_ffi_any, 1, 14, 0)
        T.tvm_struct_set(stack_ffi_any, 1, 15, T.int64(0))
        T.call_packed_lowered(\"show\", stack_ffi_any, 0, 1)
",
    ),
    run: Run::PrimFunc(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, func: ExprId, _: &Args) -> Result<Option<ExprId>, PassError> {
    let Some(prim) = prim_func(cx.store, func) else { return Ok(Some(func)) };
    let target = cx.store.attr(prim.attrs, "target").cloned();
    let marked = cx.store.attr_int(prim.attrs, "tirx.is_host_func").is_some_and(|mark| mark != 0);
    let is_host = marked
        || match target.as_ref().and_then(|target| targets::field(cx.store, target, "keys")) {
            Some(AttrValue::Array(keys)) => {
                keys.iter().any(|key| matches!(key, AttrValue::Str(key) if cx.store.str(*key) == "cpu"))
            }
            _ => false,
        };
    if !is_host {
        return Ok(Some(func));
    }
    let kind = target.map(|target| make_packed_api::device_type(cx.store, &target));
    let kind = kind.map(|kind| cx.store.prim_int(kind, DType::I32));
    let mut lower = Lower { kind, ..Lower::default() };
    rewrite_body(cx.store, func, &mut lower, |lower, cx, body| {
        let new = lower.framed(cx, body);
        if let Some(message) = lower.error.take() {
            cx.fail("tir-builtin", message);
            return body;
        }
        new
    })
    .map(Some)
}

#[derive(Clone, Default)]
struct Lower {
    /// The device that memory is of, as far as it is said.
    kind: Option<PrimId>,
    id: Option<PrimId>,
    frame: Frame,
    /// True if only the size of the frame is asked for.
    measures: bool,
    /// Statements that run before each statement under way.
    before: Vec<Vec<StmtId>>,
    /// Workspaces that are freed when a scope is over.
    frees: Vec<Vec<StmtId>>,
    error: Option<String>,
}

impl StmtMutator for Lower {
    fn rule(&self) -> &'static str {
        "built-in calls lowered"
    }

    fn stepwise(&self) -> bool {
        false
    }

    fn stmt(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> Option<StmtId> {
        if self.error.is_some() {
            return Some(id);
        }
        self.before.push(Vec::new());
        let new = self.lowered(cx, id);
        let mut all = self.before.pop().unwrap_or_default();
        if all.is_empty() {
            return Some(new);
        }
        all.push(new);
        Some(cx.store.flat_seq(None, &all))
    }

    fn expr(&mut self, cx: &mut Rewriting<'_>, root: PrimId) -> Option<PrimId> {
        let new = self.expr_of(cx.store, root);
        // Buffers may have become others.
        Some(if new == root { cx.prim(&mut crate::tir::Nothing, root) } else { cx.prim(&mut crate::tir::Nothing, new) })
    }
}

impl Lower {
    fn fail(&mut self, message: impl Into<String>) {
        self.error.get_or_insert(message.into());
    }

    /// A body with the stacks that its calls need.
    fn framed(&mut self, cx: &mut Rewriting<'_>, body: StmtId) -> StmtId {
        if self.measures {
            return body;
        }
        let mut measure = Lower { measures: true, frame: Frame::new(cx.store, None), frees: vec![Vec::new()], ..self.clone() };
        // This rewriting only measures: buffers that it replaces do not count behind it.
        Rewriting::new(cx.store).visit(&mut measure, body);
        if let Some(message) = measure.error {
            self.fail(message);
            return body;
        }
        let most: Sizes = measure.frame.most;
        let outer = std::mem::replace(&mut self.frame, Frame::new(cx.store, Some(most)));
        let mut all = self.frame.allocations(cx.store);
        all.push(self.scoped(cx, body));
        self.frame = outer;
        cx.store.flat_seq(None, &all)
    }

    /// A statement followed by what frees its memory.
    fn scoped(&mut self, cx: &mut Rewriting<'_>, body: StmtId) -> StmtId {
        self.frees.push(Vec::new());
        let new = cx.visit(self, body);
        let frees = self.frees.pop().unwrap_or_default();
        if frees.is_empty() {
            return new;
        }
        let all: Vec<StmtId> = [new].into_iter().chain(frees.into_iter().rev()).collect();
        cx.store.flat_seq(None, &all)
    }

    fn lowered(&mut self, cx: &mut Rewriting<'_>, id: StmtId) -> StmtId {
        match cx.store.stmt(id).clone() {
            Stmt::Attr { node, key, value, body } => {
                let place = match cx.store.str(key) {
                    "device_id" => &mut self.id,
                    "device_type" => &mut self.kind,
                    _ => {
                        let new_value = cx.root(self, value);
                        let node = match node {
                            AttrNode::Prim(prim) => AttrNode::Prim(cx.prim(&mut crate::tir::Nothing, prim)),
                            other => other,
                        };
                        let new = self.scoped(cx, body);
                        if (new, new_value) == (body, value) {
                            return id;
                        }
                        return cx.store.rebuild_stmt(id, Stmt::Attr { node, key, value: new_value, body: new });
                    }
                };
                let outer = place.replace(value);
                let is_id = cx.store.str(key) == "device_id";
                let new = self.scoped(cx, body);
                *if is_id { &mut self.id } else { &mut self.kind } = outer;
                new
            }
            Stmt::For(head, body) => {
                let (min, extent) = (cx.root(self, head.min), cx.root(self, head.extent));
                let new = match head.kind {
                    ForKind::Parallel => self.framed(cx, body),
                    _ => self.scoped(cx, body),
                };
                if (min, extent, new) == (head.min, head.extent, body) {
                    return id;
                }
                let head = crate::ir::For { min, extent, ..head };
                cx.store.rebuild_stmt(id, Stmt::For(head, new))
            }
            Stmt::If { cond, then, other } => {
                let new = (cx.root(self, cond), self.scoped(cx, then), other.map(|other| self.scoped(cx, other)));
                if new == (cond, then, other) {
                    return id;
                }
                cx.store.rebuild_stmt(id, Stmt::If { cond: new.0, then: new.1, other: new.2 })
            }
            Stmt::Alloc(buffer, annotations) => {
                let kept = cx.store.attr_int(annotations, "disable_lower_builtin").is_some_and(|kept| kept != 0);
                if kept || self.on_stack(cx.store, buffer) {
                    return cx.descend(self, id);
                }
                match self.workspace(cx, buffer) {
                    Ok(new) => new,
                    Err(message) => {
                        self.fail(message);
                        id
                    }
                }
            }
            Stmt::Bind { var, value } => match self.nd(cx.store, var, value) {
                Ok(Some(new)) => new,
                Ok(None) => cx.descend(self, id),
                Err(message) => {
                    self.fail(message);
                    id
                }
            },
            _ => cx.descend(self, id),
        }
    }

    /// True if a buffer is small enough to be kept on the stack of a CPU.
    fn on_stack(&self, store: &Store, buffer: Id<Buffer>) -> bool {
        let data = store.buffer(buffer);
        let size = data.shape.iter().try_fold(bytes(data.dtype), |size, extent| store.as_prim_int(*extent)?.checked_mul(size));
        let cpu = self.kind.and_then(|kind| store.as_prim_int(kind)) == Some(1);
        cpu && store.str(data.scope) == "global" && size.is_some_and(|size| 0 < size && size < 1024)
    }

    /// Kind and number of the device.
    fn device(&self) -> Result<[PrimId; 2], String> {
        let kind = self.kind.ok_or("Unknown device type in current IR")?;
        Ok([kind, self.id.ok_or("Unknown device id in current IR")?])
    }

    /// The memory of the runtime that an allocation becomes.
    fn workspace(&mut self, cx: &mut Rewriting<'_>, buffer: Id<Buffer>) -> Result<StmtId, String> {
        let device = self.device()?;
        let old = cx.store.buffer(buffer).clone();
        let shape = cx.roots(self, &old.shape);
        let store = &mut *cx.store;
        let mut size = store.prim_int(bytes(old.dtype), DType::new(DTypeCode::UInt, 64));
        for extent in &shape {
            size = binary(store, PrimOp::Mul, size, *extent);
        }
        let [kind, id] = device.map(|part| cast(store, DType::I32, part));
        let [code, bits] = [type_code(old.dtype), i64::from(old.dtype.bits)].map(|n| store.prim_int(n, DType::I32));
        let pointer = store.pointer(old.dtype, old.scope);
        let data = store.prim_call("TVMBackendAllocWorkspace", &[kind, id, size, code, bits], pointer);
        let new = store.add_buffer(Buffer { shape, data: Some(data), ..old });
        let declared = store.add_stmt(Stmt::Declare(new));
        let pointer = store.prim(PrimExpr::Data(new));
        let free = store.prim_call("TVMBackendFreeWorkspace", &[kind, id, pointer], DType::I32);
        let checked = self.checked(store, pointer, free);
        cx.set_buffer(buffer, new);
        Ok(cx.store.flat_seq(None, &[declared, checked]))
    }

    /// Fails where a pointer is none, and notes that `free` runs at the end of the scope.
    fn checked(&mut self, store: &mut Store, pointer: PrimId, free: PrimId) -> StmtId {
        let throws = call(store, "tvm_throw_last_error", &[], DType::I32);
        let zero = store.prim_int(0, DType::I32);
        let failed = binary(store, PrimOp::Ne, free, zero);
        let free = when(store, failed, &[throws]);
        if let Some(frees) = self.frees.last_mut() {
            frees.push(free);
        }
        let none = store.prim_call("isnullptr", &[pointer], DType::BOOL);
        when(store, none, &[throws])
    }

    /// Memory of the device of more than one axis, bound to a variable (`T.nd_mem_alloc_with_scope`).
    fn nd(&mut self, store: &mut Store, var: Id<Symbol>, value: PrimId) -> Result<Option<StmtId>, String> {
        let PrimExpr::Call { op, args, .. } = &*store.prim_rc(value) else { return Ok(None) };
        if store.str(*op) != "nd_mem_alloc_with_scope" || args.is_empty() {
            return Ok(None);
        }
        let device = self.device()?;
        let (alloc, free) = (self.method(store, "alloc_nd")?, self.method(store, "free_nd")?);
        let dtype = store.symbol(var).dtype;
        let element = store.pointee(dtype).map_or(DType::VOID, |pointer| pointer.element);
        let hints = [type_code(element), i64::from(element.bits)].map(|n| store.prim_int(n, DType::I32));
        let packed: Vec<PrimId> = [alloc].into_iter().chain(device).chain(hints).chain(args.iter().copied()).collect();
        let packed = store.prim_call("call_packed", &packed, dtype);
        let pointer = store.prim(PrimExpr::Var(var));
        let free = store.prim_call("call_packed", &[free, device[0], device[1], args[0], pointer], DType::I32);
        // TVM writes the arguments of the call that frees before the allocation, too.
        let free = self.expr_of(store, free);
        let checked = self.checked(store, pointer, free);
        let value = self.expr_of(store, packed);
        let bound = store.add_stmt(Stmt::Bind { var, value });
        Ok(Some(store.flat_seq(None, &[bound, checked])))
    }

    /// The function of the device's interface that does something.
    fn method(&self, store: &mut Store, name: &str) -> Result<PrimId, String> {
        let kind = self.kind.ok_or_else(|| {
            format!("Method {name} requires the device type, but occurred outside of a \"device_type\" annotation")
        })?;
        let kind = store
            .as_prim_int(kind)
            .ok_or_else(|| format!("Method {name} requires the device type to be a number, but was instead an expression"))?;
        let text = format!("device_api.{}.{name}", make_packed_api::shown::device_name(kind));
        let text = store.name(&text);
        Ok(store.prim(PrimExpr::Str(text)))
    }
}

/// Bytes of an element.
fn bytes(dtype: DType) -> i64 {
    (i64::from(dtype.bits) * i64::from(dtype.lanes)).div_euclid(8).max(1)
}

/// The number of a kind of type (DLPack's `DLDataTypeCode`).
fn type_code(dtype: DType) -> i64 {
    match dtype.code {
        DTypeCode::Int => 0,
        DTypeCode::UInt if dtype.bits == 1 => 6,
        DTypeCode::UInt => 1,
        DTypeCode::Float => 2,
        DTypeCode::BFloat => 4,
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::SPEC;
    use crate::passes::tir::testing::{after, error, unchanged};

    const CALL: &str = "tirx.LowerTVMBuiltin()";

    fn host(body: &str) -> String {
        let body: String = body.lines().map(|line| format!("    {line}\n")).collect();
        format!(
            "@T.prim_func(s_tir=True)\ndef f(A: T.Buffer((16,), \"float32\"), n: T.int32):\n    T.func_attr({{\"target\": T.target({{\"kind\": \"llvm\"}})}})\n{body}"
        )
    }

    #[test]
    fn functions_for_devices_stay() {
        unchanged(&SPEC.example_before.replace("True}", "False}"), CALL);
    }

    #[test]
    fn large_buffers_are_workspaces_that_are_freed() {
        let text = after(&host("T.attr(\"\", \"device_id\", 0)\nB = T.alloc_buffer((n,))\nB[0] = A[0]"), CALL);
        for part in [
            "B = T.decl_buffer((n,), data=T.TVMBackendAllocWorkspace(1, 0, T.uint64(4) * T.Cast(\"uint64\", n), 2, 32))",
            "if T.isnullptr(B.data):\n            T.tvm_throw_last_error()",
            "if T.TVMBackendFreeWorkspace(1, 0, B.data) != 0:\n            T.tvm_throw_last_error()",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert!(error(&host("B = T.alloc_buffer((n,))\nB[0] = A[0]"), CALL).contains("Unknown device id"));
    }

    #[test]
    fn a_view_of_a_workspace_names_the_memory_that_is_there() {
        let body = "with T.attr(0, \"compute_scope\", \"f\"):\n    T.attr(\"\", \"device_id\", 0)\n    B = T.alloc_buffer((n,))\n    \
                    C = T.decl_buffer((n,), data=B.data)\n    B[0] = A[0]\n    C[1] = B[0]";
        let text = after(&host(body), CALL);
        assert!(text.contains("C = T.decl_buffer((n,), data=B.data)") && !text.contains("B_1"), "{text}");
    }

    #[test]
    fn parallel_loops_have_stacks_of_their_own() {
        let text = after(&host("for i in T.parallel(4):\n    T.call_packed(\"show\", i)"), CALL);
        assert!(text.contains("for i in T.parallel(4):\n            stack_ffi_any"), "{text}");
    }
}
