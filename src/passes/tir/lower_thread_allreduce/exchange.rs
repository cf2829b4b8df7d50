//! The exchanges of one reduction over threads.

mod shared;

use super::Threads;
use crate::ir::{Buffer, DType, DTypeCode, Id, PrimExpr, PrimId, PrimOp, Reducer, StmtId, Store, Symbol};
use crate::passes::tir::emit::{alloc, buffer, load, put, sync, when};
use crate::tir::{binary, constant, substitute};

/// The properties of the target that count.
#[derive(Default)]
pub(super) struct Device {
    pub(super) kind: String,
    /// Threads of a warp.
    pub(super) warp: i64,
    /// Threads of a block; -1 if that is not known.
    pub(super) most: i64,
}

/// The replacement of a reduction.
pub(super) struct Made {
    pub(super) stmts: Vec<StmtId>,
    /// Of each buffer of a result, where the result stands.
    pub(super) results: Vec<(Id<Buffer>, (Id<Buffer>, PrimId))>,
}

struct Exchange<'a> {
    store: &'a mut Store,
    reducer: &'a Reducer,
    device: &'a Device,
    dtypes: Vec<DType>,
    /// The number of a thread among those that reduce one value, and of the value.
    reduce: PrimId,
    group: PrimId,
    reduce_extent: i64,
    group_extent: i64,
    /// The number of neighbours that reduce one value.
    contiguous: i64,
    allocs: Vec<Id<Buffer>>,
    stmts: Vec<StmtId>,
}

/// Lowers `T.tvm_thread_allreduce(*args)` among `threads`.
pub(super) fn exchange(
    store: &mut Store,
    device: &Device,
    threads: &[Threads],
    reducer: &Reducer,
    args: &[PrimId],
) -> Result<Made, String> {
    let size = reducer.results.len();
    if args.first().and_then(|count| store.as_prim_int(*count)) != Some(size as i64) || args.len() < 2 + 2 * size {
        return Err(format!("the reducer makes {size} values of two, and the call has others"));
    }
    let (cond, sums) = (args[1 + size], &args[2 + size..2 + 2 * size]);
    let mut values = args[1..=size].to_vec();
    if store.as_prim_int(cond) != Some(1) {
        for (value, identity) in values.iter_mut().zip(&reducer.identities) {
            *value = store.prim(PrimExpr::Select { cond, then: *value, other: *identity });
        }
    }
    let mut buffers = Vec::new();
    for sum in sums {
        let inner = match *store.prim_of_id(*sum) {
            PrimExpr::Cast { value, .. } => value,
            _ => *sum,
        };
        let PrimExpr::Load { buffer, .. } = *store.prim_of_id(inner) else {
            return Err("the results of a reduction over threads are elements of buffers".into());
        };
        buffers.push(buffer);
    }
    let mut over: Vec<Id<Symbol>> = Vec::new();
    for index in &args[2 + 2 * size..] {
        match *store.prim_of_id(*index) {
            PrimExpr::Var(var) if !over.contains(&var) => over.push(var),
            PrimExpr::Var(_) | PrimExpr::Int { value: 0, .. } => {}
            _ => return Err("a reduction over threads names indices of threads, or 0".into()),
        }
    }
    let mut axes = Vec::new();
    for (var, tag, extent) in threads {
        let tag = store.str(*tag);
        let axis = ["threadIdx.x", "threadIdx.y", "threadIdx.z"].iter().position(|name| *name == tag);
        let Some(axis) = axis else {
            if tag.starts_with("blockIdx.") || tag.starts_with("cluster") {
                continue;
            }
            return Err("vthread do not work with cross thread reduction".into());
        };
        let Some(extent) = store.as_prim_int(*extent).filter(|extent| *extent > 0) else {
            return Err(format!("Need constant extent for reduce set {}", store.str(store.symbol(*var).name)));
        };
        if extent > 1 {
            axes.push((axis, *var, extent, over.contains(var)));
        }
    }
    if axes.iter().filter(|(.., reduces)| *reduces).count() != over.len() {
        return Err("Not all reduce index are presented in the context".into());
    }
    crate::ir::sort::sort_by(&mut axes, |a, b| a.0.cmp(&b.0));
    let mut flat = |reduces: bool| {
        let (mut index, mut total) = (None, 1i64);
        for (_, var, extent, _) in axes.iter().filter(|axis| axis.3 == reduces) {
            let var = store.prim(PrimExpr::Var(*var));
            let step = constant(store, total, store.prim_dtype(var));
            let part = binary(store, PrimOp::Mul, var, step);
            index = Some(index.map_or(part, |index| binary(store, PrimOp::Add, index, part)));
            total = total.saturating_mul(*extent);
        }
        (index.unwrap_or_else(|| store.prim_int(0, DType::I32)), total)
    };
    let ((reduce, reduce_extent), (group, group_extent)) = (flat(true), flat(false));
    let contiguous = axes.iter().take_while(|axis| axis.3).map(|axis| axis.2).product();
    let dtypes = values.iter().map(|value| store.prim_dtype(*value)).collect();
    let mut exchange = Exchange {
        store,
        reducer,
        device,
        dtypes,
        reduce,
        group,
        reduce_extent,
        group_extent,
        contiguous,
        allocs: Vec::new(),
        stmts: Vec::new(),
    };
    let places = match (exchange.fits_warps(threads), reduce_extent) {
        (true, _) => exchange.by_warps(values, &buffers),
        (false, 1) => {
            // Nothing is reduced.
            let zero = exchange.int(0);
            let stmts = buffers.iter().zip(values).map(|(buffer, value)| put(exchange.store, *buffer, zero, value)).collect();
            return Ok(Made { stmts, results: Vec::new() });
        }
        (false, _) => exchange.by_shared(&values),
    };
    let mut stmts: Vec<StmtId> = Vec::new();
    for buffer in exchange.allocs {
        stmts.push(alloc(exchange.store, buffer));
    }
    stmts.append(&mut exchange.stmts);
    Ok(Made { stmts, results: buffers.into_iter().zip(places).collect() })
}

