//! Builds and rewrites programs of Relax, binding by binding.
//!
//! - [`BlockBuilder`]: TVM's builder. It keeps programs in normal form, and gives them types and names.
//! - [`BlockMutator`]: the hooks of a pass that rewrites; [`rewrite_module`] and [`rewrite_function`] drive it.
//! - [`bind`], [`copy_with_new_vars`]: a function with other variables.
//! - [`NameSupply`]: names that are free.
//!
//! A pass that replaces `R.add(x, x)` by `R.multiply(x, 2)`:
//!
//! ```
//! use passlab::build::{BlockMutator, Mutation, rewrite_module};
//! use passlab::ir::{DType, Expr, ExprId, Module, Store};
//! use passlab::ops;
//!
//! struct Twice;
//! impl BlockMutator for Twice {
//!     fn rule(&self) -> &'static str {
//!         "twice"
//!     }
//!     fn leave(&mut self, store: &mut Store, cx: &mut Mutation, _: ExprId, post: ExprId) -> ExprId {
//!         let Some(call) = store.call(post) else { return post };
//!         if store.called_op(post) != ops::lookup_relax("add") || store.item(call.args, 0) != store.item(call.args, 1) {
//!             return post;
//!         }
//!         let x = store.item(call.args, 0);
//!         let two = ops::build::scalar(store, DType::F32, 2.0);
//!         // A nested call gets a variable by itself; so would this without being emitted.
//!         let two = cx.builder.emit(store, two, "two");
//!         let multiply = store.add(Expr::Op(ops::lookup_relax("multiply").unwrap()));
//!         store.add_call(multiply, &[x, two], None)
//!     }
//! }
//!
//! let store = &mut Store::new();
//! let text = "@I.ir_module
//! class Module:
//!     @R.function
//!     def main(x: R.Tensor((2,), dtype=\"float32\")) -> R.Tensor((2,), dtype=\"float32\"):
//!         y: R.Tensor((2,), dtype=\"float32\") = R.add(x, x)
//!         return y
//! ";
//! let module = passlab::parse::parse(store, text).program.module;
//! let module = passlab::infer::infer_module(store, &module).unwrap();
//! let new: Module = rewrite_module(store, &module, &mut Twice).unwrap();
//! # let text = passlab::print::module(store, &new, &passlab::print::PrintOptions::default());
//! # assert!(text.contains("R.multiply(x, two)"), "{text}");
//! ```
//!
//! Errors of deduction do not stop the building: they are collected, and [`BlockBuilder::finish`] returns them.

mod anf;
mod builder;
mod copy;
mod functions;
mod mutate;
mod names;
mod rebuild;
mod run;

pub use builder::{BlockBuilder, function_again, function_over, is_leaf, is_leaf_or_tuple, signature, visited};
pub use copy::{bind, bind_in, copy_with_new_vars, defined_symbols, infer_symbols, known_dims};
pub use mutate::{BlockMutator, Follow, Mutation, Saved, any_leaf, has_bindings};
pub use names::NameSupply;
pub use run::{Normalize, rewrite_function, rewrite_module, rewrite_module_by_name, run};
