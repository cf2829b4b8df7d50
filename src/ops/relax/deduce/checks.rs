//! Checks that several rules share, and the rules of operators that write into a tensor, which check more than they compute
//! (TVM: src/relax/op/tensor/manipulate.cc, nn/nn.cc).

use super::{Deduce, Tensor, int, is_int};
use crate::ir::{Dim, Extents, PrimOp, Type, TypeId};

type Checked = Result<(), String>;

impl Deduce<'_> {
    /// Fails if the elements of a tensor are known to be no whole numbers.
    pub fn whole_numbers(&self, tensor: &Tensor, op: &str, what: &str) -> Checked {
        match tensor.dtype() {
            Some(dtype) if !is_int(dtype) => {
                Err(format!("{op} requires the input {what} to have integer dtype. However, the given {what} dtype is {dtype}"))
            }
            _ => Ok(()),
        }
    }

    /// Fails if the element types of two tensors are known to differ.
    pub fn like_the_data(&self, data: &Tensor, other: &Tensor, op: &str, what: &str) -> Checked {
        match (data.dtype(), other.dtype()) {
            (Some(a), Some(b)) if a != b => Err(format!(
                "{op} op requires the input data to have same type with {what}. However, the given types are data: {a}, {what}: {b}"
            )),
            _ => Ok(()),
        }
    }

    /// Fails if a list of numbers, one for each spatial axis, has another length; one number stands for all.
    pub fn lengths(&self, names: &[&str], axes: usize) -> Checked {
        for name in names {
            let count = self.ints(name).map_or(1, |list| list.len());
            let paddings = *name == "padding" && count == 2 * axes;
            if count > 1 && count != axes && !paddings {
                let or = if *name == "padding" { format!(" or {}", 2 * axes) } else { String::new() };
                return Err(format!(
                    "The input {name} length is expected to be {axes}{or}. However, the given one has {count} numbers"
                ));
            }
        }
        match self.ints("strides") {
            Some(strides) if strides.contains(&0) => Err("Divide by zero".to_owned()),
            _ => Ok(()),
        }
    }

    /// True if two shapes are known and can never be equal.
    fn never_alike(&mut self, a: &Tensor, b: &Tensor) -> bool {
        let (Some(a), Some(b)) = (a.shape.clone(), b.shape.clone()) else { return false };
        a.len() != b.len() || a.iter().zip(b.iter()).any(|(a, b)| self.differ(*a, *b))
    }
}

/// `scatter_elements`, `scatter_nd`, `index_put`, `slice_scatter`: the shape of the data.
pub fn update(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    match cx.op {
        "scatter_elements" => scatter_elements(cx, &data)?,
        "scatter_nd" => scatter_nd(cx, &data)?,
        "index_put" => index_put(cx, &data)?,
        _ => slice_scatter(cx, &data)?,
    }
    Ok(match data.info.extents {
        Extents::Known(_) => cx.ty(0),
        Extents::Var(_) if cx.op == "slice_scatter" && data.rank.is_some() => cx.ty(0),
        _ => cx.vague(data.rank, data.dtype(), data.vdevice()),
    })
}

fn scatter_elements(cx: &mut Deduce<'_>, data: &Tensor) -> Checked {
    let (indices, updates) = (cx.tensor(1)?, cx.tensor(2)?);
    if data.rank.is_none() {
        return Ok(());
    }
    if let (Some(at), Some(new)) = (indices.rank, updates.rank)
        && (data.rank != Some(at) || at != new)
    {
        return Err("ScatterElements op requires the data tensor to have the same rank with indices and updates".to_owned());
    }
    cx.like_the_data(data, &updates, "ScatterElements", "updates")?;
    cx.whole_numbers(&indices, "ScatterElements op", "indices")?;
    if cx.never_alike(&indices, &updates) {
        return Err("ScatterElements op requires the indices tensor to have the same shape with updates".to_owned());
    }
    Ok(())
}

fn scatter_nd(cx: &mut Deduce<'_>, data: &Tensor) -> Checked {
    let (indices, updates) = (cx.tensor(1)?, cx.tensor(2)?);
    if data.dtype().is_none() || updates.dtype().is_none() {
        return Err("ScatterND op requires the input data and updates to have known dtype.".to_owned());
    }
    cx.like_the_data(data, &updates, "ScatterND", "updates")?;
    cx.whole_numbers(&indices, "ScatterND op", "indices")?;
    let (Some(shape), Some(at), Some(new)) = (&data.shape, &indices.shape, &updates.shape) else { return Ok(()) };
    let Some(depth) = at.last().and_then(|dim| usize::try_from(dim.known()?).ok()) else {
        return Err("ScatterND needs a static shape for the last axis of indices".to_owned());
    };
    if (shape.len() + at.len()).checked_sub(depth + 1) != Some(new.len()) {
        return Err("ScatterND op requires the updates tensor to have the rank of `data tensor + indices tensor - last axis of \
                    indices tensor - 1`."
            .to_owned());
    }
    let wanted: Vec<Dim> = at[..at.len() - 1].iter().chain(shape.get(depth..).unwrap_or_default()).copied().collect();
    if wanted.iter().zip(new.iter()).any(|(a, b)| !cx.equal(*a, *b)) {
        return Err("ScatterND op requires the updates tensor to have the shape with constraint: `updates.shape = \
                    indices.shape[:-1] + data.shape[K:]`"
            .to_owned());
    }
    Ok(())
}

