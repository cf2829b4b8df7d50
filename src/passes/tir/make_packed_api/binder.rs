//! Takes the arguments of a packed function out and checks them (`src/tirx/transform/tvm_ffi_binder.cc`).

use super::shown::signature;
use super::{Nest, variable};
use crate::ir::{Buffer, DType, DTypeCode, Id, PrimExpr, PrimId, PrimOp, PrimParam, Stmt, StmtId, Store, Symbol};
use crate::tir::arith::Analyzer;
use crate::tir::{binary, math};
use rustc_hash::FxHashMap;

/// Fields of tensors and packed values, as TVM numbers those of its structures.
pub(super) mod field {
    pub(in crate::passes::tir::make_packed_api) const DATA: i64 = 1;
    pub(in crate::passes::tir::make_packed_api) const SHAPE: i64 = 2;
    pub(in crate::passes::tir::make_packed_api) const STRIDES: i64 = 3;
    pub(in crate::passes::tir::make_packed_api) const NDIM: i64 = 4;
    pub(in crate::passes::tir::make_packed_api) const TYPE_CODE: i64 = 5;
    pub(in crate::passes::tir::make_packed_api) const TYPE_BITS: i64 = 6;
    pub(in crate::passes::tir::make_packed_api) const TYPE_LANES: i64 = 7;
    pub(in crate::passes::tir::make_packed_api) const BYTE_OFFSET: i64 = 8;
    pub(in crate::passes::tir::make_packed_api) const DEVICE_ID: i64 = 9;
    pub(in crate::passes::tir::make_packed_api) const DEVICE_TYPE: i64 = 10;
    pub(in crate::passes::tir::make_packed_api) const TYPE_INDEX: i64 = 13;
    pub(in crate::passes::tir::make_packed_api) const VALUE: i64 = 15;
    pub(in crate::passes::tir::make_packed_api) const ELEMENT: i64 = 17;
}

/// Kinds of packed values.
const NONE: i64 = 0;
const INT: i64 = 1;
const BOOL: i64 = 2;
const FLOAT: i64 = 3;
const POINTER: i64 = 4;
const DL_TENSOR: i64 = 7;
const OBJECT: i64 = 64;
const TENSOR: i64 = 70;
/// The offset of a tensor's description in its object.
const OBJECT_HEAD: i64 = 24;

pub(super) const EXPECTED: &str = "`,\n  expected ";

/// The first binding of a variable.
pub(super) struct Bound {
    value: PrimId,
    pub(super) path: String,
}

/// A size that is computed, to be checked when all variables are bound.
struct Pending {
    cond: PrimId,
    path: String,
    param: usize,
    expected: PrimId,
}

pub(super) struct Binder {
    pub(super) symbol: String,
    signature: String,
    params: Vec<PrimParam>,
    args: PrimId,
    pub(super) device: i64,
    pub(super) device_id: Id<Symbol>,
    pub(super) bound: FxHashMap<Id<Symbol>, Bound>,
    pending: Vec<Pending>,
    pub(super) analyzer: Analyzer,
    /// The statements before the body: checks and variables.
    pub(super) init: Vec<Nest>,
    /// Checks that need all variables.
    pub(super) asserts: Vec<Nest>,
    /// Buffers over the pointers of tensors.
    pub(super) declared: Vec<Nest>,
    /// The new buffers of the parameters.
    pub(super) buffers: Vec<(Id<Buffer>, Id<Buffer>)>,
    pub(super) error: Option<String>,
}

impl Binder {
    pub(super) fn new(
        store: &mut Store,
        symbol: &str,
        params: &[PrimParam],
        args: Id<Symbol>,
        count: Id<Symbol>,
        device: i64,
    ) -> Binder {
        let device_id = variable(store, "dev_id", DType::I32);
        let args = store.prim(PrimExpr::Var(args));
        let mut binder = Binder {
            symbol: symbol.to_owned(),
            signature: signature(store, symbol, params),
            params: params.to_vec(),
            args,
            device,
            device_id,
            bound: FxHashMap::default(),
            pending: Vec::new(),
            analyzer: Analyzer::new(),
            init: Vec::new(),
            asserts: Vec::new(),
            declared: Vec::new(),
            buffers: Vec::new(),
            error: None,
        };
        let (count, expected) = (store.prim(PrimExpr::Var(count)), store.prim_int(params.len() as i64, DType::I32));
        let cond = binary(store, PrimOp::Eq, count, expected);
        let given = params.len().to_string();
        binder.check(store, cond, "TypeError", &["Expected ", &given, " arguments"], "`", &[]);
        if !params.is_empty() {
            let null = store.prim_call("isnullptr", &[args], DType::BOOL);
            let cond = math::not(store, null);
            binder.check(store, cond, "TypeError", &["args pointer is NULL"], "`", &[]);
        }
        binder
    }

