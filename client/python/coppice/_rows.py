"""Reads rows in any form: for fits, for predictions, and for messages to a curator."""

from __future__ import annotations

import numbers
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

from coppice import _core
from coppice._arrow import ArrowTable, arrow_answers, as_arrow_table, is_arrow
from coppice._cells import Coded, Column, cells_of, codes_of, count_inexact, numbers_of, without_mask
from coppice._core import Feature, Schema

# The class of a row that has none, as a RowBlock has it.
_UNLABELLED = 2**32 - 1


class Rows:
    """Rows that were read by a schema.

    Attributes
    ----------
    columns : list of array
        One per feature: numbers as they are, codes of categories, NaN where a value is missing. A column of a
        float64 matrix or DataFrame is a view; nothing is copied.
    notes : dict
        What reading changed, by kind. The counts are private.
    """

    def __init__(self, X: Any, schema: Schema) -> None:
        features = schema.features
        self.columns: list[Column] = []
        self.notes = {"inexact": 0}
        for values, feature in zip(_raw_columns(as_rows(X), features), features):
            self._add(values, feature)

    def _add(self, values: Any, feature: Feature) -> None:
        what = f"column {feature.name!r}"
        if feature.type == "categorical":
            self.columns.append(codes_of(values, feature.values, what))
            return
        column = numbers_of(values, what)
        self.notes["inexact"] += count_inexact(values, column, feature.min, feature.max)
        self.columns.append(column)


def is_frame(X: Any) -> bool:
    """Tell a table whose columns have names: a DataFrame of pandas, without loading pandas, or an ArrowTable."""
    return isinstance(X, ArrowTable) or (hasattr(X, "iloc") and hasattr(X, "columns") and hasattr(X, "dtypes"))


def index_of(X: Any) -> Any:
    """Return the index of a DataFrame; None for other rows, which have none."""
    return getattr(X, "index", None) if is_frame(X) else None


def as_rows(X: Any) -> Any:
    """Return rows as a DataFrame or ArrowTable, if they have names, or as a matrix, whose cells keep their types.

    Parameters
    ----------
    X : DataFrame, table of Arrow, mapping of columns, sequence of mappings, or array of two dimensions

    Raises
    ------
    TypeError
        For a sparse matrix.
    ValueError
        For anything else.
    """
    if is_frame(X):
        return X
    if hasattr(X, "toarray"):
        raise TypeError("rows are a sparse matrix, which is not supported: give X.toarray()")
    if is_arrow(X):
        return as_arrow_table(X)
    if hasattr(X, "to_pandas"):
        return _converted(X.to_pandas)
    if isinstance(X, Mapping) or _are_mappings(X):
        import pandas

        return _converted(lambda: pandas.DataFrame(X))
    matrix = _without_complex(_converted(lambda: _matrix_of(X)))
    if matrix.ndim != 2:
        raise ValueError(
            f"rows must be two-dimensional, not of shape {matrix.shape}. Reshape your data: "
            "X.reshape(-1, 1) if it is one feature, X.reshape(1, -1) if it is one row"
        )
    return matrix


def _are_mappings(X: Any) -> bool:
    return isinstance(X, (list, tuple)) and len(X) > 0 and all(isinstance(row, Mapping) for row in X)


def _matrix_of(X: Any) -> npt.NDArray[Any]:
    if isinstance(X, np.ma.MaskedArray):
        return without_mask(X)
    matrix = np.asarray(X)
    if matrix.dtype.kind in "US" and not hasattr(X, "dtype"):
        return np.array(X, dtype=object)  # numbers beside texts would become texts, and NaN "nan"
    return matrix


def _without_complex(cells: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return the array. scikit-learn's own error for complex numbers would quote them."""
    if cells.dtype.kind == "c":
        raise ValueError("Complex data not supported: numbers must be real")
    return cells


def _converted(convert: Callable[[], Any]) -> Any:
    """Return what `convert` does; its error may quote rows, so it is replaced."""
    try:
        return convert()
    except ImportError:  # of a package that is needed, and quotes no row
        raise
    except Exception:
        pass
    raise ValueError("rows are no table: every row needs as many values, and every column a value per row")


def _raw_columns(X: Any, features: Sequence[Feature]) -> list[Any]:
    names = [feature.name for feature in features]
    if is_frame(X):
        return [_column_at(X, place) for place in places_of(X, names)]
    if X.shape[1] != len(names):
        raise ValueError(f"rows have {X.shape[1]} columns, and the schema {len(names)}")
    return [X[:, place] for place in range(len(names))]


def _column_at(X: Any, place: int) -> Any:
    return X.column(place) if isinstance(X, ArrowTable) else X.iloc[:, place]


def places_of(X: Any, names: Sequence[str]) -> list[int]:
    """Return where a table has the columns of these names. Columns go by the text of their labels.

    Raises
    ------
    ValueError
        For a name that no column has, or several have.
    """
    wanted = set(names)
    found: dict[str, int] = {}
    for place, label in enumerate(X.columns):
        name = str(label)
        if name in wanted and found.setdefault(name, place) != place:
            raise ValueError(f"rows: have several columns called {name}")
    missing = [name for name in names if name not in found]
    if missing:
        raise ValueError(f"rows: have no column {_some(missing)}; the schema needs {_some(names)}")
    return [found[name] for name in names]


def column_of(X: Any, name: str) -> Any:
    """Return the column of a table that is called so."""
    (place,) = places_of(X, [name])
    return _column_at(X, place)


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - 20} more" if len(names) > 20 else ""
    return ", ".join(names[:20]) + more