fn index_put(cx: &mut Deduce<'_>, data: &Tensor) -> Checked {
    let values = cx.tensor(2)?;
    let ty = cx.ty(1);
    let indices = match cx.store.type_of_id(ty) {
        Type::Tuple(_) => cx.tensors(1)?,
        _ => vec![cx.tensor(1)?],
    };
    let Some(rank) = data.rank else { return Ok(()) };
    for (at, index) in indices.iter().enumerate() {
        if index.rank == Some(0) {
            return Err("IndexPut requires each index tensor to have at least 1 dimension.".to_owned());
        }
        if let Some(dtype) = index.dtype().filter(|dtype| !is_int(*dtype)) {
            return Err(format!(
                "IndexPut requires each index tensor to have integer dtype. However, index tensor {at} has dtype={dtype}"
            ));
        }
    }
    if indices.len() != rank {
        return Err(format!(
            "IndexPut requires the number of index tensors ({}) to match the data tensor dimensions ({rank})",
            indices.len()
        ));
    }
    cx.like_the_data(data, &values, "IndexPut", "values")
}

fn slice_scatter(cx: &mut Deduce<'_>, data: &Tensor) -> Checked {
    let source = cx.tensor(1)?;
    let Some(rank) = data.rank else { return Ok(()) };
    let axis = cx.axis(cx.int("axis").unwrap_or(0), rank)?;
    if source.rank.is_some_and(|other| other != rank) {
        return Err("SliceScatter op requires the data tensor to have the same rank as the src tensor.".to_owned());
    }
    cx.like_the_data(data, &source, "SliceScatter", "src")?;
    let (Some(start), Some(end), Some(step)) = (cx.scalar(2), cx.scalar(3), cx.scalar(4)) else { return Ok(()) };
    if step.known().is_some_and(|step| step < 1) {
        return Err("SliceScatter op requires the step to be >= 1.".to_owned());
    }
    if start.known().zip(end.known()).is_some_and(|(start, end)| end < start) {
        return Err("SliceScatter op requires start <= end.".to_owned());
    }
    let (Some(old), Some(new)) = (data.shape.clone(), source.shape.clone()) else { return Ok(()) };
    if old.len() != new.len() || (0..rank).any(|at| at != axis && cx.differ(old[at], new[at])) {
        return Err(
            "SliceScatter op requires the data tensor to have the same shape as the src tensor except at the scatter axis"
                .to_owned(),
        );
    }
    let span = cx.arith(PrimOp::Sub, end, start);
    let above = cx.arith(PrimOp::Add, span, step);
    let last = cx.arith(PrimOp::Sub, above, int(1));
    let count = cx.arith(PrimOp::FloorDiv, last, step);
    if cx.differ(new[axis], count) {
        return Err(format!(
            "SliceScatter op requires the src tensor's dimension at scatter axis ({axis}) to match the number of elements in the slice."
        ));
    }
    Ok(())
}

/// `layer_norm`, `rms_norm`, `group_norm`, `instance_norm`: the type of the input.
pub fn norm(cx: &mut Deduce<'_>) -> Result<TypeId, String> {
    let data = cx.tensor(0)?;
    let op = cx.op;
    let axes = cx.ints("axes").unwrap_or_default();
    let axes_of_data = match data.rank {
        Some(rank) => cx.axes(&axes, rank)?,
        None => Vec::new(),
    };
    let channel = match (cx.int("channel_axis"), data.rank) {
        (Some(axis), Some(rank)) => Some(cx.axis(axis, rank)?),
        _ => None,
    };
    let by_channel = matches!(op, "nn.group_norm" | "nn.instance_norm");
    if let Some(channel) = channel.filter(|channel| axes_of_data.contains(channel)) {
        return Err(format!(
            "{op} expects that channel_axis must not be in axes, but got channel_axis: {channel}, axes: {axes:?}"
        ));
    }
    if let Some(dtype) = data.dtype().filter(|dtype| !dtype.is_float()) {
        return Err(if by_channel {
            format!("{op} expects that data must be float, but got {dtype}")
        } else {
            format!("{op} requires the input data to have float dtype. However, the given data dtype is {dtype}")
        });
    }
    let channels = channel.and_then(|channel| data.shape.as_ref()?.get(channel).copied());
    if let (Some(channels), Some(groups)) = (channels, cx.int("num_groups"))
        && cx.is_never_multiple(channels, groups.max(1))
    {
        return Err(format!("{op} expects that the size of channel_axis must be divisible by {groups}"));
    }
    let mut certain = true;
    for index in 1..cx.args.len() {
        let other = cx.tensor(index)?;
        if other.dtype() != data.dtype() {
            return Err(format!("{op} requires all the input tensors to have the same dtype, which input {index} has not"));
        }
        let rank = if by_channel { 1 } else { axes.len() };
        if other.rank != Some(rank) {
            return Err(format!(
                "{op} requires the input {index} to have as many dimensions as the length of input axes, which is {rank}"
            ));
        }
        let wanted: Option<Vec<Dim>> = match (by_channel, &data.shape) {
            (true, _) => channels.map(|channels| vec![channels]),
            (false, Some(shape)) => Some(axes_of_data.iter().map(|axis| shape[*axis]).collect()),
            _ => None,
        };
        let (Some(wanted), Some(given)) = (wanted, &other.shape) else { continue };
        for (wanted, given) in wanted.iter().zip(given.iter()) {
            if cx.differ(*wanted, *given) {
                return Err(if by_channel {
                    format!("{op} expects that the size of input {index} must be equal to the size of channel_axis")
                } else {
                    format!(
                        "{op} requires the input gamma, beta, etc., to have size same as the lengths of the data on the given axes."
                    )
                });
            }
            certain = certain && (by_channel || cx.equal(*wanted, *given));
        }
    }
    Ok(if certain { cx.ty(0) } else { cx.vague(data.rank, data.dtype(), data.vdevice()) })
}
