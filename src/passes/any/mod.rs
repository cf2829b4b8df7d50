//! Passes over programs of any dialect.

pub mod apply_pass_to_function;
mod pattern;
pub mod print_ir;
pub mod sequential;
