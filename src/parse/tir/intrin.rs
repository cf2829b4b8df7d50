//! Reads the names after `T.`: types, functions of scalar expressions, intrinsics.

use super::value::Value;
use super::{Node, Read, Reader};
use crate::ir::{DType, DTypeCode, Id, PrimExpr, PrimId, PrimOp};
use crate::parse::script::tree::Arg;
use crate::parse::suggest;
use crate::tir::{self, INTRINSICS, Intrinsic, math};

/// Functions that are no row of the table of intrinsics, with the names of their arguments.
const FUNCTIONS: &[(&str, &str)] = &[
    ("Not", "a"),
    ("Cast", "dtype value"),
    ("cast", "value dtype"),
    ("Select", "condition true_value false_value"),
    ("if_then_else", "cond t f"),
    ("likely", "cond"),
    ("floor", "x"),
    ("ceil", "x"),
    ("trunc", "x"),
    ("round", "x"),
    ("nearbyint", "x"),
    ("abs", "x"),
    ("isnan", "x"),
    ("isinf", "x"),
    ("isfinite", "x"),
    ("bitwise_not", "x"),
    ("max_value", "dtype"),
    ("min_value", "dtype"),
    ("infinity", "dtype"),
    ("meta_var", "value"),
    ("comm_reducer", "combiner identity"),
    ("index_map", "mapping inverse_index_map=None index_dtype=None"),
    ("target", "target_config host=None"),
    ("Range", "begin end"),
    ("iter_var", "v dom iter_type thread_tag"),
    ("Ptr", "dtype storage_scope=\"global\""),
    ("ptr", "dtype storage_scope=\"global\""),
    ("buffer_var", "dtype storage_scope=\"global\""),
    ("Var", "name ty"),
    ("logaddexp", "a b"),
    ("get_vscale_expr", "dtype min_size=128"),
    ("StringImm", "value"),
    ("IntImm", "dtype value"),
    ("FloatImm", "dtype value"),
    ("const", "value dtype=None"),
];

/// The message for a kernel of the device dialect.
pub(in crate::parse) const DEVICE_DIALECT: &str =
    "this is a kernel in TIRx, TVM's dialect for devices (threads, tiles, layouts of a GPU), which is not read here";

/// The advice beside it.
pub(in crate::parse) const INSTEAD_OF_DEVICES: &str = "tensor programs have `T.launch_thread` and blocks";

/// Names of the device dialect: threads and tiles of a GPU, which TVM lowers before everything else.
const DEVICE: &[&str] = &[
    "cta_id",
    "thread_id",
    "warp_id",
    "warpgroup_id",
    "lane_id",
    "cluster_id",
    "scope_id",
    "device_entry",
    "cta_id_in_cluster",
    "cta_id_in_pair",
    "warp_id_in_wg",
    "thread_id_in_wg",
    "kernel",
    "cta",
    "wg",
    "warp",
    "cluster",
    "thread",
    "tile",
    "tmem",
    "TileLayout",
    "ComposeLayout",
    "S",
    "R",
    "Iter",
    "wg_reg_tile",
    "alloc_tcgen05_ldst_frag",
    "alloc_cast_frag",
    "TensorMap",
    "tensormap_encode_tiled",
    "elected",
    "meta_class",
    "nki",
    "nvshmem",
    "jit",
    "constexpr",
    "exec_scope",
    "ExecScope",
    "Tuple",
];

