//! The instructions: which arguments each takes, and the primitive that does it.

use super::pad_layout::PadValue;
use super::state::{BlockRef, LOOK_UPS, LoopRef, PRIMITIVES, QUIET, State};
use super::trace::{Call, Value};
use super::{Outcome, refuse};
use crate::ir::{DType, ForKind};
use crate::parse::suggest;
use crate::parse::trace::{Node, NodeKind};

impl Call<'_> {
    /// Does the instruction; what it gives.
    #[expect(clippy::too_many_lines, reason = "a table: an arm for each instruction")]
    pub(super) fn apply(&self, state: &mut State<'_>) -> Outcome<Vec<Value>> {
        let none = Ok(Vec::new());
        let one = |value| Ok(vec![value]);
        let blocks = |all: Vec<BlockRef>| Ok(all.into_iter().map(Value::Block).collect());
        let loops = |all: Vec<LoopRef>| Ok(all.into_iter().map(Value::Loop).collect());
        match self.instruction.name.as_str() {
            "" => match self.value(self.need(0, "value")?)? {
                Value::List(items) => Ok(items),
                value => one(value),
            },
            "get_sblock" | "get_block" => {
                let func = match self.get(1, "func_name") {
                    Some(_) => Some(self.text(1, "func_name")?),
                    None => None,
                };
                one(Value::Block(state.get_block(self.text(0, "name")?, func)?))
            }
            "get_loops" => {
                let block = self.block(state, 0, "block")?;
                loops(state.get_loops(block)?)
            }
            "get_child_blocks" => {
                let name = if self.named("block").is_some() { "block" } else { "block_or_loop" };
                let of = self.either(0, name)?;
                blocks(state.get_child_blocks(of)?)
            }
            name @ ("get_producers" | "get_consumers") => {
                let block = self.block(state, 0, "block")?;
                blocks(state.get_neighbours(block, name == "get_consumers")?)
            }
            "get_output_blocks" => {
                let block = self.block(state, 0, "scope_block")?;
                blocks(state.get_output_blocks(block)?)
            }
            "work_on" => match state.function_named(self.text(0, "func_name")?) {
                Some(at) => {
                    state.work_on(at);
                    none
                }
                None => refuse("ValueError: there is no such function in the module"),
            },
            "enter_postproc" => none,
            // A lookup gives no handle: its result stands in the text.
            "get" => self.value(self.need(0, "rand_var_or_sref")?).and(none),
            "remove_rv" => self.value(self.need(0, "rand_var")?).and(none),
            "split" => {
                let factors = self.factors(state, 1)?;
                let keep = self.int(2, "preserve_unit_iters", Some(1))? != 0;
                let no_predicate = self.int(3, "disable_predication", Some(0))? != 0;
                loops(state.split(self.loop_at(0, "loop")?, &factors, keep, no_predicate)?)
            }
            "fuse" => {
                let keep = self.named_int("preserve_unit_iters", 1)? != 0;
                one(Value::Loop(state.fuse(&self.loops()?, keep)?))
            }
            "reorder" => {
                state.reorder(&self.loops()?)?;
                none
            }
            "add_unit_loop" => {
                let of = self.either(0, "block_or_loop")?;
                one(Value::Loop(state.add_unit_loop(of)?))
            }
            "parallel" => {
                state.set_kind(self.loop_at(0, "loop")?, ForKind::Parallel)?;
                none
            }
            "vectorize" => {
                state.set_kind(self.loop_at(0, "loop")?, ForKind::Vectorized)?;
                none
            }
            "unroll" => {
                state.set_kind(self.loop_at(0, "loop")?, ForKind::Unrolled)?;
                none
            }
            "bind" => {
                let tag = state.store.name(self.text(1, "thread_axis")?);
                state.set_kind(self.loop_at(0, "loop")?, ForKind::Thread(tag))?;
                none
            }
            "annotate" => {
                let value = self.attr(state, self.need(2, "ann_val")?)?;
                let of = self.either(0, "block_or_loop")?;
                state.annotate(of, self.text(1, "ann_key")?, value)?;
                none
            }
            "unannotate" => {
                let of = self.either(0, "block_or_loop")?;
                state.unannotate(of, self.text(1, "ann_key")?)?;
                none
            }
            "set_scope" => {
                let block = self.block(state, 0, "block")?;
                let (index, _) = self.buffer(state, block, 1, "buffer_index")?;
                state.set_scope(block, index, self.text(2, "storage_scope")?)?;
                none
            }
            "unsafe_set_dtype" => {
                let block = self.block(state, 0, "block")?;
                state.unsafe_set_dtype(block, self.int(1, "buffer_index", None)?, self.text(2, "dtype")?)?;
                none
            }
            "storage_align" => {
                let block = self.block(state, 0, "block")?;
                let number = |place, name| self.int(place, name, None);
                let (index, axis) = (number(1, "buffer_index")?, number(2, "axis")?);
                state.storage_align(block, index, axis, number(3, "factor")?, number(4, "offset")?)?;
                none
            }
            "transform_block_layout" => {
                let node = self.need(1, "index_map")?;
                let block = self.block(state, 0, "block")?;
                state.transform_block_layout(block, &|state, dtypes| self.index_map(state, node, dtypes))?;
                none
            }
            name @ ("compute_at" | "reverse_compute_at") => {
                let block = self.block(state, 0, "block")?;
                let (under, keep) = (self.loop_at(1, "loop")?, self.int(2, "preserve_unit_loops", Some(0))? != 0);
                state.compute_at(block, under, keep, self.int(3, "index", Some(-1))?, name == "reverse_compute_at")?;
                none
            }
            "decompose_reduction" => {
                let block = self.block(state, 0, "block")?;
                one(Value::Block(state.decompose_reduction(block, self.loop_at(1, "loop")?)?))
            }
            "rfactor" => one(Value::Block(state.rfactor(self.loop_at(0, "loop")?, self.int(1, "factor_axis", None)?)?)),
            name @ ("cache_read" | "cache_write") => {
                let block = self.block(state, 0, "block")?;
                let which = if name == "cache_read" { "read_buffer_index" } else { "write_buffer_index" };
                let index = self.cached(state, block, which, name == "cache_write")?;
                let scope = self.text(2, "storage_scope")?;
                let consumers = match self.get(3, "consumer_blocks") {
                    None => Vec::new(),
                    Some(Node { kind: NodeKind::List(items), .. }) => {
                        items.iter().map(|item| self.as_block(state, item)).collect::<Outcome<_>>()?
                    }
                    Some(node) => vec![self.as_block(state, node)?],
                };
                one(Value::Block(match name {
                    "cache_read" => state.cache_read(block, index, scope, &consumers)?,
                    _ => state.cache_write(block, index, scope, &consumers)?,
                }))
            }
            "loop_partition" => {
                let factors = self.factors(state, 1)?;
                loops(state.loop_partition(self.loop_at(0, "loop")?, &factors)?)
            }
            "merge" => one(Value::Loop(state.merge(&self.loops()?)?)),
            "reindex" => {
                let block = self.block(state, 0, "block")?;
                let (index, writes) = self.buffer(state, block, 1, "buffer")?;
                one(Value::Block(state.reindex(block, index, writes)?))
            }
            "annotate_buffer_access" => {
                let block = self.block_handle(0, "block")?;
                let writes = self.text(2, "buf_type")? == "write";
                let node = self.need(3, "gen_new_ranges")?;
                let index = self.int(1, "buffer_index", None)?;
                state.annotate_buffer_access(block, index, writes, &|state, dtypes| self.index_map(state, node, dtypes))?;
                none
            }
            "sample_perfect_tile" => {
                let Some(NodeKind::List(items)) = self.named("decision").map(|node| &node.kind) else {
                    return refuse("ValueError: a sample needs its decision: `decision=[...]`");
                };
                let sizes = self.all_ints(items, "decision")?;
                Ok(state.perfect_tile(self.loop_at(0, "loop")?, sizes)?.into_iter().map(Value::Int).collect())
            }
            "sample_categorical" => {
                let (Some(NodeKind::List(all)), Some(at)) =
                    (self.get(0, "candidates").map(|node| &node.kind), self.named("decision"))
                else {
                    return refuse("ValueError: a sample needs its candidates and its decision");
                };
                match self.value(at)? {
                    Value::Int(at) => match usize::try_from(at).ok().and_then(|at| all.get(at)) {
                        Some(node) => one(self.value(node)?),
                        None => refuse("ValueError: the decision is none of the candidates"),
                    },
                    _ => refuse("TypeError: a decision is a number"),
                }
            }
            "sample_compute_location" => {
                let block = self.block(state, 0, "block")?;
                let Some(node) = self.named("decision") else {
                    return refuse("ValueError: a sample needs its decision: `decision=1`");
                };
                let Value::Int(at) = self.value(node)? else { return refuse("TypeError: a decision is a number") };
                one(state.compute_location(block, at)?.map_or(Value::None, Value::Loop))
            }
            "transform_layout" => {
                let block = self.block(state, 0, "block")?;
                let (index, writes) = self.buffer(state, block, 1, "buffer")?;
                let node = self.need(2, "index_map")?;
                let pad = self.get(3, "pad_value");
                let value = |state: &mut State<'_>, dtype: DType, index: DType| self.pad_value(state, pad, dtype, index);
                let pads: Option<&PadValue> = pad.is_some().then_some(&value);
                let injective = self.named_int("assume_injective_transform", 0)? != 0;
                let map = |state: &mut State<'_>, dtypes: &[DType]| self.index_map(state, node, dtypes);
                state.transform_layout(block, index, writes, &map, pads, injective)?;
                none
            }
            name @ ("reindex_cache_read" | "reindex_cache_write") => {
                let block = self.block(state, 0, "block")?;
                let writes = name == "reindex_cache_write";
                let which = if writes { "write_buffer_index" } else { "read_buffer_index" };
                let (index, node) = (self.cached(state, block, which, writes)?, self.need(3, "index_map")?);
                let map = |state: &mut State<'_>, dtypes: &[DType]| self.index_map(state, node, dtypes);
                one(Value::Block(state.reindex_cache(block, index, self.text(2, "storage_scope")?, &map, writes)?))
            }
            "blockize" => {
                let keep = self.int(1, "preserve_unit_iters", Some(1))? != 0;
                match self.value(self.need(0, "target")?)? {
                    Value::Loop(of) => one(Value::Block(state.blockize(of, keep)?)),
                    Value::List(items) => {
                        let mut all = Vec::new();
                        for item in items {
                            match item {
                                Value::Block(block) => all.push(block),
                                _ => return refuse("TypeError: a block is needed here"),
                            }
                        }
                        one(Value::Block(state.blockize_several(&all, keep)?))
                    }
                    _ => refuse("TypeError: expect Loop or list of SBlocks"),
                }
            }
            "tensorize" => {
                let of = self.either(0, "block_or_loop")?;
                let intrinsic = state.intrinsic(self.text(1, "tensor_intrin")?)?;
                state.tensorize(of, &intrinsic, self.int(2, "preserve_unit_iters", Some(1))? != 0)?;
                none
            }
            name @ ("read_at" | "write_at") => {
                let writes = name == "write_at";
                let which = if writes { "write_buffer_index" } else { "read_buffer_index" };
                let (of, block) = (self.loop_at(0, "loop")?, self.block_handle(1, "block")?);
                let (index, scope) = (self.int(2, which, None)?, self.text(3, "storage_scope")?);
                one(Value::Block(state.access_at(of, block, index, scope, writes)?))
            }
            "cache_inplace" => {
                let block = self.block(state, 0, "block")?;
                let index = self.cached(state, block, "read_buffer_index", false)?;
                blocks(state.cache_inplace(block, index, self.text(2, "storage_scope")?)?)
            }
            "cache_index" => {
                let block = self.block(state, 0, "block")?;
                blocks(state.cache_index(block, self.text(1, "storage_scope")?, self.int(2, "cse_thresh", Some(0))?)?)
            }
            "decompose_padding" => {
                let block = self.block(state, 0, "block")?;
                one(Value::Block(state.decompose_padding(block, self.loop_at(1, "loop")?)?))
            }
            "can_decompose_padding" => {
                let (block, of) = (self.block(state, 0, "block")?, self.loop_at(1, "loop")?);
                let saved = state.saved();
                let can = state.decompose_padding(block, of).is_ok();
                state.go_back(&saved);
                one(Value::Int(i64::from(can)))
            }
            "unsafe_hide_buffer_access" => {
                let block = self.block_handle(0, "block")?;
                state.hide_access(block, self.text(1, "buf_type")?, &self.ints(2, "buf_index_array")?)?;
                none
            }
            "sample_partitioned_tile" => {
                let Some(NodeKind::List(items)) = self.named("decision").map(|node| &node.kind) else {
                    return refuse("ValueError: a sample needs its decision: `decision=[...]`");
                };
                let sizes = self.all_ints(items, "decision")?;
                let number = |place, name, default| self.int(place, name, default);
                let (place, factor) = (number(2, "partition_pos", Some(0))?, number(3, "innerpart_factor", Some(1))?);
                let found = state.partitioned_tile(self.loop_at(0, "loop")?, sizes, place, factor)?;
                Ok(found.into_iter().map(Value::Int).collect())
            }
            "register" => {
                let [name, desc, imp] = [(0, "name"), (1, "desc"), (2, "impl")].map(|(place, name)| self.text(place, name));
                state.register(name?, desc?, imp?, self.int(3, "override", Some(0))? != 0)?;
                none
            }
            // Behind an instruction of a copy there is none of the schedule itself.
            "copy" | "seed" | "fork_seed" => none,
            "reorder_block_iter_var" => {
                let block = self.block_handle(0, "block")?;
                state.reorder_block_iter_var(block, &self.ints(1, "new_order")?)?;
                none
            }
            "fuse_reduction_epilogue" => {
                let block = self.block(state, 0, "reduction_block")?;
                let epilogue = self.block(state, 1, "epilogue_block")?;
                state.fuse_reduction_epilogue(block, epilogue)?;
                none
            }
            "rolling_buffer" => {
                let block = self.block(state, 0, "block")?;
                state.rolling_buffer(block, self.int(1, "write_buffer_index", None)?)?;
                none
            }
            "pad_einsum" => {
                let block = self.block(state, 0, "block")?;
                let padding = self.ints(1, "padding")?;
                state.pad_einsum(block, &padding)?;
                none
            }
            "compute_inline" => {
                let block = self.block(state, 0, "block")?;
                state.compute_inline(block)?;
                none
            }
            "reverse_compute_inline" => {
                let block = self.block(state, 0, "block")?;
                state.reverse_compute_inline(block)?;
                none
            }
            "set_axis_separator" => {
                refuse("AttributeError: TVM 0.27 has no `set_axis_separator`: its buffers have no axis separators any more")
            }
            other => {
                let known = PRIMITIVES.iter().chain(QUIET).chain(&LOOK_UPS).copied();
                let near = suggest::nearest(other, known).map(|near| format!("; did you mean `{near}`?"));
                refuse(format!("AttributeError: 'Schedule' has no primitive `{other}`{}", near.unwrap_or_default()))
            }
        }
    }
}
