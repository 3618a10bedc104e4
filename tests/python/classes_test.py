"""Classes come back as they were declared, whatever holds the answers of the rows."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest

import coppice
from coppice import BudgetAccountant, PrivateTreeClassifier

ROWS = np.random.default_rng(5).random((300, 2))
TRUTH = ROWS[:, 0] > 0.5

# What a column of yes and no may be stored as.
ANSWERS = {
    "bools": TRUTH,
    "integers": TRUTH.astype(int),
    "small integers": TRUTH.astype(np.int8),
    "unsigned integers": TRUTH.astype(np.uint32),
    "floats": TRUTH.astype(float),
    "float32": TRUTH.astype(np.float32),
    "a list of bools": TRUTH.tolist(),
    "bools as objects": TRUTH.astype(object),
    "integers as objects": TRUTH.astype(int).astype(object),
    "a Series of bools": pd.Series(TRUTH),
    "pandas' nullable bools": pd.Series(TRUTH).astype("boolean"),
    "pandas' nullable integers": pd.Series(TRUTH).astype("Int64"),
    "pandas' nullable floats": pd.Series(TRUTH).astype("Float64"),
    "a category of bools": pd.Series(TRUTH).astype("category"),
    "a frame of one column": pd.DataFrame({"y": TRUTH}),
}


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def estimator(**more):
    return PrivateTreeClassifier(**{"epsilon": math.inf, "bounds": (0, 1), **more})


@pytest.mark.parametrize("answers", ANSWERS)
@pytest.mark.parametrize(
    "classes", [[False, True], [True, False], np.array([False, True]), [0, 1], [0.0, 1.0], pd.Series([0, 1])], ids=repr
)
def test_predictions_are_the_declared_classes(classes, answers):
    y = ANSWERS[answers]
    fitted = estimator(classes=classes).fit(ROWS, y)
    predicted = fitted.predict(ROWS)
    assert predicted.dtype == np.asarray(classes).dtype
    assert sorted(fitted.classes_.tolist()) == [0, 1]
    assert (predicted == TRUTH).all()
    assert fitted.score(ROWS, y) == 1.0
    assert fitted.set_output(transform="pandas").predict_proba(ROWS).columns.tolist() == fitted.classes_.tolist()


@pytest.mark.parametrize("answers", ANSWERS)
@pytest.mark.parametrize("texts", [["False", "True"], ["0", "1"]])
def test_predictions_by_a_schema_equal_the_answers(texts, answers):
    schema = coppice.declare_schema(["x0", "x1"], bounds=(0, 1), classes=texts)
    y = ANSWERS[answers]
    fitted = PrivateTreeClassifier(epsilon=math.inf, schema=schema).fit(ROWS, y)
    assert (fitted.predict(ROWS) == TRUTH).all()
    assert fitted.score(ROWS, y) == 1.0
    again = PrivateTreeClassifier.from_model(fitted.model_)
    assert (again.predict(ROWS) == TRUTH).all()
    assert again.score(ROWS, y) == 1.0


@pytest.mark.parametrize(
    "classes, y",
    [
        (["0", "1"], TRUTH.astype(int)),
        (["0", "1"], TRUTH.astype(int).astype(str)),
        (["no", "yes"], np.where(TRUTH, "yes", "no")),
        (["no", "yes"], pd.Series(np.where(TRUTH, "yes", "no")).astype("category")),
        (["no", "yes"], pd.Series(np.where(TRUTH, "yes", "no")).astype("string")),
    ],
)
def test_declared_texts_stay_texts(classes, y):
    fitted = estimator(classes=classes).fit(ROWS, y)
    assert (fitted.predict(ROWS) == np.where(TRUTH, classes[1], classes[0])).all()
    assert fitted.score(ROWS, y) == 1.0


@pytest.mark.parametrize("classes", [[False, True], [2, 3]])
@pytest.mark.parametrize("y", [np.where(TRUTH, "1", "0"), np.where(TRUTH, "true", "false"), np.where(TRUTH, "yes", "no")])
def test_texts_that_name_no_class_are_refused_before_the_charge(classes, y):
    accountant = BudgetAccountant(1)
    with pytest.raises(ValueError, match="none of the declared classes: row 0, counted from 0"):
        estimator(epsilon=1, classes=classes, accountant=accountant).fit(ROWS, y)
    assert accountant.fits == 0


def test_a_class_that_was_not_declared_is_never_right():
    fitted = estimator(classes=[0, 1]).fit(ROWS, TRUTH)
    assert fitted.score(ROWS, np.where(TRUTH, 2, 0)) == (~TRUTH).mean()
    assert fitted.score(ROWS, TRUTH, sample_weight=np.ones(300)) == 1.0


def test_texts_beside_numbers_are_texts():
    fitted = estimator(classes=[0, 1]).fit(ROWS, pd.Series(np.where(TRUTH, "1", "0")).where(ROWS[:, 1] > 0.5, TRUTH.astype(int)))
    assert fitted.score(ROWS, TRUTH) == 1.0
