//! Operators on each element (TVM: src/relax/op/op_common.cc, tensor/binary.cc, tensor/ternary.cc).

use super::{Infer, Inferred, ValueLayout, broadcast, comes_back, initial, is_split};
use crate::ops::layout::Layout;

/// One tensor: any layout.
pub fn unary(cx: &mut Infer<'_>) -> Result<Inferred, String> {
    cx.follows()?;
    Ok(cx.all_in(cx.layout(0)?, 1))
}

/// Two tensors: the second follows the first, or the one of lower rank leads.
pub fn binary(cx: &mut Infer<'_>) -> Result<Inferred, String> {
    cx.follows()?;
    let (a, b) = (cx.layout(0)?, cx.layout(1)?);
    let primal = |layout: &Layout| layout.axes().iter().filter(|axis| axis.is_primal()).count();
    if (is_split(&a) || is_split(&b)) && primal(&a) == primal(&b) {
        let (leader, follower) = if a.rank() >= b.rank() { (&a, 1) } else { (&b, 0) };
        if let Some(shape) = cx.shape(follower)
            && comes_back(cx.store, &initial(shape.len()), leader, &shape)
        {
            return Ok(cx.all_in(leader.clone(), 2));
        }
    }
    let ranks = (cx.rank(0)?, cx.rank(1)?);
    let nothing = Layout::default();
    let (first, second, out) = if ranks.0 <= ranks.1 {
        if ranks.0 == 0 {
            (nothing, b.clone(), b)
        } else {
            let out = broadcast_or_same(&a, ranks.1)?;
            (a, out.clone(), out)
        }
    } else if ranks.1 == 0 {
        (a.clone(), nothing, a)
    } else {
        let out = broadcast_or_same(&b, ranks.0)?;
        (out.clone(), b, out)
    };
    let inputs = [first, second].map(ValueLayout::Tensor).into();
    Ok(Inferred { inputs, output: ValueLayout::Tensor(out), attrs: cx.attrs, args: Vec::new() })
}

fn broadcast_or_same(layout: &Layout, rank: usize) -> Result<Layout, String> {
    if layout.rank() == rank { Ok(layout.clone()) } else { broadcast(layout, rank) }
}

/// Three tensors: that of the first, or that on which the others agree.
pub fn ternary(cx: &mut Infer<'_>) -> Result<Inferred, String> {
    cx.follows()?;
    let (a, b, c) = (cx.layout(0)?, cx.layout(1)?, cx.layout(2)?);
    Ok(cx.all_in(if b == c { b } else { a }, 3))
}
