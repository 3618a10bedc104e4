#!/usr/bin/env python3
"""Every command that a page names exists, and takes the flags that the page gives it, by the programs' own --help."""

import functools
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/support"))
import missing_package  # noqa: E402

BINARIES = pathlib.Path(os.environ.get("COPPICE_BIN_DIR", ROOT / "build/release/bin"))
FENCE = re.compile(r"^\s*(```|~~~)")
SPAN = re.compile(r"(`+)(.+?)\1")
FLAG = re.compile(r"--[a-z][a-z0-9-]*")
SEPARATOR = re.compile(r"&&|\|\||[|;&()<>]|\$\(")
# What stands for a subcommand: `coppice … --json`, `coppice NOUN list`; and what a program prints of itself: `coppice 0.2`.
LEFT_OUT = re.compile(r"…|\.\.\.|^[A-Z]|^\d")
# Flags that a page says alone, of programs that have no --help which this could ask.
OF_OTHERS = {"--without-console": "deploy/packages.sh", "--keep": "deploy/quickstart.sh"}


def pages():
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def codes(path):
    """The code of a page: blocks line by line, continued lines as one, and spans. With the number of the line."""
    fenced, before, joined, began = False, "", "", 0
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if FENCE.match(line):
            fenced = not fenced
            joined = ""
        elif fenced or (line.startswith("    ") and (not before.strip() or before.startswith("    "))):
            began = began if joined else number
            joined += line.rstrip("\\")
            if not line.endswith("\\"):
                yield began, joined
                joined = ""
        else:
            for span in SPAN.finditer(line):
                yield number, span[2]
        before = line


def words_of(command):
    try:
        return shlex.split(command, comments=True)
    except ValueError:  # a quote that ends in another line
        return command.split()


def commands(code):
    """The simple commands of a line of shell, each as its words."""
    quoted = re.sub(r"'[^']*'|\"[^\"]*\"", lambda text: SEPARATOR.sub("_", text[0]), code)
    for part in SEPARATOR.split(quoted):
        words = words_of(part.strip("[] "))
        while words and re.fullmatch(r"[A-Z_]+=\S*|sudo|timeout|\d+s?", words[0]):
            words.pop(0)
        if words:
            yield words


def program_named(word):
    """The program of this build that a page means, if it does mean one."""
    name = word.rsplit("/", 1)[-1]
    for folder in (BINARIES, BINARIES.parent / "tests"):
        if re.fullmatch(r"[a-z_-]+", name) and (folder / name).is_file():
            return folder / name
    return None


@functools.lru_cache(maxsize=None)
def help_of(program, *path):
    with tempfile.TemporaryDirectory() as elsewhere:  # a program of the tests may take --help for the name of a folder
        run = subprocess.run([program, *path, "--help"], cwd=elsewhere, capture_output=True, text=True, timeout=300, check=False)
        shown = run.stdout + run.stderr
        if "--help --all`" in run.stdout:  # it has flags for research
            shown += subprocess.run([program, *path, "--help", "--all"], capture_output=True, text=True, timeout=300, check=True).stdout
    return shown


@functools.lru_cache(maxsize=None)
def subcommands(program, *path):
    _, _, listed = help_of(program, *path).partition("\nSubcommands:\n")
    return frozenset(re.findall(r"^  (\S+)", listed.split("\n\n")[0], re.MULTILINE))


@functools.lru_cache(maxsize=None)
def flags(program, *path):
    return frozenset(FLAG.findall(help_of(program, *path)))


def all_flags(program, *path):
    found = set(flags(program, *path))
    for name in subcommands(program, *path):
        found |= all_flags(program, *path, name)
    return found


def faults(words):
    """What is wrong with a command, if it is one of a program of this build."""
    program = program_named(words[0])
    if program is None:
        return
    path, rest = [], list(words[1:])
    is_flag = not rest or rest[0].startswith("-")  # asked for its help, `vault_bench --folder` would measure
    if not is_flag and f"Usage: {program.name} {rest[0]} " in help_of(program, rest[0]):  # coppiced's, which its help explains
        path.append(rest.pop(0))
    while rest and subcommands(program, *path) and not rest[0].startswith("-"):
        names = rest[0].split("|")  # `model export|verify`
        if LEFT_OUT.search(rest[0]):
            return
        unknown = [name for name in names if name not in subcommands(program, *path)]
        if unknown:
            yield f"`{' '.join([program.name, *path])}` has no {unknown[0]!r}"
            return
        path.append(names[0])
        rest.pop(0)
    for word in rest:
        flag = FLAG.match(word.strip("[]()"))
        if flag and flag[0] not in flags(program, *path):
            yield f"`{' '.join([program.name, *path])}` has no {flag[0]}"


class CommandsTest(unittest.TestCase):
    def setUp(self):
        if not (BINARIES / "coppice").is_file():
            missing_package.skip(f"there are no programs in {BINARIES}; build them, or set COPPICE_BIN_DIR")

    def test_commands_and_their_flags(self):
        wrong, seen = [], 0
        for page in pages():
            for number, code in codes(page):
                for words in commands(code):
                    seen += program_named(words[0]) is not None
                    wrong += [f"{page.relative_to(ROOT)}:{number}: {fault}" for fault in faults(words)]
        self.assertEqual(wrong, [])
        self.assertGreater(seen, 150, "the pages have lost their commands, or this test no longer finds them")

    def test_flags_that_stand_alone(self):
        known = {flag for flag, script in OF_OTHERS.items() if flag in (ROOT / script).read_text(encoding="utf-8")}
        for program in ("coppice", "coppiced", "coppice-lab", "coppice-relay", "coppice-research"):
            known |= all_flags(BINARIES / program)
        for verb in ("backup", "check", "copy", "key-file", "repair", "restore", "token"):
            known |= flags(BINARIES / "coppiced", verb)
        wrong = []
        for page in pages():
            if "research" in page.parts:
                continue  # scripts and benches have flags of their own there
            for number, code in codes(page):
                flag = FLAG.match(code)
                if flag and flag[0] not in known:
                    wrong.append(f"{page.relative_to(ROOT)}:{number}: no program has {flag[0]}")
        self.assertEqual(wrong, [])

    def test_scripts(self):
        wrong = []
        for page in pages():
            for number, code in codes(page):
                for script in re.findall(r"(?<![\w/.}])((?:deploy|docs|tests|\.ci)/[\w./-]+\.(?:sh|py))\b", code):
                    if not (ROOT / script).is_file():
                        wrong.append(f"{page.relative_to(ROOT)}:{number}: there is no {script}")
        self.assertEqual(wrong, [])

    def test_finds_what_is_wrong(self):
        def found(code):
            return [fault for words in commands(code) for fault in faults(words)]

        self.assertEqual(found("coppice study create --public F --json | head"), [])
        self.assertEqual(found("X=1 build/release/bin/coppice study make"), ["`coppice study` has no 'make'"])
        self.assertEqual(found("coppice study create --colour red"), ["`coppice study create` has no --colour"])
        self.assertEqual(found("a=$(coppice study list --colour)"), ["`coppice study list` has no --colour"])
        self.assertEqual(found("coppiced --colour"), ["`coppiced` has no --colour"])


if __name__ == "__main__":
    unittest.main()
