//! LazyGradientInit: creates tensors of zeros and ones, with which gradients begin, only where they are needed.
//!
//! Every tensor becomes a `GradCell`, which holds a tensor or knows that it would be all zeros or all ones; sums and
//! products of cells test that first. The function around takes and returns tensors as before.
//!
//! As in TVM, `zeros_like` becomes a cell of ones (`VisitExpr_(CallNode)` has `One` for both), and callees other than
//! operators stay. Neither the program nor the result may use anything but leaves twice (`CheckFeature`). Known
//! divergence: a constant with several uses is one cell here and several in TVM.
//!
//! Source: `src/relay/transforms/lazy_gradient_init.cc`, `python/tvm/relay/std/gradient.rly`.

use super::support::feature::holds_no_graph;
use crate::diag::Diagnostic;
use crate::infer::infer_module;
use crate::ir::rewrite::{ExprMutator, rewrite};
use crate::ir::{Expr, ExprId, Function, IdMap, List, Module, Store, Type, TypeId, VarId};
use crate::ops::build::{args, op_name};
use crate::pass::{Args, PassCx, PassError, PassSpec, Run, explained};

/// The cell, and sums and products of cells, which are put before the program. The example begins with them too, but there is
/// no example in the engine of the page.
const CELLS: &str = concat!("#[version = \"0.0.5\"]\n", include_str!("lazy_gradient_init/cells.relay"));

/// Replaces tensors by `GradCell`s and wraps the function in one over tensors.
pub static SPEC: PassSpec = PassSpec {
    name: "LazyGradientInit",
    info_name: "LazyGradientInit",
    dialects: crate::pass::spec::RELAY,
    opt_level: 2,
    required: &[],
    params: &[],
    config: &[],
    summary: "Puts off making tensors of zeros and ones.",
    doc: explained(
        "What gradients begin with is mostly zero. This pass wraps every tensor in a `GradCell`, so that adding zeros and \
multiplying by ones costs nothing; other operators take the tensors out.",
    ),
    example_before: explained(
        "\
def @main(%x: Tensor[(4), float32]) -> Tensor[(4), float32] {
  exp(%x)
}
",
    ),
    example_after: explained(concat!(
        include_str!("lazy_gradient_init/cells.relay"),
        "\
def @main(%x3: Tensor[(4), float32]) -> Tensor[(4), float32] {
  %10 = Raw(%x3);
  %11 = fn (%x4: GradCell[Tensor[(4), float32]]) -> GradCell[Tensor[(4), float32]] {
    %8 = @FromGradCell(%x4);
    %9 = exp(%8);
    Raw(%9)
  };
  let %x_0: GradCell[Tensor[(4), float32]] = %11(%10);
  @FromGradCell(%x_0)
}
"
    )),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, _: &Args) -> Result<Module, PassError> {
    let store = &mut *cx.store;
    holds_no_graph(store, module, "relay-gradient")?;
    let mut result = module.clone();
    let cell = store.name("GradCell");
    if module.adt(cell).is_none() {
        let mark = store.mark();
        let read = crate::parse::parse(store, CELLS);
        store.disown(mark);
        for (name, adt) in read.program.module.adts() {
            result.set_adt(*name, *adt);
        }
        for (name, function) in read.program.module.functions() {
            result.set_function(*name, *function);
        }
    }
    let Some(adt) = result.adt(cell) else {
        return Err(vec![Diagnostic::error("relay-gradient", "the program has no GradCell", None)]);
    };
    let ctors = store.adt(adt).ctors.clone();
    let [raw, one, zero] = ctors[..] else {
        return Err(vec![Diagnostic::error("relay-gradient", "GradCell has other constructors", None)]);
    };
    let head = store.ty(Type::Global(cell));
    let [raw, one, zero] = [raw, one, zero].map(|ctor| store.add(Expr::Ctor(ctor)));
    let [from, add, multiply] = ["FromGradCell", "AddGradCell", "MultiplyGradCell"].map(|name| {
        let name = store.name(name);
        store.add(Expr::Global(name))
    });
    let mut cells = Cells { head, raw, one, zero, from, add, multiply, lifted: IdMap::new() };
    let mut names = 0;
    for &(name, function) in module.functions() {
        let new = cells.whole(store, function, &mut names);
        result.set_function(name, new);
    }
    holds_no_graph(store, &result, "relay-gradient")?;
    infer_module(store, &result)
}

struct Cells {
    head: TypeId,
    raw: ExprId,
    one: ExprId,
    zero: ExprId,
    from: ExprId,
    add: ExprId,
    multiply: ExprId,
    /// The lifted form of each type, with cells for tensors.
    lifted: IdMap<Type, TypeId>,
}

