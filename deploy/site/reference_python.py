"""Writes the reference of the Python package, from its signatures and docstrings: reference_python.py ROOT STAGE

It imports the package with stand-ins: the stub file for the compiled core, and bare names for NumPy and the like. That is
why it is a program of its own.
"""

import __future__

import importlib
import importlib.abc
import importlib.machinery
import inspect
import pathlib
import re
import sys
import textwrap
import types

from comments import cell, code, escape, fence, table

STAND_INS = ("numpy", "sklearn", "pandas", "grpc", "google", "coppice.v1")
TITLES = {"coppice": "Python package", "coppice.remote": "Python, remote"}
# Classes that calls return, and that users do not construct.
RETURNED = {"coppice.remote": ["client.Client", "studies.Studies", "studies.Study", "datasets.Datasets", "datasets.Dataset", "jobs.Jobs",
                               "jobs.Job", "models.Models", "models.RemoteModel", "models.Endpoints", "models.Endpoint", "plans.Plan"]}


class StandIn(type):
    """A class for any name, with any attribute and index, and any call."""

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn(name, (), {})

    def __getitem__(cls, index):
        return cls

    def __call__(cls, *args, **kwargs):
        return cls


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, core):
        self.core = core

    def find_spec(self, name, path, target=None):
        known = name == "coppice._core" or any(name == prefix or name.startswith(prefix + ".") for prefix in STAND_INS)
        return importlib.machinery.ModuleSpec(name, self, is_package=name != "coppice._core") if known else None

    def create_module(self, spec):
        module = types.ModuleType(spec.name)
        if spec.name != "coppice._core":
            module.__getattr__ = lambda name: StandIn(name, (), {}) if not name.startswith("__") else _no(name)
        return module

    def exec_module(self, module):
        if module.__name__ == "coppice._core":
            source = compile(self.core.read_text(encoding="utf-8"), str(self.core), "exec", __future__.annotations.compiler_flag)
            exec(source, module.__dict__)
            module.__version__ = ""


def _no(name):
    raise AttributeError(name)


def docstring(text):
    """Converts a docstring in numpydoc's format to Markdown. Double and single backticks are code."""
    lines = re.sub(r"``([^`]+)``", r"`\1`", inspect.cleandoc(text or "")).split("\n")
    out, i = [], 0
    while i < len(lines):
        if i + 1 < len(lines) and re.fullmatch(r"-{3,}", lines[i + 1].strip()) and lines[i].strip():
            heading, i = lines[i].strip(), i + 2
            body = []
            while i < len(lines) and not (i + 1 < len(lines) and re.fullmatch(r"-{3,}", lines[i + 1].strip())):
                body.append(lines[i])
                i += 1
            out += [f"**{escape(heading)}**", section(heading, body)]
            continue
        start = i
        while i < len(lines) and not (i + 1 < len(lines) and re.fullmatch(r"-{3,}", lines[i + 1].strip())):
            i += 1
        out.append(prose(lines[start:i]))
    return "\n\n".join(filter(None, out))


def section(heading, body):
    if heading == "Examples":
        return fence("\n".join(body).strip("\n"), "pycon")
    entries = []
    for line in body:
        if line.strip() and not line.startswith(" "):
            entries.append([line, []])
        elif entries:
            entries[-1][1].append(line)
    if heading in ("Parameters", "Attributes"):
        rows = []
        for name, lines in entries:
            names, _, kind = name.partition(" : ")
            rows.append([code(names.strip()), cell(kind), cell(" ".join(lines))])
        return table(["name", "type", "meaning"], rows)
    if heading in ("Raises", "Warns"):
        return table(["error", "when"], [[code(name.strip()), cell(" ".join(lines))] for name, lines in entries])
    return prose(body)


def prose(lines):
    """Converts paragraphs, lists, and code after `::` or `>>>`."""
    text = textwrap.dedent("\n".join(lines)).strip("\n")
    out = []
    for paragraph in re.split(r"\n\s*\n", text):
        stripped = paragraph.split("\n")
        if not paragraph.strip():
            continue
        if paragraph.lstrip().startswith(">>>") or all(line.startswith("    ") for line in stripped if line):
            out.append(fence(textwrap.dedent(paragraph), "pycon" if ">>>" in paragraph else "python"))
            continue
        joined = re.sub(r"\n\s*(?![-*] )", " ", paragraph)
        out.append("\n".join("- " + bold(line[2:]) if re.match(r"[-*] ", line.strip()) else bold(line.strip()) for line in joined.split("\n")))
    return "\n\n".join(filter(None, out))


def bold(text):
    return re.sub(r"\\\*\\\*([^*]+)\\\*\\\*", r"**\1**", escape(text.strip()))


