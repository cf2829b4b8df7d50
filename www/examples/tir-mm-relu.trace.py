# The steps of the tutorials, as people write them: the size of a tile has a name.
tile = 8
sch.work_on("mm_relu")
mm = sch.get_sblock("mm")
i, j, k = sch.get_loops(mm)
j0, j1 = sch.split(j, factors=[None, tile])
sch.reorder(j0, k, j1)
sch.reverse_compute_at(sch.get_sblock("relu"), j0)
sch.decompose_reduction(mm, k)
sch.vectorize(sch.get_loops("relu")[-1])
