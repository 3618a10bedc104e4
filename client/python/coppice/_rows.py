"""Encodes rows of NumPy and pandas: numbers where they lie, categories as their codes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

from coppice import _core
from coppice._core import Feature, Schema
from coppice.schema import is_missing, text_of

Column = npt.NDArray[np.float64]

# What else a bool may be called, where its own name is not what was declared.
_OTHER_NAMES = {"True": "1", "False": "0", "1": "True", "0": "False"}


def is_frame(X: Any) -> bool:
    """Tell a DataFrame of pandas without loading pandas."""
    return hasattr(X, "iloc") and hasattr(X, "columns") and hasattr(X, "dtypes")


def columns_of(X: Any, schema: Schema) -> list[Column]:
    """Return one array per feature: numbers as they are, codes of categories, NaN where missing.

    A column of a float64 matrix or DataFrame is a view; nothing is copied.

    Raises
    ------
    ValueError
        For a feature that has no column, and for a text where a number belongs.
    """
    if is_frame(X):
        return [_column(_named(X, f.name), f) for f in schema.features]
    matrix = np.asarray(X)
    if matrix.ndim != 2:
        raise ValueError(f"rows must be two-dimensional, not of shape {matrix.shape}")
    if matrix.shape[1] != len(schema.features):
        raise ValueError(f"rows have {matrix.shape[1]} columns, and the schema {len(schema.features)}")
    return [_column(matrix[:, i], f) for i, f in enumerate(schema.features)]


def encode_features(X: Any, schema: Schema) -> tuple[list[Column], dict[str, int]]:
    """Return columns that are cut to the schema's bounds, and what that changed, by name."""
    table = _core.Table(schema, columns_of(X, schema))
    return [table.column(i) for i in range(len(schema.features))], table.notes


def encode_labels(y: Any, schema: Schema) -> npt.NDArray[Any]:
    """Return the class of every row, or its number within the target's bounds."""
    if schema.target is not None:
        low, high = schema.target
        numbers = np.asarray(y, dtype=np.float64)
        if not np.isfinite(numbers).all():
            raise ValueError(f"{schema.label} must be a finite number in every row")
        tell_what_changed({"clamped_targets": int(((numbers < low) | (numbers > high)).sum())}, len(numbers))
        return np.clip(numbers, low, high)
    return codes_of(y, schema.classes, schema.label).astype(np.uint32)


def codes_of(y: Any, classes: Sequence[str], name: str) -> Column:
    """Return the position of every value among `classes`.

    Raises
    ------
    ValueError
        For a value that is none of them. The value is not quoted: it may be private.
    """
    codes = _codes(np.asarray(y), classes)
    if not ((codes >= 0) & (codes < len(classes))).all():
        listed = ", ".join(repr(c) for c in classes[:8])
        raise ValueError(f"{name} has a value that is none of the declared classes: {listed}")
    return codes


def _named(X: Any, name: str) -> Any:
    places = [i for i, column in enumerate(X.columns) if str(column) == name]
    if not places:
        raise ValueError(f"there is no column {name!r}, which the schema has")
    if len(places) > 1:
        raise ValueError(f"there are several columns called {name!r}")
    return X.iloc[:, places[0]]


def _column(values: Any, feature: Feature) -> Column:
    if feature.type == "categorical":
        return _codes(values, feature.values)
    try:
        if hasattr(values, "to_numpy"):
            return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        # Without the error that caused it, which quotes a value.
        raise ValueError(f"column {feature.name!r} must hold numbers") from None


def _codes(values: Any, vocabulary: Sequence[str]) -> Column:
    """Return codes: `len(vocabulary)` for a value that is not in it, NaN where there is none.

    Each distinct value is looked up once.
    """
    position = {text: float(i) for i, text in enumerate(vocabulary)}

    def code_of(value: Any) -> float:
        if is_missing(value):
            return np.nan
        text = text_of(value)
        if text not in position:
            text = _OTHER_NAMES.get(text, text)
        return position.get(text, float(len(vocabulary)))

    if hasattr(values, "cat"):
        places, distinct = values.cat.codes.to_numpy(), values.cat.categories
    elif hasattr(values, "factorize"):
        places, distinct = values.factorize()
    else:
        array = np.asarray(values)
        if array.dtype.kind == "O":
            return np.fromiter((code_of(value) for value in array), np.float64, len(array))
        distinct, places = np.unique(array, return_inverse=True)
    # A Series has -1 where a value is missing: the last of these.
    codes: Column = np.array([*(code_of(value) for value in distinct), np.nan])
    return np.asarray(codes[places])


def make_table(X: Any, schema: Schema, answers: Optional[Column] = None) -> Any:
    """Return the rows as trainers take them."""
    return _core.Table(schema, columns_of(X, schema), answers)


def tell_what_changed(notes: Mapping[str, int], rows: int) -> None:
    """Warn whoever holds the rows of values that were cut. The counts are private."""
    words = {
        "clamped": "numbers outside their bounds were cut to them",
        "clamped_targets": "numbers to be predicted were outside their bounds and cut to them",
        "rounded": "numbers were rounded to whole ones",
        "unknown_categories": 'values are no category of theirs and became "other"',
    }
    told = [f"{notes[key]} {text}" for key, text in words.items() if notes.get(key, 0) > 0]
    if told:
        warnings.warn(f"of {rows} rows, " + "; ".join(told), RuntimeWarning, stacklevel=6)
