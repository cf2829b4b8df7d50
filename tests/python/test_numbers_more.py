"""Functions of numpy that tests of TVM use less often: the page has a stand-in, whose results are those of numpy."""

import numpy as np

A = np.arange(12).reshape(3, 4)


def test_places():
    assert [part.tolist() for part in np.nonzero(A > 8)] == [[2, 2, 2], [1, 2, 3]]
    assert np.argwhere(A == 5).tolist() == [[1, 1]] and np.count_nonzero(A) == 11
    assert [int(part) for part in np.unravel_index(7, (3, 4))] == [1, 3] and int(np.ravel_multi_index((1, 3), (3, 4))) == 7
    assert np.searchsorted(np.array([1, 3, 5]), np.array([0, 3, 6])).tolist() == [0, 1, 3]
    assert np.take_along_axis(A, np.array([[3], [2], [1]]), 1).tolist() == [[3], [6], [9]]
    assert np.isin(A[0], [1, 3]).tolist() == [False, True, False, True]


def test_grids_and_diagonals():
    x, y = np.meshgrid(np.arange(2), np.arange(3))
    assert x.tolist() == [[0, 1]] * 3 and y.tolist() == [[0, 0], [1, 1], [2, 2]]
    assert np.meshgrid(np.arange(2), np.arange(3), indexing="ij")[0].shape == (2, 3)
    assert np.diag(A).tolist() == [0, 5, 10] and np.diag([1, 2], 1).tolist() == [[0, 1, 0], [0, 0, 2], [0, 0, 0]]
    assert np.trace(A) == 15 and A.diagonal(1).tolist() == [1, 6, 11]


def test_rows_are_moved_and_cut():
    assert np.roll(np.arange(4), 1).tolist() == [3, 0, 1, 2] and np.roll(A, 1, axis=0)[0].tolist() == [8, 9, 10, 11]
    assert np.diff(np.array([1, 4, 9])).tolist() == [3, 5] and np.cumprod(np.array([1, 2, 3])).tolist() == [1, 2, 6]
    assert A.repeat(2, axis=1).shape == (3, 8) and A.swapaxes(0, 1).shape == (4, 3)
    assert [part.shape[0] for part in np.array_split(np.arange(7), 3)] == [3, 2, 2]
    assert np.delete(np.arange(4), 1).tolist() == [0, 2, 3] and np.insert(np.arange(3), 1, 9).tolist() == [0, 9, 1, 2]
    assert np.rot90(np.array([[1, 2], [3, 4]])).tolist() == [[2, 4], [1, 3]]
    b = np.array([3, 1, 2])
    b.sort()
    assert b.tolist() == [1, 2, 3]


def test_products_and_statistics():
    assert np.einsum("ij,kj->ik", A, A).tolist() == np.matmul(A, A.T).tolist()
    assert np.einsum("...j->...", A).tolist() == [6, 22, 38] and np.einsum("ii", A[:, :3]) == 15
    assert np.tensordot(A, A, axes=([0], [0])).shape == (4, 4)
    assert np.percentile(np.arange(5), 25) == 1 and np.median(np.array([3, 1, 2])) == 2
    assert np.linalg.norm(np.array([3.0, 4.0])) == 5
    assert np.invert(np.array([True, False])).tolist() == [False, True] and np.fmod(-7, 3) == -1
    assert np.bincount(np.array([0, 2, 2])).tolist() == [1, 0, 2]


def test_what_stands_beyond_the_ends():
    a = np.arange(4)
    assert np.pad(a, (2, 1), "edge").tolist() == [0, 0, 0, 1, 2, 3, 3]
    assert np.pad(a, (3, 4), "reflect").tolist() == [3, 2, 1, 0, 1, 2, 3, 2, 1, 0, 1]
    assert np.pad(a, (2, 2), "symmetric").tolist() == [1, 0, 0, 1, 2, 3, 3, 2]
    assert np.pad(A, 1).shape == (5, 6) and np.pad(A, ((1, 0), (0, 2)), constant_values=7)[0, 0] == 7
    assert np.pad(A, (1, 2)).shape == (6, 7)


def test_values_with_their_places():
    values, first, inverse, counts = np.unique(np.array([3, 1, 3]), return_index=True, return_inverse=True, return_counts=True)
    assert (values.tolist(), first.tolist(), inverse.tolist(), counts.tolist()) == ([1, 3], [1, 0], [1, 0, 1], [1, 2])
    assert np.argsort(np.array([2, 1, 2]), kind="stable").tolist() == [1, 0, 2]
    np.testing.assert_array_almost_equal(np.array([1.0]), np.array([1.0000001]))
