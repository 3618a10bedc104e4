"""Every public name of `coppice` says what it does, and what each of its parameters means."""

import importlib
import inspect
import pathlib
import re
import sys

import pytest

import coppice
import coppice.local
import coppice.remote

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "deploy/site"))
from reference_python import RETURNED  # noqa: E402

# Classes that calls return, and that nobody makes by name.
MADE_BY_CALLS = {"coppice.Certificate", "coppice.Model",
                 *(f"{module}.{path}" for module, paths in RETURNED.items() for path in paths)}


def public_things():
    """Pairs of a dotted name and what it is."""
    for module in (coppice, coppice.local, coppice.remote):
        for name in module.__all__:
            if not name.startswith("__"):
                yield f"{module.__name__}.{name}", getattr(module, name)
    for module, paths in RETURNED.items():
        for path in paths:
            home, _, name = path.partition(".")
            yield f"{module}.{path}", getattr(importlib.import_module(f"{module}.{home}"), name)


def is_ours(cls, member):
    owner = next(base for base in cls.__mro__ if member in vars(base))
    return owner.__module__.startswith("coppice")


def members_of(cls):
    for name in dir(cls):
        if not name.startswith("_") and is_ours(cls, name):
            value = inspect.getattr_static(cls, name)
            yield name, getattr(value, "__func__", value)


def is_made_by_name(name, cls):
    return name not in MADE_BY_CALLS and not issubclass(cls, BaseException)


def parameters_of(function):
    try:
        found = inspect.signature(function).parameters.values()
    except ValueError:
        assert inspect.isclass(function), f"{function} has no signature"
        return []  # a class of C++ that nobody makes
    return [parameter.name for parameter in found if parameter.name not in ("self", "cls")]


def described(document, heading="Parameters"):
    """Names in a section after numpydoc."""
    section = re.search(rf"^{heading}\n-+\n(.*?)(?=\n\n?\w[\w ]*\n-+\n|\Z)", inspect.cleandoc(document or ""), re.M | re.S)
    if section is None:
        return set()
    lines = [line for line in section.group(1).split("\n") if line and not line.startswith(" ")]
    return {name.strip(" *") for line in lines for name in line.split(" : ")[0].split(",")}


def documented_functions(name, thing):
    """What has parameters in `thing`, with the docstring that must describe them."""
    if not inspect.isclass(thing):
        yield name, thing, inspect.getdoc(thing)
        return
    if is_made_by_name(name, thing):
        yield name, thing, thing.__doc__
    for member, value in members_of(thing):
        if callable(value) and not inspect.isclass(value):
            yield f"{name}.{member}", value, inspect.getdoc(value)


THINGS = dict(public_things())
each_thing = pytest.mark.parametrize("name", THINGS)


@each_thing
def test_it_has_words(name):
    thing = THINGS[name]
    assert (thing.__doc__ or "").strip(), name
    if inspect.isclass(thing):
        attributes = set().union(*(described(base.__doc__, "Attributes") for base in thing.__mro__))
        own = {field for field in vars(thing).get("__annotations__", {}) if not field.startswith("_")}
        own |= {member for member, value in members_of(thing)
                if isinstance(value, (int, str, type(None))) or not (inspect.getdoc(value) or "").strip()}
        assert not own - attributes, f"{name} has no docstring for {sorted(own - attributes)}"


@each_thing
def test_each_parameter_has_a_line(name):
    missing = {function_name: absent for function_name, function, document in documented_functions(name, THINGS[name])
               if (absent := set(parameters_of(function)) - described(document))}
    assert not missing


@each_thing
def test_no_line_is_of_a_parameter_that_is_gone(name):
    left = {function_name: gone for function_name, function, document in documented_functions(name, THINGS[name])
            if (gone := described(document) - set(parameters_of(function)))}
    assert not left
