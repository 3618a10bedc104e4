"""Derives the tables of docs/research/cuts.sh from real ones, and sums up what was measured on them.

  cuts.py derive DATA_DIR SETS_DIR    writes SETS_DIR/NAME/{rows.csv,schema.json}
  cuts.py tables WORK_DIR             prints tables of WORK_DIR/results/NAME-EPSILON.tsv

A set is called FAMILY-cCLASSES-ROWS.
"""

import collections
import csv
import json
import math
import pathlib
import random
import re
import sys

# The rule was chosen on these families of sets, and confirmed on the others.
CHOSEN_ON = ("robot24", "rice", "banknote", "blobs6", "abalone", "appliances", "coarse16_rice",
             "coarse16_robot4")
CUTS = (15, 31, 63, 127, 255, 511)
ROWS = (300, 1000, 3000, 10000)


def load(data, name):
    schema = json.loads((data / name / "schema.json").read_text(encoding="utf-8"))
    with (data / name / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return schema, list(csv.DictReader(file))


def numbers(schema):
    return [f["name"] for f in schema["features"] if f["type"] == "numeric"]


def write(folder, schema, rows):
    folder.mkdir(parents=True, exist_ok=True)
    known = ("name", "type", "min", "max", "values", "integer")
    features = [{key: f[key] for key in known if key in f} for f in schema["features"]]
    text = json.dumps({"label": schema["label"], "classes": schema["classes"],
                       "features": features})
    (folder / "schema.json").write_text(text, encoding="utf-8")
    names = [f["name"] for f in features] + [schema["label"]]
    with (folder / "rows.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def split_classes(schema, rows, feature, parts):
    """Each class in parts of equal size, by a feature."""
    label = schema["label"]
    changed = []
    for name in schema["classes"]:
        members = sorted((r for r in rows if r[label] == name), key=lambda r: float(r[feature]))
        changed += [{**r, label: f"{name}-{i * parts // len(members)}"}
                    for i, r in enumerate(members)]
    classes = [f"{name}-{i}" for name in schema["classes"] for i in range(parts)]
    return {**schema, "classes": classes}, changed


def merge_classes(schema, rows):
    label, half = schema["label"], len(schema["classes"]) // 2
    of = {name: "ab"[i >= half] for i, name in enumerate(schema["classes"])}
    return {**schema, "classes": ["a", "b"]}, [{**r, label: of[r[label]]} for r in rows]


def target_in_classes(schema, rows, parts):
    label = schema["label"]
    order = sorted(float(r[label]) for r in rows)
    edges = [order[len(order) * i // parts] for i in range(1, parts)]
    changed = [{**r, label: f"q{sum(float(r[label]) >= edge for edge in edges)}"} for r in rows]
    return {**schema, "classes": sorted({r[label] for r in changed})}, changed


def coarsen(schema, rows, levels):
    """Numbers in whole steps, which the schema does not say."""
    features, changed = [], [dict(r) for r in rows]
    for f in schema["features"]:
        if f["type"] != "numeric":
            features.append(f)
            continue
        features.append({"name": f["name"], "type": "numeric", "min": 0, "max": levels - 1})
        for r in changed:
            share = (float(r[f["name"]]) - f["min"]) / (f["max"] - f["min"])
            r[f["name"]] = min(max(int(share * levels), 0), levels - 1)
    return {**schema, "features": features}, changed


def widen(schema, rows, extra):
    """More columns, of even numbers that say nothing."""
    draw = random.Random(extra)
    added = [{"name": f"noise{i}", "type": "numeric", "min": 0, "max": 1} for i in range(extra)]
    changed = [{**r, **{f["name"]: f"{draw.random():.4f}" for f in added}} for r in rows]
    return {**schema, "features": schema["features"] + added}, changed


def blobs(classes, dimensions, deviation, seed):
    """A normal distribution a class, around a point of the unit cube."""
    draw = random.Random(seed)
    centres = [[draw.random() for _ in range(dimensions)] for _ in range(classes)]
    names = [f"x{i}" for i in range(dimensions)]
    rows = []
    for _ in range(3400):
        label = draw.randrange(classes)
        values = [min(max(draw.gauss(c, deviation), -0.5), 1.5) for c in centres[label]]
        rows.append({**{n: f"{v:.6f}" for n, v in zip(names, values)}, "y": f"k{label}"})
    features = [{"name": n, "type": "numeric", "min": -0.5, "max": 1.5} for n in names]
    return {"label": "y", "classes": [f"k{i}" for i in range(classes)], "features": features}, rows


def derived(data):
    """(family, schema, rows)"""
    for name in ("robot24", "robot4"):
        table = load(data, name)
        columns = numbers(table[0])
        yield name, *merge_classes(*table)
        yield name, *table
        yield name, *split_classes(*table, columns[0], 2)
        yield name, *split_classes(*table, columns[1], 3)
    for name in ("rice", "cod-rna", "banknote", "occupancy"):
        table = load(data, name)
        in_six = split_classes(*table, numbers(table[0])[-1], 3)
        yield name, *table
        yield name, *in_six
        if name in ("rice", "cod-rna"):
            yield f"coarse16_{name}", *coarsen(*in_six, 16)
    yield "coarse16_robot4", *coarsen(*load(data, "robot4"), 16)
    for name in ("abalone", "parkinsons", "appliances"):
        table = load(data, name)
        for parts in (3, 10):
            yield name, *target_in_classes(*table, parts)
    for dimensions in (6, 14):
        for classes in (2, 4, 10, 20):
            yield f"blobs{dimensions}", *blobs(classes, dimensions, 0.2, classes * 100 + dimensions)
    yield "wide_robot24", *widen(*load(data, "robot24"), 24)
    for classes in (2, 6):
        yield "wide_blobs44", *blobs(classes, 44, 0.45, 7)


def derive(data, sets):
    for family, schema, rows in derived(data):
        for size in ROWS:
            if size > 1.4 * len(rows):
                continue
            table = f"{family}-c{len(schema['classes'])}"
            name = f"{table}-{size}"
            if (sets / name).exists():
                continue
            shuffled = list(rows)
            random.Random(f"{table}{size}").shuffle(shuffled)
            write(sets / name, schema, shuffled[:size])


def read_results(work):
    """{(family, classes, rows, epsilon): {cuts: {metric: (mean, standard error)}}}"""
    results = {}
    for path in sorted((work / "results").glob("*.tsv")):
        family, classes, rows, epsilon = re.match(r"(.*)-c(\d+)-(\d+)-([\d.]+)$", path.stem).groups()
        by_cuts = {}
        for line in path.read_text(encoding="utf-8").splitlines():
            fields = line.split("\t")
            by_cuts[int(fields[0])] = {
                fields[i]: (float(fields[i + 1]), float(fields[i + 2]))
                for i in range(1, len(fields), 3)}
        results[family, int(classes), int(rows), float(epsilon)] = by_cuts
    return results


def gains(cells, metric, cuts):
    """The mean change against 31 cuts, and its standard error."""
    changes = [cell[cuts][metric][0] - cell[31][metric][0] for cell in cells]
    squares = sum(cell[cuts][metric][1] ** 2 + cell[31][metric][1] ** 2 for cell in cells)
    return sum(changes) / len(cells), math.sqrt(squares) / len(cells)


def print_table(title, groups):
    others = [cuts for cuts in CUTS if cuts != 31]
    for metric in ("accuracy", "auc", "log_loss"):
        name = metric.replace("_", " ")
        print(f"\n**{name}, {title}, less that with 31 cuts, in thousandths**\n")
        print(f"| {title} | cells | " + " | ".join(str(c) for c in others) + " | ± |")
        print("|---" * (len(others) + 3) + "|")
        for key, cells in sorted(groups.items()):
            cells = [cell for cell in cells if all(metric in cell[c] for c in CUTS)]
            if not cells:
                continue
            values = [gains(cells, metric, cuts) for cuts in others]
            error = max(value[1] for value in values)
            print(f"| {key[1]} | {len(cells)} | "
                  + " | ".join(f"{1000 * value[0]:+.1f}" for value in values)
                  + f" | {1000 * error:.1f} |")


def tables(work):
    chosen_on = collections.defaultdict(list)
    confirmed_on = collections.defaultdict(list)
    by_classes_and_rows = collections.defaultdict(list)
    wide = collections.defaultdict(list)
    for (family, classes, rows, epsilon), cell in read_results(work).items():
        information = 0.9 * rows * 0.99 * epsilon / classes
        octave = max(round(math.log2(information)), 0)
        group = (octave, f"{2 ** octave}")
        if family.startswith("wide"):
            wide[group].append(cell)
            continue
        (chosen_on if family in CHOSEN_ON else confirmed_on)[group].append(cell)
        most = next(most for most in (2, 4, 8, 12, 20) if classes <= most)
        some = {2: "2", 4: "3, 4", 8: "6, 8", 12: "10, 12", 20: "20"}[most]
        by_classes_and_rows[(most, rows), f"{some} classes, {rows} rows"].append(cell)
    print_table("rows times ε a class", chosen_on)
    print_table("rows times ε a class, sets that the rule was not chosen on", confirmed_on)
    print_table("classes and rows", by_classes_and_rows)
    if wide:
        print_table("rows times ε a class, 44 to 48 columns", wide)


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "derive":
        derive(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
    elif len(sys.argv) == 3 and sys.argv[1] == "tables":
        tables(pathlib.Path(sys.argv[2]))
    else:
        sys.exit(__doc__)


main()
