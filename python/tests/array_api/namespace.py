"""NumPy's namespace with Diptych's functions in it, for the test suite of the array API standard.

The suite, https://github.com/data-apis/array-api-tests, tests a namespace and its arrays. Diptych has no arrays of its
own, so the namespace is NumPy's, with Diptych's function wherever the standard has one of the same meaning. From a
clone of the suite with its submodule:

    cargo xtask python --array-api FOLDER

This passes with the suite's commit 55fcc60 of April 2026, the standard of NumPy 2.4's `__array_api_version__`.

This module is also a plugin of pytest. It deselects what tests NumPy alone, lets the suite draw arrays of one type,
float32 or float64, where it can (Diptych has no arithmetic of other types, and does not promote), and prints how many
calls of each function Diptych has computed. The others went to NumPy, for Diptych refuses them or has no such option:

* Integers, bool and complex128 in count_nonzero, and complex128 in astype. The suite cannot be without these types.
* Another type as `dtype=` in sum and prod.
* A `correction` that is not whole, or not less than the number of elements.
* A vector norm of an order other than 1 and 2.

Two things are made to fit. The suite passes NumPy's scalars as arrays without axes, and here they become that: to
Diptych they are numbers, which cannot be the only argument. And concat promotes types, so here it passes the result's.

skips.txt lists what Diptych does otherwise, with the reasons. The functions that it does not have are not listed.
"""

import collections
import functools
import re
from types import SimpleNamespace

import numpy as np

import diptych

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
CONVERTED = (*FLOATS, np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.bool_))

# The functions that keep the standard's name, and the others by that name.
NAMES = """abs add argmax argmin astype clip count_nonzero divide matmul max maximum mean min minimum multiply negative
prod square std subtract sum var vecdot outer""".split()
RENAMED = {"concat": "concatenate", "vector_norm": "nrm2"}
LINALG = ("matmul", "outer", "vecdot", "vector_norm")

computed, handed_on = collections.Counter(), collections.Counter()


def in_diptych(name, args, options):
    """Returns the options of Diptych's call, or None if the call goes to NumPy."""
    arrays = args[0] if name == "concat" else args
    dtypes = {x.dtype for x in arrays if isinstance(x, (np.ndarray, np.generic))}
    if name == "astype":
        return options if {*dtypes, np.dtype(args[1])} <= set(CONVERTED) else None
    if name == "concat":
        return {**options, "dtype": np.result_type(*dtypes)}
    if len(dtypes) != 1 or not dtypes <= set(FLOATS):
        return None
    if name in ("sum", "prod"):
        dtype = options.pop("dtype", None)
        return options if dtype is None or {np.dtype(dtype)} == dtypes else None
    if name in ("std", "var"):
        count = np.size(args[0]) / np.sum(args[0], axis=options.get("axis")).size
        correction = options.get("correction", 0)
        return options if correction % 1 == 0 and correction < count else None
    return options


def as_array(x):
    return np.asarray(x) if isinstance(x, np.generic) else x


def function(name, ours, theirs):
    # Signatures are those of Diptych's functions.
    @functools.wraps(ours)
    def call(*args, **options):
        given = in_diptych(name, args, dict(options))
        if given is None:
            handed_on[name] += 1
            return theirs(*args, **options)
        computed[name] += 1
        if name == "concat":
            args = ([as_array(x) for x in args[0]],)
        given = {option: as_array(x) for option, x in given.items()}
        return ours(*map(as_array, args), **given)

    return call


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    ours = {1: diptych.asum, 2: diptych.nrm2}.get(ord)
    if ours is None:
        return np.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)
    return function("vector_norm", ours, np.linalg.vector_norm)(x, axis=axis, keepdims=keepdims)


def __getattr__(name):
    return getattr(np, name)


for _name in NAMES:
    _theirs = np.linalg.outer if _name == "outer" else getattr(np, _name)
    globals()[_name] = function(_name, getattr(diptych, _name), _theirs)
concat = function("concat", diptych.concatenate, np.concat)
linalg = SimpleNamespace(**vars(np.linalg))
for _name in LINALG:
    setattr(linalg, _name, globals()[_name])
del globals()["outer"], globals()["vector_norm"]


def tested(item):
    """Returns the function of the standard that a test is of: test_sum, test_linalg_matmul, test_add[add(x1, x2)]."""
    match = re.fullmatch(r"test_(?:linalg_)?(\w+)(?:\[(?:linalg\.)?(\w*).*\])?", item.name, re.DOTALL)
    return match and (match[2] if match[2] is not None else match[1])


def pytest_configure():
    from array_api_tests import dtype_helpers as types

    types.real_dtypes = types.numeric_dtypes = types.all_float_dtypes = types.real_float_dtypes
    # This reads the lists of types when it is imported.
    from array_api_tests import hypothesis_helpers as strategies

    strategies.promotable_dtypes = [(x, y) for x, y in strategies.promotable_dtypes if x == y]


def pytest_collection_modifyitems(config, items):
    functions = {*NAMES, *RENAMED}
    others = [item for item in items if tested(item) not in functions]
    config.hook.pytest_deselected(items=others)
    items[:] = [item for item in items if tested(item) in functions]


def pytest_terminal_summary(terminalreporter):
    terminalreporter.section("calls that Diptych has computed, and others")
    for name in sorted({*NAMES, *RENAMED}):
        terminalreporter.write_line(f"{name:14} {computed[name]:7} {handed_on[name]:7}")
