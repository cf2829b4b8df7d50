//! passlab: step through the passes of TVM programs.
//!
//! ```text
//!  text --parse--> Module v0 --infer--> pass manager --> Trace: v0, v1, v2 ...
//!    |                |                     |               |
//!    |            diagnostics          instruments        print, diff, eval of any version
//!    +---------------------------- wasm / command line -----+
//! ```
//!
//! Modules in reading order; each uses only those before it:
//!
//! - [`mod@words`]: enums whose variants have words
//! - [`diag`]: what can be wrong, and where
//! - [`ir`]: the program as data
//! - [`tir`]: scalar expressions and loops: how they are built, what is known of them
//! - [`ops`]: what each operator is
//! - [`parse`]: text to programs
//! - [`mod@print`]: programs as text, as TVM prints them
//! - [`infer`]: types from programs
//! - [`build`]: programs of Relax, put together binding by binding
//! - [`topi`]: operators of Relax as tensor programs
//! - [`pattern`]: what programs of Relax look like, and finding it in them
//! - [`verify`]: is this a program?
//! - [`eval`]: running programs
//! - [`schedule`]: tensor programs transformed loop by loop
//! - [`pass`]: what a pass is and how passes run
//! - [`passes`]: the passes
//! - [`check`]: programs to try passes on
//! - [`diff`]: two versions of a program, line by line
//! - [`repro`]: reproducers, as text and as links
//! - [`session`]: a program that is opened, run and looked at while it is edited
//! - [`trust`]: steps checked by running them
//! - [`boundary`]: the messages between the page and the engine
//! - `cli`: the commands of the command line
//! - `wasm`: the boundary to JavaScript, compiled for the page only

pub mod boundary;
pub mod build;
pub mod check;
#[cfg(not(target_arch = "wasm32"))]
pub mod cli;
pub mod diag;
pub mod diff;
pub mod eval;
pub mod infer;
pub mod ir;
pub mod ops;
pub mod parse;
pub mod pass;
pub mod passes;
pub mod pattern;
pub mod print;
pub mod repro;
pub mod schedule;
pub mod session;
pub mod tir;
pub mod topi;
pub mod trust;
pub mod verify;
#[cfg(feature = "page")]
pub mod wasm;
pub mod words;
