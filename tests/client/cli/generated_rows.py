#!/usr/bin/env python3
"""Types for rows, written by `coppice schema generate`: they compile, set what a row holds, and refuse what it cannot.

    generated_rows.py COPPICE SOURCE_DIR [TSC]
"""

import importlib.util
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

COPPICE = sys.argv[1]
SOURCE = pathlib.Path(sys.argv[2])
TSC = sys.argv[3] if len(sys.argv) > 3 else None

PLAIN = {
    "features": [
        {"name": "age", "type": "numeric", "min": 18, "max": 90, "integer": True, "unit": "years"},
        {"name": "plan", "type": "categorical", "values": ["basic", "plus"], "public": True},
    ],
    "label": "label", "classes": ["stays", "leaves"],
}
# Names that are words of a language, begin with a digit, differ in case alone, or try to get out of where they stand.
AWKWARD = {
    "features": [
        {"name": "class", "type": "numeric", "min": -1e30, "max": 0.1},
        {"name": "2nd \"*/ class", "type": "categorical", "values": ["*/ }", "\"; }", "\\", "\\u0022", "%s", "??/", "ÄÖ"]},
        {"name": "2ND \"*/ CLASS", "type": "categorical", "values": ["Missing", "missing", "other", "none", "None"]},
        {"name": "row", "type": "numeric", "min": 0, "max": 1, "unit": "*/ m²"},
        {"name": "map", "type": "categorical", "values": ["list"]},
        {"name": "'''\n#", "type": "categorical", "values": ["\n", "\r\n", "\t"]},
    ],
    "label": "for", "target_min": 0, "target_max": 1e9,
}

MAIN_C = r"""
#include <stdio.h>
#include "plain_row.h"
void coppice_row_set_text(coppice_row* row, const char* column, const char* text, size_t size) {
  (void)row; printf("%s=%.*s\n", column, (int)size, text);
}
void coppice_row_set_number(coppice_row* row, const char* column, double number) {
  (void)row; printf("%s=%g\n", column, number);
}
int main(void) {
  plain_row row = plain_row_missing();
  plain_row_set(&row, NULL);
  puts("-");
  row.age = 40;
  row.plan = PLAIN_PLAN_PLUS;
  row.label = PLAIN_LABEL_STAYS;
  plain_row_set(&row, NULL);
  row.age = NAN;
  row.plan = PLAIN_PLAN_OTHER;
  row.label = PLAIN_LABEL_MISSING;
  plain_row_set(&row, NULL);
  printf("%d %s\n", (int)PLAIN_NUM_OWN_COLUMNS, plain_own_columns[0].unit);
  return 0;
}
"""
MAIN_CPP = r"""
#include <cstdio>
#include "plain_row.hpp"
int main() {
  PlainRow row;
  if (!row.ToTextRow().empty()) return 1;
  row.age = 40.5;
  row.plan = PlainRow::Plan::kOther;
  row.label = PlainRow::Label::kLeaves;
  for (const auto& [column, text] : row.ToTextRow()) std::printf("%s=%zu\n", column.c_str(), text.size());
}
"""
MAIN_JAVA = r"""
public class Main {
  public static void main(String[] arguments) {
    PlainRow row = new PlainRow();
    if (!row.toMap().isEmpty()) throw new AssertionError();
    row.age = 40.0;
    row.plan = PlainRow.Plan.OTHER;
    row.label = PlainRow.Label.STAYS;
    System.out.println(row.toMap());
    if (PlainRow.ownColumns().size() != 3 || AwkwardRow.ownColumns().size() != 7) throw new AssertionError();
  }
}
"""


def run(*command, **settings):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **settings)


