//! The layouts that ConvertLayout of either dialect is asked for.

use crate::diag::Diagnostic;
use crate::ir::Dialect;
use crate::ops;
use crate::parse::suggest;
use crate::pass::{Args, Literal, PassError};

/// For each operator, by its name in the dialect, the layouts of its operands.
pub type DesiredLayouts = Vec<(String, Vec<String>)>;

/// Reads the argument `desired_layouts`.
pub fn desired_layouts(arguments: &Args) -> Result<DesiredLayouts, PassError> {
    let given = arguments.get("desired_layouts");
    let wrong = || {
        let text = format!(
            "desired_layouts: a list of layouts for each operator was expected, {{\"nn.conv2d\": [\"NHWC\"]}}, not {given}"
        );
        vec![Diagnostic::error("pass-argument", text, None)]
    };
    let text = |literal: &Literal| if let Literal::Str(text) = literal { Some(text.clone()) } else { None };
    let entry = |(name, layouts): &(Literal, Literal)| {
        let Literal::List(layouts) = layouts else { return None };
        let layouts: Option<Vec<String>> = layouts.iter().map(text).collect();
        Some((text(name)?.trim_start_matches("relax.").to_owned(), layouts?))
    };
    let Literal::Dict(entries) = given else { return Err(wrong()) };
    entries.iter().map(entry).collect::<Option<DesiredLayouts>>().ok_or_else(wrong)
}

/// Returns a warning for each name that is no operator's: TVM passes over such.
pub fn unknown_operators(desired: &DesiredLayouts, dialect: Dialect) -> impl Iterator<Item = Diagnostic> {
    let lookup = if dialect == Dialect::Relay { ops::lookup } else { ops::lookup_relax };
    desired.iter().map(|(name, _)| name).filter(move |name| lookup(name).is_none()).map(move |name| {
        let near = suggest::nearest(name, ops::names(dialect)).map(|near| format!("did you mean `{near}`?"));
        let warning = Diagnostic::warning("no-operator", format!("desired_layouts: there is no operator `{name}`"), None);
        near.into_iter().fold(warning, Diagnostic::with_note)
    })
}
