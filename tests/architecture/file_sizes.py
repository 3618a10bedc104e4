#!/usr/bin/env python3
"""Fails if a source file is too long to read, or if too many headers have a single includer.

    file_sizes.py ROOT

A header that one file includes, its own source aside, is often half of a thing that a reader expects in one piece.
Some are right (what a test looks into, what has a proof of its own); many are fragments.
"""

import collections
import pathlib
import re
import sys

MOST_LINES = 450
MOST_HEADERS_OF_ONE = 32


def sources(root):
    for room in ("client", "common", "server"):
        for path in sorted((root / room).rglob("*")):
            if path.suffix in (".h", ".cc"):
                yield path.relative_to(root).as_posix(), path.read_text()


def includers(files):
    found = collections.defaultdict(list)
    for name, text in files.items():
        for header in re.findall(r'^#include "([^"]+)"', text, re.MULTILINE):
            if pathlib.PurePath(header).with_suffix("") != pathlib.PurePath(name).with_suffix(""):
                found[header].append(name)
    return found


def main():
    files = dict(sources(pathlib.Path(sys.argv[1])))
    included_by = includers(files)
    of_one = [name for name in files if name.endswith(".h") and len(included_by[name]) < 2]
    failed = False
    for name, text in files.items():
        lines = text.count("\n")
        if lines > MOST_LINES:
            print(f"{name} has {lines} lines; {MOST_LINES} are the most")
            failed = True
    if len(of_one) > MOST_HEADERS_OF_ONE:
        print(f"{len(of_one)} headers serve one file alone; {MOST_HEADERS_OF_ONE} are the most:")
        for name in of_one:
            print(f"  {name}, for {', '.join(included_by[name]) or 'no file'}")
        failed = True
    print(f"{len(files)} files, {len(of_one)} headers that serve one file alone")
    return 1 if failed or not files else 0


if __name__ == "__main__":
    sys.exit(main())
