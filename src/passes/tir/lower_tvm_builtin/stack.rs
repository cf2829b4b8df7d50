//! The stack of arguments, and calls that put theirs on it.

use super::{Lower, bytes, type_code};
use crate::ir::{Buffer, DType, DTypeCode, Id, PrimExpr, PrimId, PrimOp, Stmt, StmtId, Store, Symbol};
use crate::passes::tir::emit;
use crate::tir::{binary, cast, constant};

/// The use of each stack.
#[derive(Clone, Copy, Default)]
pub(super) struct Sizes {
    /// Extents of shapes; nothing where there is no shape, 0 where all are those of scalars.
    shape: Option<i64>,
    array: i64,
    args: i64,
}

/// The stacks of a function or of a parallel loop.
#[derive(Clone, Default)]
pub(super) struct Frame {
    parts: Option<(Id<Buffer>, Id<Symbol>, Id<Symbol>)>,
    pub(super) most: Sizes,
    run: Sizes,
}

/// Kinds of values as a packed function is told them (`TypeIndex` of tvm-ffi), and fields of structures (`TVMStructFieldKind`).
const NONE: i64 = 0;
const INT: i64 = 1;
const FLOAT: i64 = 3;
const POINTER: i64 = 4;
const TENSOR: i64 = 7;
const STRING: i64 = 8;
const ADDRESS: i64 = 0;
const TYPE_INDEX: i64 = 13;
const PADDING: i64 = 14;
const VALUE: i64 = 15;

/// Expressions that are nested deeper are refused.
const DEEPEST: u16 = 400;

impl Frame {
    pub(super) fn new(store: &mut Store, most: Option<Sizes>) -> Frame {
        let extent = store.prim_int(most.and_then(|most| most.shape).unwrap_or(0), DType::I64);
        let shape = emit::buffer(store, "stack_shape", DType::I64, extent, "global");
        let old = store.buffer(shape).clone();
        let mut handle = |name: &str| {
            let name = store.name(name);
            store.add_symbol(Symbol { name, dtype: DType::HANDLE, size: false })
        };
        let (array, args) = (handle("stack_array"), handle("stack_ffi_any"));
        let shape = match most.and_then(|most| most.shape) {
            Some(size) => {
                let kind = store.pointer(DType::I64, old.scope);
                let data = Some(alloca(store, "shape", size, kind));
                store.add_buffer(Buffer { data, ..old })
            }
            None => shape,
        };
        Frame { parts: Some((shape, array, args)), most: most.unwrap_or_default(), run: Sizes::default() }
    }

    /// The statements that allocate the stacks.
    pub(super) fn allocations(&self, store: &mut Store) -> Vec<StmtId> {
        let Some((shape, array, args)) = self.parts else { return Vec::new() };
        let mut all = Vec::new();
        for (var, kind, size) in [(args, "tvm_ffi_any", self.most.args), (array, "array", self.most.array)] {
            if size > 0 {
                let value = alloca(store, kind, size, DType::HANDLE);
                all.push(store.add_stmt(Stmt::Bind { var, value }));
            }
        }
        if self.most.shape.is_some() {
            all.push(store.add_stmt(Stmt::Declare(shape)));
        }
        all
    }

    fn grow(&mut self) {
        self.most.shape = self.most.shape.max(self.run.shape);
        self.most.array = self.most.array.max(self.run.array);
        self.most.args = self.most.args.max(self.run.args);
    }
}

fn alloca(store: &mut Store, kind: &str, size: i64, dtype: DType) -> PrimId {
    let kind = store.name(kind);
    let kind = store.prim(PrimExpr::Str(kind));
    let size = store.prim_int(size, DType::I32);
    store.prim_call("tvm_stack_alloca", &[kind, size], dtype)
}

fn set(store: &mut Store, of: PrimId, at: i64, field: i64, value: PrimId) -> StmtId {
    let [at, field] = [at, field].map(|n| store.prim_int(n, DType::I32));
    emit::call(store, "tvm_struct_set", &[of, at, field, value], DType::I32)
}

impl Lower {
    /// An expression over its lowered calls; what they need runs before the statement under way.
    pub(super) fn expr_of(&mut self, store: &mut Store, root: PrimId) -> PrimId {
        let mut found = false;
        store.for_each_prim(root, &mut |_, part| {
            found |= matches!(part, PrimExpr::Call { op, .. } if is_lowered(store.str(*op)));
        });
        if !found || self.error.is_some() {
            return root;
        }
        if store.prim_depth(root) > DEEPEST {
            self.fail("an expression with calls to be lowered is nested too deep");
            return root;
        }
        self.inside(store, root)
    }

