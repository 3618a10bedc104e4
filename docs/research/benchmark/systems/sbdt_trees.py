#!/usr/bin/env python3
"""S-BDT: sbdt_trees.py documented|grid

The defaults that it documents, with Newton steps for two classes as in its paper's figures; or, for two classes,
clipping thresholds from the middle of its paper's grid (0.5 and 0.25 in place of 0.1 and 1).

Numbers are scaled to 0 to 1 by the schema's bounds, which is the range that its random cuts come from. Its
delta is a constant of its build (DELTA, which must be 1e-6 here): another one is refused.
"""

import math
import sys

import numpy as np
import protocol
import sbdt

DELTA = 1e-6


def scaled(table: protocol.Table, schema: dict) -> np.ndarray:
    features = schema["features"]
    def value(x: float, feature: dict) -> float:
        return x if feature["type"] != "numeric" else (x - feature["min"]) / (feature["max"] - feature["min"])
    return np.array([[value(x, feature) for x, feature in zip(row, features)]
                     for row in protocol.coded(table, schema)], dtype=float, order="C")


def make_model(request: dict, schema: dict):
    features = schema["features"]
    categorical = [i for i, feature in enumerate(features) if feature["type"] != "numeric"]
    numeric = [i for i, feature in enumerate(features) if feature["type"] == "numeric"]
    has_classes = "classes" in schema
    clip, clip_hessian = (0.5, 0.25) if has_classes and sys.argv[1] == "grid" else (0.1, 1.0)
    return sbdt.S_BDT(
        nb_trees=150, subsampling_ratio=0.1, learning_rate=0.1, max_depth=2, newton_boosting=has_classes,
        balance_partition=True, lambda_reg_mode=1, l2_lambda=15, reg_delta=2.0,
        min_samples_split=0, ignore_split_constraints=True, max_features=0, max_feature_values=0,
        criterion=0, reuse_attr=True,
        use_dp=True, privacy_budget=request["epsilon"], privacy_budget_init_score_ratio=0.1,
        privacy_budget_gain_ratio=0.5, leaf_denom_noise_weight=0.2, l2_threshold=clip, hess_l2_threshold=clip_hessian,
        init_score_threshold=1.0, numeric_feature_weight=1.0, leaf_noise=1,
        use_privacy_filter=False, approximate_privacy_filter=False, pf_additional_nb_trees=0,
        pf_l2_threshold=0.1, pf_hess_l2_threshold=1.0, pf_subsampling_ratio_factor=1.0,
        additional_nb_trees=0,
        refine_splits_rounds=0, num_split_candidates=32, gradient_filtering=False, leaf_clipping=False,
        cyclical_feature_interactions=True, refine_splits=False, random_splits_from_candidates=True,
        refine_splits_subsample=1.0, cut_off_leaf_denom=True,
        custom_noise_scale=-1.0, verbosity=4,
        task="BinaryClassification" if has_classes else "Regression", feature_val_border=(0.0, 1.0),
        continuous_learning=False, scale_y=not has_classes, cat_idx=categorical, num_idx=numeric,
        cat_values=[[float(k) for k in range(len(f["values"]) + 1)] if i in categorical else []
                    for i, f in enumerate(features)])


def run(request: dict) -> float:
    if request["delta"] != DELTA:
        raise ValueError(f"S-BDT is built for a delta of {DELTA}")
    schema, x, labels, test = protocol.load(request, scaled)
    y = np.array(protocol.numbered(labels, schema), dtype=float)
    model = make_model(request, schema)
    with protocol.Stopwatch() as watch:
        model.train(x, y, "rows")
    scores = model.predict(test)
    if "classes" in schema:
        second = [1 / (1 + math.exp(-max(min(score, 500.0), -500.0))) for score in scores]
        protocol.write_probabilities(request["output"], schema, schema["classes"], [[1 - p, p] for p in second])
    else:
        protocol.write_numbers(request["output"], schema, scores.tolist())
    return watch.seconds


if __name__ == "__main__":
    protocol.serve(run)
