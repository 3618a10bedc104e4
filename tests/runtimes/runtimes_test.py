#!/usr/bin/env python3
"""Exported models give the same answers in other runtimes as in ours.

    runtimes_test.py SAMPLE_MODELS SOURCE_DIR FOLDER TOOLS [ROWS]

Runs SAMPLE_MODELS into FOLDER (ROWS rows per model and set, 100,000 by default), installs onnxruntime and DuckDB into TOOLS
by npm, and compares every answer with ours. Skips the test (exit 77) where a package of tests/runtimes/packages.txt, Node
or npm's registry is missing. Node and npm may be of any origin.

Where a single tree's leaf has the label, labels must be equal everywhere.
"""

import collections
import csv
import importlib.util
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent


def skip(reason):
    print(reason, file=sys.stderr)
    sys.exit(77)


SAMPLE_MODELS, SOURCE, FOLDER, TOOLS = (pathlib.Path(argument) for argument in sys.argv[1:5])


MISSING = [name for name in ("jsonschema", "numpy", "onnx", "xgboost") if importlib.util.find_spec(name) is None]
if MISSING:
    skip(f"no {', '.join(MISSING)} for Python: tests/packages.txt and tests/runtimes/packages.txt have them")

import jsonschema
import numpy
import onnx
import xgboost

import json_reader  # next to this file

sys.path.insert(0, str(SOURCE / "tests/support"))
import node_packages
import postgres_server

ROWS = int(sys.argv[5]) if len(sys.argv) > 5 else 100_000
WEB_ROWS = 10_000  # the same code, compiled for browsers
JSON_ROWS = 200    # one row at a time
SQL_ROWS = 500
SCHEMA_TREES = 5   # per model, as jsonschema is slow
CONTRIBUTION_ROWS = 20
MANY_TREES = 100

# By runtime: the largest difference of a probability, or of a number as a share of its range; and the least lead over
# the runner-up with which labels must be equal.
TOLERANCES = {"json": (1e-12, 1e-12), "c": (1e-12, 1e-12),
              "postgresql": (1e-12, 1e-12), "duckdb": (1e-12, 1e-12),
              "onnxruntime-node": (1e-7, 1e-9), "onnxruntime-web": (1e-7, 1e-9),
              "xgboost": (1e-6, 1e-6),
              # It adds terms in float32, each rounded by up to 2^-24 of the sum so far, which is below 8 here: some
              # hundreds of trees come to a few millionths.
              "xgboost, many trees": (1e-5, 1e-5),
              # It adds terms in float32: sums of thousands have errors of their size times 2^-24.
              "xgboost, large": (1e-4, 1e-4)}
STRICT_C = ["-std=c99", "-O1", "-Wall", "-Wextra", "-pedantic", "-Werror", "-ffreestanding"]


class Sample:
    """A model's folder: the model, its rows, and our answers."""

    def __init__(self, folder):
        self.folder = folder
        self.name = folder.name
        self.model = json.loads((folder / "model.json").read_text(encoding="utf-8"))
        self.features = len(self.model["features"])
        self.is_number = "target" in self.model
        self.columns = 1 if self.is_number else 1 + len(self.model["classes"])
        self.rows = {name: self.read(name + ".rows", self.features) for name in ("exact", "single")}
        self.answers = {name: self.read(name + ".answers", self.columns)
                        for name in ("exact", "single")}

    def read(self, name, columns):
        return numpy.fromfile(self.folder / name).reshape(-1, columns)

    def leaf_decides(self):
        return self.model["leaf_kind"] == "probabilities" and len(self.model["trees"]) == 1


def samples():
    return [Sample(folder) for folder in sorted(FOLDER.iterdir()) if folder.is_dir()]


def install_node_packages():
    reason = node_packages.install(HERE, TOOLS, ("onnxruntime-node", "@duckdb/node-api"))
    if reason:
        skip(f"{reason}: no onnxruntime and no DuckDB")


