//! BindParams: replaces parameters of a function by constants.
//!
//! Source: `src/relax/transform/bind_params.cc`.

use super::support::{find_function, type_error};
use crate::build::{bind, infer_symbols, known_dims};
use crate::infer::relax::types::Bindings;
use crate::ir::{DType, Dim, ExprId, Module, Store, VarId};
use crate::ops::build::tensor;
use crate::pass::{Args, Literal, Param, PassCx, PassError, PassSpec, Run, explained};

/// TVM's `relax.transform.BindParams`.
pub static SPEC: PassSpec = PassSpec {
    name: "BindParams",
    info_name: "BindParams",
    dialects: crate::pass::spec::RELAX,
    opt_level: 0,
    required: &[],
    params: &[
        Param { name: "func_name", default: "\"main\"", doc: "The function whose parameters are bound." },
        Param { name: "params", default: "{}", doc: "Values by the names of parameters: numbers, or lists of them." },
    ],
    config: &[],
    summary: "Replaces parameters of a function by constants.",
    doc: explained(
        "Parameters that are named go, and constants stand where they were used. Symbols in the type of such a parameter \
become the extents of its value. In TVM the values are tensors; here they are numbers or nested lists of numbers, which have \
the element type of the parameter.\n\nKnown divergence: a parameter that is itself a symbolic variable cannot be bound.",
    ),
    example_before: explained(
        "\
# BindParams(params={\"w\": 2})
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\"), w: R.Tensor((), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        y: R.Tensor((2,), dtype=\"float32\") = R.multiply(x, w)
        return y
",
    ),
    example_after: explained(
        "\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
        y: R.Tensor((2,), dtype=\"float32\") = R.multiply(x, R.const(2.0, \"float32\"))
        return y
",
    ),
    run: Run::Module(run),
};

fn run(cx: &mut PassCx<'_>, module: &Module, args: &Args) -> Result<Module, PassError> {
    let store = &mut *cx.store;
    let Some((name, function)) = find_function(store, module, args.str("func_name").unwrap_or("main")) else {
        return Ok(module.clone());
    };
    let Some(data) = store.as_function(function) else { return Ok(module.clone()) };
    let params: Vec<VarId> = store.items(data.params).collect();
    let mut vars = Vec::new();
    let mut symbols = Bindings::default();
    let values: &[(Literal, Literal)] = match args.get("params") {
        Literal::Dict(values) => values,
        _ => &[],
    };
    for (key, value) in values {
        let Literal::Str(key) = key else { return Err(type_error("a parameter is bound by its name")) };
        let named: Vec<VarId> = params.iter().copied().filter(|param| store.var_name(*param) == key).collect();
        let [param] = named[..] else {
            let message = match named.len() {
                0 => format!("Function does not have parameter with name \"{key}\""),
                _ => format!("Function contains multiple parameters with name \"{key}\""),
            };
            return Err(type_error(message));
        };
        let constant = constant(store, param, value)?;
        if let (Some(ty), Some(given)) = (store.var_type(param), store.checked_type(constant)) {
            let mut found = Vec::new();
            infer_symbols(store, ty, given, &mut found);
            symbols.extend(found);
        }
        vars.push((param, constant));
    }
    let new = bind(store, module, function, &vars, symbols)?;
    let mut result = module.clone();
    result.set_function(name, new);
    Ok(result)
}

/// Makes a constant of the value of a parameter.
fn constant(store: &mut Store, param: VarId, value: &Literal) -> Result<ExprId, PassError> {
    let name = store.var_name(param).to_owned();
    let ty = store.var_type(param);
    let dtype = ty.and_then(|ty| store.tensor_info(ty)).map(|info| info.dtype.unwrap_or(DType::F32));
    let Some(dtype) = dtype else { return Err(type_error(format!("the parameter `{name}` is no tensor"))) };
    let mut shape: Vec<i64> = Vec::new();
    let mut numbers: Vec<f64> = Vec::new();
    let mut stack = vec![(value, 0)];
    let mut even = true;
    while let Some((value, depth)) = stack.pop() {
        match value {
            Literal::List(items) => {
                let count = items.len() as i64;
                match shape.get(depth) {
                    Some(known) => even &= *known == count,
                    None => {
                        even &= depth == shape.len() && numbers.is_empty();
                        shape.push(count);
                    }
                }
                stack.extend(items.iter().rev().map(|item| (item, depth + 1)));
            }
            number => {
                even &= depth == shape.len();
                numbers.push(match number {
                    Literal::Int(value) => *value as f64,
                    Literal::Float(value) => *value,
                    Literal::Bool(value) => f64::from(*value),
                    _ => return Err(type_error(format!("the value of `{name}` is neither a number nor a list of numbers"))),
                });
            }
        }
    }
    let fits = match ty.and_then(|ty| known_dims(store, ty)) {
        Some(dims) => {
            dims.len() == shape.len() && dims.iter().zip(&shape).all(|(dim, extent)| dim.known().is_none_or(|dim| dim == *extent))
        }
        None => true,
    };
    if !even || !fits {
        return Err(type_error(format!("the value of `{name}` has not the shape of the parameter")));
    }
    let constant = tensor(store, dtype, &shape, &numbers);
    let dims: Vec<Dim> = shape.iter().map(|value| Dim::Int { value: *value, bits: 64 }).collect();
    let ty = store.tensor_type(&dims, dtype);
    let node = store.expr(constant);
    Ok(store.add_typed(node, Some(ty)))
}

#[cfg(test)]
mod tests {
    use super::super::testing::after;

    #[test]
    fn a_parameter_becomes_a_constant_and_its_symbols_what_they_are() {
        let text = "@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor((\"n\",), dtype=\"float32\"), \
                    w: R.Tensor((\"n\",), dtype=\"float32\")) -> R.Tensor((\"n\",), dtype=\"float32\"):\n        n = T.int64()\n        \
                    y: R.Tensor((n,), dtype=\"float32\") = R.add(x, w)\n        return y\n";
        let made = after(text, "BindParams(func_name=\"main\", params={\"w\": [1, 2]})");
        assert!(made.contains("def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):"), "{made}");
        assert!(made.contains("R.add(x, metadata["), "{made}");
    }
}
