//! Evaluates a version on made-up or given inputs, and watches one of its expressions on the way.

use super::{Session, seeded_args};
use crate::diag::Diagnostic;
use crate::eval::{self, EvalOptions, Value};
use crate::ir::{ExprId, Tensor};
use crate::ops::kernel::write;
use crate::pass::trace::Version;

/// A part of a value that is no tuple, and how it is reached: `x`, `result.1`.
pub type Part = (String, Value);

/// An evaluation.
#[derive(Debug, Default)]
pub struct Values {
    /// The arguments by the names of the parameters.
    pub args: Vec<Part>,
    /// The result of the evaluation.
    pub result: Vec<Part>,
    /// The error, if there is no result.
    pub failure: Option<Diagnostic>,
    /// The first value of the watched expression.
    pub seen: Vec<Part>,
    /// The number of its evaluations.
    pub times: usize,
}

impl Session {
    /// Runs a function of a version on inputs made from `seed`, except the parameters in `given`, by their names: with
    /// all elements in row-major order, or with one for all of them. `watched` is an expression of the version.
    ///
    /// The error reports a wrong question; a failure of the program is part of the answer.
    pub fn values(
        &mut self,
        version: Version,
        function: &str,
        seed: u64,
        given: &[(String, Vec<f64>)],
        watched: Option<ExprId>,
    ) -> Result<Values, Diagnostic> {
        let module = self.version(version).cloned();
        let module = module.ok_or_else(|| wrong(format!("there is no version {version}")))?;
        let mut args = seeded_args(&mut self.store, &module, function, seed)?;
        let name = self.store.name(function);
        let params = module.function(name).and_then(|function| self.store.as_function(function)).map(|f| f.params);
        let params = params.into_iter().flat_map(|params| self.store.items(params));
        let names: Vec<&str> = params.map(|param| self.store.str(self.store.var_data(param).name)).collect();
        for (name, elements) in given {
            let place = names.iter().position(|known| known == name);
            let Some(Value::Tensor(tensor) | Value::Prim(tensor)) = place.and_then(|place| args.get_mut(place)) else {
                return Err(wrong(format!("%{name} is no tensor that @{function} takes")));
            };
            *tensor = filled(tensor, elements).map_err(|why| wrong(format!("%{name}: {why}")))?;
        }
        let mut values = Values::default();
        for (name, arg) in names.iter().zip(&args) {
            parts(name, arg, &mut values.args);
        }
        let mut seen = Vec::new();
        let options = EvalOptions::default();
        match eval::eval_watching(&mut self.store, &module, function, &args, options, watched.map(|node| (node, &mut seen))) {
            Ok(value) => parts("result", &value, &mut values.result),
            Err(failed) => values.failure = Some(failed.to_diagnostic()),
        }
        values.times = seen.len();
        if let Some(first) = seen.first() {
            parts("value", first, &mut values.seen);
        }
        Ok(values)
    }
}

fn wrong(message: String) -> Diagnostic {
    Diagnostic::error("eval-input", message, None)
}

/// Makes a tensor of the same type with these elements.
fn filled(like: &Tensor, elements: &[f64]) -> Result<Tensor, String> {
    let count = like.data.as_ref().map_or(0, |data| data.len() / like.dtype.bytes().max(1));
    let all = if let [one] = elements { vec![*one; count] } else { elements.to_vec() };
    write(like.dtype, &like.shape, &all).map_err(|error| error.0)
}

/// The most parts of a value that are returned: each is drawn, and nested tuples may have millions of them.
const MOST_PARTS: usize = 500;

