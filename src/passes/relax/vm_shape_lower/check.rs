//! Checks that values have their declared types, and matches their extents.

use super::super::calls::{call, dtype, int, packed, string};
use super::{Lower, shown};
use crate::build::Mutation;
use crate::infer::relax::types::{Fit, fit};
use crate::ir::{Dim, Expr, ExprId, Extents, PrimExpr, PrimId, Store, TensorInfo, Type, TypeId, VarId};

/// Extents of a value to match after all checks of types.
pub(super) struct Todo {
    pub(super) input: ExprId,
    pub(super) pattern: Vec<PrimId>,
    pub(super) context: Context,
}

/// The location of a check, for its error message.
#[derive(Clone, Copy)]
pub(super) enum Context {
    Param {
        at: usize,
        var: VarId,
        ty: TypeId,
    },
    Result(TypeId),
    Cast(TypeId),
    /// A binding without a type of its own.
    Binding,
}

/// The mode of a check.
#[derive(Clone, Copy)]
pub(super) struct Mode {
    /// True if types are checked even where nothing can be wrong.
    pub(super) always: bool,
    /// True if only unknown extents are checked.
    pub(super) dynamic_only: bool,
}

/// The action on a matched extent (TVM's `MatchShapeCode`).
#[derive(Clone, Copy, PartialEq)]
enum MatchCode {
    EqualToNumber = 0,
    Store = 1,
    Nothing = 2,
    EqualToLoad = 3,
}

impl Lower {
    /// Checks a value against a type. Types nest as deep as the parser's limit on brackets.
    pub(super) fn check(
        &mut self,
        store: &mut Store,
        cx: &mut Mutation,
        (ty, value): (TypeId, ExprId),
        mode: Mode,
        context: Context,
        todo: &mut Vec<Todo>,
    ) {
        let any = store.ty(Type::Any);
        let given = store.checked_type(value).unwrap_or(any);
        if !mode.always && fit(store, ty, given) == Fit::Always {
            return;
        }
        match store.type_of_id(ty).clone() {
            Type::Prim(element) => {
                let operands = [value, dtype(store, element), self.context(store, context)];
                self.emit(store, cx, "vm.builtin.check_prim_value_info", &operands);
            }
            Type::Shape(extents) => {
                let rank = store.rank(&extents);
                let vague = store.ty(Type::Shape(rank.map_or(Extents::Unknown, |rank| Extents::Rank(rank as u32))));
                if mode.always || fit(store, vague, given) != Fit::Always {
                    let operands = [value, int(store, rank.map_or(-1, |rank| rank as i64)), self.context(store, context)];
                    self.emit(store, cx, "vm.builtin.check_shape_info", &operands);
                }
                if let Extents::Known(dims) = extents {
                    self.todo(store, value, &dims, context, todo);
                }
            }
            Type::Tuple(fields) => self.check_tuple(store, cx, (&fields, value), mode, context, todo),
            Type::Callable { .. } | Type::PackedFunc => {
                if !mode.always && matches!(store.type_of_id(given), Type::Callable { .. } | Type::PackedFunc) {
                    return;
                }
                let operands = [value, self.context(store, context)];
                self.emit(store, cx, "vm.builtin.check_func_info", &operands);
            }
            _ => {
                if let Some(info) = store.tensor_info(ty) {
                    self.check_tensor(store, cx, (info, value), mode, context, todo);
                }
            }
        }
    }

    fn check_tensor(
        &mut self,
        store: &mut Store,
        cx: &mut Mutation,
        (info, value): (TensorInfo, ExprId),
        mode: Mode,
        context: Context,
        todo: &mut Vec<Todo>,
    ) {
        let fixed = matches!(&info.extents, Extents::Known(dims) if dims.iter().all(|dim| dim.known().is_some()));
        if mode.dynamic_only && fixed {
            return;
        }
        let any = store.ty(Type::Any);
        let given = store.checked_type(value).unwrap_or(any);
        let rank = store.rank(&info.extents);
        let extents = rank.map_or(Extents::Unknown, |rank| Extents::Rank(rank as u32));
        let vague = store.tensor_like(TensorInfo { extents, dtype: info.dtype, vdevice: None });
        if mode.always || fit(store, vague, given) != Fit::Always {
            let element = match info.dtype {
                Some(element) => dtype(store, element),
                None => call(store, "null_value", &[]),
            };
            let operands = [value, int(store, rank.map_or(-1, |rank| rank as i64)), element, self.context(store, context)];
            self.emit(store, cx, "vm.builtin.check_tensor_info", &operands);
        }
        match info.extents {
            Extents::Known(dims) => self.todo(store, value, &dims, context, todo),
            Extents::Var(_) => {
                let message = "Cannot handle Tensor shape pattern where a var appears multiple times";
                cx.builder.error("vm-shape-lower", message, store.source_span(value));
            }
            _ => {}
        }
    }

