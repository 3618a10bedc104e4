#!/usr/bin/env python3
"""Models of diffprivlib: diffprivlib_models.py bayes|logistic|forest|tree|linear

Bounds, classes and the norm of rows are given from the schema. Categories are columns of 0 and 1.
"""

import sys

import numpy as np
import protocol
from diffprivlib import models
from sklearn._loss import HalfBinomialLoss
from sklearn.linear_model._linear_loss import LinearModelLoss


def check_loss_is_a_mean() -> None:
    """Errors  RuntimeError before scikit-learn 1.4, whose loss is a sum: diffprivlib's noise, which is divided by the
               number of rows, would be that many times too small, and the model without a guarantee."""
    loss = LinearModelLoss(base_loss=HalfBinomialLoss(), fit_intercept=False).loss_gradient
    once, _ = loss(np.zeros(1), np.ones((1, 1)), np.ones(1), np.ones(1), 0.0)
    twice, _ = loss(np.zeros(1), np.ones((2, 1)), np.ones(2), np.ones(2), 0.0)
    if abs(twice - once) > 1e-9:
        raise RuntimeError("diffprivlib's LogisticRegression is not private with this scikit-learn: it needs 1.4 or later")


def row_norm(schema: dict) -> float:
    """The largest norm of a row: each number is at most 1, and a categorical feature has a single 1."""
    return float(np.sqrt(len(schema["features"])))


def make_model(name: str, request: dict, schema: dict, columns: int):
    epsilon, seed = request["epsilon"], request["seed"]
    bounds = (np.zeros(columns), np.ones(columns))
    if name == "linear":
        return models.LinearRegression(epsilon=epsilon, bounds_X=bounds, random_state=seed,
                                       bounds_y=(schema["target_min"], schema["target_max"]))
    if name == "logistic":
        check_loss_is_a_mean()
        return models.LogisticRegression(epsilon=epsilon, data_norm=row_norm(schema), random_state=seed)
    if name == "bayes":
        return models.GaussianNB(epsilon=epsilon, bounds=bounds, random_state=seed)
    kind = models.RandomForestClassifier if name == "forest" else models.DecisionTreeClassifier
    return kind(epsilon=epsilon, bounds=bounds, classes=np.arange(len(schema["classes"])), random_state=seed)


def columns(table: protocol.Table, schema: dict) -> np.ndarray:
    return np.array(protocol.one_hot(table, schema))


def run(request: dict) -> float:
    schema, x, labels, test = protocol.load(request, columns)
    y = np.array(protocol.numbered(labels, schema))
    model = make_model(sys.argv[1], request, schema, x.shape[1])
    with protocol.Stopwatch() as watch:
        model.fit(x, y)
    if "classes" in schema:
        known = [schema["classes"][int(k)] for k in model.classes_]
        rows = np.nan_to_num(model.predict_proba(test))
        protocol.write_probabilities(request["output"], schema, known, rows.tolist())
    else:
        protocol.write_numbers(request["output"], schema, np.ravel(model.predict(test)).tolist())
    return watch.seconds


if __name__ == "__main__":
    protocol.serve(run)
