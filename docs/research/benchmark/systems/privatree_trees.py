#!/usr/bin/env python3
"""PrivaTree: one tree of depth 4, as in its own comparison, its other parameters untouched.

Ranges and numbers of categories are given from the schema; missing or other is a category of its own.
"""

import numpy as np
import protocol
from privatree.privatree import PrivaTreeClassifier


def columns(table: protocol.Table, schema: dict) -> np.ndarray:
    return np.array(protocol.coded(table, schema))


def run(request: dict) -> float:
    schema, x, labels, test = protocol.load(request, columns)
    y = np.array(protocol.numbered(labels, schema))
    features = schema["features"]
    numeric = [feature["type"] == "numeric" for feature in features]
    model = PrivaTreeClassifier(
        max_depth=4, epsilon=request["epsilon"], random_state=request["seed"],
        feature_range=[(f["min"], f["max"]) if n else (0, 0) for f, n in zip(features, numeric)],
        categorical_features=np.array([0 if n else len(f["values"]) + 1 for f, n in zip(features, numeric)]))
    with protocol.Stopwatch() as watch:
        model.fit(x, y)
    known = [schema["classes"][int(k)] for k in model.classes_]
    protocol.write_probabilities(request["output"], schema, known, model.predict_proba(test).tolist())
    return watch.seconds


if __name__ == "__main__":
    protocol.serve(run)
