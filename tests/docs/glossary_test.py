#!/usr/bin/env python3
"""Documents, comments, messages and help texts have one word for a thing: the one in docs/glossary.md.

COPPICE_BIN_DIR names the programs whose manual pages are read too; without it that test is skipped.
"""

import io
import os
import pathlib
import re
import subprocess
import sys
import tokenize
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import missing_package  # noqa: E402

GLOSSARY = ROOT / "docs/glossary.md"
PROGRAMS = ("coppice", "coppice-lab", "coppiced", "coppice-relay")
MADE = {"build", "node_modules", "__pycache__", "dist"}

FENCE = re.compile(r"^\s*(```|~~~)")
# A quote after a digit or letter separates digits or is no character: 10'000.
C_TOKEN = re.compile(
    r'''R"(?P<mark>\w*)\((?P<raw>.*?)\)(?P=mark)"|"(?P<string>(?:\\.|[^"\\\n])*)"|(?<!\w)'(?:\\.|[^'\\\n])+\'|'''
    r'''//(?P<line>[^\n]*)|/\*(?P<block>.*?)\*/''', re.S)
QUOTED = re.compile(r'"[^"]{1,160}"')  # somebody else's words, such as a paper's title


def refused_words(text):
    """The words in code type of the table's last column, by the term whose row they are in."""
    found = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if len(cells) == 3 and cells[0] != "term" and set(cells[0]) != {"-"}:
            found[cells[0]] = re.findall(r"`([^`]+)`", cells[2])
    return found


def pattern(word):
    """`*` stands for any ending that makes no name of it; a blank for what stands between two words, a line's end too."""
    return r"\s+".join(re.escape(part).replace(r"\*", r"(?-i:[a-z]*)") for part in word.split())


class Words:
    def __init__(self, by_term):
        self.term_of = [(term, word) for term, words in by_term.items() for word in words]
        self.any = re.compile("|".join(rf"(?<!\w)({pattern(word)})(?!\w)" for _, word in self.term_of), re.I)

    def in_text(self, text):
        for match in self.any.finditer(text):
            yield " ".join(match[0].split()), self.term_of[match.lastindex - 1][0]


def prose_of(text):
    """The lines of a page, each with its number, without code and without where links lead."""
    fenced, before = False, ""
    for number, line in enumerate(text.splitlines(), 1):
        if FENCE.match(line):
            fenced = not fenced
        elif not fenced and not (line.startswith("    ") and (not before.strip() or before.startswith("    "))):
            yield number, QUOTED.sub("", re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "", line)))
        before = line


def c_texts(text):
    """Comments and string literals; those that only blanks part are one, as the reader takes them."""
    parts, end = [], 0
    for token in C_TOKEN.finditer(text):
        if token.lastgroup is None:
            continue
        kind, said = "string" if token.lastgroup == "raw" else token.lastgroup, token[token.lastgroup]
        if parts and kind != "block" and parts[-1][0] == kind and not text[end:token.start()].strip():
            parts[-1][2] += (" " if kind == "line" else "") + said
        else:
            parts.append([kind, text.count("\n", 0, token.start()) + 1, said])
        end = token.end()
    for kind, number, said in parts:
        yield number, said if kind == "string" else QUOTED.sub("", said)


def python_texts(text):
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING):
            yield token.start[0], token.string


def lines_of(text):
    return enumerate(text.splitlines(), 1)


def glossary_texts(text):
    """The page itself, without the words that it refuses."""
    for number, line in prose_of(text):
        yield number, line.rsplit("|", 2)[0] if line.startswith("|") else line


# Left out: proto/, whose comments change only with its messages, and CHANGELOG.md, which says what was.
READERS = (
    (prose_of, ("README.md", "SECURITY.md", "docs/**/*.md", "deploy/**/*.md")),
    (c_texts, tuple(f"{folder}/**/*{suffix}" for folder in ("client", "common", "server")
                    for suffix in (".h", ".cc", ".c"))),
    (c_texts, ("client/console/src/**/*.ts",)),
    (lines_of, ("client/console/src/**/*.tsx", "deploy/config/*.toml", "deploy/prometheus/*.yml",
                "deploy/debian/**/README.Debian",
                "deploy/**/*.sh", "cmake/*.cmake")),
    (python_texts, ("client/python/coppice/**/*.py",)),
)