    /// Returns the variable of the device's number, where a tensor has said it.
    pub(super) fn device_id(&self) -> Option<Id<Symbol>> {
        self.bound.contains_key(&self.device_id).then_some(self.device_id)
    }

    /// Binds all parameters: first the arguments, then the descriptions of tensors.
    pub(super) fn params(&mut self, store: &mut Store) {
        let mut tensors = Vec::new();
        for (i, param) in self.params.clone().into_iter().enumerate() {
            let name = store.str(store.prim_param_name(param)).to_owned();
            let index = variable(store, &format!("{name}.type_index"), DType::I32);
            let value = self.packed(store, i, field::TYPE_INDEX, DType::I32);
            self.bind_var(store, index, value);
            let index = store.prim(PrimExpr::Var(index));
            match param {
                PrimParam::Buffer(buffer) => {
                    let handle = variable(store, &format!("{name}.handle"), DType::HANDLE);
                    let value = self.handle(store, i, index, "Tensor");
                    self.bind_var(store, handle, value);
                    tensors.push((i, buffer, handle));
                }
                PrimParam::Var(symbol) => self.scalar_param(store, i, index, symbol, name),
            }
        }
        for (i, buffer, handle) in tensors {
            self.tensor(store, i, buffer, handle);
        }
        for Pending { cond, path, param, expected } in std::mem::take(&mut self.pending) {
            let shown = self.shown(store, expected);
            let before = ["Invalid ", &path, " on argument #", &param.to_string()];
            let assert = self.assert(store, cond, "ValueError", &before, EXPECTED, &[&shown]);
            self.asserts.push(Nest::Before(assert));
        }
    }

    fn scalar_param(&mut self, store: &mut Store, i: usize, index: PrimId, symbol: Id<Symbol>, name: String) {
        let dtype = store.symbol(symbol).dtype;
        let value = match dtype.code {
            DTypeCode::Handle => {
                let handle = self.handle(store, i, index, "pointer");
                let value = store.prim_call("reinterpret", &[handle], dtype);
                return self.bind_var(store, symbol, value);
            }
            _ if dtype == DType::BOOL => {
                self.check_kind(store, i, index, &[BOOL, INT], "boolean");
                let value = self.packed(store, i, field::VALUE, DType::I64);
                store.prim(PrimExpr::Cast { dtype, value })
            }
            DTypeCode::Int | DTypeCode::UInt => {
                self.check_kind(store, i, index, &[INT, BOOL], "int");
                self.loaded(store, i, dtype)
            }
            DTypeCode::Float => {
                self.check_kind(store, i, index, &[FLOAT, INT, BOOL], "float");
                let kind = store.prim_int(FLOAT, DType::I32);
                let cond = binary(store, PrimOp::Eq, index, kind);
                let then = self.loaded(store, i, dtype);
                let value = self.packed(store, i, field::VALUE, DType::I64);
                let other = store.prim(PrimExpr::Cast { dtype, value });
                store.prim(PrimExpr::Select { cond, then, other })
            }
            _ => {
                self.error.get_or_insert_with(|| format!("parameter {name} of type {dtype} cannot be packed"));
                return;
            }
        };
        let param = store.prim(PrimExpr::Var(symbol));
        self.bind(store, param, value, name, i);
    }

    pub(super) fn bind_var(&mut self, store: &mut Store, var: Id<Symbol>, value: PrimId) {
        let stmt = store.add_stmt(Stmt::Bind { var, value });
        self.init.push(Nest::Before(stmt));
    }

    /// Loads a number of a type from a packed value.
    fn loaded(&mut self, store: &mut Store, i: usize, dtype: DType) -> PrimId {
        let wide = if dtype.code == DTypeCode::Float { DType::F64 } else { DType::I64 };
        let value = self.packed(store, i, field::VALUE, wide);
        if wide == dtype { value } else { store.prim(PrimExpr::Cast { dtype, value }) }
    }

    fn packed(&mut self, store: &mut Store, i: usize, field: i64, dtype: DType) -> PrimId {
        part(store, self.args, i as i64, field, dtype)
    }