impl Exchange<'_> {
    fn int(&mut self, value: i64) -> PrimId {
        self.store.prim_int(value, DType::I32)
    }

    /// An operation on an index and a number.
    fn with(&mut self, op: PrimOp, index: PrimId, value: i64) -> PrimId {
        let value = constant(self.store, value, self.store.prim_dtype(index));
        binary(self.store, op, index, value)
    }

    fn combine(&mut self, lhs: &[PrimId], rhs: &[PrimId]) -> Vec<PrimId> {
        let reducer = self.reducer;
        let value = |symbol: Id<Symbol>| {
            let at = |vars: &[Id<Symbol>], values: &[PrimId]| {
                vars.iter().position(|var| *var == symbol).and_then(|at| values.get(at).copied())
            };
            at(&reducer.lhs, lhs).or_else(|| at(&reducer.rhs, rhs))
        };
        reducer.results.iter().map(|result| substitute(self.store, *result, &mut |_, symbol| value(symbol))).collect()
    }

    /// True if threads of warps can exchange their values.
    fn fits_warps(&self, threads: &[Threads]) -> bool {
        let Device { kind, warp, most } = self.device;
        let fits = |dtype: &DType| match (dtype.code, dtype.bits) {
            (DTypeCode::Float, 16) => dtype.lanes <= 2,
            _ => dtype.lanes == 1 && (25..=64).contains(&dtype.bits),
        };
        let narrow = |dtype: &DType| u32::from(dtype.bits) * u32::from(dtype.lanes) == 32;
        let is_rocm = kind == "rocm";
        if !matches!(kind.as_str(), "cuda" | "rocm" | "metal" | "webgpu")
            || (is_rocm && !self.dtypes.iter().all(narrow))
            || !self.dtypes.iter().all(fits)
            || threads.is_empty()
            || self.contiguous != self.reduce_extent
        {
            return false;
        }
        if is_rocm || self.reduce_extent == 1 {
            return is_rocm && self.reduce_extent == *warp;
        }
        warp % self.reduce_extent == 0
            || (*most != -1 && *most <= warp * warp && self.reduce_extent % warp == 0)
            || (self.group_extent == 1 && self.reduce_extent <= *warp)
    }

    fn by_warps(&mut self, values: Vec<PrimId>, buffers: &[Id<Buffer>]) -> Vec<(Id<Buffer>, PrimId)> {
        let warp = self.device.warp;
        let zero = constant(self.store, 0, self.store.prim_dtype(self.reduce));
        if self.reduce_extent <= warp {
            let (sums, locals) = self.warp(&values, self.reduce_extent, None);
            self.allocs = locals;
            let mask = self.allocs.last().copied();
            let extent = constant(self.store, self.reduce_extent, self.store.prim_dtype(self.group));
            let lane = binary(self.store, PrimOp::Mul, extent, self.group);
            for sum in &sums {
                let value = load(self.store, *sum, zero);
                let all = self.shuffle("tvm_warp_shuffle", mask, value, lane);
                let stmt = put(self.store, *sum, zero, all);
                self.stmts.push(stmt);
            }
            let first = self.int(0);
            return sums.into_iter().map(|sum| (sum, first)).collect();
        }
        let warps = self.reduce_extent / warp;
        let index_type = self.store.prim_dtype(self.reduce);
        let shared = |exchange: &mut Self, name: &str, extent: i64| -> Vec<Id<Buffer>> {
            let extent = constant(exchange.store, extent, index_type);
            let dtypes: Vec<DType> = buffers.iter().map(|of| exchange.store.buffer(*of).dtype).collect();
            dtypes.into_iter().map(|dtype| buffer(exchange.store, name, dtype, extent, "shared")).collect()
        };
        let staging = shared(self, "red_buf_staging", warps * self.group_extent);
        self.allocs.extend(&staging);
        let (sums, locals) = self.warp(&values, warp, None);
        self.allocs.extend(locals);
        self.allocs.extend(&sums);
        let row = self.with(PrimOp::Mul, self.group, warps);
        let number = self.with(PrimOp::FloorDiv, self.reduce, warp);
        let place = binary(self.store, PrimOp::Add, row, number);
        let lane = self.with(PrimOp::FloorMod, self.reduce, warp);
        let first = self.with(PrimOp::Eq, lane, 0);
        self.publish(first, &staging, &sums, place);
        let place = binary(self.store, PrimOp::Add, row, self.reduce);
        let values: Vec<PrimId> = staging.iter().map(|staging| load(self.store, *staging, place)).collect();
        let among = self.with(PrimOp::Lt, self.reduce, warps);
        let (sums, locals) = self.warp(&values, warps, Some(among));
        self.allocs.extend(locals);
        self.allocs.extend(&sums);
        let results = shared(self, "red_result", self.group_extent);
        let first = self.with(PrimOp::Eq, self.reduce, 0);
        self.publish(first, &results, &sums, self.group);
        results.into_iter().map(|result| (result, self.group)).collect()
    }

    /// One thread writes what it has to shared memory, and all wait for it.
    fn publish(&mut self, cond: PrimId, to: &[Id<Buffer>], from: &[Id<Buffer>], place: PrimId) {
        let zero = self.int(0);
        let mut stmts = Vec::new();
        for (to, from) in to.iter().zip(from) {
            let value = load(self.store, *from, zero);
            stmts.push(put(self.store, *to, place, value));
        }
        let stmt = when(self.store, cond, &stmts);
        self.stmts.push(stmt);
        let stmt = sync(self.store, "shared");
        self.stmts.push(stmt);
    }

    /// Reduces over neighbours in a warp. Gives what the sums stand in, and what else is to be allocated.
    fn warp(&mut self, values: &[PrimId], extent: i64, predicate: Option<PrimId>) -> (Vec<Id<Buffer>>, Vec<Id<Buffer>>) {
        let (zero, one) = (self.int(0), self.int(1));
        let (mut sums, mut locals, mut loads) = (Vec::new(), Vec::new(), Vec::new());
        for (at, value) in values.iter().enumerate() {
            let sum = buffer(self.store, &format!("red_buf{at}"), self.dtypes[at], one, "local");
            loads.push(put(self.store, sum, zero, *value));
            sums.push(sum);
            locals.push(buffer(self.store, &format!("t{at}"), self.dtypes[at], one, "local"));
        }
        match predicate {
            Some(cond) => {
                let stmt = when(self.store, cond, &loads);
                self.stmts.push(stmt);
            }
            None => self.stmts.append(&mut loads),
        }
        let mut mask = None;
        if !matches!(self.device.kind.as_str(), "metal" | "webgpu") {
            let dtype = DType::new(DTypeCode::UInt, 32);
            let active = self.store.prim_call("tvm_warp_activemask", &[], dtype);
            let buffer = buffer(self.store, "mask", dtype, one, "local");
            let stmt = put(self.store, buffer, zero, active);
            self.stmts.push(stmt);
            locals.push(buffer);
            mask = Some(buffer);
        }
        let mut offset = 1;
        while offset * 2 < extent {
            offset *= 2;
        }
        while offset > 0 {
            let (mut lhs, mut rhs) = (Vec::new(), Vec::new());
            let by = self.int(offset);
            for (sum, local) in sums.iter().zip(&locals) {
                let value = load(self.store, *sum, zero);
                lhs.push(value);
                let other = self.shuffle("tvm_warp_shuffle_down", mask, value, by);
                let stmt = put(self.store, *local, zero, other);
                self.stmts.push(stmt);
                rhs.push(load(self.store, *local, zero));
            }
            let made = self.combine(&lhs, &rhs);
            let stores: Vec<StmtId> = sums.iter().zip(made).map(|(sum, value)| put(self.store, *sum, zero, value)).collect();
            if offset * 2 > extent {
                let other = self.with(PrimOp::Add, self.reduce, offset);
                let cond = self.with(PrimOp::Lt, other, extent);
                let stmt = when(self.store, cond, &stores);
                self.stmts.push(stmt);
            } else {
                self.stmts.extend(stores);
            }
            offset /= 2;
        }
        (sums, locals)
    }

    fn shuffle(&mut self, op: &str, mask: Option<Id<Buffer>>, value: PrimId, by: PrimId) -> PrimId {
        let zero = self.int(0);
        let mask = mask.map_or(zero, |mask| load(self.store, mask, zero));
        let width = self.int(self.device.warp);
        self.store.prim_call(op, &[mask, value, by, width, width], self.store.prim_dtype(value))
    }
}
