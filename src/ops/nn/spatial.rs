//! Defaults of attributes by the number of spatial axes, so that operators over one, two and three have one definition.

/// Lists of this many ones.
pub(crate) const ONES: [&[i64]; 4] = [&[], &[1], &[1, 1], &[1, 1, 1]];

/// Lists of this many zeros.
pub(crate) const ZEROS: [&[i64]; 5] = [&[], &[0], &[0, 0], &[0, 0, 0], &[0, 0, 0, 0]];

/// Layouts of data.
pub(crate) const CHANNELS_FIRST: [&str; 4] = ["NC", "NCW", "NCHW", "NCDHW"];

/// Layouts of kernels of convolutions.
pub(crate) const KERNEL: [&str; 4] = ["OI", "OIW", "OIHW", "OIDHW"];

/// Layouts of kernels of transposed convolutions.
pub(crate) const TRANSPOSED_KERNEL: [&str; 4] = ["IO", "IOW", "IOHW", "IODHW"];
