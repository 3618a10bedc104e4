#!/usr/bin/env python3
"""Adds a toy by a recipe of docs/contributing.md to a copy of the files that the recipe names.

  apply.py mechanism|trainer SOURCE_DIR OUTPUT_DIR [LIST]

OUTPUT_DIR gets only those files: a build with it before SOURCE_DIR on the include path sees the toy. With LIST it
prints their paths and writes nothing.

Fails if the recipe in the document names other files than the toy needs, or more than five files of production code,
or if a place to add something at is not found; also if other production code names mechanisms or trainers, as the
recipe would then be incomplete.
"""

import re
import sys
from pathlib import Path

MAX_PRODUCTION_FILES = 5
HERE = Path(__file__).parent

# Each edit is a file, a pattern whose match stays, and the text to insert after it.
RECIPES = {
    "mechanism": {
        "section": "Adding a mechanism",
        "new": {"common/ldp/toy.cc": "toy_mechanism.cc"},
        "edits": [
            ("common/ldp/CMakeLists.txt", r"coppice_room\(ldp\n(  \w+\.cc\n)*", "  toy.cc\n"),
            ("common/ldp/local_mechanism.h", r"enum class MechanismKind [^}]*", "  kToy = 100,\n"),
            ("common/ldp/mechanisms.h", r"(MechanismOr Make\w+\(.*\);\n)+",
             "MechanismOr MakeToy(const Budget& epsilon, const Domain& domain);\n"),
            ("common/ldp/mechanisms.h", r"kMechanisms = \{\n(    MechanismEntry\{[^}]*\},\n)*",
             '    MechanismEntry{MechanismKind::kToy, "toy", &MakeToy},\n'),
            ("proto/coppice/v1/study.proto", r"enum Mechanism \{[^}]*",
             "  // Randomized response, counted from the end.\n  MECHANISM_TOY = 100;\n"),
        ],
        "tests": [
            ("tests/privacy/local_enumeration_test.cc", r"CasesOf\(MechanismKind kind\) \{\n.*\n",
             '    case MechanismKind::kToy:\n      return {{kind, "1", {1, 2}, {}, 0.99},\n'
             '              {kind, "0.5", {2, 3}, {}, 0.99}};\n'),
        ],
        # Files that may name one: the simulated liars and the default choice, which are about some mechanisms.
        "names": r"MechanismKind::k\w|v1::MECHANISM_[^U]",
        "may_name": r"common/ldp/|server/lab/simulation/liars\.cc|server/curator/estimation/mechanism_choice\.h",
    },
    "trainer": {
        "section": "Adding a trainer",
        "new": {"server/trainers/forests/toy.cc": "toy_trainer.cc"},
        "edits": [
            ("server/trainers/forests/CMakeLists.txt",
             r"coppice_room\(trainers/forests\n(  \w+\.cc\n)*", "  toy.cc\n"),
            ("server/trainers/forests/forests.h", r"(const Trainer& \w+\(\);.*\n)+",
             "const Trainer& Toy();  // toy.cc\n"),
            ("server/trainers/registry.cc", r"kTrainers = \{", "&Toy(), "),
        ],
        "tests": [],
        "names": r"\b(Spe|MaxTree|DpBoost|LazyBb|Logistic)\(\)",
        "may_name": r"server/trainers/",
    },
}


def fail(words):
    sys.exit(f"apply.py: {words}")


def stated_files(source, section):
    """Returns the files of the section's table, with NAME replaced by the toy's."""
    text = (source / "docs/contributing.md").read_text()
    found = re.search(rf"^## {section}\n(.*?)(^## |\Z)", text, re.S | re.M)
    if found is None:
        fail(f'docs/contributing.md has no section "{section}"')
    return [file.replace("NAME", "toy").replace("ROOM", "forests")
            for file in re.findall(r"^\| `([^`]+)` \|", found.group(1), re.M)]


def check(source, recipe):
    taken = sorted({*recipe["new"], *(file for file, _, _ in recipe["edits"])})
    stated = sorted(stated_files(source, recipe["section"]))
    if stated != taken:
        fail(f"docs/contributing.md names {stated}, and the toy takes {taken}")
    if len(taken) > MAX_PRODUCTION_FILES:
        fail(f"{len(taken)} files of production code are more than {MAX_PRODUCTION_FILES}")
    for path in (path for top in ("common", "client", "server")
                 for path in sorted((source / top).rglob("*.[ch]*"))):
        name = str(path.relative_to(source))
        if re.match(recipe["may_name"], name):
            continue
        found = re.search(recipe["names"], re.sub(r"//.*", "", path.read_text()))
        # A default value names one, and needs no change.
        if found is not None:
            fail(f"{name} names {found.group(0)}: who adds another would have to know")


def main():
    recipe, source, output = RECIPES[sys.argv[1]], Path(sys.argv[2]), Path(sys.argv[3])
    edits = recipe["edits"] + recipe["tests"]
    if sys.argv[4:] == ["LIST"]:
        print(";".join([*recipe["new"], *dict.fromkeys(file for file, _, _ in edits)]))
        return
    check(source, recipe)
    texts = {file: (HERE / toy).read_text() for file, toy in recipe["new"].items()}
    for file, place, addition in edits:
        text = texts.get(file) or (source / file).read_text()
        found = re.search(place, text)
        if found is None:
            fail(f"{file} has no place for {addition!r}")
        texts[file] = text[:found.end()] + addition + text[found.end():]
    for file, text in texts.items():
        path = output / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    main()
