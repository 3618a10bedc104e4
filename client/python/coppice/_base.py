"""What all estimators share: declarations, reading rows, and the form of predictions."""

from __future__ import annotations

import html
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Optional

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d

from coppice import _rows
from coppice._cells import Column, codes_of
from coppice._core import Schema
from coppice.certificate import Certificate
from coppice.model import Model
from coppice.schema import FROM_Y, LeakWarning, as_schema, declare_schema, is_missing, text_of

Progress = Optional[Callable[[float], None]]


class TreeEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """What classifiers and regressors share, whoever trains them."""

    model_: Model
    privacy_: Certificate

    # ---- fitting

    def _declare(self, X: Any, y: Any) -> tuple[Schema, Column, dict[str, Any]]:
        """Return the schema that is declared, the answers of all rows in its terms, and attributes.

        The attributes are set once there is a model that they go with.
        """
        raise NotImplementedError

    def _encode(self, X: Any, y: Any) -> tuple[Any, Schema, dict[str, Any]]:
        """Return the rows as trainers take them, and what `_declare` says."""
        X = self._check_rows(X, reset=True)
        schema, answers, attributes = self._declare(X, y)
        # What that changed is told and not kept: the counts are private.
        return _rows.make_table(X, schema, answers), schema, attributes

    def _finish(self, model: Model, attributes: Mapping[str, Any]) -> None:
        for name, value in attributes.items():
            setattr(self, name, value)
        self.model_ = model
        self.privacy_ = model.certificate

    @property
    def feature_importances_(self) -> npt.NDArray[np.float64]:
        """How much the answers depend on each feature. Post-processing: costs no privacy."""
        check_is_fitted(self)
        importances = self.model_.feature_importances
        if len(importances) == self.n_features_in_:
            return importances
        # There are columns that the schema leaves out.
        place = {str(name): i for i, name in enumerate(self.feature_names_in_)}
        found = np.zeros(self.n_features_in_)
        for feature, importance in zip(self.model_.schema.features, importances):
            found[place[feature.name]] = importance
        return found

    # ---- declaring

    def _declare_features(self, X: Any, y: Any, **answer: Any) -> Schema:
        names = [f"x{i}" for i in range(self.n_features_in_)]
        dtypes = None
        if _rows.is_frame(X):
            names, dtypes = [str(name) for name in X.columns], list(X.dtypes)
        return declare_schema(
            names,
            bounds=self.bounds,
            categories=self.categories,
            dtypes=dtypes,
            label=str(getattr(y, "name", None) or "label"),
            **answer,
        )

    def _given_schema(self) -> Optional[Schema]:
        if self.schema is None:
            return None
        for name in ("bounds", "categories"):
            if getattr(self, name) is not None:
                raise ValueError(f"schema and {name} are both given: the schema says it all")
        return as_schema(self.schema)

    def _accepts_leak(self) -> bool:
        """Tell whether columns that were read from private rows may be trained on.

        Without a schema only "from y" and "from dtypes" make such columns, and asked for them by name.
        """
        return bool(self.accept_leak) or self.schema is None

    # ---- rows

    def _check_rows(self, X: Any, reset: bool) -> Any:
        """Check what scikit-learn checks, apart from cells. A DataFrame stays one: its columns have types."""
        X = _rows.as_rows(X)
        if not _rows.is_frame(X):
            return self._validate_data(X, reset=reset, dtype=None, force_all_finite=False)
        self._check_feature_names(X, reset=reset)
        self._check_n_features(X, reset=reset)
        if len(X) == 0:
            raise ValueError(f"there are 0 row(s) and {X.shape[1]} columns: a minimum of 1 is required")
        return X

    def _rows_to_predict(self, X: Any) -> Any:
        check_is_fitted(self)
        X = self._check_rows(X, reset=False)
        if _rows.is_frame(X) and not hasattr(self, "feature_names_in_"):
            return _rows.named_by_position(X, self.model_.schema)
        return X

    # ---- answers

    def set_output(self, *, transform: Optional[str] = None) -> Any:
        """Choose what predictions are: "default" is arrays, "pandas" is Series and DataFrames.

        Pandas results have the index of the rows and the names of the classes.

        Parameters
        ----------
        transform : {"default", "pandas"}, optional
            None changes nothing.

        Returns
        -------
        self
        """
        if transform not in (None, "default", "pandas"):
            raise ValueError(f'transform must be "default" or "pandas", not {transform!r}')
        if transform is not None:
            self._output = transform
        return self

    def _answer(self, values: npt.NDArray[Any], X: Any, columns: Optional[Sequence[Any]]) -> Any:
        if getattr(self, "_output", "default") != "pandas":
            return values
        import pandas

        index = _rows.index_of(X)
        if columns is None:
            return pandas.Series(values, index=index, name=self.model_.schema.label)
        return pandas.DataFrame(values, index=index, columns=list(columns))

    def predict_interval(self, X: Any) -> Any:
        """Return a 95 % interval for every row: low and high.

        For classes it is an interval of the predicted class's probability. For numbers, and where trees
        add up scores, it says how far this model's noise may have moved the answer, not how far a
        row's own number lies from it (docs/research/mechanisms.md).

        Parameters
        ----------
        X : DataFrame, Arrow table or array of shape (rows, features)
            The rows, by the names or in the order of the features.

        Returns
        -------
        array of shape (rows, 2), or DataFrame
        """
        X = self._rows_to_predict(X)
        predicted = self.model_.predict_arrays(X)
        both = np.column_stack([predicted["low"], predicted["high"]])
        return self._answer(both, X, ["low", "high"])

    def _repr_html_(self) -> str:
        if hasattr(self, "model_"):
            return self.model_._repr_html_()
        return f"<pre>{html.escape(repr(self))}</pre>"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _more_tags(self) -> dict[str, Any]:
        expected = {"check_parameters_default_constructible": "bounds are public and must be declared"}
        if self.epsilon != math.inf:
            expected["check_fit_idempotent"] = "every fit draws its own noise, which no seed fixes"
        return {
            "non_deterministic": True,
            "poor_score": True,
            "allow_nan": True,
            "_xfail_checks": expected,
        }


