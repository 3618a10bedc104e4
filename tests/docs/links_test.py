#!/usr/bin/env python3
"""Every relative link of a document leads to a file, and every anchor to a heading of it; so does what sources name."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\(([^)\s]+)\)")
NAMED = re.compile(r"\b(docs/[\w./-]+\.md)#([\w-]+)")
FENCE = re.compile(r"^ *```")
SOURCES = ("client", "common", "deploy", "proto", "server", "tests")
MADE = {"build", "node_modules", "__pycache__", "dist"}


def prose_lines(path):
    inside = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if FENCE.match(line):
            inside = not inside
        elif not inside:
            yield number, line


def slug(heading):
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


def anchors(path):
    found = set()
    for _, line in prose_lines(path):
        heading = re.match(r"#+ (.*)", line)
        if heading:
            name, again = slug(heading[1]), 0
            while f"{name}-{again}" in found if again else name in found:
                again += 1
            found.add(f"{name}-{again}" if again else name)
        found.update(re.findall(r'<a id="([^"]+)"', line))
    return found


def files_of(*patterns):
    """Of the tree, without what tools put into it."""
    for pattern in patterns:
        for path in sorted(ROOT.glob(pattern)):
            if path.is_file() and not MADE & set(path.relative_to(ROOT).parts):
                yield path


def broken(where, target, anchor):
    if not target.exists():
        return [f"{where}: there is no {target}"]
    if anchor and target.suffix == ".md" and anchor not in anchors(target):
        return [f"{where}: {target.name} has no #{anchor}"]
    return []


class LinksTest(unittest.TestCase):
    def test_links_of_documents(self):
        found, wrong = 0, []
        for document in files_of("*.md", "docs/**/*.md", "client/**/*.md", "deploy/**/*.md", "tests/**/*.md"):
            for number, line in prose_lines(document):
                for link in LINK.findall(re.sub(r"`[^`]*`", "", line)):
                    if re.match(r"[a-z]+:", link):
                        continue
                    name, _, anchor = link.partition("#")
                    target = (document.parent / name).resolve() if name else document
                    found += 1
                    wrong += broken(f"{document.relative_to(ROOT)}:{number}", target, anchor)
        self.assertGreater(found, 200)
        self.assertEqual(wrong, [])

    def test_anchors_that_sources_name(self):
        found, wrong = 0, []
        for source in files_of(*(f"{folder}/**/*" for folder in (*SOURCES, "docs"))):
            try:
                text = source.read_text(encoding="utf-8")
            except (UnicodeDecodeError, OSError):
                continue
            for name, anchor in NAMED.findall(text):
                found += 1
                wrong += broken(source.relative_to(ROOT), ROOT / name, anchor)
        self.assertGreater(found, 50)
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
