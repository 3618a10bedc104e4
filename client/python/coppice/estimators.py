"""scikit-learn's estimators over the trainers, for rows that you hold."""

from __future__ import annotations

import math
import uuid
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Optional

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d

from coppice import _core, _rows
from coppice._core import Schema
from coppice.accounting import BudgetAccountant, PrivacyWarning, default_accountant
from coppice.certificate import Certificate
from coppice.model import Model
from coppice.schema import (
    FROM_Y,
    Bounds,
    Categories,
    LeakWarning,
    Pair,
    SchemaLike,
    as_schema,
    declare_schema,
    text_of,
)


def algorithms() -> Any:
    """Return the algorithms as a DataFrame: name, what each protects, predicts and takes."""
    import pandas

    return pandas.DataFrame(_core.algorithms()).set_index("name")


class _PrivateTree(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """What classifiers and regressors share."""

    # ---- fitting

    def fit(self, X: Any, y: Any, progress: Optional[Callable[[float], None]] = None) -> Any:
        """Train on private rows.

        Parameters
        ----------
        X : DataFrame or array of shape (rows, features)
            The rows. NaN, None and pandas.NA are missing values. Numbers outside their bounds are cut to
            them, and values that are no category become "other": a warning counts both.
        y : Series or array of shape (rows,)
            What is predicted.
        progress : callable, optional
            Called now and then with the share that is done, 0 to 1.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If bounds, categories or classes are not declared, with the line that would declare them.
        BudgetExhausted
            If the accountant has no room for it. Nothing was released then.
        KeyboardInterrupt
            On Ctrl-C. What was charged stays charged.
        """
        X = self._check_rows(X, reset=True)
        schema, answers = self._declare(X, y)
        table = _rows.make_table(X, schema, answers)
        self._tell_what_changed(table.notes, len(answers))
        self._finish(self._train(table, schema, progress))
        return self

    def _train(
        self, table: Any, schema: Schema, progress: Optional[Callable[[float], None]]
    ) -> Model:
        settings = {key: text_of(value) for key, value in (self.settings or {}).items()}
        asked = (str(self.algorithm), float(self.epsilon), repr(float(self.delta)), settings)
        accountant = self._accountant()
        core = accountant._core if accountant is not None else None
        for warning in _core.plan(schema, *asked, core)["warnings"]:
            warnings.warn(warning, PrivacyWarning, stacklevel=4)
        model = Model(_core.train(table, *asked, core, f"fit-{uuid.uuid4().hex}", progress))
        if accountant is not None:
            _tell_what_is_spent(accountant)
        return model

    def _accountant(self) -> Optional[BudgetAccountant]:
        if self.epsilon == math.inf:
            if self.accountant is not None:
                raise ValueError("epsilon is infinite: no budget has room for a fit without privacy")
            warnings.warn("epsilon is infinite: nothing is private", PrivacyWarning, stacklevel=5)
            return None
        if self.accountant is None:
            return default_accountant(_neighbours_of(str(self.algorithm)))
        if not isinstance(self.accountant, BudgetAccountant):
            raise ValueError("accountant must be a BudgetAccountant")
        return self.accountant

    def _tell_what_changed(self, notes: Mapping[str, int], rows: int) -> None:
        """Warn of values that were cut. The counts are private, so the estimator does not keep them."""
        words = {
            "clamped": "numbers outside their bounds were cut to them",
            "clamped_targets": "numbers to be predicted were outside their bounds and cut to them",
            "rounded": "numbers were rounded to whole ones",
            "unknown_categories": 'values are no category of theirs and became "other"',
        }
        told = [f"{notes[key]} {text}" for key, text in words.items() if notes[key] > 0]
        if told:
            warnings.warn(f"of {rows} rows, " + "; ".join(told), RuntimeWarning, stacklevel=4)

    def _finish(self, model: Model) -> None:
        self.model_ = model
        self.privacy_ = model.certificate

    @property
    def feature_importances_(self) -> npt.NDArray[np.float64]:
        """How much of the answers hangs on each feature: post-processing, which costs no privacy."""
        check_is_fitted(self)
        return self.model_.feature_importances

    # ---- declaring

    def _declare(self, X: Any, y: Any) -> tuple[Schema, _rows.Column]:
        raise NotImplementedError

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

    # ---- rows

    def _check_rows(self, X: Any, reset: bool) -> Any:
        """Check what scikit-learn checks. A DataFrame stays one, whose columns have types."""
        if not _rows.is_frame(X):
            has_text = self.categories is not None or self.schema is not None
            return self._validate_data(
                X,
                reset=reset,
                dtype=None if has_text else "numeric",
                force_all_finite=not has_text and "allow-nan",
            )
        self._check_feature_names(X, reset=reset)
        self._check_n_features(X, reset=reset)
        if len(X) == 0:
            raise ValueError(f"there are 0 row(s) and {X.shape[1]} columns: a minimum of 1 is required")
        return X

    def _rows_to_predict(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._check_rows(X, reset=False)

    # ---- answers

    def set_output(self, *, transform: Optional[str] = None) -> Any:
        """Choose what predictions are: "default" is arrays, "pandas" is Series and DataFrames.

        They have the index of the rows, and the names of the classes.
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

        index = X.index if _rows.is_frame(X) else None
        if columns is None:
            return pandas.Series(values, index=index, name=self.model_.schema.label)
        return pandas.DataFrame(values, index=index, columns=list(columns))

    def predict_interval(self, X: Any) -> Any:
        """Return a 95 % interval for every row: low and high.

        For classes it is of the probability of the class that is predicted. For numbers, and where trees
        add up scores, it says how far the noise of this model may have moved the answer, not how far a
        row's own number lies from it (docs/mechanisms.md).

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
        return f"<pre>{self!r}</pre>"

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


_DOCUMENTATION = """

    Bounds, categories{and_classes} are public: they are declared, and never read off the rows. `fit` says
    which line would declare what is missing. There is no `random_state`: privacy rests on noise that
    nobody can repeat.

    Parameters
    ----------
    epsilon : float, default 1.0
        Privacy of the whole model, for one row more or less (or, with algorithms that say so, one label
        changed). `float("inf")` trains without privacy, for comparison.
    delta : float, default 0.0
        With algorithms that make use of one.
    algorithm : str, default "auto"
        See `coppice.algorithms()`.
    bounds : pair, mapping or sequence of pairs, optional
        Public bounds: `(low, high)` for every numeric feature{and_target}, a mapping from names to pairs,
        or a pair per column.
    categories : mapping or "from dtypes", optional
        Public values of each categorical feature, by name. Columns of bools need none.
{answers}
    schema : Schema, dict, JSON text or path, optional
        All of that at once, as `coppice schema infer` writes it.
    settings : mapping, optional
        Settings of the algorithm, by name.
    accountant : BudgetAccountant, optional
        What the fit is charged to; else `coppice.default_accountant()`, which only adds up.

    Attributes
    ----------
    model_ : Model
        The model: `model_.save(path)`, `model_.render()`.
    privacy_ : Certificate
        What it cost, release by release.
    feature_importances_ : array of shape (features,)
{attributes}
    n_features_in_ : int
    feature_names_in_ : array of str
        If the rows were a DataFrame.
    """


class PrivateTreeClassifier(ClassifierMixin, _PrivateTree):  # type: ignore[misc]
    __doc__ = "Trees that predict a class, learned under differential privacy." + _DOCUMENTATION.format(
        and_classes=" and classes",
        and_target="",
        answers="""\
    classes : sequence or "from y", optional
        What is predicted. "from y" takes the classes that occur, which tells that they do.""",
        attributes="""\
    classes_ : array
        The classes, in the order of the probabilities.""",
    )

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 0.0,
        algorithm: str = "auto",
        bounds: Optional[Bounds] = None,
        categories: Optional[Categories] = None,
        classes: Any = None,
        schema: Optional[SchemaLike] = None,
        settings: Optional[Mapping[str, Any]] = None,
        accountant: Optional[BudgetAccountant] = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.algorithm = algorithm
        self.bounds = bounds
        self.categories = categories
        self.classes = classes
        self.schema = schema
        self.settings = settings
        self.accountant = accountant

    @classmethod
    def from_model(cls, model: Model) -> PrivateTreeClassifier:
        """Return an estimator that predicts as `model` does."""
        schema = model.schema
        if schema.target is not None:
            raise ValueError("this model predicts a number: use PrivateTreeRegressor")
        estimator = cls(schema=schema)
        estimator.classes_ = np.array(schema.classes)
        _take_model(estimator, model)
        return estimator

    def _declare(self, X: Any, y: Any) -> tuple[Schema, _rows.Column]:
        name = getattr(y, "name", None)
        y = _labels_of(y, X)
        schema = self._given_schema()
        if schema is None:
            self.classes_ = self._declared_classes(y)
            texts = [text_of(value) for value in self.classes_.tolist()]
            schema = self._declare_features(X, _Named(name), classes=texts)
        elif self.classes is not None:
            raise ValueError("schema and classes are both given: the schema says it all")
        elif schema.target is not None:
            raise ValueError("the schema predicts a number: use PrivateTreeRegressor")
        else:
            self.classes_ = _classes_as_in(y, schema)
        return schema, _rows.codes_of(y, schema.classes, "y")

    def _declared_classes(self, y: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if self.classes is None:
            raise ValueError(
                "classes are public and are never read off the rows: declare them, as "
                "classes=[FIRST, SECOND, ...]; where it may be known which ones occur, "
                f"classes={FROM_Y!r}"
            )
        if not isinstance(self.classes, str):
            return np.unique(np.asarray(list(self.classes)))
        if self.classes != FROM_Y:
            raise ValueError(f"classes must be a sequence or {FROM_Y!r}, not {self.classes!r}")
        found = np.unique(y)
        if len(found) < 2:
            raise ValueError("y has one class: a classifier needs two or more, declared as classes=[...]")
        warnings.warn(
            f"the classes are those that occur in y, which tells that they do: classes={found.tolist()!r} "
            "would declare them",
            LeakWarning,
            stacklevel=5,
        )
        return found

    def predict(self, X: Any) -> Any:
        """Return the class of every row, as an array or, by `set_output`, a Series."""
        X = self._rows_to_predict(X)
        labels = self.model_.predict_arrays(X)["labels"]
        return self._answer(self.classes_[labels], X, None)

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of every class, as an array or, by `set_output`, a DataFrame."""
        X = self._rows_to_predict(X)
        probabilities = self.model_.predict_arrays(X)["probabilities"]
        return self._answer(probabilities, X, self.classes_.tolist())


class PrivateTreeRegressor(RegressorMixin, _PrivateTree):  # type: ignore[misc]
    __doc__ = "Trees that predict a number, learned under differential privacy." + _DOCUMENTATION.format(
        and_classes="",
        and_target="\n        (and for what is predicted, unless `target_bounds` says otherwise)",
        answers="""\
    target_bounds : pair, optional
        The public range of what is predicted; numbers outside are cut to it. If only `bounds` is given,
        as one pair, it is the range too, and numbers outside are then an error.""",
        attributes="",
    )

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 0.0,
        algorithm: str = "auto",
        bounds: Optional[Bounds] = None,
        categories: Optional[Categories] = None,
        target_bounds: Optional[Pair] = None,
        schema: Optional[SchemaLike] = None,
        settings: Optional[Mapping[str, Any]] = None,
        accountant: Optional[BudgetAccountant] = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.algorithm = algorithm
        self.bounds = bounds
        self.categories = categories
        self.target_bounds = target_bounds
        self.schema = schema
        self.settings = settings
        self.accountant = accountant

    @classmethod
    def from_model(cls, model: Model) -> PrivateTreeRegressor:
        """Return an estimator that predicts as `model` does."""
        if model.schema.target is None:
            raise ValueError("this model predicts a class: use PrivateTreeClassifier")
        estimator = cls(schema=model.schema)
        _take_model(estimator, model)
        return estimator

    def _declare(self, X: Any, y: Any) -> tuple[Schema, _rows.Column]:
        name = getattr(y, "name", None)
        y = _numbers_of(y, X)
        schema = self._given_schema()
        if schema is None:
            schema = self._declare_features(X, _Named(name), target_bounds=self._declared_range(y))
        elif self.target_bounds is not None:
            raise ValueError("schema and target_bounds are both given: the schema says it all")
        elif schema.target is None:
            raise ValueError("the schema predicts a class: use PrivateTreeClassifier")
        return schema, y

    def _declared_range(self, y: _rows.Column) -> Any:
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

    def predict(self, X: Any) -> Any:
        """Return the number of every row, as an array or, by `set_output`, a Series."""
        X = self._rows_to_predict(X)
        return self._answer(self.model_.predict_arrays(X)["value"], X, None)


class _Named:
    """What is predicted, by its name alone."""

    def __init__(self, name: Any) -> None:
        self.name = name


def _labels_of(y: Any, X: Any) -> npt.NDArray[Any]:
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    y = column_or_1d(y, warn=True)
    if y.dtype.kind == "f":
        check_array(y.reshape(1, -1) if len(y) > 0 else [[0.0]])
    check_classification_targets(y)
    _check_length(X, y)
    return y


def _numbers_of(y: Any, X: Any) -> _rows.Column:
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    y = column_or_1d(y, warn=True)
    numbers = check_array(y, ensure_2d=False, dtype=np.float64, ensure_min_samples=0)
    _check_length(X, numbers)
    return numbers


def _check_length(X: Any, y: npt.NDArray[Any]) -> None:
    if len(X) != len(y):
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: [{len(X)}, {len(y)}]"
        )


def _classes_as_in(y: npt.NDArray[Any], schema: Schema) -> npt.NDArray[Any]:
    """Return the schema's classes as values of y's type, where its texts are such values."""
    try:
        classes = np.array([y.dtype.type(text) for text in schema.classes])
    except (TypeError, ValueError):
        return np.array(schema.classes)
    same = [text_of(value) for value in classes.tolist()] == list(schema.classes)
    return classes if same else np.array(schema.classes)


def _take_model(estimator: Any, model: Model) -> None:
    names = [feature.name for feature in model.schema.features]
    estimator.n_features_in_ = len(names)
    estimator.feature_names_in_ = np.array(names, dtype=object)
    estimator._finish(model)


def _neighbours_of(algorithm: str) -> str:
    for stated in _core.algorithms():
        if stated["name"] == algorithm:
            return str(stated["neighbours"])
    return "add_or_remove_row"  # the training says which algorithms there are


def _tell_what_is_spent(accountant: BudgetAccountant) -> None:
    """Say at the second fit, and each time that their number has doubled, that fits add up."""
    account = accountant.account
    fits = sum(entry["kind"] == "reserved" for entry in account["entries"])
    if fits < 2 or fits & (fits - 1) != 0:
        return
    delta = f" and delta {account['delta_spent']:g}" if account["delta_spent"] > 0 else ""
    warnings.warn(
        f"{fits} fits were charged to this accountant, in all epsilon {account['epsilon_spent']:g}{delta}: "
        "if their rows are the same people, as in a grid search, that is what they lost together. Scores on "
        "private rows are releases too, and are not in it.",
        PrivacyWarning,
        stacklevel=5,
    )
