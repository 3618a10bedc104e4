#!/usr/bin/env python3
"""DP-EBM of InterpretML with its defaults, ranges of numbers given from the schema."""

import numpy as np
import protocol
from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor


def columns(table: protocol.Table, schema: dict) -> np.ndarray:
    """Numbers inside their bounds; a missing or unknown category is one more category."""
    def value(text: str, feature: dict) -> float | str:
        if feature["type"] == "numeric":
            return protocol.as_number(text, feature)
        return text if text in feature["values"] else "(none)"
    features = schema["features"]
    return np.array([[value(text, feature) for text, feature in zip(row, features)] for row in table.rows], dtype=object)


def make_model(request: dict, schema: dict):
    features = schema["features"]
    settings = {
        "feature_names": [feature["name"] for feature in features],
        "feature_types": ["continuous" if feature["type"] == "numeric" else "nominal" for feature in features],
        "epsilon": request["epsilon"], "delta": request["delta"], "random_state": None, "n_jobs": 1,
        "privacy_bounds": {i: (f["min"], f["max"]) for i, f in enumerate(features) if f["type"] == "numeric"},
    }
    if "classes" in schema:
        return DPExplainableBoostingClassifier(**settings)
    return DPExplainableBoostingRegressor(
        **settings, privacy_target_min=schema["target_min"], privacy_target_max=schema["target_max"])


def run(request: dict) -> float:
    schema, x, labels, test = protocol.load(request, columns)
    y = np.array(labels if "classes" in schema else protocol.numbered(labels, schema))
    model = make_model(request, schema)
    with protocol.Stopwatch() as watch:
        model.fit(x, y)
    if "classes" in schema:
        rows = model.predict_proba(test).tolist()
        protocol.write_probabilities(request["output"], schema, [str(name) for name in model.classes_], rows)
    else:
        protocol.write_numbers(request["output"], schema, model.predict(test).tolist())
    return watch.seconds


if __name__ == "__main__":
    protocol.serve(run)
