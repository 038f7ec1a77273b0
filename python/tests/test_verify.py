"""The fingerprint, and ``python -m diptych.verify``."""

import subprocess
import sys

import pytest

import diptych
import diptych.verify
from conftest import raises


@pytest.mark.parametrize("threads", [1, 3])
def test_fingerprint(threads):
    with diptych.threads(threads):
        assert diptych.fingerprint() == diptych.verify.FINGERPRINT


def test_every_operation_has_a_hash():
    rows = diptych._native._fingerprint_of_operations("cpu")
    assert {name for name, _, _ in rows} == {*diptych._native._operations, "convert"}
    assert all(found == expected for _, found, expected in rows)


def test_device():
    with raises(diptych.ArgumentError, "'cpu' or 'cuda', not 'tpu'"):
        diptych.fingerprint(device="tpu")


def test_command():
    command = [sys.executable, "-m", "diptych.verify"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all bits are right" in done.stdout and "portable, 1 thread(s)" in done.stdout


def test_command_names_what_differs(monkeypatch, capsys):
    level = diptych.cpu_level()
    monkeypatch.setattr(diptych.verify, "FINGERPRINT", 1)
    rows = [("add", 2, 2), ("gemm", 3, 4)]
    monkeypatch.setattr(diptych._native, "_fingerprint_of_operations", lambda device: rows)
    assert diptych.verify.main(["--level", "portable", "--threads", "1"]) == 1
    printed = capsys.readouterr().out
    assert "gemm: 0000000000000003 instead of 0000000000000004" in printed
    assert "WRONG BITS" in printed and "add" not in printed
    assert diptych.cpu_level() == level
