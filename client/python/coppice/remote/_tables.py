"""Rows of a caller as messages carry them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, Optional

from coppice import Schema
from coppice._rows import encode_features, encode_labels, tell_what_changed
from coppice.v1 import dataset_pb2, schema_pb2

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd

_UNLABELLED = 2**32 - 1
_UPLOAD_BYTES = 1 << 20
_UPLOAD_ROWS = 65_536
_PREDICT_BYTES = 2 << 20
_PREDICT_ROWS = 10_000


def as_frame(rows: Any) -> pd.DataFrame:
    """Return `rows` as a DataFrame: one already, an Arrow or Polars table, or columns by name."""
    import pandas as pd

    if isinstance(rows, pd.DataFrame):
        return rows
    if hasattr(rows, "to_pandas"):
        return rows.to_pandas()
    return pd.DataFrame(rows)


class Table:
    """Rows that are encoded by a schema, column by column.

    Parameters
    ----------
    rows : DataFrame or what becomes one
        Columns by name; those that the schema does not name are ignored.
    labelled : bool
        Whether the label's column is needed; otherwise it is not looked at.
    allow_unlabelled : bool
        Whether a class may be missing.
    """

    def __init__(
        self, rows: Any, schema: Schema, *, labelled: bool, allow_unlabelled: bool = False
    ) -> None:
        frame = as_frame(rows)
        names = [feature.name for feature in schema.features]
        missing = [name for name in names + [schema.label] * labelled if name not in frame.columns]
        if missing:
            raise ValueError(
                f"rows: have no column {', '.join(missing)}; the schema wants "
                f"{', '.join(names + [schema.label] * labelled)}"
            )
        self.index = frame.index
        self.columns, notes = encode_features(frame[names], schema)
        self.labels: Optional[npt.NDArray[Any]] = None
        self._has_target = schema.target is not None
        if labelled:
            encode = _encode_known_labels if allow_unlabelled else encode_labels
            self.labels = encode(frame[schema.label], schema)
        tell_what_changed(notes, len(frame))

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


def _encode_known_labels(labels: pd.Series, schema: Schema) -> npt.NDArray[Any]:
    import numpy as np

    if schema.target is not None:
        return encode_labels(labels, schema)
    is_known = (labels.notna() & (labels != "")).to_numpy(dtype=bool, na_value=False)
    encoded = np.full(len(labels), _UNLABELLED, dtype=np.uint32)
    encoded[is_known] = encode_labels(labels[is_known], schema)
    return encoded


def _rows_within(size: int, most: int, features: int) -> int:
    return max(1, min(size // (8 * features + 8), most))


def to_message(schema: Schema) -> schema_pb2.Schema:
    """Return a schema as a message."""
    message: schema_pb2.Schema = schema_pb2.Schema.FromString(schema.to_bytes())
    return message


def from_message(schema: schema_pb2.Schema) -> Schema:
    """Return the schema of a message."""
    return Schema.from_bytes(schema.SerializeToString())
