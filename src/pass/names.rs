//! Resolves the names of passes: prefixes of TVM's modules, and names of earlier versions.

use super::spec::PassSpec;
use crate::ir::Dialect;
use crate::parse::suggest;

/// A name as it is looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wanted<'n> {
    /// Prefixes that the pass may have, the likeliest first.
    prefixes: &'static [&'static str],
    /// The dialect whose module the name stands in.
    dialect: Option<Dialect>,
    /// The name without one.
    base: &'n str,
    /// The note for a pass that is found.
    note: Option<String>,
}

/// Passes of Relay and Relax that TVM called otherwise before.
const EARLIER: &[(&str, &str)] = &[("VMBuiltinLower", "LowerRuntimeBuiltin")];

/// Passes over functions of TIR that TVM called otherwise before, or that are part of another one now.
pub(crate) const EARLIER_TIR: &[(&str, &str)] = &[
    ("Simplify", "StmtSimplify"),
    ("CommonSubexprElimTIR", "CommonSubexprElim"),
    ("MergeDynamicSharedMemoryAllocations", "MergeSharedMemoryAllocations"),
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

/// Functions of TVM's Python (`relay.qnn.transform`) that call a pass with an argument.
const CALLS: &[(&str, &str)] = &[
    ("qnn.transform.Legalize", "Legalize(legalize_map_attr_name=\"FTVMQnnLegalize\")"),
    ("qnn.transform.CanonicalizeOps", "Legalize(legalize_map_attr_name=\"FTVMQnnCanonicalize\")"),
    ("qnn.CanonicalizeOps", "Legalize(legalize_map_attr_name=\"FTVMQnnCanonicalize\")"),
];

/// Modules of TVM that a name may stand in, the prefixes of passes that are meant, and their dialect where it is said.
const MODULES: &[(&str, &[&str], Option<Dialect>)] = &[
    ("relay.transform.", &[""], Some(Dialect::Relay)),
    ("relay._transform.", &[""], Some(Dialect::Relay)),
    ("relax.transform.", &[""], Some(Dialect::Relax)),
    ("transform.", &[""], None),
    ("dlight.", &[""], None),
    ("s_tir.dlight.", &[""], None),
    ("tirx.transform.", &["tirx.", "s_tir."], None),
    ("s_tir.transform.", &["s_tir.", "tirx."], None),
    ("tir.transform.", &["tirx.", "s_tir."], None),
    ("backend.cuda.transforms.", &["s_tir.", "tirx."], None),
    ("tirx.", &["tirx.", "s_tir."], None),
    ("s_tir.", &["s_tir.", "tirx."], None),
    ("tir.", &["tirx.", "s_tir."], None),
    ("", &["", "tirx.", "s_tir."], None),
];

impl<'n> Wanted<'n> {
    /// Parses the name in a call.
    pub(super) fn of(name: &'n str) -> Wanted<'n> {
        let inner = name.strip_prefix("tvm.").unwrap_or(name);
        let found = MODULES.iter().find_map(|(module, prefixes, of)| Some((inner.strip_prefix(module)?, *prefixes, *of)));
        let (base, prefixes, dialect) = found.unwrap_or((inner, &[""], None));
        let is_tir = prefixes != [""];
        let rename = |table: &'static [(&'static str, &'static str)]| table.iter().find(|(earlier, _)| *earlier == base);
        if let Some((_, now)) = rename(EARLIER) {
            return Wanted { prefixes, dialect, base: now, note: None };
        }
        match rename(EARLIER_TIR).filter(|_| is_tir) {
            Some((_, now)) => Wanted { prefixes, dialect, base: now, note: Some(format!("TVM 0.27 calls `{name}` {now}")) },
            None => Wanted { prefixes, dialect, base, note: None },
        }
    }

    /// Returns the pass of that name among those of the dialect that the name says. If it says none, those for the
    /// dialect of the program come before others.
    pub(super) fn among(&self, passes: &'static [&'static PassSpec], dialect: Dialect) -> Option<&'static PassSpec> {
        let find = |own: bool| {
            self.prefixes.iter().find_map(|prefix| {
                let is = |name: &str| name.strip_prefix(prefix) == Some(self.base);
                let said = |spec: &PassSpec| self.dialect.is_none_or(|dialect| spec.works_on(dialect));
                let fits = |spec: &&&PassSpec| spec.works_on(dialect) == own && said(spec);
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
        if let Some((_, call)) = CALLS.iter().find(|(name, _)| self.base.trim_start_matches("relay.") == *name) {
            return Some(format!("in TVM that is `{call}`"));
        }
        if let Some(spec) = passes.iter().find(|spec| self.dialect.is_some() && spec.name == self.base) {
            let of = spec.dialects.first().map_or("", |dialect| dialect.title());
            return Some(format!("`{}` is a pass of {of}", spec.name));
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
        let canonicalize = Wanted::of("tvm.relay.qnn.transform.CanonicalizeOps").missing(&[]);
        assert_eq!(canonicalize.as_deref(), Some("in TVM that is `Legalize(legalize_map_attr_name=\"FTVMQnnCanonicalize\")`"));
    }

    #[test]
    fn a_name_in_the_module_of_a_dialect_means_no_pass_of_another() {
        let passes: &[&PassSpec] = crate::passes::ALL;
        let found = |name| Wanted::of(name).among(passes, Dialect::Relax).map(|spec| spec.works_on(Dialect::Relax));
        assert_eq!(found("FoldConstant"), Some(true));
        assert_eq!(found("relax.transform.FoldConstant"), Some(true));
        assert_eq!(found("relay.transform.FoldConstant"), Some(false));
        assert_eq!(found("relay.transform.LegalizeOps"), None);
        let note = Wanted::of("relay.transform.LegalizeOps").missing(passes);
        assert_eq!(note.as_deref(), Some("`LegalizeOps` is a pass of Relax"));
    }
}