impl Reader<'_, '_, '_> {
    /// Reads a name of `T` that is not called: a type.
    pub(super) fn named(&mut self, name: &str, at: Id<Node>) -> Read<Value> {
        if let Some(dtype) = type_named(name) {
            return Ok(Value::Type(dtype));
        }
        if is_device(name) {
            return Err(self.device_dialect(&format!("T.{name}"), at));
        }
        Err(self.no_such(name, at))
    }

    /// Reads a call of a name of `T`.
    pub(super) fn intrinsic_call(&mut self, name: &str, args: &[Arg], at: Id<Node>) -> Read<Value> {
        if let Some(dtype) = type_named(name).filter(|_| name != "handle") {
            return self.typed(dtype, args, at);
        }
        match name {
            "handle" => return self.pointer(args, at).map(Value::Fresh),
            "Let" => return self.let_expr(args, at),
            "Call" => return self.plain_call(args, at),
            "call_intrin" => return self.intrinsic_by_name(args, at),
            "call_ffi_kernel" => return self.kernel_call(args, at),
            "bind" | "Bind" => return self.bind_call(None, args, at).map(Value::Prim),
            "Buffer" | "buffer" | "decl_buffer" | "alloc_buffer" | "sblock_alloc_buffer" | "alloc_shared" | "alloc_local" => {
                return self.nameless_buffer(name, args, at);
            }
            "env_thread" => return self.env_thread("v", args, at),
            "meta_var" | "comm_reducer" | "index_map" | "target" => {}
            "Ramp" | "ramp" | "Broadcast" | "broadcast" | "Shuffle" => {
                let params = match name {
                    "Ramp" | "ramp" => "base stride lanes",
                    "Shuffle" => "vectors indices",
                    _ => "value lanes",
                };
                let given = self.arranged(params, args, name, at)?;
                return self.vector(name, &given, at);
            }
            _ => {}
        }
        if let Some(value) = self.old_call(name, args, at)? {
            return Ok(value);
        }
        if PrimOp::named(name).is_some() || self.is_arithmetic(name) {
            let params = if matches!(name, "min" | "max") { "a b" } else { "*" };
            let given = self.arranged(params, args, name, at)?;
            if let Some(value) = self.arithmetic(name, &given, at)? {
                return Ok(value);
            }
        }
        if let Some((_, params)) = FUNCTIONS.iter().find(|(known, _)| *known == name) {
            let given = self.arranged(params, args, name, at)?;
            return self.function_of_t(name, &given, at);
        }
        if let Some(known) = Intrinsic::named(name) {
            return self.table_call(known, args, at);
        }
        if let Some(rest) = name.strip_prefix("ptx.cp.async_.") {
            // The parts of the name are arguments of the instruction.
            let given = self.arranged("*", args, name, at)?;
            let mut prims = Vec::new();
            for (value, at) in &given {
                prims.push(self.argument(value, *at)?);
            }
            for part in ["async"].into_iter().chain(rest.split('.')).chain([""]) {
                let text = self.name_of(part);
                prims.push(self.store.prim(PrimExpr::Str(text)));
            }
            return Ok(Value::Prim(self.store.prim_call("ptx.cp", &prims, DType::VOID)));
        }
        if name == "ptx.cp" || (self.known_namespace(name) && !name.contains(".async_")) {
            let given = self.arranged("*", args, name, at)?;
            let prims: Read<Vec<PrimId>> = given.iter().map(|(value, at)| self.argument(value, *at)).collect();
            let prims = prims?;
            return Ok(Value::Prim(self.store.prim_call(name, &prims, DType::VOID)));
        }
        if is_device(name) {
            return Err(self.device_dialect(&format!("T.{name}"), at));
        }
        Err(self.no_such(name, at))
    }

    fn is_arithmetic(&self, name: &str) -> bool {
        matches!(
            name,
            "truncdiv"
                | "div"
                | "truncmod"
                | "floordiv"
                | "indexdiv"
                | "floormod"
                | "indexmod"
                | "min"
                | "max"
                | "shift_left"
                | "shift_right"
                | "bitwise_and"
                | "bitwise_or"
                | "bitwise_xor"
                | "pow"
                | "power"
                | "ceildiv"
                | "LShift"
                | "RShift"
                | "BitwiseAnd"
                | "BitwiseOr"
                | "BitwiseXor"
        )
    }

    /// True if a name belongs to the intrinsics of a kind of device, which are kept as they are written.
    fn known_namespace(&self, name: &str) -> bool {
        let Some((head, _)) = name.split_once('.') else { return false };
        matches!(head, "ptx_legacy" | "cuda" | "metal" | "webgpu" | "s_tir")
    }

    /// Reports a name that `T` does not have, with the likely one.
    #[cold]
    fn no_such(&mut self, name: &str, at: Id<Node>) -> super::Stop {
        let known = INTRINSICS.iter().map(|known| known.name).chain(FUNCTIONS.iter().map(|known| known.0));
        let statements = ["sblock", "reads", "writes", "where", "evaluate", "grid", "serial", "launch_thread", "match_buffer"];
        let near = suggest::nearest(name, known.chain(statements)).map(|near| format!("did you mean `T.{near}`?"));
        let span = self.span(at);
        let error = crate::diag::Diagnostic::error("tir-unknown", format!("`T` of TVM 0.27 has no `{name}`"), span);
        self.state.failed = true;
        self.diagnostics.push(near.into_iter().fold(error, |error, near| error.with_note(near)));
        super::Stop
    }

    /// Reports the device dialect: with one message for all its parts.
    #[cold]
    pub(super) fn device_dialect(&mut self, what: &str, at: Id<Node>) -> super::Stop {
        self.state.failed = true;
        if !self.diagnostics.iter().any(|known| known.code == "tir-device-dialect") {
            let span = self.span(at);
            let error = crate::diag::Diagnostic::error("tir-device-dialect", DEVICE_DIALECT, span);
            self.diagnostics.push(error.with_note(format!("`{what}` is part of it; {INSTEAD_OF_DEVICES}")));
        }
        super::Stop
    }

    /// Arranges arguments in the order of parameters (`params` as in [`Intrinsic::params`]).
    pub(super) fn arranged(&mut self, params: &str, args: &[Arg], name: &str, at: Id<Node>) -> Read<Vec<(Value, Id<Node>)>> {
        let names: Vec<(&str, Option<&str>)> = params
            .split(' ')
            .filter(|param| !param.is_empty())
            .map(|param| param.split_once('=').map_or((param, None), |(name, default)| (name, Some(default))))
            .collect();
        let variadic = names.last().is_some_and(|last| last.0 == "*");
        let fixed = if variadic { names.len() - 1 } else { names.len() };
        let mut out: Vec<Option<(Value, Id<Node>)>> = self.positional(args)?.into_iter().map(Some).collect();
        if out.len() > fixed && !variadic {
            let many = if fixed == 1 { "one argument".to_owned() } else { format!("{fixed} arguments") };
            return Err(self.error("tir-syntax", format!("`T.{name}` takes {many}, found {}", out.len()), at));
        }
        for arg in args {
            let Some(span) = arg.name() else { continue };
            let key = self.tree.text(span);
            let place = names[..fixed].iter().position(|known| known.0 == key);
            if key == "dtype" && place.is_none() {
                self.old(
                    "`dtype=` of an intrinsic is the spelling of TVM 0.14 and before; today its arguments say it",
                    arg.value,
                );
                continue;
            }
            if key == "span" {
                continue;
            }
            let Some(place) = place else {
                return Err(self.error("tir-syntax", format!("`T.{name}` takes no argument `{key}`"), arg.value));
            };
            if key == "dtype" && place == 0 {
                // All others stand without a name.
                out.insert(0, Some((self.value(arg.value)?, arg.value)));
                continue;
            }
            if out.len() <= place {
                out.resize(place + 1, None);
            }
            if out[place].is_some() {
                return Err(self.error("tir-syntax", format!("`T.{name}` gets `{key}` twice"), arg.value));
            }
            out[place] = Some((self.value(arg.value)?.bare(), arg.value));
        }
        out.resize(out.len().max(fixed), None);
        let mut values = Vec::with_capacity(out.len());
        for (i, value) in out.into_iter().enumerate() {
            match (value, names.get(i).and_then(|known| known.1)) {
                (Some(value), _) => values.push(value),
                (None, Some(default)) => values.push((default_value(default), at)),
                (None, None) => {
                    let missing = names.get(i).map_or("an argument", |known| known.0);
                    return Err(self.error("tir-syntax", format!("`T.{name}` needs `{missing}`"), at));
                }
            }
        }
        Ok(values)
    }

    /// Reads a function that is more than a call of an intrinsic.
    #[expect(clippy::too_many_lines, reason = "a table: an arm for each name")]
    fn function_of_t(&mut self, name: &str, args: &[(Value, Id<Node>)], at: Id<Node>) -> Read<Value> {
        match (name, args) {
            ("meta_var", [(value, _)]) => return Ok(Value::Meta(value.clone().into())),
            ("comm_reducer", [(combiner, _), (identity, _)]) => return self.reducer(combiner, identity, at),
            ("index_map", [(mapping, _), (inverse, _), (dtype, _)]) => {
                let inverse = Some(inverse).filter(|inverse| !matches!(inverse, Value::None));
                let dtype = match dtype {
                    Value::None => DType::I64,
                    dtype => self.dtype_from(dtype, at)?,
                };
                return self.index_map(mapping, inverse, dtype, at);
            }
            ("target", [(config, _), (host, _)]) => {
                let host = Some(host).filter(|host| !matches!(host, Value::None));
                return self.target(config, host, at);
            }
            ("Range", [(begin, a), (end, b)]) => {
                let (begin, end) = (self.prim_from(begin, *a)?, self.prim_from(end, *b)?);
                let extent = self.difference(begin, end);
                return Ok(Value::Range(begin, extent));
            }
            ("iter_var", [(var, a), _, _, (tag, b)]) => {
                let var = match var {
                    Value::Str(name) => self.new_symbol(name, DType::I32),
                    var => match self.symbol_of(var) {
                        Some(var) => var,
                        None => return Err(self.error("tir-type", "expected a variable", *a)),
                    },
                };
                let Value::Str(tag) = tag else { return Err(self.error("tir-type", "expected a tag", *b)) };
                return Ok(Value::Iter(var, self.store.name(tag)));
            }
            ("Ptr" | "ptr" | "buffer_var", [(dtype, a), (scope, b)]) => {
                let element = self.dtype_from(dtype, *a)?;
                let Value::Str(scope) = scope else { return Err(self.error("tir-type", "a scope is a string", *b)) };
                let scope = self.store.name(scope);
                return Ok(Value::Fresh(self.store.pointer(element, scope)));
            }
            ("Var", [(name, a), (dtype, b)]) => {
                let Value::Str(name) = name else { return Err(self.error("tir-type", "a name is a string", *a)) };
                let dtype = self.dtype_from(dtype, *b)?;
                let symbol = self.new_symbol(name, dtype);
                return Ok(Value::Prim(self.store.prim(PrimExpr::Var(symbol))));
            }
            ("StringImm", [(value, _)]) => return Ok(value.clone()),
            _ => {}
        }
        let prim = match (name, args) {
            ("Not", [(value, a)]) => {
                let value = self.prim_from(value, *a)?;
                self.store.prim(PrimExpr::Not(value))
            }
            ("Cast", [(dtype, a), (value, b)]) => {
                let dtype = self.dtype_from(dtype, *a)?;
                let value = self.prim_from(value, *b)?;
                self.store.prim(PrimExpr::Cast { dtype, value })
            }
            ("cast" | "const", [(value, a), (dtype, b)]) => {
                let value = self.prim_from(value, *a)?;
                match dtype {
                    Value::None => value,
                    dtype => {
                        let dtype = self.dtype_from(dtype, *b)?;
                        tir::cast(self.store, dtype, value)
                    }
                }
            }
            ("IntImm" | "FloatImm", [(dtype, a), (value, b)]) => {
                let dtype = self.dtype_from(dtype, *a)?;
                let value = self.prim_from(value, *b)?;
                tir::cast(self.store, dtype, value)
            }
            ("Select", [(cond, a), (then, b), (other, c)]) => {
                let cond = self.prim_from(cond, *a)?;
                let (then, other) = (self.prim_from(then, *b)?, self.prim_from(other, *c)?);
                let (then, other) = tir::match_types(self.store, then, other);
                self.store.prim(PrimExpr::Select { cond, then, other })
            }
            ("if_then_else", [(cond, a), (then, b), (other, c)]) => {
                let cond = self.prim_from(cond, *a)?;
                if self.store.prim_dtype(cond).element() != DType::BOOL {
                    return Err(self.error("tir-type", "if_then_else only accept the condition to be boolean type.", *a));
                }
                let (then, other) = (self.prim_from(then, *b)?, self.prim_from(other, *c)?);
                if self.is_pointer(then) && self.is_pointer(other) {
                    // TVM's own parser refuses this output of its passes.
                    let dtype = self.store.prim_dtype(then);
                    self.store.prim_call("if_then_else", &[cond, then, other], dtype)
                } else {
                    math::if_then_else(self.store, cond, then, other)
                }
            }
            ("likely", [(cond, a)]) => {
                let cond = self.prim_from(cond, *a)?;
                math::likely(self.store, cond)
            }
            (_, [(x, a)]) if math::ROUNDINGS.contains(&name) => {
                let x = self.prim_from(x, *a)?;
                math::rounded(self.store, name, x)
            }
            ("abs", [(x, a)]) => {
                let x = self.prim_from(x, *a)?;
                math::absolute(self.store, x)
            }
            ("isnan", [(x, a)]) => {
                let x = self.prim_from(x, *a)?;
                math::is_nan(self.store, x)
            }
            ("isinf", [(x, a)]) => {
                let x = self.prim_from(x, *a)?;
                math::is_inf(self.store, x)
            }
            ("isfinite", [(x, a)]) => {
                let x = self.prim_from(x, *a)?;
                math::is_finite(self.store, x)
            }
            ("bitwise_not", [(x, a)]) => {
                let x = self.prim_from(x, *a)?;
                let dtype = self.store.prim_dtype(x);
                self.store.prim_call("bitwise_not", &[x], dtype)
            }
            ("max_value" | "min_value", [(dtype, a)]) => {
                let dtype = self.dtype_from(dtype, *a)?;
                math::limit(self.store, dtype, name == "max_value")
            }
            ("infinity", [(dtype, a)]) => {
                let dtype = self.dtype_from(dtype, *a)?;
                if dtype.code != DTypeCode::Float {
                    return Err(self.error("tir-type", format!("Cannot decide infinity for type {dtype}"), *a));
                }
                self.store.prim_float(f64::INFINITY, dtype)
            }
            ("logaddexp", [(x, a), (y, b)]) => {
                let (x, y) = (self.prim_from(x, *a)?, self.prim_from(y, *b)?);
                let (x, y) = tir::match_types(self.store, x, y);
                let dtype = self.store.prim_dtype(x);
                let (x, y) = (self.store.prim_call("exp", &[x], dtype), self.store.prim_call("exp", &[y], dtype));
                let sum = tir::binary(self.store, PrimOp::Add, x, y);
                self.store.prim_call("log", &[sum], dtype)
            }
            ("get_vscale_expr", [(dtype, a), (size, _)]) => {
                let dtype = self.dtype_from(dtype, *a)?;
                let size = if let Value::Int(size) = size { *size } else { 128 };
                let factor = self.store.prim_int(size / i64::from(dtype.bits.max(1)), DType::I32);
                let vscale = self.store.prim_call("vscale", &[], DType::I32);
                tir::binary(self.store, PrimOp::Mul, factor, vscale)
            }
            _ => return Err(self.error("tir-syntax", format!("`T.{name}` takes other arguments"), at)),
        };
        Ok(Value::Prim(prim))
    }

    /// Makes a declaration whose result gets no name.
    fn nameless_buffer(&mut self, name: &str, args: &[Arg], at: Id<Node>) -> Read<Value> {
        let hint = self.state.hint.take().unwrap_or_else(|| "buffer".to_owned());
        let declared = self.declared(&hint, args, name, false, at)?;
        if name == "sblock_alloc_buffer" {
            return self.block_buffer("buffer", declared.buffer, at).map(Value::Buffer);
        }
        let owns = declared.buffer.data.is_none();
        let buffer = self.store.add_buffer(declared.buffer);
        match name {
            "Buffer" | "buffer" => {}
            "decl_buffer" if !owns => self.push(crate::ir::Stmt::Declare(buffer)),
            _ => self.push(crate::ir::Stmt::Alloc(buffer, declared.annotations)),
        }
        Ok(Value::Buffer(buffer))
    }
}

/// Returns the type that a name of `T` is.
pub(super) fn type_named(name: &str) -> Option<DType> {
    let long = match name {
        "f16" => "float16",
        "f32" => "float32",
        "f64" => "float64",
        "bf16" => "bfloat16",
        "i8" => "int8",
        "i16" => "int16",
        "i32" => "int32",
        "i64" => "int64",
        "u8" => "uint8",
        "u16" => "uint16",
        "u32" => "uint32",
        "u64" => "uint64",
        "boolean" => "bool",
        "int" | "uint" | "float" => return None,
        name => name,
    };
    DType::parse(long)
}

fn is_device(name: &str) -> bool {
    let head = name.split('.').next().unwrap_or(name);
    DEVICE.contains(&head) || name.starts_with("ptx") || name.starts_with("cuda.") || name.starts_with("metal.")
}

/// Returns the value of an argument that is left out.
fn default_value(text: &str) -> Value {
    match text {
        "None" => Value::None,
        "False" => Value::Bool(false),
        "True" => Value::Bool(true),
        _ => match text.parse() {
            Ok(value) => Value::Int(value),
            Err(_) => Value::Str(text.trim_matches('"').into()),
        },
    }
}
