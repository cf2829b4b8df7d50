//! Relax programs as text, exactly as TVM 0.27 prints them on Python 3.11
//! (`src/relax/script/printer/`, `src/script/printer/ir/ir.cc`).

mod call;
mod expr;
mod function;
mod types;

use super::script::Script;
use super::{LineRole, PrintOptions, Printed};
use crate::ir::sort::sort_by;
use crate::ir::{Expr, ExprId, Id, Module, Name, Store, Type, TypeId};

/// Prints a module: TVM's `script(show_meta=True)`.
pub(super) fn module<'a>(store: &'a Store, module: &'a Module, options: &PrintOptions<'a>) -> Printed {
    let mut script = Script::with(store, Some(module), options);
    script.reserve("Module");
    let start = script.place();
    script.text_line(LineRole::Definition, None, "@I.ir_module");
    script.text_line(LineRole::Definition, None, "class Module:");
    script.indent = 4;
    script.module_infos(module);
    let functions = printed_order(store, module);
    let mut first = true;
    for (name, id) in functions {
        first = false;
        script.global(name, id);
        script.usage.type_vars = script.type_vars.first().is_some_and(|names| !names.is_empty());
    }
    if first && module.attrs().is_none() && module.global_infos().is_none() {
        script.text_line(LineRole::Definition, None, "pass");
    }
    script.indent = 0;
    // The decorator of the class is noted last, as TVM builds it last, so headers of inner functions do not have it.
    script.usage.ir = true;
    if options.header {
        let declared = script.type_vars.pop().unwrap_or_default();
        let header = script.header(&declared);
        script.insert_lines(start, LineRole::Header, &header);
    }
    script.finish(options.metadata)
}

/// Returns functions in the order of printing: tensor programs, external functions, others, each by name, and
/// `main` last.
pub(super) fn printed_order(store: &Store, module: &Module) -> Vec<(Id<Name>, ExprId)> {
    let mut functions = module.functions().to_vec();
    let rank = |&(name, id): &(Id<Name>, ExprId)| {
        let kind = match store.expr(id) {
            _ if store.str(name) == "main" => 4,
            Expr::Extern(_) => 2,
            Expr::Function(_) => 3,
            _ => 1,
        };
        (kind, store.str(name))
    };
    sort_by(&mut functions, |a, b| rank(a).cmp(&rank(b)));
    functions
}

/// Prints a function or any other expression.
pub(super) fn expr<'a>(store: &'a Store, root: ExprId, options: &PrintOptions<'a>) -> Printed {
    let mut script = Script::with(store, None, options);
    if matches!(store.expr(root), Expr::Function(_)) {
        let name = match function::global_symbol(store, store.as_function(root).and_then(|function| function.attrs)) {
            Some(name) => store.str(name),
            None => "main",
        };
        script.function(root, name, true);
    } else if let Expr::PrimFunc(func) = store.expr(root) {
        let name = match function::global_symbol(store, store.prim_func(func).attrs) {
            Some(name) => store.str(name),
            None => "main",
        };
        script.prim_func(root, name, true);
    } else {
        script.outside(root, options.verbose);
    }
    script.finish(options.metadata)
}

/// Prints a type as `script()` of it does, behind declarations of its symbolic variables if `declares`.
pub(super) fn alone_ty(store: &Store, ty: TypeId, declares: bool) -> String {
    let mut script = Script::new(store, None);
    // TVM prints a tuple that stands alone as a type of TIR, and all that is in it.
    script.tir_ints = matches!(store.type_of_id(ty), Type::Tuple(_));
    if !declares {
        return named_ty(script, ty);
    }
    script.alone = true;
    let mut text = String::new();
    script.ty(ty, &mut text);
    script.text_line(LineRole::Result, None, &text);
    script.finish(false).text
}

/// Prints a type.
pub(super) fn ty(store: &Store, ty: TypeId) -> String {
    named_ty(Script::new(store, None), ty)
}

fn named_ty(mut script: Script<'_>, ty: TypeId) -> String {
    // Symbolic variables are named, not declared.
    script.declaring = Some(Vec::new());
    script.unquoted = true;
    let mut text = String::new();
    script.ty(ty, &mut text);
    text
}
