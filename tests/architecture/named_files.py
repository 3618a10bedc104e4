#!/usr/bin/env python3
"""Checks that every file or folder that a document names exists: named_files.py SOURCE_DIR

Words in capitals, as in common/ldp/NAME.cc, stand for something else.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
DOCUMENTS = ["README.md", "SECURITY.md", "docs/*.md", "docs/research/*.md", "cmake/*.cmake", "cmake/layers.txt"]
PATH = re.compile(r"(?<![\w./-])((?:client|common|server|proto|tests|deploy|docs|cmake)/[\w./-]*\w)")


def is_literal(path):
    return not re.search(r"(?<![A-Za-z])[A-Z]{4,}(?![A-Za-z])(?!\.md)", path)


def exists(path):
    """A source may be named without its extension, a test by its CTest name, and its folder likewise."""
    return any((ROOT / name).exists() for name in (path, path + ".cc", path + ".h", f"tests/{path}", f"tests/{path}.cc"))


def main():
    missing, seen = [], 0
    for pattern in DOCUMENTS:
        for document in sorted(ROOT.glob(pattern)):
            for number, line in enumerate(document.read_text(encoding="utf-8").splitlines(), 1):
                for path in filter(is_literal, PATH.findall(line)):
                    seen += 1
                    if not exists(path):
                        missing.append(f"{document.relative_to(ROOT)}:{number}: there is no {path}")
    print("\n".join(missing))
    if seen < 100:
        print(f"only {seen} names were found: the pattern is wrong")
    return 1 if missing or seen < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