def texts():
    for reader, patterns in READERS:
        for name in patterns:
            for path in sorted(ROOT.glob(name)):
                if path.is_file() and not MADE & set(path.relative_to(ROOT).parts):
                    read = glossary_texts if path == GLOSSARY else reader
                    for number, text in read(path.read_text(encoding="utf-8")):
                        yield f"{path.relative_to(ROOT)}:{number}", text


def manual_texts(programs):
    for program in programs:
        page = subprocess.run([program, "manual"], check=True, capture_output=True, text=True).stdout
        yield f"{program.name} manual", re.sub(r"\\(?:f.|[&|])", "", page).replace("\\-", "-")


class TableTest(unittest.TestCase):
    def setUp(self):
        self.by_term = refused_words(GLOSSARY.read_text(encoding="utf-8"))

    def test_the_table_can_be_read(self):
        self.assertGreaterEqual(len(self.by_term), 20)
        self.assertGreater(len(Words(self.by_term).term_of), 50)
        self.assertEqual(list(self.by_term), sorted(self.by_term, key=str.casefold), "rows are in order of their terms")

    def test_no_word_is_refused_twice(self):
        words = [word for words in self.by_term.values() for word in words]
        self.assertEqual(sorted(words), sorted(set(words)))


class ReadersTest(unittest.TestCase):
    def setUp(self):
        self.words = Words({"relay": ["shuffler*"], "refund": ["given back"]})

    def found(self, read, text):
        return [(number, word, term) for number, part in read(text) for word, term in self.words.in_text(part)]

    def test_comments_are_read_across_lines(self):
        self.assertEqual(self.found(c_texts, "int a;\n// It is given\n// back.\nint b;"), [(2, "given back", "refund")])
        self.assertEqual(self.found(c_texts, "/* The\n   Shufflers. */"), [(1, "Shufflers", "relay")])

    def test_messages_are_read_across_literals(self):
        self.assertEqual(self.found(c_texts, 'f("its cost is given "\n  "back", 10\'000, "x");'),
                         [(1, "given back", "refund")])
        self.assertEqual(self.found(c_texts, 'f(R"(a "shuffler")", \'"\');'), [(1, "shuffler", "relay")])

    def test_identifiers_and_quotations_are_no_text(self):
        self.assertEqual(self.found(c_texts, 'Shuffler shuffler;\n// in "Hiding behind a\n// shuffler", page 3\n'), [])
        self.assertEqual(self.found(c_texts, "// A ShufflerKey, reshuffler or shuffle.\n"), [])

    def test_pages_are_read_without_code(self):
        page = "# A\n\nA [shuffler](shuffler.md) and `shuffler`.\n\n```\nshuffler\n```\n\n    shuffler\n\n| shuffler |\n"
        self.assertEqual([number for number, _, _ in self.found(prose_of, page)], [3, 11])

    def test_python_is_read_without_its_names(self):
        self.assertEqual(self.found(python_texts, 'shuffler = 1  # given back\n"""A shuffler."""\n'),
                         [(1, "given back", "refund"), (2, "shuffler", "relay")])

    def test_the_glossary_may_name_what_it_refuses(self):
        self.assertEqual(self.found(glossary_texts, "| relay | between | `shuffler*`, given back |\n"), [])
        self.assertEqual(len(self.found(glossary_texts, "| relay | a shuffler | proxy |\n")), 1)


class GlossaryTest(unittest.TestCase):
    def setUp(self):
        self.words = Words(refused_words(GLOSSARY.read_text(encoding="utf-8")))

    def check(self, found, least):
        seen, wrong = 0, []
        for where, text in found:
            seen += 1
            wrong += [f'{where}: "{word}": docs/glossary.md says {term}' for word, term in self.words.in_text(text)]
        self.assertGreaterEqual(seen, least)
        self.assertEqual(wrong, [])

    def test_documents_comments_and_messages(self):
        self.check(texts(), 10_000)

    def test_help_texts(self):
        folder = pathlib.Path(os.environ.get("COPPICE_BIN_DIR", "/nonexistent"))
        programs = [folder / name for name in PROGRAMS if (folder / name).exists()]
        if not programs:
            missing_package.skip("COPPICE_BIN_DIR names no folder with a program of ours")
        self.check(manual_texts(programs), len(programs))


if __name__ == "__main__":
    unittest.main()