impl Cells {
    /// Replaces the tensors in a type by cells.
    fn lift(&mut self, store: &mut Store, root: TypeId) -> TypeId {
        let mut todo = vec![root];
        while let Some(&ty) = todo.last() {
            let node = store.type_of_id(ty).clone();
            let inner: Vec<TypeId> = match &node {
                Type::Tuple(fields) => fields.to_vec(),
                Type::Func { params, ret, .. } => params.iter().copied().chain([*ret]).collect(),
                Type::Ref(inner) => vec![*inner],
                Type::Apply { args, .. } => args.to_vec(),
                _ => Vec::new(),
            };
            let open = todo.len();
            todo.extend(inner.iter().copied().filter(|inner| !self.lifted.contains(*inner)));
            if todo.len() > open {
                continue;
            }
            let mut new: Vec<TypeId> = inner.iter().filter_map(|inner| self.lifted.get(*inner).copied()).collect();
            let lifted = match node {
                Type::Tensor { .. } => store.ty(Type::Apply { head: self.head, args: [ty].into() }),
                Type::Tuple(_) => store.ty(Type::Tuple(new.into())),
                Type::Func { type_params, .. } => {
                    let ret = new.pop().unwrap_or(ty);
                    store.ty(Type::Func { type_params, params: new.into(), ret })
                }
                Type::Ref(_) => store.ty(Type::Ref(new[0])),
                Type::Apply { head, .. } => store.ty(Type::Apply { head, args: new.into() }),
                _ => ty,
            };
            self.lifted.insert(ty, lifted);
            todo.pop();
        }
        self.lifted.get(root).copied().unwrap_or(root)
    }

    /// Wraps a function over cells in one over tensors.
    fn whole(&mut self, store: &mut Store, function: ExprId, names: &mut u32) -> ExprId {
        let inner = rewrite(store, function, self);
        let (Some(old), Some(new)) = (store.as_function(function), store.as_function(inner)) else { return function };
        if inner == function {
            return function;
        }
        store.rewrite(self.rule(), function, function, |store| {
            let mut lets = Vec::new();
            let params: Vec<VarId> = store.items(old.params).collect();
            let mut given = Vec::new();
            for param in &params {
                let ty = store.var_type(*param);
                given.push(self.through(store, (*param, ty), true, &mut lets, names));
            }
            let call = store.add_call(inner, &given, None);
            let var = fresh(store, call, &mut lets, names);
            let result = self.through(store, (var, new.ret), false, &mut lets, names);
            let body = lets.into_iter().rev().fold(result, |body, (var, value)| store.add(Expr::Let { var, value, body }));
            let type_params = List::default();
            let whole = store.add_function(Function { params: old.params, type_params, ret: old.ret, body, attrs: None, ..old });
            store.add(Expr::Function(whole))
        })
    }

    /// Wraps the tensors of a variable in cells, or unwraps its cells; fields of tuples get variables.
    fn through(
        &mut self,
        store: &mut Store,
        (var, ty): (VarId, Option<TypeId>),
        wrap: bool,
        lets: &mut Vec<(VarId, ExprId)>,
        names: &mut u32,
    ) -> ExprId {
        // Tuples whose fields are being converted, with the fields done so far.
        let mut open: Vec<(VarId, Vec<TypeId>, Vec<ExprId>)> = Vec::new();
        let mut next = (var, ty);
        loop {
            let (var, ty) = next;
            let used = store.use_var(var);
            let mut done = match ty.map(|ty| store.type_of_id(ty).clone()) {
                Some(Type::Tuple(fields)) => {
                    open.push((var, fields.to_vec(), Vec::new()));
                    None
                }
                Some(Type::Tensor { .. }) if wrap => Some(store.add_call(self.raw, &[used], None)),
                Some(Type::Apply { head, .. }) if !wrap && head == self.head => Some(store.add_call(self.from, &[used], None)),
                _ => Some(used),
            };
            loop {
                let Some((tuple, types, fields)) = open.last_mut() else {
                    return done.unwrap_or(used);
                };
                fields.extend(done.take());
                if let Some(ty) = types.get(fields.len()) {
                    let (tuple, ty, index) = (store.use_var(*tuple), *ty, fields.len() as u32);
                    let item = store.add(Expr::TupleGetItem { tuple, index });
                    next = (fresh(store, item, lets, names), Some(ty));
                    break;
                }
                done = Some(store.add_tuple(fields));
                open.pop();
            }
        }
    }

    /// Calls an operator on the tensors in cells.
    fn primitive(&self, store: &mut Store, pre: ExprId, given: &[ExprId]) -> ExprId {
        let Some(call) = store.call(pre) else { return pre };
        let tensors: Vec<ExprId> = given.iter().map(|arg| store.add_call(self.from, &[*arg], None)).collect();
        store.add_call(call.callee, &tensors, call.attrs)
    }

