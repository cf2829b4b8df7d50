//! Pooling and resizing (TVM: src/relax/op/nn/pooling.cc, src/relax/op/image/resize.cc).

use super::{Infer, Inferred, ValueLayout, comes_back, initial, is_split, transpose_like, transpose_split};
use crate::ops::layout::Layout;

/// Pooling over one or three axes.
pub fn pool(cx: &mut Infer<'_>) -> Result<Inferred, String> {
    cx.follows()?;
    let layout = cx.layout(0)?;
    pooled(cx, layout)
}

/// Pooling over two axes, which also takes layouts with split axes.
pub fn pool2d(cx: &mut Infer<'_>) -> Result<Inferred, String> {
    cx.follows()?;
    let layout = cx.layout(0)?;
    if !is_split(&layout) {
        return pooled(cx, layout);
    }
    let now = cx.layout_attr("layout", "")?;
    let wanted = transpose_split(&now, &initial(4), &layout)?;
    if let Some(shape) = cx.shape(0)
        && comes_back(cx.store, &now, &wanted, &shape)
    {
        let text = cx.text(&wanted);
        let attrs = cx.with(&[("layout", text.clone()), ("out_layout", text)]);
        return Ok(Inferred { attrs, ..cx.all_in(layout, 1) });
    }
    pooled(cx, initial(4))
}

fn pooled(cx: &mut Infer<'_>, layout: Layout) -> Result<Inferred, String> {
    // TVM looks at the type of the result, which a weaker annotation replaces.
    let rank = cx.store.tensor_info(cx.ty).and_then(|info| cx.store.rank(&info.extents));
    if rank != Some(cx.layout_attr("layout", "")?.rank()) {
        return Err("Unsupported initial layout".to_owned());
    }
    let now = cx.layout_attr("layout", "")?;
    let out = cx.layout_attr("out_layout", "layout")?;
    let start = initial(now.rank());
    let (now, out) = (transpose_like(&now, &start, &layout)?, transpose_like(&out, &start, &layout)?);
    let (now, out) = (cx.text(&now), cx.text(&out));
    let attrs = cx.with(&[("layout", now), ("out_layout", out)]);
    Ok(Inferred { attrs, ..cx.all_in(layout, 1) })
}

/// `image.resize2d`, `image.resize3d`: the desired layout, or that of the image.
pub fn resize(cx: &mut Infer<'_>) -> Result<Inferred, String> {
    let now = cx.layout_attr("layout", "")?;
    let start = initial(now.rank());
    let (layout, text) = match cx.desired.and_then(|desired| desired.first()) {
        Some(desired) => {
            let desired = Layout::parse(desired)?;
            if is_split(&desired) {
                return Err("Axis swap only".to_owned());
            }
            (transpose_like(&start, &now, &desired)?, desired)
        }
        None => {
            let layout = cx.layout(0)?;
            let layout = if is_split(&layout) { start.clone() } else { layout };
            let text = transpose_like(&now, &start, &layout)?;
            (layout, text)
        }
    };
    let text = cx.text(&text);
    let attrs = cx.with(&[("layout", text)]);
    let mut inferred = Inferred { attrs, ..cx.all_in(layout, 1) };
    inferred.inputs.push(ValueLayout::Unknown);
    Ok(inferred)
}