def run_onnxruntime(runtime, name, rows):
    folders = [str(folder) for folder in sorted(FOLDER.iterdir()) if folder.is_dir()]
    subprocess.run(["node", str(HERE / "onnx_reader.js"), runtime, name, str(rows), *folders],
                   check=True, env={**os.environ, "NODE_PATH": str(TOOLS / "node_modules")})


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def write_sql_input(sample):
    """Writes a table for an exported query: a missing number is a NULL or a NaN."""
    features = sample.model["features"]
    columns = ", ".join(f"{quoted(f['name'])} {'float8' if f['type'] == 'numeric' else 'text'}" for f in features)
    (sample.folder / "input.sql").write_text(f"CREATE TEMP TABLE coppice_input (number int, {columns});", encoding="utf-8")
    probabilities = "" if sample.is_number else ", array_to_string(probabilities, ' ')"
    (sample.folder / "answers.sql").write_text(f"SELECT number, prediction{probabilities} FROM answers", encoding="utf-8")
    with open(sample.folder / "input.csv", "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file, lineterminator="\n")
        for number, row in enumerate(sample.rows["exact"][:SQL_ROWS]):
            values = texts(sample.model, row).values()
            numbers = [f["type"] == "numeric" for f in features]
            rows.writerow([number, *(("NaN" if is_number and number % 2 else "\\N") if value is None else value
                                     for value, is_number in zip(values, numbers))])


def sql_answers(sample, name):
    """Reads what an engine wrote, in the order of the rows."""
    with open(sample.folder / name, newline="", encoding="utf-8") as file:
        lines = sorted(csv.reader(file), key=lambda line: int(line[0]))
    if sample.is_number:
        return numpy.array([[float(line[1])] for line in lines])
    return numpy.array([[sample.model["classes"].index(line[1]), *map(float, line[2].split())] for line in lines])


def answer_in_postgresql(server, folder):
    def read(name):
        return (folder / name).read_text(encoding="utf-8")

    server.execute("\n".join([
        read("input.sql"), f"\\copy coppice_input from '{folder / 'input.csv'}' csv null '\\N'",
        "CREATE TEMP VIEW answers AS", read("model.sql"),
        f"\\copy ({read('answers.sql')}) to '{folder / 'postgresql.csv'}' csv"]))


class Runtimes(unittest.TestCase):
    worst = collections.defaultdict(lambda: (0.0, ""))

    @classmethod
    def tearDownClass(cls):
        for runtime, (difference, model) in sorted(cls.worst.items()):
            print(f"{runtime:18} differs by at most {difference:.2e} ({model})")

    def compare(self, runtime, sample, ours, theirs):
        """Compares rows of a label and probabilities, or of a number."""
        self.assertEqual(len(ours), len(theirs))
        tolerance, clear_lead = TOLERANCES[runtime]
        if sample.is_number:
            target = sample.model["target"]
            difference = numpy.abs(ours - theirs).max() / (target["max"] - target["min"])
        else:
            difference = numpy.abs(ours[:, 1:] - theirs[:, 1:]).max()
            ordered = numpy.sort(ours[:, 1:], axis=1)
            clear = ordered[:, -1] - ordered[:, -2] > clear_lead
            wrong = (ours[:, 0] != theirs[:, 0]) & (clear | sample.leaf_decides())
            self.assertEqual(wrong.sum(), 0, "rows with another label")
        self.worst[runtime] = max(self.worst[runtime], (difference, sample.name))
        self.assertLessEqual(difference, tolerance)

    def test_json(self):
        schema = json.loads((SOURCE / "docs/model.schema.json").read_text(encoding="utf-8"))
        for sample in samples():
            with self.subTest(sample.name):
                jsonschema.Draft7Validator(schema).validate(
                    {**sample.model, "trees": sample.model["trees"][:SCHEMA_TREES]})
                theirs = []
                for row in sample.rows["exact"][:JSON_ROWS]:
                    answer = json_reader.predict(sample.model, texts(sample.model, row))
                    theirs.append([answer] if sample.is_number else
                                  [sample.model["classes"].index(answer[0]), *answer[1]])
                self.compare("json", sample, sample.answers["exact"][:JSON_ROWS],
                             numpy.array(theirs))

    def test_c(self):
        for sample in samples():
            with self.subTest(sample.name):
                program = sample.folder / "c_reader"
                subprocess.run(
                    ["gcc", *STRICT_C, f'-DHEADER="{sample.folder / "model.h"}"',
                     *(["-DNUMBER"] if sample.is_number else []),
                     str(HERE / "c_reader.c"), "-o", str(program)], check=True)
                for name, ours in sample.answers.items():
                    with open(sample.folder / (name + ".rows"), "rb") as rows:
                        output = subprocess.run([str(program)], stdin=rows, check=True,
                                                capture_output=True).stdout
                    self.compare("c", sample, ours,
                                 numpy.frombuffer(output).reshape(-1, sample.columns))

    def compare_sql(self, engine):
        for sample in samples():
            with self.subTest(sample.name):
                self.compare(engine, sample, sample.answers["exact"][:SQL_ROWS], sql_answers(sample, f"{engine}.csv"))

    def test_sql_in_postgresql(self):
        if not postgres_server.is_installed():
            skip("no PostgreSQL server: tests/packages.txt has it")
        server = postgres_server.PostgresServer()
        self.addCleanup(server.stop)
        for sample in samples():
            write_sql_input(sample)
            answer_in_postgresql(server, sample.folder)
        self.compare_sql("postgresql")

    def test_sql_in_duckdb(self):
        install_node_packages()
        for sample in samples():
            write_sql_input(sample)
        subprocess.run(["node", str(HERE / "duckdb_reader.js"), *(str(sample.folder) for sample in samples())],
                       check=True, env={**os.environ, "NODE_PATH": str(TOOLS / "node_modules")})
        self.compare_sql("duckdb")

    def test_onnx_checker(self):
        for sample in samples():
            with self.subTest(sample.name):
                model = onnx.load(str(sample.folder / "model.onnx"))
                onnx.checker.check_model(model, full_check=True)
                metadata = {entry.key: entry.value for entry in model.metadata_props}
                self.assertEqual(json.loads(metadata["coppice.certificate"]),
                                 sample.model["certificate"])
                self.assertEqual(json.loads(metadata["coppice.schema"])["features"],
                                 sample.model["features"])

    def test_onnxruntime(self):
        install_node_packages()
        for runtime, name, rows in (("onnxruntime-node", "exact", ROWS),
                                    ("onnxruntime-node", "single", ROWS),
                                    ("onnxruntime-web", "exact", WEB_ROWS)):
            run_onnxruntime(runtime, name, rows)
            for sample in samples():
                with self.subTest(sample.name, runtime=runtime, rows=name):
                    self.compare(runtime, sample, sample.answers[name][:rows],
                                 sample.read(f"{name}.{runtime}", sample.columns))

    def test_xgboost(self):
        compared = 0
        for sample in samples():
            if not (sample.folder / "model.xgboost.json").exists():
                continue
            compared += 1
            with self.subTest(sample.name):
                booster = xgboost.Booster(model_file=str(sample.folder / "model.xgboost.json"))
                rows = matrix(booster, sample.rows["single"])
                kind = "xgboost, many trees" if len(sample.model["trees"]) > MANY_TREES else "xgboost"
                if sample.name.startswith("random-large"):
                    kind = "xgboost, large"
                self.compare(kind, sample, sample.answers["single"], answers_of(booster, rows, sample))
                self.check_contributions(booster, sample)
                # A dump, by which people and other programs look at a model, names every split.
                self.assertTrue(all(booster.get_dump()))
        self.assertGreater(compared, 10)

    def check_contributions(self, booster, sample):
        """TreeSHAP's and Saabas' contributions add up to the margin, and Saabas' follow from the trees alone."""
        rows = matrix(booster, sample.rows["single"][:CONTRIBUTION_ROWS])
        margin = booster.predict(rows, output_margin=True)
        scale = max(1.0, numpy.abs(margin).max())
        for approximate in (False, True):
            parts = booster.predict(rows, pred_contribs=True, approx_contribs=approximate)
            self.assertLessEqual(numpy.abs(parts.sum(axis=-1) - margin).max() / scale, 1e-4)
        means = [means_of(sample.model, tree["nodes"]) for tree in sample.model["trees"]]
        ours = numpy.array([contributions(sample.model, means, texts(sample.model, row))
                            for row in sample.rows["single"][:CONTRIBUTION_ROWS]])
        theirs = parts[..., :-1].reshape(ours.shape)  # the last column is the base
        self.assertLessEqual(numpy.abs(ours - theirs).max() / scale, 1e-4)


def terms_of(model, leaf):
    """Returns what a leaf adds to XGBoost's margins: one number, or one for each of several classes."""
    outputs, trees = leaf["outputs"], len(model["trees"])
    if "target" in model:
        width = model["target"]["max"] - model["target"]["min"]
        return [width * outputs[1] / (1 if model["leaf_kind"] == "scores" else trees)]
    if model["leaf_kind"] != "scores":
        return [outputs[1] / trees]
    return [outputs[1] - outputs[0]] if len(outputs) == 2 else outputs


def means_of(model, nodes):
    """Returns, by node, the mean over the leaves below it."""
    sums, leaves = {}, {}
    for number in reversed(range(len(nodes))):  # children come after their parent
        node = nodes[number]
        if "outputs" in node:
            sums[number], leaves[number] = numpy.array(terms_of(model, node)), 1
        else:
            sums[number] = sums[node["left"]] + sums[node["right"]]
            leaves[number] = leaves[node["left"]] + leaves[node["right"]]
    return {number: sums[number] / leaves[number] for number in sums}


def contributions(model, means, values):
    """Returns, by margin and feature, how the mean over the leaves below changes along a row's paths."""
    features = {feature["name"]: feature for feature in model["features"]}
    row = {name: json_reader.encode(feature, values[name]) for name, feature in features.items()}
    names = list(features)
    sums = numpy.zeros((len(means[0][0]), len(names)))
    for tree, mean in zip(model["trees"], means):
        nodes, number = tree["nodes"], 0
        while "outputs" not in nodes[number]:
            node = nodes[number]
            left = json_reader.goes_left(node, row[node["feature"]], features)
            child = node["left" if left else "right"]
            sums[:, names.index(node["feature"])] += mean[child] - mean[number]
            number = child
    return sums


def texts(model, row):
    """Returns a row as users have it, by names; a code without a category becomes an unknown word."""
    values = {}
    for feature, value in zip(model["features"], row):
        if numpy.isnan(value):
            values[feature["name"]] = None
        elif feature["type"] == "numeric":
            values[feature["name"]] = float(value)
        elif value in range(len(feature["values"])):
            values[feature["name"]] = feature["values"][int(value)]
        else:
            values[feature["name"]] = "none of the categories"
    return values


def matrix(booster, rows):
    return xgboost.DMatrix(rows.astype(numpy.float32), feature_names=booster.feature_names,
                           feature_types=booster.feature_types, enable_categorical=True)


def answers_of(booster, rows, sample):
    output = booster.predict(rows).astype(float)
    cut = booster.attr("coppice.cut")
    if cut:
        output = numpy.clip(output, *json.loads(cut))
    if sample.is_number:
        return output.reshape(-1, 1)
    if output.ndim == 1:
        output = numpy.stack([1 - output, output], axis=1)
    return numpy.concatenate([output.argmax(axis=1)[:, None], output], axis=1)


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    subprocess.run([str(SAMPLE_MODELS), str(FOLDER), str(ROWS)], check=True)
    result = unittest.main(argv=sys.argv[:1], verbosity=2, exit=False).result
    if not result.wasSuccessful():
        sys.exit(1)
    shutil.rmtree(FOLDER)  # two gigabytes


if __name__ == "__main__":
    main()
