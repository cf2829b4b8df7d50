//! Calls: of numeric functions, of intrinsics for memory and threads, and of other functions of the module.

use super::{Compiler, Done, unsupported};
use crate::eval::EvalFailure;
use crate::eval::tir::math::function;
use crate::eval::tir::memory::Kind;
use crate::eval::tir::step::{Reg, Step};
use crate::ir::{DType, Expr, PrimExpr, PrimId, PrimOp, PrimParam};

const I64: Kind = Kind::Int(64);

impl Compiler<'_> {
    /// Computes one lane of an intrinsic's result.
    pub(super) fn call(&mut self, name: &str, args: &[PrimId], dtype: DType, lane: u16) -> Done<Reg> {
        let store = self.store;
        match (name, args) {
            ("if_then_else" | "Select", &[cond, then, other]) => return self.select(cond, then, other, lane),
            ("likely" | "tvm_thread_invariant" | "ignore_loop_partition", &[value]) => return self.lane(value, lane),
            ("selector" | "filter", &[value, ..]) => return self.lane(value, lane),
            ("assume" | "start_profile_intrinsic" | "end_profile_intrinsic", _) => return Ok(self.int(1)),
            ("vscale", []) => return Ok(self.int(1)),
            ("undef", []) => return Ok(self.int(0)),
            ("large_uint_imm", &[low, high]) => {
                let (low, high) = (store.as_prim_int(low).unwrap_or(0), store.as_prim_int(high).unwrap_or(0));
                return Ok(self.constant((high as u64) << 32 | low as u64 & 0xffff_ffff));
            }
            ("reinterpret", &[value]) => return self.reinterpret(value, dtype, lane),
            ("clz", &[value]) => return self.leading_zeros(value, lane),
            ("q_multiply_shift", &[x, y, q, s]) => {
                let shift = self.lane(s, lane)?;
                return self.multiply_shift(x, y, q, None, shift, lane);
            }
            ("q_multiply_shift_per_axis", &[x, y, ls, rs, q, _, _]) => {
                let (left, right) = (self.lane(ls, lane)?, self.lane(rs, lane)?);
                return self.multiply_shift(x, y, q, Some(left), right, lane);
            }
            ("vectorlow", &[vector]) => return self.lane(vector, lane),
            ("vectorhigh", &[vector]) => {
                let half = Self::lanes(store.prim_dtype(vector)) / 2;
                return self.lane(vector, half + lane);
            }
            ("vectorcombine", &[a, b]) => {
                let half = Self::lanes(store.prim_dtype(a));
                return if lane < half { self.lane(a, lane) } else { self.lane(b, lane - half) };
            }
            ("get_active_lane_mask", &[base, limit]) => {
                let (base, limit, lane) = (self.lane(base, 0)?, self.lane(limit, 0)?, self.int(i64::from(lane)));
                let at = self.int_op(PrimOp::Add, I64, base, lane);
                return Ok(self.int_op(PrimOp::Lt, I64, at, limit));
            }
            ("masked_load", &[buffer, ref indices @ .., mask]) => return self.masked_load(buffer, indices, mask, lane),
            ("dp4a", &[a, b, acc]) => return self.dot(a, b, acc),
            ("call_pure_extern" | "call_extern", &[name, ref args @ ..]) => {
                return match store.prim_of_id(name) {
                    PrimExpr::Str(name) => {
                        let name = store.str(*name).to_owned();
                        // A function of C's library; those of single precision end with `f`.
                        let f = name.strip_suffix('f').filter(|_| !matches!(&name[..], "erf")).unwrap_or(&name);
                        match function(f, args.len(), true) {
                            Some(_) => self.number(f, args, dtype, lane),
                            None => unsupported(&format!("`{name}`, which is not in the program,")),
                        }
                    }
                    _ => unsupported("a function that is not in the program"),
                };
            }
            ("call_llvm_pure_intrin" | "call_llvm_intrin", &[name, ref args @ ..]) => {
                return match store.prim_of_id(name) {
                    PrimExpr::Str(name) => {
                        let name = store.str(*name).to_owned();
                        self.llvm(&name, args, dtype, lane)
                    }
                    _ => unsupported("an intrinsic of LLVM that is known by number only"),
                };
            }
            ("isnullptr", &[pointer]) => {
                let (pointer, zero) = (self.lane(pointer, 0)?, self.int(0));
                return Ok(self.int_op(PrimOp::Eq, Kind::UInt(64), pointer, zero));
            }
            ("address_of", &[load]) => return self.address(load),
            ("tvm_access_ptr", &[annotation, pointer, offset, ..]) => {
                let size = Kind::of(store.prim_dtype(annotation)).bytes() * usize::from(store.prim_dtype(annotation).lanes);
                let (pointer, offset, size) = (self.lane(pointer, 0)?, self.lane(offset, 0)?, self.int(size as i64));
                return Ok(self.multiply_add(pointer, offset, size));
            }
            ("handle_add_byte_offset" | "ptr_byte_offset", &[pointer, offset, ..]) => {
                let (pointer, offset) = (self.lane(pointer, 0)?, self.lane(offset, 0)?);
                return Ok(self.int_op(PrimOp::Add, I64, pointer, offset));
            }
            ("tvm_struct_get", &[structure, index, number, ..]) => return self.struct_get(structure, index, number, dtype),
            ("type_annotation", _) => return Ok(self.int(0)),
            ("tvm_warp_activemask" | "cuda.__activemask", _) => return Ok(self.int(0xffff_ffff)),
            _ => {}
        }
        if let Some(reg) = self.thread_call(name, args, lane)? {
            return Ok(reg);
        }
        self.number(name, args, dtype, lane)
    }

    /// Computes a numeric function.
    fn number(&mut self, name: &str, args: &[PrimId], dtype: DType, lane: u16) -> Done<Reg> {
        let from_kind = args.first().map_or(I64, |arg| Kind::of(self.store.prim_dtype(*arg)));
        let Some(f) = function(name, args.len(), from_kind.is_float()) else {
            return unsupported(&format!("`T.{name}`"));
        };
        let is_bits = matches!(f, crate::eval::tir::step::Math::Bits(_));
        let mut regs = [0; 3];
        for (reg, arg) in regs.iter_mut().zip(args) {
            *reg = self.lane(*arg, lane)?;
            let kind = Kind::of(self.store.prim_dtype(*arg));
            if !is_bits && !kind.is_float() {
                *reg = self.cast(*reg, kind, Kind::F64);
            }
        }
        let first = regs[0];
        regs.iter_mut().skip(args.len()).for_each(|reg| *reg = first);
        self.count_operation();
        // Shifts to the right depend on the bits of their type.
        let [a, b, c] = regs;
        let kind = match Kind::of(dtype) {
            kind if kind.is_float() || is_bits => kind,
            _ => Kind::F64,
        };
        let level = self.level(&regs);
        let f = self.math(f);
        let to = self.register(level);
        self.emit_at(level, Step::Math { f, kind, to, a, b, c });
        match Kind::of(dtype) {
            wanted if !is_bits && !wanted.is_float() => Ok(self.cast(to, Kind::F64, wanted)),
            _ => Ok(to),
        }
    }

    fn llvm(&mut self, name: &str, args: &[PrimId], dtype: DType, lane: u16) -> Done<Reg> {
        // The arguments may begin with the number of types in the signature.
        let args = match args {
            [first, rest @ ..]
                if !rest.is_empty() && self.store.prim_dtype(*first) == DType::new(crate::ir::DTypeCode::UInt, 32) =>
            {
                rest
            }
            _ => args,
        };
        let bare = name.trim_start_matches("llvm.").split('.').next().unwrap_or_default();
        let known = match bare {
            "ctpop" => "popcount",
            "rint" => "nearbyint",
            other => other,
        };
        let is_float = args.first().is_some_and(|arg| self.store.prim_dtype(*arg).is_float());
        match (bare, args) {
            ("ctlz", [value, ..]) => self.leading_zeros(*value, lane),
            ("lround", [value]) => {
                let rounded = self.number("round", &[*value], self.store.prim_dtype(*value), lane)?;
                Ok(self.cast(rounded, Kind::F64, Kind::of(dtype)))
            }
            _ if function(known, args.len(), is_float).is_some() => self.number(known, args, dtype, lane),
            _ => unsupported(&format!("`{name}` of LLVM")),
        }
    }

    fn reinterpret(&mut self, value: PrimId, dtype: DType, lane: u16) -> Done<Reg> {
        let from = self.store.prim_dtype(value);
        if Self::lanes(from) != Self::lanes(dtype) {
            return unsupported("reading vectors as vectors of another length");
        }
        let (from_kind, kind) = (Kind::of(from), Kind::of(dtype));
        let from = self.lane(value, lane)?;
        Ok(self.pure(6, 0, (from_kind, kind), [from, 0, 0], |to| Step::Reinterpret { from_kind, kind, to, from }))
    }

    fn leading_zeros(&mut self, value: PrimId, lane: u16) -> Done<Reg> {
        let bits = i64::from(self.store.prim_dtype(value).bits);
        let a = self.lane(value, lane)?;
        let a = self.cast(a, I64, Kind::UInt(bits as u8));
        let (f, b) = (self.math(super::Math::Bits(|x, bits| i64::from(x.leading_zeros()) - (64 - bits))), self.int(bits));
        let level = self.level(&[a, b]);
        let to = self.register(level);
        self.emit_at(level, Step::Math { f, kind: I64, to, a, b, c: a });
        Ok(to)
    }

    /// `x * y / 2^(q - s)`, rounded half up.
    fn multiply_shift(&mut self, x: PrimId, y: PrimId, q: PrimId, left: Option<Reg>, right: Reg, lane: u16) -> Done<Reg> {
        let (mut x, y, q) = (self.lane(x, lane)?, self.lane(y, lane)?, self.lane(q, lane)?);
        let shift = |c: &mut Self, name: &str, a: Reg, b: Reg| -> Done<Reg> {
            let Some(f) = function(name, 2, false) else { return unsupported(name) };
            let f = c.math(f);
            let level = c.level(&[a, b]);
            let to = c.register(level);
            c.emit_at(level, Step::Math { f, kind: I64, to, a, b, c: a });
            Ok(to)
        };
        let total = match left {
            Some(left) => {
                x = shift(self, "shift_left", x, left)?;
                self.int_op(PrimOp::Add, I64, q, right)
            }
            // The sign of a single shift is its direction.
            None => self.int_op(PrimOp::Sub, I64, q, right),
        };
        let (one, product) = (self.int(1), self.int_op(PrimOp::Mul, I64, x, y));
        let less = self.int_op(PrimOp::Sub, I64, total, one);
        let half = shift(self, "shift_left", one, less)?;
        let sum = self.int_op(PrimOp::Add, I64, product, half);
        let result = shift(self, "shift_right", sum, total)?;
        Ok(self.cast(result, I64, Kind::Int(32)))
    }

    fn dot(&mut self, a: PrimId, b: PrimId, acc: PrimId) -> Done<Reg> {
        let mut sum = self.lane(acc, 0)?;
        for lane in 0..4 {
            let (x, y) = (self.lane(a, lane)?, self.lane(b, lane)?);
            let product = self.int_op(PrimOp::Mul, Kind::Int(32), x, y);
            sum = self.int_op(PrimOp::Add, Kind::Int(32), sum, product);
        }
        Ok(sum)
    }

    fn masked_load(&mut self, buffer: PrimId, indices: &[PrimId], mask: PrimId, lane: u16) -> Done<Reg> {
        let PrimExpr::Buffer(buffer) = *self.store.prim_of_id(buffer) else {
            return unsupported("a masked load from something that is no buffer");
        };
        let (cond, nothing) = (self.lane(mask, lane)?, self.int(0));
        let mut load = |c: &mut Self| {
            let (base, place, kind) = c.element(buffer, indices, lane)?;
            c.count_access(buffer, false);
            let to = c.register(c.depth());
            c.emit(Step::Load { kind, to, base, place });
            Ok(to)
        };
        self.choose(cond, &mut load, &mut |_| Ok(nothing))
    }

    /// Returns the address of an element.
    fn address(&mut self, load: PrimId) -> Done<Reg> {
        match self.store.prim_of_id(load) {
            PrimExpr::Load { buffer, indices } => {
                let (base, place, kind) = self.element(*buffer, indices, 0)?;
                let size = self.int(kind.bytes() as i64);
                Ok(self.multiply_add(base, place, size))
            }
            _ => self.lane(load, 0),
        }
    }

    /// Compiles a call of another function of the module inline.
    pub(super) fn call_function(&mut self, name: &str, args: &[PrimId]) -> Done<Reg> {
        let store = self.store;
        let callee = (self.source.module).and_then(|module| {
            let found = module.functions().iter().find(|(known, _)| store.str(*known) == name)?;
            match store.expr(found.1) {
                Expr::PrimFunc(id) => Some(store.prim_func(id)),
                _ => None,
            }
        });
        let Some(callee) = callee else {
            return self.fail(format!("the program calls `{name}`, which is no function of tensor programs here"));
        };
        if self.callers.contains(&callee.body) {
            return unsupported(&format!("`{name}`, which calls itself,"));
        }
        if callee.params.len() != args.len() {
            let (given, wanted) = (args.len(), callee.params.len());
            return self.fail(format!("`{name}` takes {wanted} arguments and is given {given}"));
        }
        let params = callee.params.clone();
        for (param, arg) in params.iter().zip(args) {
            match *param {
                PrimParam::Var(symbol) => {
                    let value = self.scalar(*arg)?;
                    self.symbols.remove(&symbol);
                    self.bind(symbol, vec![value]);
                }
                PrimParam::Buffer(id) => self.pass_buffer(id, *arg)?,
            }
        }
        for param in &*params {
            if let PrimParam::Buffer(id) = *param
                && self.buffers.get(&id).is_some_and(|place| place.strides.is_empty())
            {
                self.lay_out(id)?;
            }
        }
        let (result, end) = (self.register(self.depth()), self.label());
        self.returns.push((end, result));
        self.callers.push(callee.body);
        let outer = std::mem::take(&mut self.loops);
        let (stmt, stmt_depth) = (self.stmt, self.stmt_depth);
        let waiting = self.tasks.len();
        self.tasks.push(super::Task::Stmt(callee.body));
        if self.callers.len() > 64 {
            return unsupported("calls that are nested as deep as this");
        }
        self.work(waiting)?;
        (self.stmt, self.stmt_depth, self.loops) = (stmt, stmt_depth, outer);
        self.callers.pop();
        self.returns.pop();
        self.emit(Step::Mark(end));
        Ok(result)
    }

    /// Passes a buffer as a parameter, or binds the parameter to the address of a pointer.
    fn pass_buffer(&mut self, id: crate::ir::Id<crate::ir::Buffer>, arg: PrimId) -> Done<()> {
        let store = self.store;
        let given = match *store.prim_of_id(arg) {
            PrimExpr::Buffer(given) => Some(given),
            PrimExpr::Data(given) => Some(given),
            _ => None,
        };
        let pointer = match given.and_then(|given| self.buffers.get(&given).map(|place| (place.base, place.offset))) {
            Some((base, None)) => base,
            Some((base, Some(offset))) => {
                let size = self.int(Kind::of(store.buffer(id).dtype).bytes() as i64);
                self.multiply_add(base, offset, size)
            }
            None => self.scalar(arg)?,
        };
        if let Some(given) = given {
            let (inner, outer) = (store.buffer(id).shape.clone(), store.buffer(given).shape.clone());
            for (extent, value) in inner.iter().zip(&outer) {
                if let PrimExpr::Var(symbol) = *store.prim_of_id(*extent) {
                    let value = self.scalar(*value)?;
                    self.bind(symbol, vec![value]);
                }
            }
        }
        let base = self.register(self.level(&[pointer]));
        let level = self.levels[base as usize];
        self.emit_at(level, Step::Copy { to: base, from: pointer });
        self.place_at(id, base);
        Ok(())
    }

    pub(super) fn wrong_call<T>(&self, name: &str) -> Done<T> {
        Err(EvalFailure::new(format!("`T.{name}` is given other arguments than it takes")))
    }
}
