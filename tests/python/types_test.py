"""mypy reads the package and a program that uses it, and the stub of the core names what the core has."""

import ast
import inspect
import os
import pathlib
import re
import subprocess
import sys

import pytest

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
    # What is wrong in packages that are installed, mypy keeps to itself.
    (tmp_path / "mypy.ini").write_text("[mypy]\nstrict = True\n[mypy-coppice.v1.*]\nignore_errors = True\n"
                                       "[mypy-google.*,grpc.*]\nignore_missing_imports = True\n")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--follow-imports=silent", "--ignore-missing-imports", "--cache-dir", tmp_path, "program.py"],
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


def bound_functions():
    """Classes, and their methods, that the stub gives a signature."""
    for name in ("Device", "Journal", "Policy", "Privatizer", "RelayedDevice", "Schema"):
        cls = getattr(_core, name)
        for member in (cls, *(getattr(cls, method) for method in names_of(cls))):
            if callable(member) and member is not _core.Schema:  # which nobody makes by name
                yield pytest.param(member, id=name if member is cls else f"{name}.{member.__name__}")


def parameters_that_are_bound(function):
    """As the error of a wrong call lists them: names, with the text of a default or None."""
    with pytest.raises(TypeError) as raised:
        function(*[object()] * 40)
    listed = re.search(r"^ +1\. [\w.]*(\(.*\)) -> |^ +1\. [\w.]+(\(.*\))$", str(raised.value), re.M)
    found = ast.parse(f"def f{listed.group(1) or listed.group(2)}: pass").body[0].args
    assert not found.vararg
    without = [None] * (len(found.args) - len(found.defaults))
    defaults = [*without, *found.defaults, *found.kw_defaults]
    return {argument.arg: default and ast.literal_eval(default)
            for argument, default in zip([*found.args, *found.kwonlyargs], defaults) if argument.arg != "self"}


@pytest.mark.parametrize("function", bound_functions())
def test_the_stubs_signature_is_what_is_bound(function):
    stated = {name: None if parameter.default is parameter.empty else parameter.default
              for name, parameter in inspect.signature(function).parameters.items() if name != "self"}
    bound = parameters_that_are_bound(function)
    assert list(stated) == list(bound)
    for name, default in bound.items():
        # Bytes are bound as text, and a sequence as a list.
        same = {b"": "", (): []}.get(stated[name], stated[name])
        assert same == default, name
