"""mypy reads the package and a program that uses it, and the stub of the core names what the core has."""

import inspect
import os
import pathlib
import subprocess
import sys

import coppice
from coppice import _core

PACKAGE = pathlib.Path(coppice.__file__).parent
CONFIGURATION = pathlib.Path(__file__).resolve().parents[2] / "client/python/pyproject.toml"
PROGRAM = """import coppice
estimator = coppice.PrivateTreeClassifier(epsilon=1, bounds=(0, 1), classes=[0, 1])
reveal_type(estimator.privacy_)
spent: str = coppice.BudgetAccountant(1, path="x").spent
"""


def test_the_package_has_types(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", CONFIGURATION, "--cache-dir", tmp_path, PACKAGE],
        capture_output=True, text=True, cwd=CONFIGURATION.parent,
    )
    assert done.returncode == 0, done.stdout


def test_a_program_that_uses_it_has_types(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--ignore-missing-imports", "--cache-dir", tmp_path, "program.py"],
        capture_output=True, text=True, cwd=tmp_path, env=os.environ | {"MYPYPATH": str(PACKAGE.parent)},
    )
    assert "program.py:3" in done.stdout and "Certificate" in done.stdout, done.stdout
    assert 'program.py:4: error: Incompatible types in assignment' in done.stdout, done.stdout


def names_of(thing):
    return {name for name in vars(thing) if not name.startswith("_")}


def test_the_stub_names_what_the_core_has():
    stub = (PACKAGE / "_core.pyi").read_text()
    for name in names_of(_core):
        assert f"class {name}" in stub or f"def {name}(" in stub, name
        value = getattr(_core, name)
        if inspect.isclass(value) and not issubclass(value, Exception):
            body = stub[stub.index(f"class {name}"):].split("\nclass ")[0]
            for member in names_of(value):
                assert f"def {member}(" in body, f"{name}.{member}"
