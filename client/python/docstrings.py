#!/usr/bin/env python3
"""Turns the docstrings of a stub into C++: docstrings.py STUB OUT.cc

The stub is the one place for the words about what is bound in C++: the site and editors read them there, and help() reads what
this program makes of them. Each begins with the signature, in the form that CPython takes for a builtin's, so that
inspect.signature() knows the parameters of a bound function.
"""

import ast
import pathlib
import sys


def signature(name, function, without_self):
    """The parameters and their defaults. Annotations are left out: CPython does not read them."""
    arguments = function.args
    kept = ast.arguments(
        posonlyargs=[], args=[ast.arg(one.arg) for one in arguments.args[1 if without_self else 0:]],
        kwonlyargs=[ast.arg(one.arg) for one in arguments.kwonlyargs], defaults=arguments.defaults,
        kw_defaults=arguments.kw_defaults, vararg=None, kwarg=None)
    return f"{name}({ast.unparse(kept)})\n--\n\n"


def is_property(function):
    return any(isinstance(decorator, ast.Name) and decorator.id == "property" for decorator in function.decorator_list)


def docstrings(tree):
    """Pairs of "Class.member" and its docstring."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node):
            yield node.name, signature(node.name, node, False) + ast.get_docstring(node)
        if not isinstance(node, ast.ClassDef):
            continue
        members = [member for member in node.body if isinstance(member, ast.FunctionDef)]
        if ast.get_docstring(node):
            made = [signature(node.name, member, True) for member in members if member.name == "__init__"]
            yield node.name, "".join(made) + ast.get_docstring(node)
        for member in members:
            if member.name == "__init__":
                yield f"{node.name}.__init__", signature("__init__", member, False)
            elif ast.get_docstring(member):
                before = "" if is_property(member) else signature(member.name, member, False)
                yield f"{node.name}.{member.name}", before + ast.get_docstring(member)


def source(pairs):
    lines = [f'    {{"{name}", R"doc({text})doc"}},' for name, text in pairs]
    return "\n".join([
        "// Made by client/python/docstrings.py.", "", "#include <stdexcept>", "#include <string>", "#include <utility>", "",
        '#include "client/python/core/bindings.h"', "", "namespace coppice::python {", "namespace {", "",
        "constexpr std::pair<std::string_view, const char*> kDocstrings[] = {", *lines, "};", "", "}  // namespace", "",
        "const char* DocstringOf(std::string_view name) {", "  for (const auto& [key, text] : kDocstrings) {",
        "    if (key == name) return text;", "  }",
        '  throw std::logic_error("_core.pyi has no docstring for " + std::string(name));', "}", "",
        "}  // namespace coppice::python", ""])


def main():
    stub, out = map(pathlib.Path, sys.argv[1:])
    out.write_text(source(docstrings(ast.parse(stub.read_text(encoding="utf-8")))), encoding="utf-8")


if __name__ == "__main__":
    main()
