//! Resolves the names of passes: prefixes of TVM's modules, and names of earlier versions.

use super::spec::PassSpec;
use crate::ir::Dialect;
use crate::parse::suggest;

/// A name as it is looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wanted<'n> {
    /// Prefixes that the pass may have, the likeliest first.
    prefixes: &'static [&'static str],
    /// The name without one.
    base: &'n str,
    /// The note for a pass that is found.
    note: Option<String>,
}

/// Passes of Relay and Relax that TVM called otherwise before.
const EARLIER: &[(&str, &str)] = &[("VMBuiltinLower", "LowerRuntimeBuiltin")];

/// Passes over functions of TIR that TVM called otherwise before, or that are part of another one now.
const EARLIER_TIR: &[(&str, &str)] = &[
    ("Simplify", "StmtSimplify"),
    ("CommonSubexprElimTIR", "CommonSubexprElim"),
    ("StorageFlatten", "FlattenBuffer"),
    ("AnnotateDeviceRegions", "SplitHostDevice"),
    ("LowerDeviceKernelLaunch", "SplitHostDevice"),
];

/// Passes over functions of TIR that TVM 0.19 has and 0.27 has not.
const GONE: &[&str] = &[
    "ApplyLayoutTransforms",
    "CoProcSync",
    "CombineContextCall",
    "ConvertForLoopsToSerial",
    "ExtractPrimFuncConstants",
    "InjectCopyIntrin",
    "InjectPrefetch",
    "InjectRollingBuffer",
    "InstallDebugSpans",
    "LegalizePackedCalls",
    "LiftAttrScope",
    "LowerCustomDatatypes",
    "LowerDeviceStorageAccessInfo",
    "MakeUnpackedAPI",
    "ReduceBranchingThroughOvercompute",
    "TextureFlatten",
];

/// Modules of TVM that a name may stand in, and the prefixes of passes that are meant.
const MODULES: &[(&str, &[&str])] = &[
    ("relay.transform.", &[""]),
    ("relay._transform.", &[""]),
    ("relax.transform.", &[""]),
    ("transform.", &[""]),
    ("dlight.", &[""]),
    ("s_tir.dlight.", &[""]),
    ("tirx.transform.", &["tirx.", "s_tir."]),
    ("s_tir.transform.", &["s_tir.", "tirx."]),
    ("tir.transform.", &["tirx.", "s_tir."]),
    ("backend.cuda.transforms.", &["s_tir.", "tirx."]),
    ("tirx.", &["tirx.", "s_tir."]),
    ("s_tir.", &["s_tir.", "tirx."]),
    ("tir.", &["tirx.", "s_tir."]),
    ("", &["", "tirx.", "s_tir."]),
];

impl<'n> Wanted<'n> {
    /// Parses the name in a call.
    pub(super) fn of(name: &'n str) -> Wanted<'n> {
        let inner = name.strip_prefix("tvm.").unwrap_or(name);
        let found = MODULES.iter().find_map(|(module, prefixes)| Some((inner.strip_prefix(module)?, *prefixes)));
        let (base, prefixes) = found.unwrap_or((inner, &[""]));
        let is_tir = prefixes != [""];
        let rename = |table: &'static [(&'static str, &'static str)]| table.iter().find(|(earlier, _)| *earlier == base);
        if let Some((_, now)) = rename(EARLIER) {
            return Wanted { prefixes, base: now, note: None };
        }
        match rename(EARLIER_TIR).filter(|_| is_tir) {
            Some((_, now)) => Wanted { prefixes, base: now, note: Some(format!("TVM 0.27 calls `{name}` {now}")) },
            None => Wanted { prefixes, base, note: None },
        }
    }

    /// Returns the pass of that name among those for a dialect, or among the others.
    pub(super) fn among(&self, passes: &'static [&'static PassSpec], dialect: Dialect) -> Option<&'static PassSpec> {
        let find = |own: bool| {
            self.prefixes.iter().find_map(|prefix| {
                let is = |name: &str| name.strip_prefix(prefix) == Some(self.base);
                let fits = |spec: &&&PassSpec| spec.works_on(dialect) == own;
                let by_factory = passes.iter().filter(fits).find(|spec| is(spec.name));
                by_factory.or_else(|| passes.iter().filter(fits).find(|spec| is(spec.info_name.trim())))
            })
        };
        find(true).or_else(|| find(false)).copied()
    }

    /// Returns the note for the pass.
    pub(super) fn note(&self) -> Option<String> {
        self.note.clone()
    }

    /// Returns a note about a name that no pass has, if there is more to say.
    pub(super) fn missing(&self, passes: &[&PassSpec]) -> Option<String> {
        if self.prefixes != [""] && GONE.contains(&self.base) {
            return Some(format!("TVM 0.27 has no {} any more", self.base));
        }
        let bare = |name: &'static str| name.rsplit('.').next().unwrap_or(name);
        let near = suggest::nearest(self.base, passes.iter().map(|spec| bare(spec.name)))?;
        let spec = passes.iter().find(|spec| bare(spec.name) == near)?;
        Some(format!("did you mean `{}`?", spec.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_all_versions_and_modules_are_understood() {
        let of = |name| {
            let wanted = Wanted::of(name);
            (format!("{}{}", wanted.prefixes[0], wanted.base), wanted.note.is_some())
        };
        assert_eq!(of("tvm.tir.transform.Simplify"), ("tirx.StmtSimplify".to_owned(), true));
        assert_eq!(of("tir.UnrollLoop"), ("tirx.UnrollLoop".to_owned(), false));
        assert_eq!(of("s_tir.transform.LowerInitBlock"), ("s_tir.LowerInitBlock".to_owned(), false));
        assert_eq!(of("relay.transform.FuseOps"), ("FuseOps".to_owned(), false));
        assert_eq!(of("VMBuiltinLower"), ("LowerRuntimeBuiltin".to_owned(), false));
    }

    #[test]
    fn a_pass_that_is_gone_is_named_as_such() {
        assert_eq!(Wanted::of("tir.InjectPrefetch").missing(&[]).as_deref(), Some("TVM 0.27 has no InjectPrefetch any more"));
        assert_eq!(Wanted::of("relay.transform.InjectPrefetch").missing(&[]), None);
    }
}
