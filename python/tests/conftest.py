"""Shared inputs of the tests."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import settings

import diptych

settings.register_profile("default", deadline=None, max_examples=60)
settings.load_profile("default")

FLOATS = ("float32", "float64")


@pytest.fixture(params=FLOATS)
def dtype(request):
    return np.dtype(request.param)


@pytest.fixture(autouse=True)
def defaults():
    """Leaves threads and level as they were."""
    before = diptych.get_threads()
    yield
    diptych.set_threads(before)
    diptych.force_cpu_level(None)


def raises(error, text=""):
    """As pytest.raises, for a plain text; the error is an error of the package too."""
    import re

    assert issubclass(error, diptych.Error)
    return pytest.raises(error, match=re.escape(text) or None)


def run(code, **environment):
    """Runs a program in a new interpreter, with these variables in its environment."""
    environment = {**os.environ, **environment}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