def signature(function, name):
    """Returns the signature for callers. Annotations are text, because the package postpones them."""
    try:
        found = inspect.signature(function)
    except (TypeError, ValueError):
        return name
    parts, kinds = [], [parameter.kind for parameter in found.parameters.values()]
    for i, parameter in enumerate(found.parameters.values()):
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.VAR_POSITIONAL not in kinds and parameter.KEYWORD_ONLY not in kinds[:i]:
            parts.append("*")
        star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        kind = "" if parameter.annotation is parameter.empty else f": {annotation(parameter.annotation)}"
        default = "" if parameter.default is parameter.empty else f"{' = ' if kind else '='}{parameter.default!r}"
        parts.append(star + parameter.name + kind + re.sub(r"<.*>", "...", default))
    returned = "" if found.return_annotation in (found.empty, "None", None) else f" -> {annotation(found.return_annotation)}"
    line = f"{name}({', '.join(parts)}){returned}"
    return line if len(line) <= 96 else f"{name}(\n    " + ",\n    ".join(parts) + f",\n){returned}"


def annotation(found):
    text = found if isinstance(found, str) else getattr(found, "__name__", str(found))
    return text.strip("'\"")


def is_own(member, cls):
    return not member.startswith("_") and any(member in base.__dict__ for base in cls.__mro__ if base.__module__.startswith("coppice"))


def class_text(cls, name, level):
    bases = [base.__name__ for base in cls.__bases__ if base is not object and not base.__name__.startswith("_")]
    made = signature(cls, name) if "__init__" in cls.__dict__ and not issubclass(cls, BaseException) else name
    out = [f"{'#' * level} {escape(name)}", fence(f"class {made}" + (f"  # a {', '.join(bases)}" if bases else ""), "python"),
           docstring(cls.__dict__.get("__doc__"))]
    properties, quiet, rest = [], [], []
    members = sorted((member for member in dir(cls) if is_own(member, cls)), key=lambda member: position(cls, member))
    for member in members:
        value = inspect.getattr_static(cls, member)
        if isinstance(value, property):
            returned = inspect.signature(value.fget).return_annotation
            returned = "" if returned is inspect.Signature.empty else annotation(returned)
            properties.append([code(member), code(returned), cell(re.sub(r"``", "`", " ".join((value.__doc__ or "").split())))])
            continue
        function = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
        if not callable(function) or isinstance(function, type):
            continue
        text = signature(function, f"{name}.{member}" if isinstance(value, (staticmethod, classmethod)) else member)
        document = docstring(inspect.getdoc(function) if function.__doc__ else "")
        (rest if document else quiet).append((text, document))
    out.append(table(["property", "type", "meaning"], properties))
    if quiet:
        out.append(fence("\n".join(text for text, _ in quiet), "python"))
    out += [part for text, document in rest for part in (fence(text, "python"), document)]
    return "\n\n".join(filter(None, out))


def position(cls, member):
    """Returns a member's place in its source: after those of the classes that its class derives from."""
    for depth, base in enumerate(reversed(cls.__mro__)):
        if member in base.__dict__:
            return depth, list(base.__dict__).index(member)
    return 99, 0


def member_text(value, name, level):
    if inspect.isclass(value):
        return class_text(value, name, level)
    if not callable(value):
        return ""
    return "\n\n".join([f"{'#' * level} {escape(name)}", fence(signature(value, name), "python"), docstring(value.__doc__)])


def module_page(name):
    module = importlib.import_module(name)
    out = [f"# {TITLES[name]}", f"Module `{name}`, from its docstrings.", docstring(module.__doc__)]
    errors = []
    for member in module.__all__:
        value = getattr(module, member)
        if inspect.isclass(value) and issubclass(value, BaseException):
            errors.append([code(member), cell(re.sub("``", "`", " ".join((value.__doc__ or "").split())))])
        elif not member.startswith("__"):
            out.append(member_text(value, member, 2))
    for path in RETURNED.get(name, []):
        home, _, member = path.partition(".")
        out.append(member_text(getattr(importlib.import_module(f"{name}.{home}"), member), member, 2))
    if errors:
        out += ["## Errors", table(["class", "when"], errors)]
    return "\n\n".join(filter(None, out)) + "\n"


def main():
    root, stage = map(pathlib.Path, sys.argv[1:])
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(root / "client/python"))
    sys.meta_path.insert(0, Finder(root / "client/python/coppice/_core.pyi"))
    for name in TITLES:
        (stage / "reference" / (name.replace(".", "-").replace("coppice", "python") + ".md")).write_text(module_page(name), encoding="utf-8")


if __name__ == "__main__":
    main()
