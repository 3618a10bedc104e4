"""Models as Python holds them: what they explain, who signed them, and what other runtimes make of them."""

import json
import os
import pathlib
import subprocess
import warnings

import jsonschema
import numpy as np
import pandas as pd
import pytest
import yaml

import coppice
from curator import BIN, ROOT, SCHEMA, Curator, customers

FEATURES = ["age", "plan", "member"]


@pytest.fixture(scope="module")
def fitted(people):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return coppice.PrivateTreeClassifier(
            epsilon=4,
            bounds={"age": (18, 90)},
            categories={"plan": ["basic", "plus", "gold"]},
            classes=["leaves", "stays"],
        ).fit(people[FEATURES], people["label"])


class TestPaperwork:
    @pytest.fixture
    def registry_schema(self):
        data = pathlib.Path(os.environ.get("COPPICE_DATA_DIR", ROOT / "../shared/data"))
        path = data.parent / "registry/deployments-schema.yaml"
        if not path.exists():
            pytest.skip(f"the registry's schema is not at {path}")
        return yaml.safe_load(path.read_text())

    def test_an_entry_is_what_the_registry_takes(self, fitted, registry_schema):
        entry = yaml.safe_load(fitted.model_.registry_entry())
        jsonschema.validate(entry, registry_schema, format_checker=jsonschema.FormatChecker())
        loss = entry["deployment"]["privacy_loss"]
        assert loss["privacy_parameters"] == {"epsilon": 4}
        assert entry["deployment"]["deployment_model"]["model_name"] == "Central"
        assert "TO SAY: " in entry["deployment"]["basic"]["intended_use"]

    def test_the_terminal_writes_the_same(self, fitted, tmp_path):
        file = tmp_path / "model.json"
        fitted.model_.save(file)
        verify = [BIN / "coppice", "model", "verify", "--file", file]
        printed = subprocess.run([*verify, "--registry"], capture_output=True, text=True, check=True).stdout
        assert printed == fitted.model_.registry_entry()
        answers = json.loads(subprocess.run([*verify, "--json"], capture_output=True, text=True, check=True).stdout)
        assert [one["question"] for one in answers["questions"]] == [
            one["question"] for one in fitted.privacy_.questions]

    def test_a_model_without_privacy_is_not_registered(self, people):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimator = coppice.PrivateTreeRegressor(
                epsilon=float("inf"), bounds={"age": (18, 90)}, target_bounds=(0, 120)
            ).fit(people[["age"]], people["spends"])
        with pytest.raises(coppice.CoppiceError, match="nothing to register"):
            estimator.model_.registry_entry()


