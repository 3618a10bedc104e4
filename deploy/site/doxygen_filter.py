#!/usr/bin/env python3
"""Converts the comments of a header to those of Doxygen, on stdout: doxygen_filter.py FILE

A block of // or /* */ belongs to the declaration after it, or to the one before it on its line. Their text is passed on
verbatim, because it is written for people, not for Doxygen; comments.py reads it from Doxygen's XML.
"""

import pathlib
import re
import sys

BEGIN, END = "@verbatim", "@endverbatim"
LINE = re.compile(r"^(\s*)//(?!/) ?(.*)$")
BEHIND = re.compile(r"^(.*\S)(\s+)//(?!/) ?(.*)$")
RULE = re.compile(r"^-{4}")  # a line that divides a header into sections


def block(lines, mark="", place=""):
    return [f"/**{mark} {place}", BEGIN, *lines, f"{END} */"]


def filtered_cpp(lines):
    i = 0
    while i < len(lines):
        alone, behind = LINE.match(lines[i]), BEHIND.match(lines[i])
        column = len(behind[1]) + len(behind[2]) if behind else None
        if not alone and (not behind or '"' in behind[3]):
            yield lines[i]
            i += 1
            continue
        text, start = [(alone or behind)[3 if behind else 2]], i
        i += 1
        while i < len(lines) and (more := LINE.match(lines[i])) and (alone or len(more[1]) == column):
            text.append(more[2])
            i += 1
        if behind:
            yield behind[1]
            yield from block(text, mark="<")
        elif start == 0:
            yield from block(text, place="@file")
        elif i < len(lines) and lines[i].strip() and not RULE.match(text[0]):
            yield from block(text)


def filtered_c(text):
    def replaced(match):
        before, body = match[1], match[2]
        lines = [re.sub(r"^\s*\* ?", "", line) for line in body.strip().split("\n")]
        if RULE.match(lines[0]):
            return before
        place = "" if match.start() else "@file"
        return before + "\n" + "\n".join(block(lines, "<" if before.strip() else "", place))

    return re.sub(r"(?m)^([^\n]*?)/\*((?:.|\n)*?)\*/", replaced, text)


def main():
    path = pathlib.Path(sys.argv[1])
    text = path.read_text(encoding="utf-8")
    print(filtered_c(text) if path.parent.name == "c" else "\n".join(filtered_cpp(text.splitlines())))


if __name__ == "__main__":
    main()
