#!/usr/bin/env python3
"""docs/schema.schema.json and `coppice schema check` agree on what a schema file is.

    schema_format.py COPPICE SOURCE_DIR [DATA_DIR]

Both accept the real schemas (of DATA_DIR, if it exists, and of tests/upgrade), the examples of docs/schema.md and
the output of `coppice schema infer`, and both refuse each kind of mistake.
"""

import copy
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import jsonschema

COPPICE = sys.argv[1]
SOURCE = pathlib.Path(sys.argv[2])
DATA = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else SOURCE / ".." / "shared" / "data"
FORMAT = json.loads((SOURCE / "docs/schema.schema.json").read_text(encoding="utf-8"))


def documented():
    text = (SOURCE / "docs/schema.md").read_text(encoding="utf-8")
    return [json.loads(block) for block in re.findall(r"```json\n(.*?)```", text, re.DOTALL)]


def suits(schema):
    return jsonschema.Draft7Validator(FORMAT).is_valid(schema)


class SchemaFormat(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, name, text):
        path = pathlib.Path(self.folder.name) / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    def is_taken(self, schema):
        path = self.write("schema.json", json.dumps(schema))
        run = subprocess.run([COPPICE, "schema", "check", "--schema", path],
                             capture_output=True, text=True, check=False)
        self.assertIn(run.returncode, (0, 1), run.stderr)
        return run.returncode == 0

    def test_the_format_is_itself_sound(self):
        jsonschema.Draft7Validator.check_schema(FORMAT)

    def test_real_schemas_and_the_examples_suit_both(self):
        paths = [SOURCE / "tests/upgrade/1/schema.json", *sorted(DATA.glob("*/schema.json"))]
        schemas = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
        examples = documented()
        self.assertEqual(len(examples), 2)
        for schema in schemas + examples:
            self.assertTrue(suits(schema), schema)
            self.assertTrue(self.is_taken(schema), schema)

    def test_what_infer_writes_suits_both(self):
        rows = "age;when;job;y\n" + "".join(f"{i};2020-01-{i};{'NA' if i % 3 else 'clerk'};{i % 2}\n"
                                           for i in range(10, 28)) + "30;2020-01-30;smith;1\n"
        data = self.write("rows.csv", rows)
        for answer in ("--label", "--target"):
            run = subprocess.run([COPPICE, "schema", "infer", "--data", data, answer, "y"],
                                 capture_output=True, text=True, check=True)
            schema = json.loads(run.stdout)
            self.assertTrue(suits(schema), schema)
            self.assertTrue(self.is_taken(schema), schema)
            self.assertEqual(schema["missing"], ["NA"])
            self.assertEqual(schema["delimiter"], ";")
            self.assertEqual([f["bounds"] for f in schema["features"]], ["from these rows"] * 2)

    def test_what_infer_says_of_rows_and_numbers_suits_both(self):
        data = self.write("rows.csv", "pay,y\n" + "".join(f'"{i},{100 + i}",{i % 2}\n' for i in range(10, 40)))
        for rows in ("public", "private"):
            run = subprocess.run([COPPICE, "schema", "infer", "--data", data, "--label", "y", "--rows", rows,
                                  "--number-format", "pay=1,234.5"], capture_output=True, text=True, check=True)
            schema = json.loads(run.stdout)
            self.assertTrue(suits(schema), schema)
            self.assertTrue(self.is_taken(schema), schema)
            self.assertEqual(schema["bounds"], f"from {rows} rows")
            self.assertEqual(schema["features"][0]["number_format"], "1,234.5")

    def test_each_way_to_be_wrong_is_refused_by_both(self):
        classes, number = documented()
        wrong = []

        def variant(base, change):
            schema = copy.deepcopy(base)
            change(schema)
            wrong.append(schema)

        for member in ("label", "classes", "features"):
            variant(classes, lambda s, m=member: s.pop(m))
        for member, value in (("label", 3), ("classes", ["one"]), ("classes", ["a", "a"]),
                              ("classes", ["a", 1]), ("features", []), ("features", {}),
                              ("delimiter", "|"), ("missing", "NA"), ("missing", [""]),
                              ("missing", ["NA", "NA"]), ("bounds", "guessed"), ("rows_sha256", "12"), ("target_min", 0),
                              ("integer", True)):
            variant(classes, lambda s, m=member, v=value: s.update({m: v}))
        for member, value in (("type", "date"), ("min", "0"), ("min", 0.5), ("integer", 1), ("unit", 3),
                              ("unit", "m" * 65), ("unit", "a\tb"),
                              ("bounds", True), ("missing", ["NA"]), ("name", 1), ("number_format", "1,23")):
            variant(classes, lambda s, m=member, v=value: s["features"][0].update({m: v}))
        for member in ("name", "type", "min", "max"):
            variant(classes, lambda s, m=member: s["features"][0].pop(m))
        for member, value in (("values", []), ("values", ["a", "a"]), ("integer", True), ("number_format", "1,234.5")):
            variant(classes, lambda s, m=member, v=value: s["features"][1].update({m: v}))
        variant(number, lambda s: s.pop("target_max"))
        variant(number, lambda s: s.update({"target_min": "1"}))
        for schema in wrong:
            self.assertFalse(suits(schema), schema)
            self.assertFalse(self.is_taken(schema), schema)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
