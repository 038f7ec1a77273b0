"""The package as a whole: documentation, signatures, stubs, imports, the environment, C programs."""

import ast
import ctypes
import doctest
import importlib.util
import inspect
import pathlib
import pickle
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import diptych
from conftest import raises, run

FUNCTIONS = [name for name in diptych.__all__ if inspect.isroutine(getattr(diptych, name))]


def docs():
    yield "diptych", diptych.__doc__
    for name in diptych.__all__:
        if name != "__version__":
            yield name, getattr(diptych, name).__doc__
    folder = pathlib.Path(__file__).parents[1]
    for page in [folder.parent / "README.md", folder / "README.md", *folder.glob("docs/*.md")]:
        if page.exists():
            yield page.name, page.read_text()


@pytest.mark.parametrize("name, doc", list(docs()))
def test_documentation(name, doc):
    assert doc, name
    assert all(len(line) <= 120 for line in doc.splitlines() if not line.startswith("|"))
    test = doctest.DocTestParser().get_doctest(doc, {}, name, name, 0)
    if name in FUNCTIONS and name not in ("get_threads", "library_path"):
        assert test.examples
    if name == "pytorch.md" and not importlib.util.find_spec("torch"):
        pytest.skip("its examples need PyTorch")
    results = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test)
    assert results.failed == 0


def stubs():
    """The first definition of each name in the stubs."""
    text = pathlib.Path(diptych.__file__).with_suffix(".pyi").read_text()
    found = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = node.args
        elif isinstance(node, ast.ClassDef):
            found[node.name] = None
        elif isinstance(node, ast.AnnAssign):
            found[node.target.id] = None
    return found


def test_stubs_have_every_name():
    assert set(stubs()) == set(diptych.__all__)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signatures(name):
    signature = inspect.signature(getattr(diptych, name))
    args = stubs()[name]
    defaults = [ast.literal_eval(default) for default in args.defaults]
    positional = [*args.posonlyargs, *args.args]
    expected = {arg.arg: inspect.Parameter.empty for arg in positional}
    expected.update(zip([arg.arg for arg in positional][len(positional) - len(defaults) :], defaults))
    expected.update({a.arg: ast.literal_eval(d) for a, d in zip(args.kwonlyargs, args.kw_defaults)})
    assert {p.name: p.default for p in signature.parameters.values()} == expected
    keywords = [p.name for p in signature.parameters.values() if p.kind is p.KEYWORD_ONLY]
    assert keywords == [a.arg for a in args.kwonlyargs]


def test_every_operation_has_a_function():
    names = {
        "sub": "subtract",
        "mul": "multiply",
        "div": "divide",
        "neg": "negative",
        "clamp": "clip",
        "clamp_backward": "clip_backward",
        "gemm_batched": "matmul",
        "gemm_fused": "gemm",
    }
    operations = diptych._native._operations
    assert len(operations) > 30
    assert {names.get(name, name) for name in operations} <= set(FUNCTIONS)


def test_functions_can_be_pickled():
    for name in FUNCTIONS:
        assert pickle.loads(pickle.dumps(getattr(diptych, name))) is getattr(diptych, name)
    assert diptych.add.__module__ == "diptych" and "add" in repr(diptych.add)


def test_exceptions():
    for error, other in [(diptych.ShapeError, ValueError), (diptych.DtypeError, TypeError), (diptych.ArgumentError, ValueError)]:
        assert issubclass(error, diptych.Error) and issubclass(error, other)
        assert error.__module__ == "diptych" and error.__doc__
        assert isinstance(pickle.loads(pickle.dumps(error("text"))), error)


SECOND_IMPORT = """
import importlib, sys, array
import diptych
old, x = diptych, array.array('d', [1, 2])
old.set_threads(3)
for _ in range(3):
    for name in [name for name in sys.modules if name.split('.')[0] == 'diptych']:
        {how}
    import diptych
    for module in (old, diptych):
        assert module.add(x, x).tolist() == [2, 4]
        assert module.sum(x) == 3 and module.clip(x, min=2).tolist() == [2, 2]
        assert module.get_threads() == 3
        try:
            module.add(x, x, y=x)
        except TypeError as error:
            assert "add() got multiple values for argument 'y'" in str(error), error
        try:
            module.add(x, array.array('d', [1, 2, 3]))
        except old.ShapeError as error:
            assert type(error) is diptych.ShapeError
        with module.threads(4):
            assert old.get_threads() == diptych.get_threads() == 4
    assert [diptych._native, old._native]
print('done')
"""


@pytest.mark.parametrize("how", ["del sys.modules[name]", "importlib.reload(sys.modules[name])", "sys.modules.pop('diptych', 0)"])
def test_a_second_import(how):
    result = run(SECOND_IMPORT.format(how=how), DIPTYCH_THREADS="2")
    assert (result.stdout, result.stderr) == ("done\n", "")