class TestExplaining:
    def test_contributions_add_up_to_the_score(self, fitted, people):
        rows = people[FEATURES][:200].set_axis(range(1000, 1200))
        explained = fitted.model_.explain(rows)
        assert list(explained.index) == list(rows.index)
        assert explained.attrs["unit"] == "score"
        assert set(FEATURES) <= set(explained.columns)
        # Of two classes a label's score, less their mean, is half of its log-odds.
        probabilities = fitted.predict_proba(rows)
        label = probabilities.max(axis=1)
        assert np.allclose(explained.sum(axis=1), np.log(label / (1 - label)) / 2, atol=1e-9)

    def test_numbers(self, people):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimator = coppice.PrivateTreeRegressor(
                epsilon=9, bounds={"age": (18, 90)}, target_bounds=(0, 120)
            ).fit(people[["age"]], people["spends"])
        explained = estimator.model_.explain(people[["age"]][:50])
        assert explained.attrs["unit"] == "value"
        assert np.allclose(explained.sum(axis=1), estimator.predict(people[["age"]][:50]), atol=1e-6)

    @pytest.mark.parametrize("algorithm", ["dpboost", "logistic"])
    def test_xgboost_says_the_same_of_an_exported_model(self, algorithm, tmp_path):
        """Its approximate contributions are along a row's way, weighted by leaves in such a file."""
        import xgboost

        from coppice import _rows

        rows = customers(2000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimator = coppice.PrivateTreeClassifier(epsilon=8, schema=SCHEMA, algorithm=algorithm)
            model = estimator.fit(rows[["age", "plan", "calls"]], rows["left"]).model_
        model.export("xgboost", tmp_path / "model.json")
        booster = xgboost.Booster(model_file=tmp_path / "model.json")
        columns, _ = _rows.encode_features(rows, model.schema)
        theirs = booster.predict(
            xgboost.DMatrix(
                np.column_stack(columns).astype(np.float32),
                feature_names=booster.feature_names,
                feature_types=booster.feature_types,
                enable_categorical=True,
            ),
            pred_contribs=True,
            approx_contribs=True,
        )
        # Theirs are of the log-odds of the second class; ours of the label's score, less the mean of both.
        of_label = np.where(model.predict(rows) == "yes", 0.5, -0.5)
        ours = model.explain(rows)[["age", "plan", "calls", "bias"]].to_numpy()
        assert np.abs(theirs * of_label[:, None] - ours).max() < 1e-5

    def test_xgboosts_tools_read_a_model_of_this_process(self, tmp_path):
        """It has no id, as no curator made it."""
        import copy

        import xgboost

        rows = customers(500)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimator = coppice.PrivateTreeClassifier(epsilon=8, schema=SCHEMA, algorithm="dpboost")
            model = estimator.fit(rows[["age", "plan", "calls"]], rows["left"]).model_
        assert model.name == ""
        model.export("xgboost", tmp_path / "model.json")
        booster = xgboost.Booster(model_file=tmp_path / "model.json")
        assert set(booster.attributes()) == {"coppice.output", "coppice.schema", "coppice.certificate"}
        assert copy.deepcopy(booster).attributes() == booster.attributes()
        # A dump as text refuses a category's split on whether it is missing, which is one of numbers.
        assert len(booster.get_dump(dump_format="dot")) == booster.num_boosted_rounds() > 0

    def test_no_rows(self, fitted, people):
        assert len(fitted.model_.explain(people[FEATURES][:0])) == 0


class TestSignature:
    @pytest.fixture(scope="class")
    def curator(self):
        started = Curator()
        yield started
        started.end()

    def test_a_curators_model_is_signed(self, curator, tmp_path):
        with coppice.connect(curator.server, ca=curator.ca, token=curator.tokens["owner"]) as client:
            data = client.datasets.create(customers(2000), SCHEMA, epsilon_total=5)
            model = data.train("auto", epsilon=2).wait(progress=False).model().download()
        pem = subprocess.run(
            [BIN / "coppice", "study", "key", "--pem", "--server", curator.server, "--ca", curator.ca],
            check=True, capture_output=True,
        ).stdout
        key = tmp_path / "curator.pem"
        key.write_bytes(pem)
        model.check_signature(key)
        model.save(tmp_path / "model.json")
        loaded = coppice.Model.load(tmp_path / "model.json")
        loaded.check_signature(key)

        text = (tmp_path / "model.json").read_text()
        edited = text.replace('"feature": 2', '"feature": 0', 1).replace('"age"', '"aged"', 1)
        assert edited != text
        (tmp_path / "edited.json").write_text(edited)
        with pytest.raises((coppice.CoppiceError, ValueError)):
            coppice.Model.load(tmp_path / "edited.json").check_signature(key)

    def test_a_model_of_this_process_is_not(self, fitted):
        with pytest.raises(LookupError):
            fitted.model_.check_signature()


class TestExport:
    @pytest.mark.parametrize("format, begins", [("json", b"{"), ("c", b"/*"), ("onnx", b"\x08"), ("message", b"\x22")])
    def test_formats(self, fitted, tmp_path, format, begins):
        path = tmp_path / "model"
        data = fitted.model_.export(format, path)
        assert data.startswith(begins) and path.read_bytes() == data
        with pytest.raises(FileExistsError, match="model"):
            fitted.model_.export(format, path)
        fitted.model_.export(format, path, replace=True)

    def test_what_a_format_cannot_say_is_refused(self, fitted, people):
        with pytest.raises(ValueError, match="onnx"):
            fitted.model_.export("pickle")


def test_files_that_are_no_models(tmp_path):
    for name, text in (("empty", ""), ("text", "{"), ("list", "[]"), ("other", '{"colour": "red"}')):
        (tmp_path / name).write_text(text)
        with pytest.raises((ValueError, LookupError)):
            coppice.Model.load(tmp_path / name)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        coppice.Model.load(tmp_path / "nowhere")
    with pytest.raises(ValueError):
        coppice.Model.from_bytes(b"\xff\xff")


def test_drawings_and_pages(fitted):
    assert "plan" in fitted.model_.render() or "age" in fitted.model_.render()
    assert fitted.model_.render(format="svg").startswith("<svg")
    with pytest.raises(ValueError):
        fitted.model_.render(tree=10**6)
    with pytest.raises(ValueError, match="svg"):
        fitted.model_.render(format="png")
    for shown in (fitted, fitted.model_, fitted.privacy_):
        assert "<iframe" in shown._repr_html_()
    assert isinstance(repr(fitted.model_), str)
    assert isinstance(pd.DataFrame(fitted.privacy_.releases), pd.DataFrame)
