//! Neural network operators (`nn.*`), one family per file.

use super::OpInfo;

pub mod activation;
pub mod attention;
mod attr;
pub mod bitserial;
mod compute;
pub mod conv;
pub(crate) mod conv_kernel;
pub mod conv_transpose;
pub mod dense;
pub(crate) mod dense_kernel;
pub mod global_pool;
pub mod loss;
pub mod misc;
pub mod norm;
mod norm_kernel;
pub mod pad;
pub mod pool;
pub(crate) mod pool_kernel;
pub mod space;
mod space_kernel;
pub mod sparse;
mod spatial;
pub mod winograd;

/// The families.
pub static FAMILIES: &[&[OpInfo]] = &[
    activation::OPS,
    attention::OPS,
    bitserial::OPS,
    conv::OPS,
    conv_transpose::OPS,
    dense::OPS,
    global_pool::OPS,
    loss::OPS,
    misc::OPS,
    norm::OPS,
    pad::OPS,
    pool::OPS,
    space::OPS,
    sparse::OPS,
    winograd::OPS,
];

#[cfg(test)]
mod tests;
