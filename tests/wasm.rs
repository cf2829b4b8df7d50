//! The boundary of the engine, from the JavaScript side. Runs in Node and in a browser's worker,
//! so nothing here says which.
#![cfg(target_arch = "wasm32")]

use wasm_bindgen_test::wasm_bindgen_test;

#[wasm_bindgen_test]
fn the_engine_starts() {}
