"""The scripts in examples/python run quickly, with and without the packages that they compare with."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).parents[2] / "examples" / "python"
SCRIPTS = sorted(path.stem for path in EXAMPLES.glob("*.py") if path.stem != "common")
OTHERS = {"torch": "PyTorch", "autograd": "HIPS autograd", "matplotlib": "matplotlib"}

pytestmark = pytest.mark.skipif(not SCRIPTS, reason="the examples are not beside the tests")


def run(script, chart, *more, hidden=()):
    """Runs a script with some packages hidden, and returns what it prints."""
    for name in hidden:
        (chart.parent / f"{name}.py").write_text(f"raise ImportError({name!r})")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(chart.parent), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, EXAMPLES / f"{script}.py", "--quick", "--chart", chart, *more]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_there_are_scripts():
    assert {"conversion", "frames", "lsq_gradient", "network", "outer", "regression"} <= set(SCRIPTS)


@pytest.mark.parametrize("script", SCRIPTS)
def test_with_nothing_but_numpy(script, tmp_path):
    text = run(script, tmp_path / "chart.svg", hidden=[*OTHERS, "tqdm"])
    assert "Left out: PyTorch is not installed." in text
    assert "Left out: matplotlib is not installed." in text
    assert ("Left out: HIPS autograd" in text) == (script == "lsq_gradient")
    assert text.count("\n| ") >= 3 and "diptych" in text


@pytest.mark.skipif(not importlib.util.find_spec("torch"), reason="needs PyTorch")
@pytest.mark.parametrize("script", SCRIPTS)
def test_with_what_is_installed(script, tmp_path):
    chart = tmp_path / "chart.svg"
    text = run(script, chart)
    assert "PyTorch" in text and "Left out: PyTorch" not in text
    assert chart.exists() == bool(importlib.util.find_spec("matplotlib"))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_network_alone(dtype, tmp_path):
    lines = run("network", tmp_path / "none.svg", "--only", "numpy", "--steps", "3", "--dtype", dtype).splitlines()
    assert [line.split()[0] for line in lines] == ["loss", "step", "weights"]
    assert not (tmp_path / "none.svg").exists()
