"""Random arrays: shapes that broadcast, all strides, special values."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-40, 3.4e38, 0.1]


def values(dtype):
    wide = st.floats(-1e3, 1e3, width=32)
    return st.one_of(wide, st.sampled_from(SPECIAL)).map(lambda v: dtype.type(v))


def finite(dtype):
    return st.floats(-100, 100, width=16).map(lambda v: dtype.type(v))


def restride(array, draw):
    """Returns an equal array with other strides: transposed memory, gaps, or negative strides."""
    how = draw(st.sampled_from(["same", "transposed", "gaps", "negative"]))
    if how == "transposed" and array.ndim:
        return np.asfortranarray(array)
    if how == "gaps" and array.ndim:
        wide = np.full((*array.shape[:-1], 2 * array.shape[-1] + 1), 7, array.dtype)
        wide[..., 1::2] = array
        return wide[..., 1::2]
    if how == "negative" and array.ndim:
        return np.flip(np.flip(array).copy())
    return array


@st.composite
def arrays(draw, dtype, shape=None, elements=None):
    if shape is None:
        shape = draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=6))
    if elements is None:
        elements = values(dtype)
    array = draw(hnp.arrays(dtype, shape, elements=elements))
    return restride(array, draw)


@st.composite
def broadcastable(draw, dtype, count, elements=None):
    shapes = draw(hnp.mutually_broadcastable_shapes(num_shapes=count, max_dims=4, max_side=5))
    return [draw(arrays(dtype, shape, elements)) for shape in shapes.input_shapes]
