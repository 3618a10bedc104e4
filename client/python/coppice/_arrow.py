"""Tables of other libraries, such as Polars, DuckDB and PyArrow, through Arrow's C data interface.

Whatever has `__arrow_c_stream__` or `__arrow_c_array__` is a table or a column here, and its library is not
imported: rows are read where they lie.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from coppice._arrow_cells import ArrowColumn, kind_of, read_cells, view_of
from coppice._arrow_structs import LARGEST, ArrayStruct, Field, Owned, SchemaStruct, Stream, fields_of
from coppice._arrow_structs import refuse, take
from coppice._cells import Coded, distinct_of, with_mask
from coppice.schema import is_missing

# How many rows of a stream are read at a time: as many as a block of an upload may have.
_PART_ROWS = 65_536


def is_arrow(X: Any) -> bool:
    """Tell a table or a column of Arrow. Those of pandas are read by pandas."""
    return not hasattr(X, "iloc") and (hasattr(X, "__arrow_c_stream__") or hasattr(X, "__arrow_c_array__"))


class ArrowType:
    """The type of a column, as `declare_schema` asks for it.

    Attributes
    ----------
    kind : str
        As NumPy's types have it.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind


class _DictionaryType(ArrowType):
    """The type of a column of categories, whose values stand in its batches."""

    def __init__(self, table: ArrowTable, place: int) -> None:
        super().__init__("O")
        self._column = functools.partial(table.column, place)

    @property
    def categories(self) -> list[Any]:
        """The values of all batches, also those that no row has."""
        return [value for value in distinct_of(self._column())[1] if not is_missing(value)]


