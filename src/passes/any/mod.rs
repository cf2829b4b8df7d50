//! Passes over programs of any dialect, and algorithms shared by passes of both.

pub mod apply_pass_to_function;
pub(super) mod desired_layouts;
pub(super) mod dominators;
pub(super) mod fusion;
mod pattern;
pub mod print_ir;
pub mod sequential;
