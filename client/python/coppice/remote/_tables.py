"""Rows of a caller as messages carry them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, Optional

from coppice import Schema
from coppice._cells import Coded, cells_of
from coppice._rows import (
    as_rows,
    column_of,
    encode_features,
    encode_labels,
    index_of,
    is_frame,
    places_of,
    tell_what_changed,
)
from coppice.schema import is_missing, text_of
from coppice.v1 import dataset_pb2, schema_pb2

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

_UPLOAD_BYTES = 1 << 20
_UPLOAD_ROWS = 65_536
_PREDICT_BYTES = 2 << 20
_PREDICT_ROWS = 10_000


def as_frame(rows: Any, name: str) -> pd.DataFrame:
    """Return `rows` as a DataFrame, which has the column `name`: an array has none.

    Parameters
    ----------
    rows : DataFrame or what becomes one
        A table of Arrow, a mapping of columns, or a sequence of mappings.
    """
    frame = as_rows(rows)
    if not is_frame(frame):
        raise ValueError(f"rows: have no column {name}: give a DataFrame, or a mapping of columns")
    return frame


class Table:
    """Rows that are encoded by a schema, column by column.

    Parameters
    ----------
    rows : DataFrame or what becomes one
        Columns by name; those that the schema does not name are ignored. Without labels also an array, in the
        order of the features.
    labelled : bool
        Whether the label's column is needed; otherwise it is not looked at.
    allow_unlabelled : bool
        Whether a class may be missing.
    tell : bool
        Whether to warn of what reading changed; `notes` counts it.
    """

    def __init__(
        self,
        rows: Any,
        schema: Schema,
        *,
        labelled: bool,
        allow_unlabelled: bool = False,
        tell: bool = True,
    ) -> None:
        import pandas as pd

        table = as_frame(rows, schema.label) if labelled else as_rows(rows)
        if labelled:  # so that one error names all columns that are missing
            places_of(table, [*(feature.name for feature in schema.features), schema.label])
        index = index_of(table)
        self.index = pd.RangeIndex(len(table)) if index is None else index
        self.columns, self.notes = encode_features(table, schema)
        self.labels: Optional[npt.NDArray[Any]] = None
        self._has_target = schema.target is not None
        if labelled:
            answers = column_of(table, schema.label)
            self.labels, changed = encode_labels(answers, schema, allow_unlabelled=allow_unlabelled)
            self.notes.update(changed)
        if tell:
            tell_what_changed(self.notes, len(table))

    def __len__(self) -> int:
        return len(self.index)

    def rows(self, begin: int, end: int) -> Iterator[schema_pb2.Row]:
        """Return rows as messages."""
        import numpy as np

        block = np.column_stack([column[begin:end] for column in self.columns])
        for values in block.tolist():
            yield schema_pb2.Row(values=values)

    def block(self, begin: int, end: int) -> dataset_pb2.RowBlock:
        """Return rows with their labels as one message, column by column."""
        block = dataset_pb2.RowBlock()
        for column in self.columns:
            block.columns.add().values.extend(column[begin:end].tolist())
        if self.labels is not None and begin < end:
            (block.targets if self._has_target else block.labels).extend(
                self.labels[begin:end].tolist()
            )
        return block

    def rows_per_upload(self) -> int:
        """Return how many rows a block of an upload has."""
        return _rows_within(_UPLOAD_BYTES, _UPLOAD_ROWS, len(self.columns))

    def rows_per_prediction(self) -> int:
        """Return how many rows a request for predictions has."""
        return _rows_within(_PREDICT_BYTES, _PREDICT_ROWS, len(self.columns))


def ids_of(frame: pd.DataFrame, column: str) -> list[str]:
    """Return the id of every row as devices write it."""
    found = column_of(frame, column)
    ids = (cells_of(found) if isinstance(found, Coded) else found).tolist()
    missing = next((row for row, identifier in enumerate(ids) if is_missing(identifier)), None)
    if missing is not None:
        raise ValueError(f"column {column!r}: row {missing}, counted from 0, has no id")
    return [text_of(identifier) for identifier in ids]


def _rows_within(size: int, most: int, features: int) -> int:
    return max(1, min(size // (8 * features + 8), most))


def to_message(schema: Schema) -> schema_pb2.Schema:
    """Return a schema as a message."""
    message: schema_pb2.Schema = schema_pb2.Schema.FromString(schema.to_bytes())
    return message


def from_message(schema: schema_pb2.Schema) -> Schema:
    """Return the schema of a message."""
    return Schema.from_bytes(schema.SerializeToString())