class _Batch:
    """Columns of one array: those of a table, or itself as the only one."""

    def __init__(self, owned: Owned, whole: Field, fields: Sequence[Field]) -> None:
        self.owned = owned
        self._fields = fields
        self._is_table = whole.format == "+s"
        array = owned.struct
        self.rows = int(array.length)
        if self.rows < 0 or array.offset < 0 or self.rows + array.offset > LARGEST:
            refuse("has a batch of impossible length or offset")
        if self._is_table:
            self._check_table(array)

    def _check_table(self, array: ArrayStruct) -> None:
        if array.n_children != len(self._fields) or (self._fields and not array.children):
            refuse(f"has {array.n_children} columns in a batch and {len(self._fields)} in its type")
        if not all(array.children[place] for place in range(len(self._fields))):
            refuse("has a batch without one of its columns")
        if array.null_count != 0 and self._has_missing_rows(array):
            raise ValueError("rows: the Arrow table has rows that are missing as a whole: leave them out")

    def _has_missing_rows(self, array: ArrayStruct) -> bool:
        if array.n_buffers != 1 or not array.buffers or not array.buffers[0]:
            return bool(array.null_count > 0)
        end = array.offset + array.length
        bits = np.unpackbits(
            view_of(array.buffers[0], np.dtype(np.uint8), (end + 7) // 8, self.owned), bitorder="little"
        )
        return not bits[array.offset : end].all()

    def column(self, place: int, begin: int, count: int) -> ArrowColumn:
        array, first = self.owned.struct, begin
        if self._is_table:
            first += array.offset
            array = array.children[place].contents
        return read_cells(array, self._fields[place], first, count, self.owned)


class ArrowTable:
    """Rows in batches that stay where their producer put them, with names for columns.

    Guarantee: the memory is released with the last column that is a view of it.

    Attributes
    ----------
    columns : list of str
        Names.
    """

    def __init__(self, fields: Sequence[Field], pieces: Sequence[tuple[_Batch, int, int]]) -> None:
        self.columns = [field.name for field in fields]
        self._fields = fields
        self._pieces = pieces  # a batch, a first row of it, and how many

    def __len__(self) -> int:
        return sum(count for _, _, count in self._pieces)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return len(self), len(self.columns)

    @property
    def dtypes(self) -> list[ArrowType]:
        """The types of the columns."""
        return [self._type(place) for place in range(len(self._fields))]

    def _type(self, place: int) -> ArrowType:
        field = self._fields[place]
        return ArrowType(kind_of(field)) if field.values is None else _DictionaryType(self, place)

    def column(self, place: int) -> ArrowColumn:
        """Return the cells of a column, as `_cells` reads them."""
        if not self._pieces:
            is_number = kind_of(self._fields[place]) in "biuf"
            return np.empty(0) if is_number else Coded(np.empty(0, dtype=np.int64), [])
        return _joined([batch.column(place, begin, count) for batch, begin, count in self._pieces])

    def renamed(self, names: Sequence[str]) -> ArrowTable:
        """Return the same rows with other names for the columns."""
        made = ArrowTable(self._fields, self._pieces)
        made.columns = list(names)
        return made


def has_arrow_types(given: Any) -> bool:
    """Tell a schema of Arrow, or what has one."""
    return hasattr(given, "__arrow_c_schema__") or is_arrow(given)


def arrow_types(given: Any) -> dict[str, ArrowType]:
    """Return the types of a schema's or a table's columns by name. No row is read.

    Raises
    ------
    ValueError
        For two columns of one name.
    """
    if hasattr(given, "__arrow_c_schema__"):
        _, fields = fields_of(take(given.__arrow_c_schema__(), SchemaStruct, "arrow_schema"))
    else:
        _, fields, _ = _opened(given)
    types = {field.name: ArrowType(kind_of(field)) for field in fields}
    if len(types) < len(fields):
        raise ValueError("dtypes: the Arrow schema has several columns of one name")
    return types


def as_arrow_table(X: Any) -> ArrowTable:
    """Return all rows of a table of Arrow.

    Raises
    ------
    ValueError
        For a column alone, for a producer that fails, and for one that breaks the interface's rules.
    """
    fields, batches = _open(X)
    return ArrowTable(fields, [(batch, 0, batch.rows) for batch in batches if batch.rows > 0])


def arrow_parts(X: Any) -> Iterator[ArrowTable]:
    """Return the rows in parts, each read from its producer when it is asked for.

    A part has as many rows as a block of an upload may have, whatever batches the producer makes; only the last
    one has fewer. There is one part at least, so that the columns of no rows are looked at, too.
    """
    fields, batches = _open(X)
    pieces: list[tuple[_Batch, int, int]] = []
    room, parts = _PART_ROWS, 0
    for batch in batches:
        begin = 0
        while begin < batch.rows:
            count = min(room, batch.rows - begin)
            pieces.append((batch, begin, count))
            begin, room = begin + count, room - count
            if room == 0:
                yield ArrowTable(fields, pieces)
                pieces, room, parts = [], _PART_ROWS, parts + 1
    if pieces or parts == 0:
        yield ArrowTable(fields, pieces)


def arrow_answers(y: Any) -> ArrowColumn:
    """Return the one column of an Arrow column, or of a table that has one."""
    whole, fields, batches = _opened(y)
    if whole.format == "+s" and len(fields) != 1:
        raise ValueError(f"y must be one column, and this Arrow table has {len(fields)}")
    whole.name = whole.name or "y"  # by which errors call it
    held = fields or [whole]
    return ArrowTable(held, [(batch, 0, batch.rows) for batch in batches if batch.rows > 0]).column(0)


def _open(X: Any) -> tuple[list[Field], Iterator[_Batch]]:
    whole, fields, batches = _opened(X)
    if whole.format != "+s":
        raise ValueError("rows must be a table, and this is one column of Arrow")
    return fields, batches


def _opened(X: Any) -> tuple[Field, list[Field], Iterator[_Batch]]:
    """Return the type of the whole, the fields of a table, and batches as they come."""
    if hasattr(X, "__arrow_c_stream__"):
        stream = Stream(X.__arrow_c_stream__())
        whole, fields, arrays = stream.whole, stream.fields, stream.batches()
    else:
        schema, array = X.__arrow_c_array__()
        owned = take(array, ArrayStruct, "arrow_array")  # first, so that it is released whatever the schema says
        whole, fields = fields_of(take(schema, SchemaStruct, "arrow_schema"))
        arrays = iter([owned])
    held = fields if whole.format == "+s" else [whole]
    return whole, fields, (_Batch(one, whole, held) for one in arrays)


# ---- columns of several batches


def _joined(columns: list[ArrowColumn]) -> ArrowColumn:
    """Return the cells of columns, one after another."""
    if len(columns) == 1:
        return columns[0]
    if any(isinstance(column, Coded) for column in columns):
        return _joined_coded([distinct_of(column) for column in columns])
    cells = np.concatenate([np.ma.getdata(column) for column in columns])  # type: ignore[no-untyped-call]
    if not any(isinstance(column, np.ma.MaskedArray) for column in columns):
        return cells
    masks = [np.ma.getmaskarray(column) for column in columns]  # type: ignore[no-untyped-call]
    return with_mask(cells, np.concatenate(masks))


def _joined_coded(columns: list[tuple[Any, list[Any]]]) -> Coded:
    """Return one list of distinct values; those of each batch move to their places in it."""
    position: dict[Any, int] = {}
    distinct: list[Any] = []
    moved = []
    for places, values in columns:
        moves = np.full(len(values) + 1, -1, dtype=np.int64)
        for place, value in enumerate(values):
            moves[place] = position.setdefault((type(value), value), len(distinct))
            if moves[place] == len(distinct):
                distinct.append(value)
        moved.append(moves[places])
    return Coded(np.concatenate(moved), distinct)
