#!/usr/bin/env python3
"""The rows that every system is trained and scored on: a rule, and checksums of what follows from it.

    splits.py check DATA_DIR                  are the data files and the lists the same as here?
    splits.py write DATA_DIR OUT [--repeats N] [--sets NAME...]
                                              OUT/SET/REPETITION/{train,test}.csv

Rule: row i of a set (counted from 0 behind the header) has the key SHA-256("SEED/SET/REPETITION/i").
The tenth of the rows, rounded up, with the smallest keys is the test part. Both parts keep the file's
order. A set with a test file of its own has the same rows in all repetitions.
splits.json has the seed, the SHA-256 of each data file, and of each list of test rows (decimal
numbers in rising order, one a line).
"""

import argparse
import hashlib
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
CHECKED = 10  # repetitions whose lists have a checksum in splits.json


def rules() -> dict:
    return json.loads((HERE / "splits.json").read_text(encoding="utf-8"))


def held_out(seed: str, name: str, repetition: int, rows: int) -> list[int]:
    """The rows of the test part, rising."""
    def key(row: int) -> bytes:
        return hashlib.sha256(f"{seed}/{name}/{repetition}/{row}".encode()).digest()
    return sorted(sorted(range(rows), key=key)[:-(-rows // 10)])


def checksum(rows: list[int]) -> str:
    return hashlib.sha256("".join(f"{row}\n" for row in rows).encode()).hexdigest()


def read_rows(path: pathlib.Path) -> tuple[str, list[str]]:
    """The header and the other lines. No field of these files has a line break."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return lines[0], lines[1:]


def write_split(data: pathlib.Path, name: str, repetition: int, folder: pathlib.Path) -> None:
    """Writes train.csv and test.csv into `folder`, unless they are there."""
    if (folder / "test.csv").exists():
        return
    rule = rules()
    files = rule["sets"][name]["files"]
    header, rows = read_rows(data / name / files[0]["name"])
    if len(files) == 2:
        train, (_, test) = rows, read_rows(data / name / files[1]["name"])
    else:
        out = set(held_out(rule["seed"], name, repetition, len(rows)))
        train = [row for i, row in enumerate(rows) if i not in out]
        test = [row for i, row in enumerate(rows) if i in out]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "train.csv").write_text(header + "".join(train), encoding="utf-8")
    (folder / "test.tmp").write_text(header + "".join(test), encoding="utf-8")
    (folder / "test.tmp").rename(folder / "test.csv")


def describe(data: pathlib.Path, names: list[list[str]], seed: str) -> dict:
    """What splits.json says of these sets: lists of a name and one file or two."""
    sets = {}
    for name, *files in names:
        described = []
        for file in files:
            content = (data / name / file).read_bytes()
            _, rows = read_rows(data / name / file)
            described.append({"name": file, "rows": len(rows),
                              "sha256": hashlib.sha256(content).hexdigest()})
        lists = []
        if len(files) == 1:
            lists = [checksum(held_out(seed, name, r, described[0]["rows"])) for r in range(CHECKED)]
        sets[name] = {"files": described, "test_rows_sha256": lists}
    return {"seed": seed, "sets": sets}


def differences(data: pathlib.Path) -> list[str]:
    """What is not as splits.json says, of the sets that are there."""
    rule = rules()
    found = []
    for name, known in rule["sets"].items():
        files = [file["name"] for file in known["files"]]
        absent = [file for file in files if not (data / name / file).exists()]
        if absent:
            found.append(f"{data / name / absent[0]} is not there")
            continue
        if describe(data, [[name, *files]], rule["seed"])["sets"][name] != known:
            found.append(f"{name}: the file or its lists differ from splits.json: other rows were measured")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser("check")
    check.add_argument("data", type=pathlib.Path)
    write = commands.add_parser("write")
    write.add_argument("data", type=pathlib.Path)
    write.add_argument("out", type=pathlib.Path)
    write.add_argument("--repeats", type=int, default=5)
    write.add_argument("--sets", nargs="+", default=list(rules()["sets"]))
    options = parser.parse_args()
    if options.command == "check":
        found = differences(options.data)
        print("\n".join(found) or "the files and the lists are those of splits.json")
        return 1 if found else 0
    for name in options.sets:
        for repetition in range(options.repeats):
            write_split(options.data, name, repetition, options.out / name / str(repetition))
    return 0


if __name__ == "__main__":
    sys.exit(main())