def test_sub_interpreters_are_refused():
    """Those that share the GIL; others refuse the module themselves. Before and after an import in the main one."""
    names = ["_interpreters", "_xxsubinterpreters"]
    name = next((name for name in names if importlib.util.find_spec(name)), None)
    if name is None:
        pytest.skip("this Python cannot make sub-interpreters")
    code = f"""
import {name} as interpreters
def attempt():
    one = interpreters.create()
    interpreters.run_string(one, '''
try:
    import diptych
except ImportError as error:
    print(error, flush=True)
''')
    interpreters.destroy(one)
attempt()
import array, diptych
attempt()
print(diptych.sum(array.array('d', [1, 2])))
"""
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    lines = result.stdout.splitlines()
    assert len(lines) == 3 and lines[2] == "3.0", result
    for line in lines[:2]:
        assert "diptych works in the main interpreter of a process only" in line or "does not support loading in subinterpreters" in line


def test_levels():
    level = diptych.cpu_level()
    diptych.force_cpu_level("portable")
    assert diptych.cpu_level() == "portable"
    diptych.force_cpu_level(None)
    assert diptych.cpu_level() == level
    with raises(diptych.ArgumentError, "there is no CPU level 'mmx'; this machine has"):
        diptych.force_cpu_level("mmx")


def test_environment():
    code = "import diptych; print(diptych.get_threads(), diptych.cpu_level())"
    assert run(code, DIPTYCH_THREADS="2", DIPTYCH_CPU_LEVEL="portable").stdout == "2 portable\n"
    result = run(code, DIPTYCH_THREADS="many")
    assert result.stdout.startswith("1 ") and "DIPTYCH_THREADS is 'many'" in result.stderr
    result = run(code, DIPTYCH_CPU_LEVEL="mmx")
    assert "diptych.Error" in result.stderr and "DIPTYCH_CPU_LEVEL" in result.stderr
    for call in ["add(x, x)", "sum(x)", "dot(x, x)", "outer(x, x)", "normalize(x)", "mse_grad(x[::2], x[::2])"]:
        code = f"import array, diptych; x = memoryview(array.array('f', range(4))); diptych.{call}"
        result = run(code, DIPTYCH_CPU_LEVEL="mmx")
        assert "diptych.Error" in result.stderr and "DIPTYCH_CPU_LEVEL" in result.stderr, call


def header():
    return pathlib.Path(diptych.get_include(), "diptych.h")


def test_the_library_has_what_the_header_declares():
    text = re.sub(r"/\*.*?\*/", "", header().read_text(), flags=re.DOTALL)
    names = set(re.findall(r"\b(dpt_\w+)\s*\(", text)) - set(re.findall(r"\(\*\s*(dpt_\w+)\)", text))
    assert len(names) > 100
    library = ctypes.CDLL(diptych.library_path())
    assert [name for name in sorted(names) if not hasattr(library, name)] == []
    library.dpt_version.restype = ctypes.c_uint32
    major, minor, patch = map(int, diptych.__version__.split("."))
    assert library.dpt_version() == major * 10000 + minor * 100 + patch


@pytest.mark.skipif(not (sys.platform.startswith("linux") and shutil.which("cc")), reason="needs Linux and a C compiler")
def test_a_c_program(tmp_path):
    """One that does not run Python."""
    (tmp_path / "program.c").write_text("""
#include <diptych.h>
#include <stdio.h>
int main(void) {
    float x[3] = {1, 2, 3}, sum = 0;
    dpt_status_code status = dpt_sum_f32(NULL, 3, x, 1, &sum);
    printf("%d %g\\n", (int)status, sum);
    return 0;
}
""")
    program = tmp_path / "program"
    command = ["cc", "-std=c99", tmp_path / "program.c", f"-I{diptych.get_include()}", diptych.library_path(), "-o", program]
    subprocess.run(command, check=True)
    assert subprocess.run([program], check=True, capture_output=True, text=True).stdout == "0 6\n"


def test_texts_of_errors_help():
    x = np.ones((2, 2), np.float32)
    with pytest.raises(TypeError, match=r"takes at most 1 positional \(x\) but 2 were given; by keyword: axis, keepdims"):
        diptych.sum(x, 0)
    with raises(diptych.ArgumentError, "matmul: out overlaps"):
        diptych.matmul(x, x, out=x)
    with raises(diptych.DtypeError, "arrays of type int64 are not supported; diptych.astype"):
        diptych.mean(np.ones(2, np.int64))
    with raises(diptych.DtypeError, "arrays of type bool are not supported; convert them with NumPy"):
        diptych.sum(x > 0)
    with raises(diptych.DtypeError, "x is a number, not an array; numpy.asarray"):
        diptych.add(np.float32(1), 2)
    with raises(diptych.DtypeError, "'f4' is not an element type; float32"):
        diptych.astype(x, "f4")
