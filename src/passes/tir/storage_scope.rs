//! Kinds of memory by their names (`src/runtime/thread_storage_scope.h`).

/// A kind of memory and its tag: `shared.dyn` is `shared` with the tag `.dyn`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scope<'s> {
    pub(super) rank: &'s str,
    pub(super) tag: &'s str,
}

const RANKS: [&str; 15] = [
    "global",
    "shared",
    "warp",
    "local",
    "wmma.matrix_a",
    "wmma.matrix_b",
    "wmma.accumulator",
    "texture",
    "amx.tmm",
    "m16n8k8.matrixA",
    "m16n8k8.matrixB",
    "m16n8k8.matrixC",
    "metal.simdgroup",
    "metal.cooperative_tensor",
    "trn",
];

impl<'s> Scope<'s> {
    /// Returns the scope of a name; one that is not known is a rank of its own.
    pub(super) fn of(name: &'s str) -> Scope<'s> {
        if name.is_empty() {
            return Scope { rank: "global", tag: "" };
        }
        match RANKS.into_iter().find(|rank| name.starts_with(rank)) {
            Some(rank) => Scope { rank: &name[..rank.len()], tag: &name[rank.len()..] },
            None => Scope { rank: name, tag: "" },
        }
    }

    /// True if TVM has this kind of memory.
    pub(super) fn is_known(self) -> bool {
        RANKS.contains(&self.rank)
    }

    /// True if it is private to a thread or a warp.
    pub(super) fn is_private(self) -> bool {
        !matches!(self.rank, "global" | "shared")
    }

    /// True if it is a special memory, shared by all buffers in it.
    pub(super) fn is_special(self) -> bool {
        !matches!(self.tag, "" | ".dyn" | ".workspace" | ".vtcm")
    }
}

#[cfg(test)]
mod tests {
    use super::Scope;

    #[test]
    fn a_scope_is_a_rank_with_a_tag() {
        assert_eq!(Scope::of("shared.dyn"), Scope { rank: "shared", tag: ".dyn" });
        assert_eq!(Scope::of(""), Scope { rank: "global", tag: "" });
        assert!(Scope::of("shared.dyn").is_known() && !Scope::of("scratch").is_known());
        assert!(Scope::of("wmma.matrix_a").is_private() && !Scope::of("global.vtcm").is_special());
        assert!(Scope::of("local.L0A").is_special());
    }
}
