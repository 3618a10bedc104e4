#!/usr/bin/env python3
"""Checks the proofs of this folder: check.py [--fast | --update]

Without a flag it needs Coq: it compiles the proofs, prints what each rests on, makes the tables anew, compares all of it
with the files beside it, and shows that planted mistakes break a proof. --update writes constants.v and the tables
instead of comparing them. --fast is what needs no Coq: constants, hash, names and rules.
"""

import hashlib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PROOFS = ["constants", "models", "statements", "laws", "rates", "symbols", "numbers", "steps", "bits"]  # in the order in which they are compiled
MAX_STATEMENT_LINES = 400

# Constants that the proofs take from the code: name, file, how it stands there.
CONSTANTS = [
    ("kNanosPerEpsilon", "common/privacy/budget.h", r"kNanosPerEpsilon = ([\d']+);"),
    ("kExpBits", "common/privacy/exp_bound.h", r"kExpBits = (\d+);"),
    ("kMaxExponent", "common/privacy/exp_bound.cc", r"kMaxExponent = (\d+);"),
    ("kKeepRateBits", "common/ldp/keep_rate.h", r"kKeepRateBits = (\d+);"),
    ("kManySteps", "common/privacy/geometric_table.h", r"kManySteps = (\d+);"),
    ("kMaxReach", "common/ldp/window_response.h", r"kMaxReach = (\d+);"),
]

# Mistakes in a model, each of which must break a proof: file, text, replacement.
TWINS = [
    ("models", "high * 2 ^ digits + rest * 2 ^ digits / whole",
     "high * 2 ^ digits + (rest * 2 ^ digits + whole - 1) / whole"),  # a rate rounded up
    ("models", "let whole := gain + one * symbols", "let whole := gain + one"),
    ("models", "let term := term * nanos / (unit * k) in",
     "let term := (term * nanos + unit * k - 1) / (unit * k) in"),  # an exponential rounded up
    ("models", "(kMaxExponent * unit)) unit 1", "(kMaxExponent * unit)) kNanosPerEpsilon 1"),
    ("models", "UniformBelow symbols (fun any => Return (if", "UniformBelow (symbols - 1) (fun any => Return (if"),
    ("models", "Bernoulli rate kKeepAlways (fun kept", "Bernoulli rate (kKeepAlways - 1) (fun kept"),
    ("models", "(if kept then symbol else any)", "(if kept then symbol else 0)"),  # a symbol that is never drawn
    ("models", "UniformBelow kept (fun in_window", "UniformBelow (kept + 1) (fun in_window"),
    ("models", "let steps := 2 * (reach - half_width) in", "let steps := 2 * reach in"),
    ("models", "let symbols := 2 * reach + 1 in", "let symbols := 2 * reach in"),
    ("models", "send (2 * (cell mod blocks) +", "send (3 * (cell mod blocks) +"),
    ("models", "let q := lie_rate nanos 2 in", "let q := lie_rate nanos 1 in"),
    ("models", "ceil_divide (2 ^ kExpBits * 2 ^ 32)", "Z.div (2 ^ kExpBits * 2 ^ 32)"),  # a rate of lies rounded down
    ("models", "(if one then cell :: others else others)", "(cell :: others)"),
    ("models", "else walk trials rest (at_ + 1) (hits", "else walk trials rest (at_ + 2) (hits"),
]


def fail(message):
    sys.exit(f"tests/proofs: {message}")


def constants_text():
    lines = ["(* Constants of the C++ sources. Written by check.py --update; do not edit. *)",
             "From Coq Require Import ZArith.", "Open Scope Z_scope.", ""]
    for name, path, pattern in CONSTANTS:
        found = re.search(pattern, (ROOT / path).read_text())
        if not found:
            fail(f"{path} has no {name} as expected")
        number = found[1].replace("'", "")
        lines.append(f"Definition {name} : Z := {number}.  (* {path} *)")
    return "\n".join(lines) + "\n"


def statements_hash():
    """Of what the tables come from: the statements, the models, the constants, and how cases are chosen."""
    digest = hashlib.sha256()
    for name in ["constants", "models", "statements", "tables"]:
        digest.update((HERE / f"{name}.v").read_bytes())
    return digest.hexdigest()


def statement_names():
    return re.findall(r"^Definition (\w+) : Prop :=", (HERE / "statements.v").read_text(), re.M)


def expected_assumptions():
    return (HERE / "assumptions.txt").read_text()


def check_rules():
    for name in ["statements", "models"]:
        if (HERE / f"{name}.v").read_text().count("\n") > MAX_STATEMENT_LINES:
            fail(f"{name}.v has more than {MAX_STATEMENT_LINES} lines")
    for name in PROOFS + ["tables"]:
        found = re.search(r"\b(Admitted|admit|Axioms?|Parameters?|Conjecture|Abort|Unset)\b",
                          re.sub(r"\(\*.*?\*\)", "", (HERE / f"{name}.v").read_text(), flags=re.S))
        if found:
            fail(f"{name}.v has the word {found[0]}")
    everything = "".join((HERE / f"{name}.v").read_text() for name in PROOFS)
    for name in statement_names():
        if not re.search(rf"^Theorem {name}_holds? : {name}\.", everything, re.M):
            fail(f"nothing proves {name}")
    # Each file of C++ that a statement or a model is about exists and says so.
    about = (HERE / "statements.v").read_text() + (HERE / "models.v").read_text()
    for path in sorted(set(re.findall(r"\b(?:common|client|server)/[\w/]+\.(?:h|cc)", about))):
        if not (ROOT / path).is_file():
            fail(f"statements.v or models.v names {path}, which does not exist")
        if path.endswith(".cc") and "tests/proofs/" not in (ROOT / path).read_text():
            fail(f"{path} does not name the file of tests/proofs that is about it")
    for name in ["rates.txt", "reports.txt"]:
        if (HERE / name).read_text().splitlines()[0] != f"# {statements_hash()}":
            fail(f"{name} is not of these statements; run tests/proofs/check.py --update")
    if constants_text() != (HERE / "constants.v").read_text():
        fail("constants.v is not what the C++ has; run tests/proofs/check.py --update and see which proofs still hold")