    fn inside(&mut self, store: &mut Store, id: PrimId) -> PrimId {
        let expr = store.prim_rc(id);
        let PrimExpr::Call { op, args, dtype } = &*expr else { return self.over(store, id, &expr) };
        let op = store.str(*op).to_owned();
        let device = match op.as_str() {
            "call_packed" => return self.packed(store, args, 0, "call_packed_lowered", *dtype).0,
            "call_cpacked" => return self.packed(store, args, 0, "call_cpacked_lowered", *dtype).0,
            "tvm_call_trace_packed" => return self.packed(store, args, 0, "tvm_call_trace_packed_lowered", *dtype).0,
            "anylist_setitem_call_packed" => return self.set_item(store, args, "call_packed_lowered", *dtype),
            "anylist_setitem_call_cpacked" => return self.set_item(store, args, "call_cpacked_lowered", *dtype),
            "tvm_stack_make_shape" => return self.shape(store, args),
            "tvm_stack_make_array" => return self.array(store, args),
            "tvm_context_id" => return store.prim_int(0, *dtype),
            "dma_copy" | "dma_wait" | "dma_start_group" | "dma_end_group" => self.method(store, &op),
            _ => return self.over(store, id, &expr),
        };
        match device {
            Ok(name) => {
                let all: Vec<PrimId> = [name].into_iter().chain(args.iter().copied()).collect();
                self.packed(store, &all, 0, "call_packed_lowered", DType::I32).0
            }
            Err(message) => {
                self.fail(message);
                id
            }
        }
    }

    fn over(&mut self, store: &mut Store, id: PrimId, expr: &PrimExpr) -> PrimId {
        let mut children = Vec::new();
        expr.for_each_child(&mut |child| children.push(child));
        let new: Vec<PrimId> = children.iter().map(|child| self.inside(store, *child)).collect();
        if new == children {
            return id;
        }
        let mut new = new.into_iter();
        let over = expr.over(&mut |old| new.next().unwrap_or(old));
        store.prim(over)
    }

    fn all(&mut self, store: &mut Store, args: &[PrimId]) -> Vec<PrimId> {
        args.iter().map(|arg| self.inside(store, *arg)).collect()
    }

    fn prepare(&mut self, stmt: StmtId) {
        if let Some(before) = self.before.last_mut() {
            before.push(stmt);
        }
    }

    /// `T.tvm_stack_make_shape(n, m)`: the place where the extents are written.
    fn shape(&mut self, store: &mut Store, args: &[PrimId]) -> PrimId {
        let Some((buffer, ..)) = self.frame.parts else { return store.prim_int(0, DType::I32) };
        let begin = self.frame.run.shape.unwrap_or(0);
        self.frame.run.shape = Some(begin + args.len() as i64);
        for (at, extent) in self.all(store, args).into_iter().enumerate() {
            let (at, extent) = (store.prim_int(begin + at as i64, DType::I32), cast(store, DType::I64, extent));
            let stmt = emit::put(store, buffer, at, extent);
            self.prepare(stmt);
        }
        let at = store.prim_int(begin, DType::I32);
        let first = emit::load(store, buffer, at);
        let pointer = store.pointer(DType::I64, store.buffer(buffer).scope);
        store.prim_call("address_of", &[first], pointer)
    }

    /// `T.tvm_stack_make_array(data, shape, strides, ndim, like, offset)`: the place where the description is written.
    fn array(&mut self, store: &mut Store, args: &[PrimId]) -> PrimId {
        let at = self.frame.run.array;
        self.frame.run.array += 1;
        let args = self.all(store, args);
        let (Some((_, array, _)), &[data, shape, strides, ndim, like, offset]) = (self.frame.parts, &args[..]) else {
            self.fail("T.tvm_stack_make_array takes six arguments");
            return store.prim_int(0, DType::HANDLE);
        };
        let array = store.prim(PrimExpr::Var(array));
        let strides = match store.as_prim_int(strides) {
            Some(0) => {
                let none = store.prim_int(0, DType::new(DTypeCode::UInt, 64));
                store.prim_call("reinterpret", &[none], DType::HANDLE)
            }
            _ => strides,
        };
        let dtype = store.prim_dtype(like);
        let small = |store: &mut Store, value: i64, bits: u8| store.prim_int(value, DType::new(DTypeCode::UInt, bits));
        let (code, bits) = (small(store, type_code(dtype), 8), small(store, i64::from(dtype.bits), 8));
        let lanes = small(store, i64::from(dtype.lanes), 16);
        let offset = match store.as_prim_int(offset) {
            Some(0) => offset,
            _ => {
                let size = constant(store, bytes(dtype), store.prim_dtype(offset));
                binary(store, PrimOp::Mul, offset, size)
            }
        };
        let offset = cast(store, DType::new(DTypeCode::UInt, 64), offset);
        let [kind, id] = match self.device() {
            Ok(device) => device.map(|part| cast(store, DType::I32, part)),
            Err(message) => {
                self.fail(message);
                return data;
            }
        };
        for (field, value) in (1..).zip([data, shape, strides, ndim, code, bits, lanes, offset, id, kind]) {
            let stmt = set(store, array, at, field, value);
            self.prepare(stmt);
        }
        let [at, field] = [at, ADDRESS].map(|n| store.prim_int(n, DType::I32));
        store.prim_call("tvm_struct_get", &[array, at, field], DType::HANDLE)
    }