def named_by_position(X: Any, schema: Schema) -> Any:
    """Return a table by the schema's names, which was declared for rows without names.

    Labels 0, 1, ... are positions, as pandas gives them to an array, in whatever order they come. If a label
    is a name of the schema, all are.

    Raises
    ------
    ValueError
        For other whole numbers as labels, which are neither.
    """
    names = [feature.name for feature in schema.features]
    labels = list(X.columns)
    if not set(names).isdisjoint(map(str, labels)):
        return X
    if isinstance(X, ArrowTable):
        return X.renamed(names)
    if not all(isinstance(label, numbers.Integral) for label in labels):
        return X.set_axis(names, axis=1)
    if sorted(labels) != list(range(len(names))):
        raise ValueError(
            f"rows: have numbers as labels of columns, and not 0 to {len(names) - 1} as the rows of the fit: "
            "give the columns the same labels as in the fit"
        )
    return X.set_axis([names[label] for label in labels], axis=1)


def columns_of(X: Any, schema: Schema) -> list[Column]:
    """Return the columns of rows, as `Rows` has them."""
    return Rows(X, schema).columns


def encode_features(X: Any, schema: Schema) -> tuple[list[Column], dict[str, int]]:
    """Return columns that are cut to the schema's bounds, and what that changed, by kind."""
    rows = Rows(X, schema)
    table = _core.Table(schema, rows.columns)
    return [table.column(place) for place in range(len(rows.columns))], {**table.notes, **rows.notes}


def make_table(X: Any, schema: Schema, answers: Column) -> Any:
    """Return the rows as trainers take them, and warn their owner of what that changed."""
    rows = Rows(X, schema)
    table = _core.Table(schema, rows.columns, answers)
    tell_what_changed({**table.notes, **rows.notes}, len(answers))
    return table


# ---- answers


def as_column(y: Any) -> npt.NDArray[Any]:
    """Return answers as an array, by NumPy's own types where pandas has its own for them."""
    if is_arrow(y) or isinstance(y, Coded):
        return cells_of(_answers(y))
    plain = getattr(getattr(y, "dtype", None), "numpy_dtype", None)
    if plain is not None and plain.kind in "biuf" and not y.isna().any():
        return np.asarray(y.to_numpy(dtype=plain))
    if isinstance(y, np.ma.MaskedArray):
        return without_mask(y)
    return _without_complex(_converted(lambda: np.asarray(y)))


def _answers(y: Any) -> Any:
    return arrow_answers(y) if is_arrow(y) else y


def encode_labels(
    y: Any, schema: Schema, *, allow_unlabelled: bool = False
) -> tuple[npt.NDArray[Any], dict[str, int]]:
    """Return the class of every row, or its number within the target's bounds, and what that changed, by kind.

    Parameters
    ----------
    allow_unlabelled : bool
        Whether a class may be missing.
    """
    if schema.target is not None:
        low, high = schema.target
        found = finite_numbers(y, _answer_of(schema))
        changed = int(((found < low) | (found > high)).sum())
        return np.clip(found, low, high), {"clamped_targets": changed}
    codes = classes_of(y, schema.classes, _answer_of(schema), allow_unlabelled=allow_unlabelled)
    return np.where(np.isnan(codes), _UNLABELLED, codes).astype(np.uint32), {}


def read_answers(y: Any, schema: Schema) -> Column:
    """Return the class of every row, or its number as it is."""
    y = _answers(y)
    if schema.target is not None:
        return finite_numbers(y, _answer_of(schema))
    return classes_of(y, schema.classes, _answer_of(schema))


def _answer_of(schema: Schema) -> str:
    return f"column {schema.label!r}"


def finite_numbers(y: Any, what: str) -> Column:
    """Return the number of every row.

    Raises
    ------
    ValueError
        Where there is none, or an infinite one.
    """
    found = numbers_of(y, what)
    wrong = np.flatnonzero(~np.isfinite(found))
    if len(wrong) > 0:
        raise ValueError(
            f"{what} must be a finite number in every row; it is missing or infinite in row {wrong[0]}, "
            "counted from 0"
        )
    return found


def classes_of(
    y: Any, classes: Sequence[str], what: str, *, allow_unlabelled: bool = False
) -> Column:
    """Return the position of every value among `classes`; NaN for a missing one, where that is allowed.

    Raises
    ------
    ValueError
        For a value that is none of them. The value is not quoted: it may be private.
    """
    codes = codes_of(y, classes, what)
    is_class = codes < len(classes)
    wrong = np.flatnonzero(~(is_class | np.isnan(codes)) if allow_unlabelled else ~is_class)
    if len(wrong) > 0:
        listed = ", ".join(repr(one) for one in classes[:8])
        raise ValueError(
            f"{what} has a value that is none of the declared classes: row {wrong[0]}, counted from 0; "
            f"they are {listed}{', ...' if len(classes) > 8 else ''}"
        )
    return codes


# ---- warnings


def tell_what_changed(notes: Mapping[str, int], rows: int) -> None:
    """Warn whoever holds the rows of values that were changed. The counts are private."""
    words = {
        "clamped": "numbers outside their bounds were cut to them",
        "clamped_targets": "numbers to be predicted were outside their bounds and cut to them",
        "rounded": "numbers were rounded to whole ones",
        "inexact": "whole numbers beyond 2^53 were rounded, so that neighbours are one number",
        "unknown_categories": 'values are no category of theirs and became "other"',
    }
    told = [f"{notes[key]} {text}" for key, text in words.items() if notes.get(key, 0) > 0]
    if told:
        warn_caller(f"of {rows} rows, " + "; ".join(told), RuntimeWarning)


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn of the line outside of this package that called it."""
    level = 2
    frame: Optional[Any] = sys._getframe(1)
    while frame is not None and str(frame.f_globals.get("__name__")).partition(".")[0] == "coppice":
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
