#!/usr/bin/env python3
"""How many words of prose the documents have, by page and in all.

    docs/words.py [FOLDER_OR_FILE...]    default: README.md and docs/ of this tree

Prose is what stands outside tables, code blocks, HTML comments and derivations. A derivation stands between the
lines `<!-- derivation -->` and `<!-- end of derivation -->`. A word is what stands between blanks and has a letter
or a digit in it.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- derivation -->", "<!-- end of derivation -->"
FENCE = re.compile(r"^\s*(```|~~~)")
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
WORD = re.compile(r"\S*\w\S*")


def without_derivations(text, name="text"):
    """Raises ValueError where a derivation has no end or no beginning."""
    kept, began = [], 0
    for number, line in enumerate(text.splitlines(), 1):
        mark = line.strip()
        if mark == BEGIN:
            if began:
                raise ValueError(f"{name}:{number}: a derivation begins inside the one of line {began}; end that first")
            began = number
        elif mark == END:
            if not began:
                raise ValueError(f"{name}:{number}: a derivation ends that has not begun; remove the line")
            began = 0
        elif not began:
            kept.append(line)
    if began:
        raise ValueError(f"{name}:{began}: a derivation has no end; add the line {END}")
    return "\n".join(kept)


def prose(text, name="text"):
    """The lines that count. Indented code needs an empty line (or code) before it, as in Markdown."""
    fenced, before, kept = False, "", []
    for line in COMMENT.sub("", without_derivations(text, name)).splitlines():
        if FENCE.match(line):
            fenced = not fenced
        indented = line.startswith("    ") and (not before.strip() or before.startswith("    "))
        if not (fenced or FENCE.match(line) or indented or line.lstrip().startswith("|")):
            kept.append(line)
        before = line
    return kept


def words(text, name="text"):
    return sum(len(WORD.findall(line)) for line in prose(text, name))


def pages(paths):
    for path in paths:
        yield from sorted(path.rglob("*.md")) if path.is_dir() else [path]


def count(paths):
    """Words by page, in the order of the pages."""
    return {path: words(path.read_text(encoding="utf-8"), str(path)) for path in pages(paths)}


def main():
    found = count([pathlib.Path(name) for name in sys.argv[1:]] or [ROOT / "README.md", ROOT / "docs"])
    for path, number in found.items():
        name = path.resolve()
        print(f"{number:7,}  {name.relative_to(ROOT) if name.is_relative_to(ROOT) else path}")
    print(f"{sum(found.values()):7,}  in all")


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError) as error:
        sys.exit(f"words.py: {error}")
