"""diptych.preload: which library, which environment, which program. (`cargo xtask blas` tests what it does to NumPy.)"""

import os
import shutil
import subprocess
import sys

import pytest

import diptych
from diptych import preload

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="libraries are preloaded on Linux only")


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A file that stands for the library."""
    path = tmp_path / "libdiptych_blas.so"
    path.write_bytes(b"")
    monkeypatch.setenv("DIPTYCH_BLAS_LIBRARY", str(path))
    return str(path)


def test_the_variable_names_the_library(library):
    assert preload.library() == library


def test_the_package_is_the_library_else(monkeypatch):
    for value in (None, ""):
        monkeypatch.delenv("DIPTYCH_BLAS_LIBRARY", raising=False)
        if value is not None:
            monkeypatch.setenv("DIPTYCH_BLAS_LIBRARY", value)
        assert preload.library() == diptych.library_path()


def test_a_missing_library_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("DIPTYCH_BLAS_LIBRARY", str(tmp_path / "missing.so"))
    with pytest.raises(FileNotFoundError, match="missing.so"):
        preload.library()
    with pytest.raises(SystemExit, match="missing.so"):
        preload.main(["script.py"])


@pytest.mark.parametrize(
    "before, after",
    [(None, ""), ("", ""), ("other.so", ":other.so"), ("a.so b.so:c.so", ":a.so:b.so:c.so")],
)
def test_what_is_preloaded_stays(library, before, after):
    environ = {} if before is None else {"LD_PRELOAD": before}
    assert preload.environment(environ)["LD_PRELOAD"] == library + after
    assert environ.get("LD_PRELOAD") == before
    again = preload.environment(preload.environment(environ))
    assert again["LD_PRELOAD"] == library + after


def test_a_path_that_cannot_be_preloaded_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "a b.so"
    path.write_bytes(b"")
    monkeypatch.setenv("DIPTYCH_BLAS_LIBRARY", str(path))
    with pytest.raises(ValueError, match="blank"):
        preload.environment({})


@linux
@pytest.mark.parametrize("form", ["script", "module", "code"])
def test_the_program_gets_its_arguments(library, form, tmp_path, monkeypatch):
    code = "import os, sys; print(os.environ['LD_PRELOAD'], *sys.argv[1:]); sys.exit(3)"
    (tmp_path / "program.py").write_text(code)
    arguments = {"script": ["program.py"], "module": ["-m", "program"], "code": ["-c", code]}[form]
    # By its path: the package needs no build then.
    command = [sys.executable, preload.__file__, *arguments, "-x", "a b"]
    ran = subprocess.run(command, cwd=tmp_path, env=dict(os.environ), capture_output=True, text=True, timeout=60)
    assert (ran.stdout, ran.returncode) == (f"{library} -x a b\n", 3)


PRODUCTS = """
import numpy as np
random = np.random.default_rng(1)
for dtype in ("float32", "float64"):
    a, b = random.standard_normal((70, 3000)).astype(dtype), random.standard_normal((3000, 50)).astype(dtype)
    product = a @ b
    import diptych
    print(product.tobytes() == diptych.matmul(a, b).tobytes())
"""


@linux
def test_products_of_numpy_are_those_of_diptych(monkeypatch):
    """With nothing but the package; NumPy's own have other bits."""
    monkeypatch.delenv("DIPTYCH_BLAS_LIBRARY", raising=False)
    command = [sys.executable, "-m", "diptych.preload", "-c", PRODUCTS]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (ran.stdout, ran.stderr) == ("True\nTrue\n", "")
    without = subprocess.run([sys.executable, "-c", PRODUCTS], capture_output=True, text=True, timeout=120)
    assert "False" in without.stdout


@linux
@pytest.mark.parametrize("program", ["sh", "ls", "cc"])
def test_programs_without_python_start_too(program, monkeypatch):
    """They inherit the environment: the module must load where there is no Python."""
    monkeypatch.delenv("DIPTYCH_BLAS_LIBRARY", raising=False)
    if not shutil.which(program):
        pytest.skip(f"there is no {program}")
    ran = subprocess.run([program, *{"sh": ["-c", "exit 0"]}.get(program, ["--version"])], env=preload.environment(), capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