    /// Returns the replacement of a call of an operator.
    fn cell(&self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        let (old, new) = (args(store, pre), args(store, post));
        let name = op_name(store, pre);
        let types: Vec<Option<TypeId>> = old.iter().map(|arg| store.checked_type(*arg)).collect();
        match (name, &types[..]) {
            ("add" | "multiply", [Some(a), Some(b)]) if a == b => {
                let params = ["lhs", "rhs"].map(|name| store.var(name, Some(*a)));
                let used = params.map(|param| store.use_var(param));
                let Some(call) = store.call(pre) else { return post };
                let body = store.add_call(call.callee, &used, None);
                let plain = function(store, &params, body, Some(*a));
                let callee = if name == "add" { self.add } else { self.multiply };
                store.add_call(callee, &[plain, new[0], new[1]], None)
            }
            ("ones" | "zeros" | "ones_like" | "zeros_like", _) => {
                let body = self.primitive(store, pre, &new);
                let ty = store.checked_type(pre);
                let later = function(store, &[], body, ty);
                let ctor = if name == "zeros" { self.zero } else { self.one };
                store.add_call(ctor, &[later], None)
            }
            _ => {
                let result = self.primitive(store, pre, &new);
                store.add_call(self.raw, &[result], None)
            }
        }
    }
}

/// Binds a value to a new variable.
fn fresh(store: &mut Store, value: ExprId, lets: &mut Vec<(VarId, ExprId)>, names: &mut u32) -> VarId {
    let var = store.var(&format!("x_{names}"), None);
    *names += 1;
    lets.push((var, value));
    var
}

fn function(store: &mut Store, params: &[VarId], body: ExprId, ret: Option<TypeId>) -> ExprId {
    let params = store.list(params);
    let type_params = List::default();
    let function = store.add_function(Function { params, type_params, ret, body, attrs: None, device: None, pure: true });
    store.add(Expr::Function(function))
}

impl ExprMutator for Cells {
    fn rule(&self) -> &'static str {
        "a tensor in a cell"
    }

    fn define_var(&mut self, store: &mut Store, var: VarId) -> VarId {
        let Some(old) = store.var_data(var).annotation else { return var };
        let new = self.lift(store, old);
        if new == old {
            return var;
        }
        let name = store.var_name(var).to_owned();
        store.var(&name, Some(new))
    }

    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        match store.expr(post) {
            Expr::Constant(_) => store.add_call(self.raw, &[post], None),
            Expr::Call { callee, .. } if matches!(store.expr(callee), Expr::Op(_)) => self.cell(store, pre, post),
            Expr::Function(function) => {
                let data = *store.function(function);
                let Some(ret) = data.ret else { return post };
                let lifted = self.lift(store, ret);
                if lifted == ret {
                    return post;
                }
                let new = store.add_function(Function { ret: Some(lifted), ..data });
                store.add(Expr::Function(new))
            }
            _ => post,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{after, failure};

    #[test]
    fn sums_and_products_of_one_type_ask_their_cells_and_others_take_tensors_out() {
        let text = after(
            "LazyGradientInit",
            "def @main(%a: Tensor[(2), float32], %b: Tensor[(2), float32], %c: Tensor[(1), float32]) -> Tensor[(2), float32] {
  add(multiply(%a, %b), %c)
}
",
        );
        let main = &text[text.find("def @main").unwrap()..];
        assert!(main.contains("@MultiplyGradCell("), "{main}");
        assert!(!main.contains("@AddGradCell("), "extents differ, so the sum is one of tensors: {main}");
    }

    #[test]
    fn a_graph_is_refused() {
        let graph = "def @main(%x: float32) -> float32 { %0 = exp(%x); add(%0, %0) }";
        assert!(failure("LazyGradientInit()", graph).contains("has unsupported feature: [fGraph, ]"));
    }

    /// The page's engine has no examples, and the cells were read from there: every program was refused, without a word.
    #[test]
    fn the_cells_do_not_come_from_the_example() {
        assert!(super::CELLS.contains("type GradCell[T]") && super::CELLS.contains("def @MultiplyGradCell"));
    }

    #[test]
    fn fields_of_tuples_are_wrapped_one_by_one() {
        let text = after(
            "LazyGradientInit",
            "def @main(%x: (Tensor[(2), float32], ())) -> (Tensor[(2), float32], ()) {
  %x
}
",
        );
        let main = &text[text.find("def @main").unwrap()..];
        assert_eq!(main.matches("Raw(").count(), 1, "{main}");
        assert_eq!(main.matches("@FromGradCell(").count(), 1, "{main}");
    }
}