    fn check_tuple(
        &mut self,
        store: &mut Store,
        cx: &mut Mutation,
        (fields, value): (&[TypeId], ExprId),
        mode: Mode,
        context: Context,
        todo: &mut Vec<Todo>,
    ) {
        let given = match store.checked_type(value).map(|ty| store.type_of_id(ty)) {
            Some(Type::Tuple(given)) => Some(given.to_vec()),
            _ => None,
        };
        if given.as_ref().is_some_and(|given| given.len() != fields.len()) {
            let context = self.told(store, context);
            let message = format!("{context} during match-cast we find tuple size mismatch");
            cx.builder.error("vm-shape-lower", message, store.source_span(value));
            return;
        }
        if mode.always || given.is_none() {
            let operands = [value, int(store, fields.len() as i64), self.context(store, context)];
            self.emit(store, cx, "vm.builtin.check_tuple_info", &operands);
        }
        for (at, field) in fields.iter().enumerate() {
            let item = match (store.expr(value), &given) {
                (Expr::Tuple(items), _) => store.item(items, at),
                (_, Some(given)) => store.add_typed(Expr::TupleGetItem { tuple: value, index: at as u32 }, Some(given[at])),
                (_, None) => {
                    let any = store.ty(Type::Any);
                    let operands = [value, int(store, at as i64)];
                    packed(store, "vm.builtin.tuple_getitem", &operands, any)
                }
            };
            self.check(store, cx, (*field, item), mode, context, todo);
        }
    }

    pub(super) fn todo(&self, store: &mut Store, input: ExprId, dims: &[Dim], context: Context, todo: &mut Vec<Todo>) {
        let pattern = dims.iter().map(|dim| store.prim_of_dim(*dim)).collect();
        todo.push(Todo { input, pattern, context });
    }

    /// Matches extents with the values in the heap, and returns those that cannot be matched yet.
    pub(super) fn run_match(&mut self, store: &mut Store, cx: &mut Mutation, todo: Vec<Todo>, complete: bool) -> Vec<Todo> {
        let mut left = Vec::new();
        for item in todo {
            let ty = store.checked_type(item.input).map(|ty| store.type_of_id(ty));
            let scalar = matches!(ty, Some(Type::Prim(_)));
            let heap = store.use_var(self.heap);
            let mut operands = vec![item.input, heap];
            if !scalar {
                operands.push(int(store, item.pattern.len() as i64));
            }
            let (mut all, mut any) = (true, false);
            for extent in &item.pattern {
                let Some((code, value)) = self.match_args(store, *extent, complete) else {
                    let shown = crate::ir::show_dim(store, store.dim_of_prim(*extent));
                    cx.builder.error("vm-shape-lower", format!("PrimExpr {shown} is not computed"), None);
                    continue;
                };
                all &= code == MatchCode::Nothing;
                any |= code == MatchCode::Nothing;
                operands.extend([int(store, code as i64), int(store, value)]);
            }
            operands.push(self.context(store, item.context));
            // An empty shape has nothing to match.
            if !all {
                let symbol = if scalar { "vm.builtin.match_prim_value" } else { "vm.builtin.match_shape" };
                self.emit(store, cx, symbol, &operands);
            }
            if any {
                left.push(item);
            }
        }
        left
    }

    /// Stores the scalar that a variable holds in the heap.
    pub(super) fn match_scalar(&mut self, store: &mut Store, cx: &mut Mutation, var: ExprId, place: usize, context: Context) {
        let expr = self.slots.list[place].expr;
        let Some((code, value)) = self.match_args(store, expr, false) else { return };
        let heap = store.use_var(self.heap);
        let operands = [var, heap, int(store, code as i64), int(store, value), self.context(store, context)];
        self.emit(store, cx, "vm.builtin.match_prim_value", &operands);
        self.compute(store, cx);
    }

    fn match_args(&mut self, store: &Store, expr: PrimId, complete: bool) -> Option<(MatchCode, i64)> {
        if let Some(number) = store.as_prim_int(expr) {
            return Some((MatchCode::EqualToNumber, number));
        }
        let place = self.slots.place(expr)?;
        let slot = &mut self.slots.list[place];
        if slot.computed {
            return Some((MatchCode::EqualToLoad, place as i64));
        }
        if complete {
            return None;
        }
        if matches!(store.prim_of_id(expr), PrimExpr::Var(_)) {
            slot.computed = true;
            self.ready.push(place);
            return Some((MatchCode::Store, place as i64));
        }
        Some((MatchCode::Nothing, 0))
    }

    /// Returns the text of a context as an operand.
    fn context(&mut self, store: &mut Store, context: Context) -> ExprId {
        let told = if self.contexts { self.told(store, context) } else { String::new() };
        string(store, &told)
    }

    fn told(&mut self, store: &Store, context: Context) -> String {
        let title = store.str(self.title);
        let (Context::Param { ty, .. } | Context::Result(ty) | Context::Cast(ty)) = context else { return String::new() };
        let shown = self.shown.entry(ty).or_insert_with(|| shown(store, ty));
        match context {
            Context::Param { at, var, .. } => {
                let named = store.var_name(var);
                format!("ErrorContext(fn={title}, loc=param[{at}], param={named}, annotation={shown}) ")
            }
            Context::Result(_) => format!("ErrorContext(fn={title}, loc=return, annotation={shown}) "),
            Context::Cast(_) => format!("ErrorContext(match_cast, ty={shown}) "),
            Context::Binding => String::new(),
        }
    }

    fn emit(&self, store: &mut Store, cx: &mut Mutation, symbol: &str, operands: &[ExprId]) {
        let void = store.tuple_type(&[]);
        // The builder binds nested values to variables, and the operands have types.
        let call = packed(store, symbol, operands, void);
        cx.builder.emit(store, call, "_");
    }
}
