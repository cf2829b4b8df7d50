//! The `#[metadata]` section.

use super::plan::Plan;

/// The section, or nothing when no object is referred to.
pub(super) fn section(plan: &Plan) -> Option<String> {
    if plan.meta.is_empty() {
        return None;
    }
    let _ = plan.meta.groups();
    None
}
