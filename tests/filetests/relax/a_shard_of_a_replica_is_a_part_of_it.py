# passlab 1
# pass: Normalize()

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((10, 10), dtype="float32"), y: R.Tensor(("n", 10), dtype="float16")):
        a = R.dist.redistribute_replica_to_shard(x, num_workers=2, axis=1)
        b = R.dist.redistribute_replica_to_shard(y, num_workers=2, axis=0)
        return (a, b)