    /// A call of a packed function whose name is the argument `name`, over its stack. Gives the stack and where the result is, too.
    fn packed(&mut self, store: &mut Store, args: &[PrimId], name: usize, lowered: &str, dtype: DType) -> (PrimId, [PrimId; 2]) {
        let zero = store.prim_int(0, DType::I32);
        let Some((_, _, stack)) = self.frame.parts.filter(|_| args.len() > name) else { return (zero, [zero; 2]) };
        let stack = store.prim(PrimExpr::Var(stack));
        let outer = self.frame.run;
        let (begin, count) = (outer.args, (args.len() - name - 1) as i64);
        self.frame.run.args += count + 1;
        let args = self.all(store, args);
        for (at, arg) in args[name + 1..].iter().enumerate() {
            self.argument(store, stack, begin + at as i64, *arg);
        }
        // TVM writes the result's place as if the stack began here.
        let none = store.prim_int(NONE, DType::I32);
        let value = store.prim_int(0, DType::I64);
        for (field, value) in [(TYPE_INDEX, none), (PADDING, zero), (VALUE, value)] {
            let stmt = set(store, stack, count, field, value);
            self.prepare(stmt);
        }
        self.frame.grow();
        self.frame.run = outer;
        let [from, to] = [begin, begin + count].map(|n| store.prim_int(n, DType::I32));
        let mut packed = vec![args[name], stack, from, to];
        if lowered == "tvm_call_trace_packed_lowered" {
            packed.extend(args.last());
        }
        (store.prim_call(lowered, &packed, dtype), [stack, to])
    }

    fn argument(&mut self, store: &mut Store, stack: PrimId, at: i64, arg: PrimId) {
        let place = store.prim_int(at, DType::I32);
        let dtype = store.prim_dtype(arg);
        let (kind, value) = match &*store.prim_rc(arg) {
            PrimExpr::Call { op, args, .. } if store.str(*op) == "anylist_getitem" && args.len() == 2 => {
                let args = [args[0], args[1], stack, place];
                let stmt = emit::call(store, "TVMBackendAnyListSetPackedArg", &args, DType::I32);
                self.prepare(stmt);
                return;
            }
            PrimExpr::Call { op, args, .. } if store.str(*op) == "tvm_struct_get" => {
                let address = args.get(2).and_then(|field| store.as_prim_int(*field)) == Some(ADDRESS);
                (if address { TENSOR } else { POINTER }, arg)
            }
            PrimExpr::Str(_) => (STRING, store.prim_call("reinterpret", &[arg], DType::HANDLE)),
            _ => (POINTER, arg),
        };
        let (kind, value) = match dtype.code {
            _ if kind == STRING => (kind, value),
            DTypeCode::Handle => (kind, value),
            DTypeCode::Int | DTypeCode::UInt => {
                // TVM's own cast, which folds nothing.
                (INT, if dtype == DType::I64 { value } else { store.prim(PrimExpr::Cast { dtype: DType::I64, value }) })
            }
            _ if dtype.is_float() => {
                let double = DType::new(DTypeCode::Float, 64);
                (FLOAT, if dtype == double { value } else { store.prim(PrimExpr::Cast { dtype: double, value }) })
            }
            _ => (kind, value),
        };
        let stmt = if kind == POINTER {
            let (none, some) = (store.prim_int(NONE, DType::I32), store.prim_int(POINTER, DType::I32));
            let cond = store.prim_call("isnullptr", &[value], DType::BOOL);
            let (then, other) = (set(store, stack, at, TYPE_INDEX, none), set(store, stack, at, TYPE_INDEX, some));
            store.add_stmt(Stmt::If { cond, then, other: Some(other) })
        } else {
            let kind = store.prim_int(kind, DType::I32);
            set(store, stack, at, TYPE_INDEX, kind)
        };
        self.prepare(stmt);
        let zero = store.prim_int(0, DType::I32);
        let stmt = set(store, stack, at, PADDING, zero);
        self.prepare(stmt);
        let stmt = set(store, stack, at, VALUE, value);
        self.prepare(stmt);
    }

    /// A call whose result is put into a list.
    fn set_item(&mut self, store: &mut Store, args: &[PrimId], lowered: &str, dtype: DType) -> PrimId {
        if args.len() < 3 {
            self.fail("a call that sets an item of a list takes the list, the place and the name of a function");
            return store.prim_int(0, DType::I32);
        }
        let (call, [stack, result]) = self.packed(store, args, 2, lowered, dtype);
        let stmt = store.add_stmt(Stmt::Evaluate(call));
        self.prepare(stmt);
        store.prim_call("TVMBackendAnyListMoveFromPackedReturn", &[args[0], args[1], stack, result], DType::I32)
    }
}

fn is_lowered(op: &str) -> bool {
    matches!(
        op,
        "call_packed"
            | "call_cpacked"
            | "tvm_call_trace_packed"
            | "anylist_setitem_call_packed"
            | "anylist_setitem_call_cpacked"
            | "tvm_stack_make_shape"
            | "tvm_stack_make_array"
            | "tvm_context_id"
            | "dma_copy"
            | "dma_wait"
            | "dma_start_group"
            | "dma_end_group"
    )
}
