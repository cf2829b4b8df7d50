"""Steps of several instructions."""

from .analysis import get_tensorize_loop_mapping


def tile_with_tensor_intrin(sch, block, tensor_intrin, allow_padding=False):
    """Splits the loops around a block so that the inner ones are those of an intrinsic; gives the outermost of these."""
    from .. import TensorIntrin

    info = get_tensorize_loop_mapping(sch, block, TensorIntrin.get(tensor_intrin).desc, allow_padding)
    if info is None:
        return None
    if info.block_iter_paddings is not None:
        _pad(sch, block, list(info.block_iter_paddings))
    loops = {id(sch.get(loop).loop_var): loop for loop in sch.get_loops(block)}
    suffix, inner = [None] * len(info.loop_map), []
    for sref, desc in info.loop_map.items():
        split = sch.split(loops[id(sref.stmt.loop_var)], [None, desc.extent.value])
        inner.append(sch.get(split[1]).loop_var)
        suffix[info.desc_loop_indexer[desc]] = split[1]
    order, met = [], False
    for loop in sch.get_loops(block):
        var = sch.get(loop).loop_var
        if any(var is item for item in inner):
            met = True
        elif met:
            order.append(loop)
    sch.reorder(*order, *suffix)
    return suffix[0]


def _pad(sch, block, paddings):
    """Pads a block, and computes what stood around it within the blocks that pad."""

    here = sch._clone()
    producers, consumers = [[here.get(item) for item in ask(block)] for ask in (here.get_producers, here.get_consumers)]
    sch.pad_einsum(block, paddings)
    inlined = []
    for producer in sch.get_producers(block):
        if all(sch.get(producer) is not old for old in producers):
            inlined += list(sch.get_producers(producer))
    for consumer in sch.get_consumers(block):
        if all(sch.get(consumer) is not old for old in consumers) and sch.get_consumers(consumer):
            inlined.append(consumer)
    for item in inlined:
        sch.compute_inline(item)