/// Collects the parts of a value that are no tuples, in order, up to a limit. Tuples nest as deep as their types, so
/// the stack is one of data.
fn parts(name: &str, value: &Value, out: &mut Vec<Part>) {
    let mut stack = vec![(name.to_owned(), value.clone())];
    while let Some((name, value)) = stack.pop() {
        match &value {
            Value::Tuple(fields) if !fields.items().is_empty() => {
                let inner = fields.items().iter().enumerate().rev();
                stack.extend(inner.map(|(index, field)| (format!("{name}.{index}"), field.clone())));
            }
            _ if out.len() >= MOST_PARTS => return,
            _ => out.push((name, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pass::PassContext;
    use crate::session::{Place, document};

    #[test]
    fn a_function_that_is_not_there_is_told_with_those_that_are() {
        let mut store = crate::ir::Store::new();
        let opened = crate::session::open(&mut store, "def @f(%x: int32) { %x }\ndef @main(%x: int32) { @f(%x) }\n");
        let told = seeded_args(&mut store, &opened.module, "mian", 0).unwrap_err();
        assert_eq!(told.message, "the module has no function `@mian`; it has `@f`, `@main`");
    }

    /// A tuple of two that are the same tuple of two, thirty times, had a thousand million parts.
    #[test]
    fn a_value_of_too_many_parts_is_told_in_part() {
        let mut value = Value::tuple(vec![]);
        for _ in 0..30 {
            value = Value::tuple(vec![value.clone(), value]);
        }
        let mut out = Vec::new();
        parts("result", &value, &mut out);
        assert_eq!(out.len(), MOST_PARTS);
    }

    const SOURCE: &str = "#[version = \"0.0.5\"]\ndef @main(%x: Tensor[(2, 2), float32], %k: int32) {\n  \
                          %0 = add(%x, 1f);\n  (multiply(%0, %0), %k)\n}\n";

    fn shown(session: &Session, parts: &[Part]) -> Vec<String> {
        parts.iter().map(|(name, value)| format!("{name}: {}", eval::show(session.store(), value))).collect()
    }

    fn session() -> Session {
        let mut session = Session::new(|| 0.0);
        assert!(session.run(&document(SOURCE, "InferType", PassContext::default()).expect("passes"), false));
        session
    }

    #[test]
    fn inputs_are_given_whole_or_by_one_element_or_made_up() {
        let mut session = session();
        let of = |name: &str, elements: &[f64]| (name.to_owned(), elements.to_vec());
        let given = [of("x", &[1.0, 2.0, 3.0, -1.0]), of("k", &[7.0])];
        let values = session.values(0, "main", 0, &given, None).expect("it runs");
        assert_eq!(shown(&session, &values.result), ["result.0: float32[2, 2] [[4, 9], [16, 0]]", "result.1: int32 7"]);
        assert_eq!(shown(&session, &values.args)[1], "k: int32 7");
        let filled = session.values(0, "main", 0, &[of("x", &[2.0])], None).expect("it runs");
        assert_eq!(shown(&session, &filled.result)[0], "result.0: float32[2, 2] [[9, 9], [9, 9]]");
        // The others come from the seed, whichever are given.
        let seeded = session.values(0, "main", 0, &[], None).expect("it runs");
        assert_eq!(shown(&session, &filled.args)[1], shown(&session, &seeded.args)[1]);
        assert!(session.values(0, "main", 0, &[of("x", &[1.0, 2.0])], None).is_err());
        assert!(session.values(0, "main", 0, &[of("y", &[1.0])], None).is_err());
        assert!(session.values(0, "nobody", 0, &[], None).is_err());
    }

    #[test]
    fn an_expression_on_the_way_is_watched() {
        let mut session = session();
        let place = Place::Line { line: 3, word: "%0".to_owned(), stable: false };
        let node = session.history(0, &place).expect("it is there").node;
        let values = session.values(0, "main", 0, &[("x".to_owned(), vec![1.0])], Some(node)).expect("it runs");
        assert_eq!(shown(&session, &values.seen), ["value: float32[2, 2] [[2, 2], [2, 2]]"]);
        assert_eq!(values.times, 1);
    }

    #[test]
    fn an_expression_of_relax_is_watched_at_its_binding_and_at_its_uses() {
        const RELAX: &str = "# from tvm.script import ir as I\n# from tvm.script import relax as R\n\n@I.ir_module\nclass Module:\n    \
                             @R.function\n    def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):\n        \
                             y: R.Tensor((2,), dtype=\"float32\") = R.add(x, x)\n        \
                             z: R.Tensor((2,), dtype=\"float32\") = R.multiply(y, x)\n        return z\n";
        let mut session = Session::new(|| 0.0);
        assert!(session.run(&document(RELAX, "Normalize", PassContext::default()).expect("passes"), false));
        for (line, word) in [(8, "y"), (8, "R.add"), (9, "y")] {
            let place = Place::Line { line, word: word.to_owned(), stable: false };
            let node = session.history(0, &place).expect("it is there").node;
            let values = session.values(0, "main", 0, &[("x".to_owned(), vec![1.0, 3.0])], Some(node)).expect("it runs");
            assert_eq!(shown(&session, &values.seen), ["value: float32[2] [2, 6]"], "{word} in line {line}");
            assert_eq!(values.times, 1);
        }
    }
}
