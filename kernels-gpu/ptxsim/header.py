"""Reads the operations of include/diptych.h: their parameters and their families."""
import collections
import re

import integers
from arrays import BF16, F16, F32, F64

Parameter = collections.namedtuple("Parameter", "kind name")  # kind: int, scalar, input, output, index, epilogue
Operation = collections.namedtuple("Operation", "name family parameters inplace integers")

KINDS = {
    "int64_t": "int", "float": "scalar", "const float *": "input", "float *": "output", "int64_t *": "index",
    "const struct dpt_epilogue *": "epilogue",
}

# The families of functions over tensors whose operands have one type.
OVER_TENSORS = ("tensors", "axes", "row_maps_over_axes", "products_over_tensors")


def parameter(text):
    c_type, name = re.fullmatch(r"(.*?)\s*(\w+)", text.strip()).groups()
    return Parameter(KINDS[" ".join(c_type.split())], name)


def family(name, parameters):
    """The family, from the shape of the call, so that a new operation of a known shape needs no change here."""
    names = [p.name for p in parameters]
    if "k" in names: return "gemm"
    if name.endswith("_rows"): return "rows"
    if "incx" in names: return "outer" if "m" in names else "reduce"
    if "a_rs" in names: return "lsq"
    if "x_rs" in names and "out_rs" in names: return "row_maps"
    if [p.name for p in parameters if p.kind == "int"] == ["n"]: return "elementwise"
    raise SystemExit(f"compare.py cannot make calls with the parameters of dpt_{name}")


def is_over_tensors(operation):
    return operation.family in (*OVER_TENSORS, "convert", "matmul")


def types(operation):
    """The types of elements: only functions over tensors take those of 16 bits, and some take integers."""
    if operation.family not in OVER_TENSORS: return F32, F64
    whole = range(integers.FIRST, integers.FIRST + len(integers.TYPES))
    return F32, F64, F16, BF16, *(whole if operation.integers else ())


def operations(path):
    """All operations, by their names without the type."""
    found, text = {}, open(path).read()
    takes = {m[2] for m in re.finditer(r"/\*\*((?:(?!\*/).)*)\*/\ndpt_status dpt_(\w+)\(", text, re.S)
             if "akes integers" in " ".join(re.sub(r"\n \*", " ", m[1]).split())} | {"dot"}
    pattern = r"^dpt_status dpt_(?P<name>\w+)_f32\((?P<parameters>[^)]*)\);"
    for m in re.finditer(pattern, text, re.M):
        name = m["name"]
        if name.startswith("advise"): continue
        exec_, *rest = m["parameters"].split(",")
        assert "dpt_exec" in exec_, name
        parameters = [parameter(p) for p in rest]
        kind = family(name, parameters)
        # The inputs that may be exactly the output: all of an elementwise operation, and those of a map over rows.
        may = kind in ("elementwise", "row_maps")
        inplace = [p.name for p in parameters if p.kind == "input"] if may else []
        add = lambda name, family, inplace: Operation(name, family, parameters, inplace, name in takes)
        found[name] = add(name, kind, inplace)
        if kind == "elementwise" and len([p for p in parameters if p.kind == "output"]) == 1:
            found[name + " over tensors"] = add(name, "tensors", inplace)
        if kind in ("outer", "lsq") or name in ("dot", "mse_grad"):
            found[name + " over tensors"] = add(name, "products_over_tensors", [])
        if kind == "rows": found[name[:-5] + " over axes"] = add(name[:-5], "axes", [])
        if kind == "row_maps": found[name + " over axes"] = add(name, "row_maps_over_axes", ["x"])
    found["matmul over tensors"] = Operation("matmul", "matmul", [], [], False)
    found["convert"] = Operation("convert", "convert", [Parameter("input", "x"), Parameter("output", "out")], [], False)
    # Functions of packed matrices are for the CPU.
    declared = re.findall(r"^dpt_status dpt_(\w+)\([^;]*\bdpt_tensor\b[^;]*\);", text, re.M)
    made = {operation.name for operation in found.values() if is_over_tensors(operation)}
    missing = [name for name in declared if name not in made and not name.startswith("matmul_pack")]
    if missing: raise SystemExit(f"no calls of {missing} are made")
    return found