class GeneratedRows(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name, schema in (("plain", PLAIN), ("awkward", AWKWARD)):
            (self.folder / f"{name}.json").write_text(json.dumps(schema), encoding="utf-8")

    def generate(self, language, name="plain", *flags):
        return run(COPPICE, "schema", "generate", "--language", language, "--schema", self.folder / f"{name}.json", "--output",
                   self.folder, *flags)

    def made(self, language):
        for name in ("plain", "awkward"):
            done = self.generate(language, name)
            self.assertEqual(done.returncode, 0, done.stderr)

    def compiled(self, main, text, *command):
        """Returns what the program prints; `command` compiles Main into `main`."""
        (self.folder / main).write_text(text, encoding="utf-8")
        done = run(*command, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_c(self):
        self.made("c")
        gcc = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Wno-unused-function", "-Wno-unused-variable", "-Werror",
               f"-I{SOURCE}/client/device/c"]
        self.compiled("main.c", MAIN_C, *gcc, "main.c", "-o", "main", "-lm")
        self.assertEqual(run(self.folder / "main").stdout.split(),
                         ["-", "age=40", "plan=plus", "label=stays", "plan=0", "3", "years"])
        self.compiled("awkward.c", '#include "awkward_row.h"\n', *gcc, "-c", "awkward.c")
        (self.folder / "wrong.c").write_text(MAIN_C.replace("PLAIN_PLAN_PLUS", "PLAIN_PLAN_GOLD"), encoding="utf-8")
        self.assertIn("PLAIN_PLAN_GOLD", run(*gcc, "-c", "wrong.c", cwd=self.folder).stderr)

    def test_cpp(self):
        self.made("cpp")
        gcc = ["g++", "-std=c++20", "-Wall", "-Wextra", "-Werror", f"-I{SOURCE}", "-fsyntax-only"]
        self.compiled("main.cc", MAIN_CPP, *gcc, "main.cc")
        self.compiled("awkward.cc", '#include "awkward_row.hpp"\n', *gcc, "awkward.cc")
        (self.folder / "wrong.cc").write_text(MAIN_CPP.replace("row.age", "row.height"), encoding="utf-8")
        self.assertIn("height", run(*gcc, "wrong.cc", cwd=self.folder).stderr)

    def test_java(self):
        if shutil.which("javac") is None:
            self.skipTest("there is no javac: install default-jdk-headless")
        self.made("java")
        self.compiled("Main.java", MAIN_JAVA, "javac", "--release", "11", "-Xlint:all", "-Werror", "-sourcepath",
                      f"{SOURCE}/client/jvm/java:.", "-d", ".", "Main.java", "PlainRow.java", "AwkwardRow.java")
        self.assertEqual(run("java", "-cp", self.folder, "Main").stdout.strip(), "{age=40.0, plan=0, label=stays}")

    def test_java_packages(self):
        self.assertEqual(self.generate("java", "plain", "--package", "com.example.app").returncode, 0)
        self.assertIn("\npackage com.example.app;\n", (self.folder / "PlainRow.java").read_text(encoding="utf-8"))
        for language, package in (("java", "com..app"), ("java", "com.1app"), ("java", "a;import b"), ("c", "com.example")):
            done = self.generate(language, "plain", "--force", "--package", package)
            self.assertEqual((done.returncode, "com.example.app" in done.stderr), (1, True), done.stderr)

    def test_typescript(self):
        if TSC is None or not pathlib.Path(TSC).exists():
            self.skipTest("there is no tsc: the console is not built here")
        self.made("ts")
        tsc = ["node", TSC, "--strict", "--target", "es2020", "--noUnusedLocals", "--outDir", "out"]
        text = 'import { encode, OTHER, type PlainRow } from "./plain_row";\nconst row: PlainRow = { age: 40, plan: OTHER };\nencode(row);\n'
        self.compiled("main.ts", text, *tsc, "main.ts", "awkward_row.ts")
        (self.folder / "wrong.ts").write_text(text.replace("plan: OTHER", 'plan: "gold"'), encoding="utf-8")
        self.assertIn("gold", run(*tsc, "wrong.ts", cwd=self.folder).stdout)

    def test_python(self):
        self.made("python")
        modules = {}
        for name in ("plain", "awkward"):
            spec = importlib.util.spec_from_file_location(f"{name}_row", self.folder / f"{name}_row.py")
            modules[name] = importlib.util.module_from_spec(spec)
            sys.modules[spec.name] = modules[name]
            spec.loader.exec_module(modules[name])
        plain = modules["plain"]
        self.assertEqual(plain.PlainRow().columns(), {})
        row = plain.PlainRow(age=40, plan=plain.Plan.OTHER, label=plain.Label.LEAVES)
        self.assertEqual(row.columns(), {"age": 40, "plan": 0.0, "label": "leaves"})
        self.assertEqual(json.loads(plain.SCHEMA_JSON)["label"], "label")
        self.assertEqual(json.loads(modules["awkward"].SCHEMA_JSON)["features"][5]["name"], "'''\n#")
        with self.assertRaises(AttributeError):
            plain.Plan.GOLD

    def test_files_are_not_replaced_unasked(self):
        self.made("c")
        again = self.generate("c")
        self.assertEqual(again.returncode, 1)
        self.assertIn("--force", again.stderr)
        self.assertEqual(self.generate("c", "plain", "--force").returncode, 0)

    def test_a_study_that_devices_cannot_answer_is_refused_with_a_list(self):
        self.made("c")
        changed = json.loads(json.dumps(PLAIN))
        changed["features"][0]["max"] = 120
        changed["features"].append({"name": "height", "type": "numeric", "min": 0, "max": 3})
        changed["classes"].append("unsure")
        (self.folder / "changed.json").write_text(json.dumps(changed), encoding="utf-8")
        create = ["study", "create", "--public", "none", "--epsilon", "1", "--server", "127.0.0.1:1", "--insecure", "--timeout", "1",
                  "--compatible-with", self.folder / "plain_row.h.schema.json", "--schema"]
        done = run(COPPICE, *create, self.folder / "changed.json")
        self.assertEqual(done.returncode, 1)
        for name in ("age", "height", "unsure"):
            self.assertIn(name, done.stderr)
        self.assertNotIn("decline", run(COPPICE, *create, self.folder / "plain.json").stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
