//! The boundary to JavaScript: the only place that names wasm-bindgen.

use wasm_bindgen as _;