    fn check_kind(&mut self, store: &mut Store, i: usize, index: PrimId, kinds: &[i64], expected: &str) {
        let conds: Vec<PrimId> = (kinds.iter())
            .map(|kind| {
                let number = store.prim_int(*kind, DType::I32);
                binary(store, if *kind == OBJECT { PrimOp::Ge } else { PrimOp::Eq }, index, number)
            })
            .collect();
        let Some(cond) = conds.into_iter().reduce(|a, b| binary(store, PrimOp::Or, a, b)) else { return };
        self.check_type(store, i, cond, expected);
    }

    pub(super) fn check_type(&mut self, store: &mut Store, i: usize, cond: PrimId, expected: &str) {
        self.check(store, cond, "TypeError", &["Mismatched type on argument #", &i.to_string()], EXPECTED, &[expected]);
    }

    /// Loads a pointer argument; of a tensor the pointer to its description.
    fn handle(&mut self, store: &mut Store, i: usize, index: PrimId, expected: &str) -> PrimId {
        self.check_kind(store, i, index, &[NONE, POINTER, DL_TENSOR, OBJECT], expected);
        let value = self.packed(store, i, field::VALUE, DType::HANDLE);
        let head = store.prim_int(OBJECT_HEAD, DType::I32);
        let inside = store.prim_call("handle_add_byte_offset", &[value, head], DType::HANDLE);
        let kind = store.prim_int(TENSOR, DType::I32);
        let cond = binary(store, PrimOp::Eq, index, kind);
        store.prim_call("if_then_else", &[cond, inside, value], DType::HANDLE)
    }

    pub(super) fn assert(
        &self,
        store: &mut Store,
        cond: PrimId,
        kind: &str,
        before: &[&str],
        middle: &str,
        after: &[&str],
    ) -> StmtId {
        let calling = [" when calling:\n  `", &self.signature, middle];
        let parts = before.iter().chain(&calling).chain(after).map(|part| store.name(part)).collect();
        let kind = store.name(kind);
        store.add_stmt(Stmt::Assert { cond, kind, parts })
    }

    /// Makes a check that is done at once.
    pub(super) fn check(&mut self, store: &mut Store, cond: PrimId, kind: &str, before: &[&str], middle: &str, after: &[&str]) {
        let assert = self.assert(store, cond, kind, before, middle, after);
        self.init.push(Nest::Before(assert));
    }

    /// Binds a size: a variable to the found value the first time, and checks it otherwise. True if it was bound.
    pub(super) fn bind(&mut self, store: &mut Store, size: PrimId, value: PrimId, path: String, param: usize) -> bool {
        let PrimExpr::Var(symbol) = *store.prim_of_id(size) else {
            let cond = binary(store, PrimOp::Eq, size, value);
            let cond = self.analyzer.simplify(store, cond);
            if self.undecided(store, cond, &path) {
                self.pending.push(Pending { cond, path, param, expected: size });
            }
            return false;
        };
        let Some(first) = self.bound.get(&symbol) else {
            self.bound.insert(symbol, Bound { value: size, path });
            self.bind_var(store, symbol, value);
            return true;
        };
        let (first, from) = (first.value, first.path.clone());
        let cond = binary(store, PrimOp::Eq, first, value);
        let cond = self.analyzer.simplify(store, cond);
        if self.undecided(store, cond, &path) {
            let before = ["Mismatched ", &path, " on argument #", &param.to_string()];
            let assert = match from.is_empty() || from == path {
                true => self.assert(store, cond, "ValueError", &before, "`,\n  expected matching value", &[]),
                false => self.assert(store, cond, "ValueError", &before, "`,\n  expected to match ", &[&from]),
            };
            self.asserts.push(Nest::Before(assert));
        }
        false
    }

    /// True if a condition must be checked at run time; one that never holds is an error.
    pub(super) fn undecided(&mut self, store: &Store, cond: PrimId, path: &str) -> bool {
        if store.as_prim_int(cond) == Some(0) {
            self.error.get_or_insert_with(|| format!("Bind have an unmet assertion at {path}"));
        }
        store.as_prim_int(cond).is_none()
    }
}

/// Makes a field of a structure in memory.
pub(super) fn part(store: &mut Store, of: PrimId, at: i64, field: i64, dtype: DType) -> PrimId {
    let [at, field] = [at, field].map(|n| store.prim_int(n, DType::I32));
    store.prim_call("tvm_struct_get", &[of, at, field], dtype)
}
