//! Conv2dToSparse2: convolutions over constant kernels that are made sparse.
//!
//! A convolution with stride one and a constant kernel becomes `nn.sparse_conv2d` over the kernel in block sparse row format, if
//! enough of it is zero.
//!
//! Does nothing to convolutions of another layout, stride or size of kernel. A constant kernel of another type than `float32`
//! is refused, and rows and columns that fill no block are left out, as in TVM.
//!
//! Source: `src/relay/transforms/convert_sparse_conv2d.cc`.

use super::conv2d_to_sparse::sparse_conv2d;
use crate::diag::Diagnostic;
use crate::ir::rewrite::{ExprMutator, rewrite};
use crate::ir::{DType, ExprId, Module, Store, Tensor};
use crate::ops::build::{arg, constant, int_tensor, is_call};
use crate::ops::kernel::{read, write};
use crate::pass::{Args, Literal, Param, PassCx, PassError, PassSpec, Run, explained};

/// Computes convolutions over constant kernels with many zeros as sparse ones.
pub static SPEC: PassSpec = PassSpec {
    name: "Conv2dToSparse2",
    info_name: "Conv2dToSparse2",
    dialects: crate::pass::spec::RELAY,
    opt_level: 5,
    required: &["DeadCodeElimination"],
    params: &[
        Param { name: "layout", default: "", doc: "The layout of the data, `\"NHWC\"` or `\"NCHW\"`." },
        Param { name: "kernel_size", default: "", doc: "The height and width of the kernels." },
        Param { name: "blocksize", default: "", doc: "The height and width of a block, `[2, 1]`." },
        Param { name: "sparsity_threshold", default: "", doc: "The share of the kernel that lies in blocks of zeros, at least." },
    ],
    config: &[],
    summary: "Computes convolutions over constant kernels with many zeros as sparse ones.",
    doc: explained(
        "A convolution of the given layout and size of kernel, with stride one and a constant kernel, becomes `nn.sparse_conv2d` over \
the kernel in block sparse row format, if at least the share `sparsity_threshold` of it lies in blocks that are zero. What fills no \
block is left out, as in TVM: the block must divide the number of output channels, and that of the other weights for each. The \
kernel must be a constant: in the example it is a parameter, and stays.\n\n\
It requires DeadCodeElimination, which TVM makes without the arguments that this one needs: in a list that is an error, as in TVM. Called \
directly, or inside of ApplyPassToFunction, it runs.",
    ),
    example_before: explained(
        "\
# Conv2dToSparse2(layout=\"NCHW\", kernel_size=1, blocksize=[2, 1], sparsity_threshold=0.5)
def @main(%x: Tensor[(1, 4, 3, 3), float32], %w: Tensor[(2, 4, 1, 1), float32]) -> Tensor[(1, 2, 3, 3), float32] {
  nn.conv2d(%x, %w, padding=[0, 0, 0, 0], kernel_size=[1, 1])
}
",
    ),
    example_after: explained(
        "\
def @main(%x: Tensor[(1, 4, 3, 3), float32], %w: Tensor[(2, 4, 1, 1), float32]) -> Tensor[(1, 2, 3, 3), float32] {
  nn.conv2d(%x, %w, padding=[0, 0, 0, 0], kernel_size=[1, 1])
}
",
    ),
    run: Run::Function(run),
};

fn run(cx: &mut PassCx<'_>, _: &Module, function: ExprId, arguments: &Args) -> Result<ExprId, PassError> {
    let block = match arguments.get("blocksize") {
        Literal::List(items) => match items.as_slice() {
            [Literal::Int(height @ 1..), Literal::Int(width @ 1..)] => Some([*height as usize, *width as usize]),
            _ => None,
        },
        _ => None,
    };
    let threshold = match arguments.get("sparsity_threshold") {
        Literal::Float(share) => Some(*share),
        Literal::Int(share) => Some(*share as f64),
        _ => None,
    };
    let (Some(block), Some(threshold)) = (block, threshold) else {
        let message = "blocksize: two numbers were expected, such as [2, 1], and a number for sparsity_threshold";
        return Err(vec![Diagnostic::error("pass-argument", message, None)]);
    };
    let layout = arguments.str("layout").unwrap_or_default().to_owned();
    let mut pass = Sparse { layout, size: arguments.int("kernel_size"), block, threshold, errors: Vec::new() };
    let new = rewrite(cx.store, function, &mut pass);
    if pass.errors.is_empty() { Ok(new) } else { Err(pass.errors) }
}