class ClassEstimator(ClassifierMixin, TreeEstimator):  # type: ignore[misc]
    """Trees that predict a class."""

    @classmethod
    def from_model(cls, model: Model) -> Any:
        """Return an estimator that predicts as `model` does.

        Parameters
        ----------
        model : Model
            The model: trained, loaded or downloaded.

        Raises
        ------
        ValueError
            If the model predicts a number: use a regressor.
        """
        schema = model.schema
        if schema.target is not None:
            raise ValueError("this model predicts a number: use a regressor")
        estimator = cls(schema=schema)
        _take_model(estimator, model, {"classes_": _classes_by_text(schema.classes)})
        return estimator

    def _declare(self, X: Any, y: Any) -> tuple[Schema, Column, dict[str, Any]]:
        name = getattr(y, "name", None)
        y = _labels_of(y, X)
        schema = self._given_schema()
        if schema is None:
            classes = self._declared_classes(y)
            schema = self._declare_features(
                X, _Named(name), classes=list(classes), classes_from_rows=isinstance(self.classes, str)
            )
        elif self.classes is not None:
            raise ValueError("schema and classes are both given: the schema says it all")
        elif schema.target is not None:
            raise ValueError("the schema predicts a number: use a regressor")
        else:
            classes = _classes_as_in(y, schema.classes)
        return schema, _rows.classes_of(y, schema.classes, "y"), {"classes_": classes}

    def _declared_classes(self, y: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if self.classes is None:
            raise ValueError(
                "classes are public and are never read off the rows: declare them, as "
                "classes=[FIRST, SECOND, ...]; where it may be known which ones occur, "
                f"classes={FROM_Y!r}"
            )
        if not isinstance(self.classes, str):
            return np.asarray(np.unique(list(self.classes)))
        if self.classes != FROM_Y:
            raise ValueError(f"classes must be a sequence or {FROM_Y!r}, not {self.classes!r}")
        found = np.asarray(np.unique(y))
        if len(found) < 2:
            raise ValueError("y has one class: a classifier needs two or more, declared as classes=[...]")
        warnings.warn(
            f"the classes are those that occur in y, which tells that they do: classes={found.tolist()!r} "
            "would declare them",
            LeakWarning,
            stacklevel=5,
        )
        return found

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows whose class is predicted right.

        `y` is read as `fit` reads it, so its type may be another one than that of `classes_`.

        Parameters
        ----------
        X : DataFrame, Arrow table or array of shape (rows, features)
            The rows, by the names or in the order of the features.
        y : Series, Arrow column or array of shape (rows,)
            The classes. One that was not declared is never right.
        sample_weight : array of shape (rows,), optional
            The weight of each row; equal weights if not given.
        """
        X = self._rows_to_predict(X)
        y = _one_column(y)
        _check_length(X, y)
        predicted = self.model_.predict_arrays(X)["labels"]
        right = predicted == codes_of(y, self.model_.schema.classes, "y")
        return float(np.average(right, weights=sample_weight))

    def predict(self, X: Any) -> Any:
        """Return the class of every row, as an array or, by `set_output`, a Series.

        The classes have the type in which they were declared; where a schema declared them, as texts, that of
        `y` in the fit.

        Parameters
        ----------
        X : DataFrame, Arrow table or array of shape (rows, features)
            The rows, by the names or in the order of the features.
        """
        X = self._rows_to_predict(X)
        labels = self.model_.predict_arrays(X)["labels"]
        return self._answer(self.classes_[labels], X, None)

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of every class, as an array or, by `set_output`, a DataFrame.

        Parameters
        ----------
        X : DataFrame, Arrow table or array of shape (rows, features)
            The rows, by the names or in the order of the features.
        """
        X = self._rows_to_predict(X)
        probabilities = self.model_.predict_arrays(X)["probabilities"]
        return self._answer(probabilities, X, self.classes_.tolist())


class NumberEstimator(RegressorMixin, TreeEstimator):  # type: ignore[misc]
    """Trees that predict a number."""

    @classmethod
    def from_model(cls, model: Model) -> Any:
        """Return an estimator that predicts as `model` does.

        Parameters
        ----------
        model : Model
            The model: trained, loaded or downloaded.

        Raises
        ------
        ValueError
            If the model predicts a class: use a classifier.
        """
        if model.schema.target is None:
            raise ValueError("this model predicts a class: use a classifier")
        estimator = cls(schema=model.schema)
        _take_model(estimator, model, {})
        return estimator

    def _declare(self, X: Any, y: Any) -> tuple[Schema, Column, dict[str, Any]]:
        name = getattr(y, "name", None)
        y = _numbers_of(y, X)
        schema = self._given_schema()
        if schema is None:
            schema = self._declare_features(X, _Named(name), target_bounds=self._declared_range(y))
        elif self.target_bounds is not None:
            raise ValueError("schema and target_bounds are both given: the schema says it all")
        elif schema.target is None:
            raise ValueError("the schema predicts a class: use a classifier")
        return schema, y, {}

    def _declared_range(self, y: Column) -> Any:
        if self.target_bounds is not None:
            return self.target_bounds
        try:
            low, high = (float(end) for end in self.bounds)
        except (TypeError, ValueError):
            raise ValueError(
                "the range of what is predicted is public and is never read off the rows: declare it, as "
                "target_bounds=(LOW, HIGH)"
            ) from None
        if len(y) > 0 and (y.min() < low or y.max() > high):
            raise ValueError(
                "y leaves the bounds of the features: declare its own, as target_bounds=(LOW, HIGH)"
            )
        return low, high

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of the variance of `y` that is predicted: the coefficient of determination.

        Parameters
        ----------
        X : DataFrame, Arrow table or array of shape (rows, features)
            The rows, by the names or in the order of the features.
        y : Series, Arrow column or array of shape (rows,)
            The numbers.
        sample_weight : array of shape (rows,), optional
            The weight of each row; equal weights if not given.
        """
        X = self._rows_to_predict(X)
        found = _numbers_of(y, X)
        return float(r2_score(found, self.model_.predict_arrays(X)["value"], sample_weight=sample_weight))

    def predict(self, X: Any) -> Any:
        """Return the number of every row, as an array or, by `set_output`, a Series.

        Parameters
        ----------
        X : DataFrame, Arrow table or array of shape (rows, features)
            The rows, by the names or in the order of the features.
        """
        X = self._rows_to_predict(X)
        return self._answer(self.model_.predict_arrays(X)["value"], X, None)


class _Named:
    """What is predicted, by its name alone."""

    def __init__(self, name: Any) -> None:
        self.name = name


def _labels_of(y: Any, X: Any) -> npt.NDArray[Any]:
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    y = _one_column(y)
    if y.dtype.kind == "f":
        check_array(y.reshape(1, -1) if len(y) > 0 else [[0.0]])
    elif y.dtype.kind == "O" and any(is_missing(value) for value in y):
        raise ValueError("y has missing values: leave these rows out")
    check_classification_targets(y)
    _check_length(X, y)
    return np.asarray(y)


def _numbers_of(y: Any, X: Any) -> Column:
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    found = _rows.finite_numbers(_one_column(y), "y")
    _check_length(X, found)
    return found


def _one_column(y: Any) -> npt.NDArray[Any]:
    """Return answers as an array of NumPy's own types, where all values have the same one."""
    return _of_one_type(np.asarray(column_or_1d(_rows.as_column(y), warn=True)))


def _of_one_type(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return objects as bools or numbers, as texts if some are texts, and unchanged if there are others."""
    types = set(map(type, values)) if values.dtype.kind == "O" else set()
    for plain, names in _PLAIN_TYPES.items():
        if types and types <= names:
            return np.asarray(values.astype(plain))
    if str in types and types <= {str, *_PLAIN_TYPES[bool], *_PLAIN_TYPES[np.float64]}:
        return np.array([text_of(value) for value in values], dtype=object)
    return values


def _check_length(X: Any, y: npt.NDArray[Any]) -> None:
    if len(X) != len(y):
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: [{len(X)}, {len(y)}]"
        )


_PLAIN_TYPES: dict[type, set[type]] = {
    bool: {bool, np.bool_},
    np.int64: {int, np.int64, np.int32},
    np.float64: {int, float, np.int64, np.int32, np.float64, np.float32},
}
_BOOLS = {"True": True, "False": False, "1": True, "0": False}


def _classes_as_in(y: npt.NDArray[Any], texts: Sequence[str]) -> npt.NDArray[Any]:
    """Return the classes as values of y's type, where their texts are such values."""
    if y.dtype.kind == "b" and all(text in _BOOLS for text in texts):
        return np.array([_BOOLS[text] for text in texts])
    if y.dtype.kind in "iuf" and set(texts) <= {"True", "False"}:
        return np.array([_BOOLS[text] for text in texts])  # which equal 1 and 0
    try:
        classes = np.array([y.dtype.type(text) for text in texts])
    except (TypeError, ValueError):
        return np.array(texts)
    same = [text_of(value) for value in classes.tolist()] == list(texts)
    return np.asarray(classes if same else texts)


def _classes_by_text(texts: Sequence[str]) -> npt.NDArray[Any]:
    """Return whole numbers or bools if every class is written as one, and texts otherwise."""
    if set(texts) <= {"True", "False"}:
        return np.array([_BOOLS[text] for text in texts])
    try:
        numbers = [int(text) for text in texts]
    except ValueError:
        return np.array(texts)
    return np.array(numbers) if [str(number) for number in numbers] == list(texts) else np.array(texts)


def _take_model(estimator: Any, model: Model, attributes: Mapping[str, Any]) -> None:
    names = [feature.name for feature in model.schema.features]
    estimator.n_features_in_ = len(names)
    estimator.feature_names_in_ = np.array(names, dtype=object)
    estimator._finish(model, attributes)