def coqc(folder, name):
    return subprocess.run(["coqc", "-q", "-R", ".", "Coppice", f"{name}.v"], cwd=folder, capture_output=True, text=True)


def compile_all(folder, names):
    """Returns the first error, or nothing."""
    for name in names:
        done = coqc(folder, name)
        if done.returncode != 0:
            return done.stderr or done.stdout
    return None


def assumptions(folder):
    names = [re.search(rf"^Theorem ({name}_holds?) :", "".join((HERE / f"{p}.v").read_text() for p in PROOFS), re.M)[1]
             for name in statement_names()]
    text = "From Coppice Require Import " + " ".join(PROOFS) + ".\n"
    text += "".join(f"Print Assumptions {name}.\n" for name in names)
    (folder / "assumptions.v").write_text(text)
    done = coqc(folder, "assumptions")
    if done.returncode != 0:
        fail(done.stderr)
    # One paragraph a theorem; names alone, as their types take lines.
    paragraphs = re.split(r"^(?=Axioms:|Closed under)", done.stdout, flags=re.M)[1:]
    lines = []
    for name, paragraph in zip(names, paragraphs, strict=True):
        axioms = sorted(re.findall(r"^([\w.]+)\s*:", paragraph, re.M))
        axioms = [axiom for axiom in axioms if axiom != "Axioms"]
        lines.append(f"{name}: {' '.join(axioms) or 'nothing'}\n")
    return "".join(lines)


def numbers(text):
    """Coq's lists and pairs as Python's."""
    return eval(re.sub(r"%\w+", "", text).replace(";", ","), {"__builtins__": {}})


def draws_and_payload(row):
    leaf, label, place, column, count, *rest = row
    text = [f"{leaf} {'label' if label >= 0 else 'place'} {max(label, place)} {column}"]
    for i in range(count):
        kind, a, b, result = rest[4 * i:4 * i + 4]
        text.append({1: f"u {a} {result}", 2: f"b {a} {b} {result}", 3: f"g {a} {result}"}[kind])
    return " ".join([*text, "=", bytes(rest[4 * count:]).hex()])


def make_tables(folder):
    done = coqc(folder, "tables")
    if done.returncode != 0:
        fail(done.stderr)
    found = dict(numbers(part.split("\n     : ")[0]) for part in re.split(r"^     = ", done.stdout, flags=re.M)[1:])
    first = f"# {statements_hash()}\n"
    rates = "".join(f"exp {' '.join(map(str, row))}\n" for row in found[101])
    rates += "".join(f"keep {' '.join(map(str, row))}\n" for row in found[102])
    reports = ""
    for rows, head in found[103] + found[104]:
        reports += f"case {' '.join(map(str, head))}\n"
        reports += "".join(draws_and_payload(row) + "\n" for row in rows)
    return {"rates.txt": first + rates, "reports.txt": first + reports}


def copied(folder, names):
    folder.mkdir()
    for name in names:
        shutil.copy(HERE / f"{name}.v", folder)
    return folder


def check_twins(scratch):
    for i, (file, text, replacement) in enumerate(TWINS):
        folder = copied(scratch / f"twin{i}", PROOFS)
        sources = (folder / f"{file}.v").read_text()
        if sources.count(text) != 1:
            fail(f"twin {i}: {file}.v has {text!r} {sources.count(text)} times")
        (folder / f"{file}.v").write_text(sources.replace(text, replacement))
        error = compile_all(folder, PROOFS)
        if error is None:
            fail(f"every proof holds of a twin with {replacement!r}")
        if any(f"{name}.v" in error for name in ["constants", "models", "statements"]):
            fail(f"twin {i} does not compile, so it shows nothing: {error}")
        print(f"twin {i} is found: {error.splitlines()[0]}", flush=True)


def main():
    if "--update" in sys.argv:
        (HERE / "constants.v").write_text(constants_text())
    if "--fast" in sys.argv:
        check_rules()
        return
    if shutil.which("coqc") is None:
        print("there is no coqc: apt-get install coq")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        scratch = pathlib.Path(name)
        folder = copied(scratch / "proofs", [*PROOFS, "tables"])
        error = compile_all(folder, PROOFS)
        if error:
            fail(error)
        print("all proofs hold", flush=True)
        made = {"assumptions.txt": assumptions(folder), **make_tables(folder)}
        for file, text in made.items():
            if "--update" in sys.argv:
                (HERE / file).write_text(text)
            elif (HERE / file).read_text() != text:
                fail(f"{file} is not what the proofs give; look at the difference, then run check.py --update")
        check_rules()
        print("assumptions and tables are as they should be", flush=True)
        check_twins(scratch)
        print(f"{len(statement_names())} statements hold, {len(TWINS)} twins are found")


if __name__ == "__main__":
    main()