struct Sparse {
    layout: String,
    size: i64,
    block: [usize; 2],
    threshold: f64,
    errors: PassError,
}

impl ExprMutator for Sparse {
    fn rule(&self) -> &'static str {
        "convolution over a sparse kernel"
    }

    fn leave(&mut self, store: &mut Store, pre: ExprId, post: ExprId) -> ExprId {
        let attrs = store.call(pre).and_then(|call| call.attrs);
        let fits = is_call(store, pre, "nn.conv2d")
            && store.attr_str(attrs, "data_layout") == Some(&self.layout)
            && store.attr_ints(attrs, "strides").is_some_and(|strides| strides.first() == Some(&1))
            && store.attr_ints(attrs, "kernel_size").is_some_and(|size| size.first() == Some(&self.size));
        if !fits {
            return post;
        }
        let Some(kernel) = constant(store, arg(store, pre, 1)).cloned() else { return post };
        if kernel.dtype != DType::F32 {
            let message = format!("only kernels of float32 are made sparse, and this is one of {}", kernel.dtype);
            self.errors.push(Diagnostic::error("relay-sparse", message, store.source_span(pre)));
            return post;
        }
        match self.blocks(store, &kernel) {
            Some(parts) => sparse_conv2d(store, post, parts, &self.layout, self.size),
            None => post,
        }
    }
}

impl Sparse {
    /// Returns the kernel as values, indices and pointers of blocks, if it is sparse enough.
    fn blocks(&self, store: &mut Store, kernel: &Tensor) -> Option<[ExprId; 3]> {
        let values = read::<f32>(kernel).ok()?;
        let nchw = self.layout == "NCHW";
        let channels = *kernel.shape.get(if nchw { 0 } else { 3 })? as usize;
        let others = values.len() / channels.max(1);
        let at = |row: usize, column: usize| values[if nchw { row * others + column } else { column * channels + row }];
        let [height, width] = self.block;
        let (mut data, mut indices, mut pointers) = (Vec::new(), Vec::new(), Vec::new());
        for row in 0..channels / height {
            pointers.push(indices.len() as i64);
            for column in 0..others / width {
                let cells = (0..height * width).map(|cell| at(row * height + cell / width, column * width + cell % width));
                let cells: Vec<f32> = cells.collect();
                if cells.iter().any(|cell| *cell != 0.0) {
                    data.extend(cells);
                    indices.push(column as i64);
                }
            }
        }
        pointers.push(indices.len() as i64);
        if 1.0 - data.len() as f64 / (values.len() as f64) < self.threshold {
            return None;
        }
        let count = indices.len() as i64;
        let data = write(DType::F32, &[count, height as i64, width as i64], &data).ok()?;
        Some([
            store.add_constant(data),
            int_tensor(store, DType::I32, &[count], &indices),
            int_tensor(store, DType::I32, &[pointers.len() as i64], &pointers),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{self, data, failure, run, values};
    use crate::ir::{DType, Store};

    #[test]
    fn a_kernel_of_zeros_is_made_sparse_and_values_stay() {
        // A kernel that is folded of what the text can say: the second of four columns is one, the others are zero.
        let kernel = "one_hot(2, 1f, 0f, depth=4, axis=0, dtype=\"float32\")";
        let program = format!(
            "def @main(%x: Tensor[(1, 4, 3, 3), float32]) {{
               %0 = expand_dims({kernel}, axis=0);
               %1 = expand_dims(%0, axis=2, num_newaxis=2);
               %2 = concatenate((%1, %1), axis=0);
               nn.conv2d(%x, %2, padding=[0, 0, 0, 0], kernel_size=[1, 1])
             }}"
        );
        let store = &mut Store::new();
        let module = testing::read(store, &program);
        let inputs = [data(DType::F32, &[1, 4, 3, 3])];
        let before = values(store, &module, &inputs);
        let trace = run(store, module, "FoldConstant(), Conv2dToSparse2(\"NCHW\", 1, [2, 1], 0.5), InferType()");
        let after = trace.last().clone();
        assert!(testing::show(store, &after).contains("nn.sparse_conv2d("), "{:?}", trace.failures());
        assert_eq!(values(store, &after, &inputs), before);
    }

    #[test]
    fn arguments_that_are_not_numbers_are_refused() {
        assert!(failure("Conv2dToSparse2(\"NCHW\", 1, 2, 0.5)", "def @main() { 1 }").contains("two numbers"));
    }
}
