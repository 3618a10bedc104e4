"""Schemas with bounds, categories and classes that were read from private rows: refused, or said in the certificate."""

import math
import warnings

import pandas as pd
import pytest
from sklearn.base import clone

import coppice
from coppice import LeakWarning, PrivateTreeClassifier
from coppice.local import LocalTreeClassifier, simulate
from coppice.schema import as_schema

FEATURES = ["age", "plan", "member"]
UNCOVERED = "were read from the private rows and are not covered by ε"


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def schema(bounds, classes="declared"):
    return {
        "label": "label",
        "classes": ["stays", "leaves"],
        "bounds": classes,
        "features": [
            {"name": "age", "type": "numeric", "min": 18, "max": 90, "bounds": bounds},
            {"name": "plan", "type": "categorical", "values": ["basic", "plus"], "bounds": bounds},
        ],
    }


def uncovered(certificate):
    return [text for text in certificate.public_inputs if UNCOVERED in text]


@pytest.mark.parametrize("mark", ["from private rows", "from these rows"])
class TestPrivateMarks:
    def test_fit_refuses_them_by_name_before_anything_is_charged(self, people, mark):
        before = coppice.default_accountant().fits
        with pytest.raises(ValueError, match="age, plan, label.*accept_leak"):
            PrivateTreeClassifier(schema=schema(mark, mark)).fit(people[FEATURES], people["label"])
        assert coppice.default_accountant().fits == before

    def test_fit_takes_them_where_the_leak_is_accepted(self, people, mark):
        estimator = PrivateTreeClassifier(schema=schema(mark), accept_leak=True, epsilon=2)
        estimator.fit(people[FEATURES], people["label"])
        assert uncovered(estimator.privacy_) == [f"bounds of columns age, plan {UNCOVERED}"]
        assert clone(estimator).accept_leak
        assert f"Bounds of columns age, plan {UNCOVERED}" in str(estimator.privacy_)

    def test_without_privacy_there_is_nothing_to_refuse(self, people, mark):
        PrivateTreeClassifier(schema=schema(mark), epsilon=math.inf).fit(people[FEATURES], people["label"])

    def test_a_study_in_this_process_refuses_them(self, people, mark):
        rows = people[[*FEATURES, "label"]]
        with pytest.raises(ValueError, match="age, plan"):
            simulate(rows[:100], rows[100:], schema=schema(mark), epsilon=2)
        model = simulate(rows[:100], rows[100:], schema=schema(mark), epsilon=2, accept_leak=True)
        assert uncovered(model.certificate)
        X, y = people[FEATURES], people["label"]
        estimator = LocalTreeClassifier(schema=schema(mark), epsilon=2)
        with pytest.raises(ValueError, match="age, plan"):
            estimator.fit(X, y, X_public=X[:100], y_public=y[:100])

    def test_the_mark_stays_in_all_forms_of_a_schema(self, mark):
        marked = coppice.Schema.from_json(as_schema(schema(mark)).to_json())
        assert "from private rows" in marked.to_json()
        assert coppice.Schema.from_bytes(marked.to_bytes()) == marked
        assert marked != as_schema(schema("declared"))


@pytest.mark.parametrize("mark", ["declared", "from public rows"])
def test_public_marks_are_taken(people, mark):
    estimator = PrivateTreeClassifier(schema=schema(mark, mark), epsilon=2).fit(people[FEATURES], people["label"])
    assert not uncovered(estimator.privacy_)


def test_what_was_asked_for_by_name_is_said_in_the_certificate(people, declared):
    with pytest.warns(LeakWarning):
        estimator = PrivateTreeClassifier(**declared, classes="from y").fit(people[FEATURES], people["label"])
    assert uncovered(estimator.privacy_) == [f"bounds of columns label {UNCOVERED}"]
    typed = pd.DataFrame({"plan": people["plan"].astype("category")})
    estimator = PrivateTreeClassifier(categories="from dtypes", classes=["stays", "leaves"])
    estimator.fit(typed, people["label"])
    assert uncovered(estimator.privacy_) == [f"bounds of columns plan {UNCOVERED}"]
