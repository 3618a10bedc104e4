"""Tables by Arrow's C data interface, of every type and wrong in every way that a reader can notice."""

import dataclasses
import gc
import math
import struct
import warnings

import numpy as np
import pandas as pd
import pytest

import arrow_maker as make
import coppice
from arrow_maker import ByArray, ByStream, table
from coppice import PrivateTreeClassifier, PrivateTreeRegressor, _rows
from coppice._arrow import arrow_parts, as_arrow_table
from coppice.remote._tables import Table
from coppice.schema import as_schema

NUMBER = {"name": "x", "type": "numeric", "min": -200, "max": 200}
WIDE = {**NUMBER, "min": -(2**62), "max": 2**62}
WORDS = ["a", "bb", "a text of more than twelve bytes", "naïve"]
TEXT = {"name": "x", "type": "categorical", "values": WORDS}
FLAG = {"name": "x", "type": "categorical", "values": ["False", "True"]}
DIGIT = {"name": "x", "type": "categorical", "values": ["1", "2"]}
DAY = {"name": "x", "type": "categorical", "values": ["2024-01-31", "1969-12-31"]}
TIME = {"name": "x", "type": "categorical", "values": ["12:30:00", "00:00:00"]}
MONEY = {"name": "x", "type": "categorical", "values": ["1.5", "20"]}


def schema_of(*features):
    return as_schema({"label": "y", "classes": ["no", "yes"], "features": features})


def read(rows, *features):
    """The columns as trainers get them: numbers, and codes of categories."""
    return _rows.Rows(rows, schema_of(*(features or [NUMBER]))).columns


def values_of(column, feature):
    """The values of a read column: numbers, texts, "other", and None where one is missing."""
    names = [*feature["values"], "other"] if feature["type"] == "categorical" else None
    return [None if math.isnan(code) else code if names is None else names[int(code)] for code in column]


# ---- types

SMALL = [1, None, 127, 0]
TEXTS = ["a", None, "bb", WORDS[2], "naïve", "a", "", "z" * 40, WORDS[2]]
READ_TEXTS = ["a", None, "bb", WORDS[2], "naïve", "a", None, "other", WORDS[2]]
DAYS = [19753, None, -1]

TYPES = {
    **{f"numbers {format}": (make.numbers(format, SMALL), NUMBER, SMALL) for format in "cCsSiIlLefg"},
    "numbers without missing ones": (make.numbers("g", [1.5, -2.5]), NUMBER, [1.5, -2.5]),
    "NaN": (make.numbers("g", [math.nan, 1]), NUMBER, [None, 1]),
    "signed numbers": (make.numbers("c", [-1, -128]), NUMBER, [-1, -128]),
    "numbers as categories": (make.numbers("l", [1, None, 2, 3]), DIGIT, ["1", None, "2", "other"]),
    "large unsigned numbers": (make.numbers("L", [2**62, 2**53]), WIDE, [2.0**62, 2.0**53]),
    "floats as categories": (make.numbers("g", [1, None, 2, 0.5]), DIGIT, ["1", None, "2", "other"]),
    "bools as numbers": (make.bools([True, None, False]), NUMBER, [1, None, 0]),
    "bools": (make.bools([True, None, False] * 5), FLAG, ["True", None, "False"] * 5),
    "bools without missing ones": (make.bools([True, False, True]), FLAG, ["True", "False", "True"]),
    "bools of a byte each": (make.extension(make.numbers("c", [1, None, 0]), "arrow.bool8"), FLAG, ["True", None, "False"]),
    "nothing": (make.nulls(3), NUMBER, [None] * 3),
    "no categories": (make.nulls(2), TEXT, [None] * 2),
    **{f"texts {format}": (make.texts(format, TEXTS), TEXT, READ_TEXTS) for format in "uUzZ"},
    "views of texts": (make.views(TEXTS), TEXT, READ_TEXTS),
    "views of bytes": (make.views(TEXTS, "vz"), TEXT, READ_TEXTS),
    "short views": (make.views(["a", "bb", "twelve bytes"]), TEXT, ["a", "bb", "other"]),
    "texts of one length": (make.of_one_length(2, ["bb", None, "cc"]), TEXT, ["bb", None, "other"]),
    "texts of no length": (make.of_one_length(0, ["", ""]), TEXT, [None, None]),
    "texts of numbers": (make.texts("u", ["1", "2.5", "", None, "-1e2"]), NUMBER, [1, 2.5, None, None, -100]),
    "JSON": (make.extension(make.texts("u", ["a"]), "arrow.json"), TEXT, ["a"]),
    **{f"a dictionary by codes {kind}": (make.coded([1, 0, None, 1], make.texts("u", ["a", "bb"]), kind), TEXT, ["bb", "a", None, "bb"])
       for kind in "cCsSiIlL"},
    "a dictionary with a missing value": (make.coded([0, 1, 2], make.texts("U", ["a", None, ""])), TEXT, ["a", None, None]),
    "a dictionary with a value twice": (make.coded([0, 1, 2], make.texts("U", ["a", "bb", "a"])), TEXT, ["a", "bb", "a"]),
    "a dictionary of views": (make.coded([1, None, 0], make.views([WORDS[2], "a"])), TEXT, ["a", None, WORDS[2]]),
    "a dictionary of numbers": (make.coded([1, 0, None], make.numbers("i", [5, 7])), NUMBER, [7, 5, None]),
    "a dictionary of texts of numbers": (make.coded([0, 0, None], make.texts("u", ["5", "no number"])), NUMBER, [5, 5, None]),
    "a dictionary of bools": (make.coded([1, 0, None], make.bools([True, False])), FLAG, ["False", "True", None]),
    "a dictionary of days": (make.coded([1, 0, None], make.stored_as("tdD", "i", [19753, -1])), DAY, ["1969-12-31", "2024-01-31", None]),
    "an empty dictionary": (make.coded([None, None], make.texts("u", [])), TEXT, [None, None]),
    **{f"decimals of {bits} bits": (make.decimals([150, None, -2000], 9, 2, bits), NUMBER, [1.5, None, -20]) for bits in (32, 64, 128, 256)},
    "decimals beyond float64": (make.decimals([10**25 + 1, None, 5], 38, 25), NUMBER, [1.0, None, 5e-25]),
    "decimals of negative scale": (make.decimals([1, None], 38, -2), NUMBER, [100, None]),
    "decimals as categories": (make.decimals([150, 2000, None, 151], 9, 2), MONEY, ["1.5", "20", None, "other"]),
    "long decimals as categories": (make.decimals([15 * 10**29, 20 * 10**30, None, -1], 38, 30), MONEY, ["1.5", "20", None, "other"]),
    "days": (make.stored_as("tdD", "i", DAYS), DAY, ["2024-01-31", None, "1969-12-31"]),
    "days in milliseconds": (make.stored_as("tdm", "l", [None if day is None else day * 86_400_000 for day in DAYS]), DAY,
                             ["2024-01-31", None, "1969-12-31"]),
    **{f"times of day {format}": (make.stored_as(format, kind, [45_000 * unit, None, 0]), TIME, ["12:30:00", None, "00:00:00"])
       for format, kind, unit in (("tts", "i", 1), ("ttm", "i", 10**3), ("ttu", "l", 10**6), ("ttn", "l", 10**9))},
    "moments that are all missing": (make.stored_as("tsn:UTC", "l", [None, None]), NUMBER, [None, None]),
}


@pytest.mark.parametrize("hand", [ByStream, ByArray])
@pytest.mark.parametrize("name", TYPES)
def test_a_type_is_read(name, hand):
    column, feature, expected = TYPES[name]
    given = hand(table(column))
    (found,) = read(given, feature)
    assert values_of(found, feature) == expected
    del found
    gc.collect()
    assert make.is_whole(given.producer)


def sliced(cells, skip):
    """The same column behind `skip` others, by its offset."""
    return dataclasses.replace(cells, offset=cells.offset + skip, length=cells.length - skip, null_count=-1)


@pytest.mark.parametrize("name", TYPES)
def test_a_part_of_a_column_is_read(name):
    """By the offset of the column, by that of its batch, and in batches beside an empty one."""
    column, feature, expected = TYPES[name]
    inside = dataclasses.replace(table(column), offset=1, length=column.length - 1)
    batches = [table(sliced(column, 1)), table(dataclasses.replace(column, length=0, null_count=0)), table(column), inside]
    (found,) = read(ByStream(*batches), feature)
    assert values_of(found, feature) == expected[1:] + expected + expected[1:]


@pytest.mark.parametrize("name", TYPES)
def test_no_rows_are_no_rows(name):
    column, feature, _ = TYPES[name]
    for batches in ([], [table(dataclasses.replace(column, length=0, null_count=0))]):
        assert read(ByStream(*batches, types=table(column)), feature)[0].shape == (0,)


def test_an_empty_column_needs_no_buffers():
    for column in (make.numbers("g", []), make.texts("u", []), make.views([]), make.bools([]), make.decimals([])):
        empty = dataclasses.replace(column, buffers=[None] * len(column.buffers))
        assert read(ByStream(table(empty)))[0].shape == (0,)


REFUSED = {
    "a moment": (make.stored_as("tsu:Europe/Paris", "l", [0]), NUMBER, "must hold numbers; row 0, counted from 0, holds a time"),
    "a moment as a category": (make.stored_as("tss:", "l", [None, 0]), TEXT, "must hold categories; row 1, counted from 0, holds a time"),
    "a duration": (make.stored_as("tDm", "l", [5]), NUMBER, "holds a time"),
    "a day": (make.stored_as("tdD", "i", [None, 5]), NUMBER, "must hold numbers; row 1, counted from 0, holds a time"),
    "a day beyond years": (make.stored_as("tdD", "i", [2**31 - 1]), DAY, "holds a time"),
    "a time of day finer than Python's": (make.stored_as("ttn", "l", [1]), TIME, "holds a time"),
    "a time beyond a day": (make.stored_as("tts", "i", [86_400]), TIME, "holds a time"),
    "a text": (make.texts("u", ["1", None, "secret"]), NUMBER, "must hold numbers; row 2, counted from 0, holds a text"),
    "a text of a dictionary": (make.coded([1, 0], make.texts("u", ["secret", "5"])), NUMBER, "row 1, counted from 0, holds a text"),
    "bytes that are no text": (make.texts("u", [b"\xff\xfe"]), TEXT, "holds something that has no text"),
    "bytes that are no number": (make.views([b"\xff\xfe"]), NUMBER, "holds a text"),
    "an infinite number": (make.numbers("g", [math.inf]), NUMBER, "row 0.*finite number"),
    "a period": (make.extension(make.numbers("l", [5]), "pandas.period"), NUMBER, "has the Arrow type pandas.period"),
    "a UUID": (make.extension(make.of_one_length(16, ["secret"]), "arrow.uuid"), TEXT, "has the Arrow type arrow.uuid"),
    "months": (make.stored_as("tiM", "i", [5]), NUMBER, "has the Arrow type 'tiM'"),
    "a list": (make.Cells("+l", 1, [None, struct.pack("<2i", 0, 1)], children=[make.numbers("g", [1])]), NUMBER, r"has the Arrow type '\+l'"),
    "a record": (dataclasses.replace(table(make.numbers("g", [1])), name="x"), NUMBER, r"has the Arrow type '\+s'"),
    "a union": (make.Cells("+ud:0,1", 1, [b"\0", b"\0" * 4], children=[make.numbers("g", [1])] * 2), NUMBER, r"has the Arrow type '\+ud:0,1'"),
    "runs": (make.Cells("+r", 1, [], children=[make.numbers("i", [1]), make.numbers("g", [1])]), NUMBER, r"has the Arrow type '\+r'"),
    "a type of tomorrow": (make.Cells("qubit", 1, [None, b"\0" * 8]), NUMBER, "has the Arrow type 'qubit'"),
    "no type": (make.Cells("", 1, [None, b"\0" * 8]), NUMBER, "has the Arrow type ''"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_neither_number_nor_category_is_refused(name):
    column, feature, told = REFUSED[name]
    given = ByStream(table(column))
    with pytest.raises(ValueError, match=told) as error:
        Table(given, schema_of(feature), labelled=False)
    assert "secret" not in str(error.value)
    assert read(ByStream(table(column, make.numbers("g", [1] * column.length, name="z"))), {**NUMBER, "name": "z"})
    del error
    gc.collect()
    assert make.is_whole(given.producer)


def test_what_the_schema_does_not_name_is_not_looked_at():
    wrong = [make.numbers("g", [1], name="w", n_buffers=9), make.Cells("+l", 1, [], name="v"), make.texts("u", ["a"], name=None)]
    assert read(ByStream(table(*wrong, make.numbers("g", [7]))))[0].tolist() == [7]


# ---- malformed tables


def changed(cells, **more):
    return dataclasses.replace(cells, **more)


PLAIN = make.numbers("l", [1, 2, 3])
HOLES = make.numbers("l", [1, None, 3])
SPELT = make.texts("u", ["a", "bb", "c"])
FAR = make.views(["a text beyond twelve bytes", "another of more than twelve"])
CODES = make.coded([0, 1, 0], make.texts("u", ["a", "bb"]))


def far_view(length=26, buffer=0, offset=0):
    return changed(FAR, buffers=[None, struct.pack("<i4sii", length, b"a te", buffer, offset) * 2, *FAR.buffers[2:]])


MALFORMED = {
    "a negative length": (changed(PLAIN, length=-1), "impossible length or offset"),
    "a negative offset": (changed(PLAIN, offset=-1), "impossible length or offset"),
    "a length beyond memory": (changed(PLAIN, length=2**62), "impossible length or offset"),
    "bytes beyond memory": (changed(PLAIN, offset=2**46), "more rows than memory holds"),
    "an offset beyond memory": (changed(PLAIN, offset=2**63 - 1), "impossible length or offset"),
    "fewer rows than the batch": (changed(PLAIN, length=2), "has 2 rows where its batch has more"),
    "too many missing values": (changed(PLAIN, null_count=4), "impossible number of missing values"),
    "a negative number of missing values": (changed(PLAIN, null_count=-2), "impossible number of missing values"),
    "missing values without a bitmap": (changed(PLAIN, null_count=1), "no buffer"),
    "numbers without a buffer": (changed(PLAIN, buffers=[None, None]), "no buffer"),
    "bools without a buffer": (make.Cells("b", 3, [None, None]), "no buffer"),
    "one buffer": (changed(PLAIN, n_buffers=1), "has 1 buffers where its type has 2"),
    "three buffers": (changed(PLAIN, n_buffers=3), "has 3 buffers where its type has 2"),
    "no list of buffers": (changed(PLAIN, no_buffers=True), "has 2 buffers where"),
    "columns inside of numbers": (changed(PLAIN, n_children=1), "has 1 columns inside a plain one"),
    "offsets without a buffer": (changed(SPELT, buffers=[None, None, b"abbc"]), "no buffer"),
    "texts without a buffer": (changed(SPELT, buffers=[None, SPELT.buffers[1], None]), "texts and no buffer"),
    "offsets that fall": (changed(SPELT, buffers=[None, struct.pack("<4i", 0, 3, 2, 4), b"abbc"]), "offsets that do not rise"),
    "a negative offset of a text": (changed(SPELT, buffers=[None, struct.pack("<4i", -1, 1, 3, 4), b"abbc"]), "offsets that do not rise"),
    "an offset of a text beyond memory": (make.Cells("U", 3, [None, struct.pack("<4q", 0, 1, 2, 2**62), b"abc"]), "offsets that do not rise"),
    "texts with two buffers": (changed(SPELT, n_buffers=2), "has 2 buffers where its type has 3"),
    "a view of negative length": (far_view(length=-1), "negative length"),
    "a view of a buffer that is not there": (far_view(buffer=2), "a buffer that it does not have"),
    "a view of a negative buffer": (far_view(buffer=-1), "a buffer that it does not have"),
    "a view at a negative offset": (far_view(offset=-1), "beyond the end of its buffer"),
    "a view that ends beyond its buffer": (far_view(offset=1), "beyond the end of its buffer"),
    "a view of an empty buffer": (changed(FAR, buffers=[None, FAR.buffers[1], None, None, FAR.buffers[4]]), "beyond the end of its buffer"),
    "views without sizes": (changed(FAR, buffers=[*FAR.buffers[:4], None]), "no buffer"),
    "views with two buffers": (changed(FAR, n_buffers=2), "has 2 buffers where its type has 3 or more"),
    "views without a buffer": (changed(FAR, buffers=[None, None, *FAR.buffers[2:]]), "no buffer"),
    "a code beyond the dictionary": (changed(CODES, buffers=[None, struct.pack("<3i", 0, 2, 0)]), "a code that its dictionary does not have"),
    "a code beyond the dictionary beside a missing one": (changed(make.coded([2, None, 0], make.texts("u", ["a", "bb"]))),
                                                        "a code that its dictionary does not have"),
    "a negative code": (changed(CODES, buffers=[None, struct.pack("<3i", 0, -1, 0)]), "a code that its dictionary does not have"),
    "a code beyond every dictionary": (changed(make.coded([0, 2**64 - 1], make.texts("u", ["a"]), "L"), length=2), "a code that its"),
    "a dictionary of its type alone": (changed(CODES, no_dictionary=True), "in its type or in its values alone"),
    "a dictionary by fractions": (make.coded([0, 1, 0], make.texts("u", ["a", "bb"]), "g"), "codes are of type 'g'"),
    "a dictionary of dictionaries": (changed(CODES, dictionary=CODES), "a dictionary of dictionaries"),
    "a dictionary of negative length": (changed(CODES, dictionary=changed(SPELT, length=-1)), "impossible length"),
    "a dictionary of damaged texts": (changed(CODES, dictionary=changed(SPELT, buffers=[None, None, None])), "no buffer"),
    "a dictionary of lists": (changed(CODES, dictionary=make.Cells("+l", 2, [])), r"has the Arrow type '\+l'"),
    "a decimal without digits": (changed(make.decimals([1, 2, 3]), format="d:x,y"), "unknown type 'd:x,y'"),
    "a decimal of seven bits": (changed(make.decimals([1, 2, 3]), format="d:5,2,7"), "unknown type 'd:5,2,7'"),
    "texts of a length that is none": (changed(make.of_one_length(1, ["a", "b", "c"]), format="w:-1"), "unknown type 'w:-1'"),
    "a moment without a unit": (changed(PLAIN, format="tsx:"), "unknown type 'tsx:'"),
    "a moment without a zone's place": (changed(PLAIN, format="tsn"), "unknown type 'tsn'"),
    "a day that is not whole": (make.stored_as("tdm", "l", [1, 2, 3]), "do not begin at midnight"),
    "damaged metadata": (changed(PLAIN, metadata=struct.pack("<i", -1)), "damaged metadata"),
    "metadata of many pairs": (changed(PLAIN, metadata=struct.pack("<i", 2**30)), "damaged metadata"),
    "metadata of negative length": (changed(PLAIN, metadata=struct.pack("<2i", 1, -5)), "damaged metadata"),
}


@pytest.mark.parametrize("hand", [ByStream, ByArray])
@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_column_is_refused(name, hand):
    column, told = MALFORMED[name]
    rows = 2 if "view" in name or "every" in name else 3
    given = hand(table(column, length=rows))
    for feature in (NUMBER, TEXT):
        with pytest.raises(ValueError, match=told):
            read(given, feature)
        given = hand(table(column, length=rows))
        with pytest.raises(ValueError, match=told):
            read(given, feature)
    del given


WRONG_BATCHES = {
    "a negative number of rows": (changed(table(PLAIN), length=-1), "a batch of impossible length or offset"),
    "a negative offset": (changed(table(PLAIN), offset=-1), "a batch of impossible length or offset"),
    "an offset beyond the columns": (changed(table(PLAIN), offset=1), "has 3 rows where its batch has more"),
    "more rows than the columns": (table(PLAIN, length=4), "has 3 rows where its batch has more"),
    "a column too many": (changed(table(PLAIN), array_children=[PLAIN, PLAIN]), "has 2 columns in a batch and 1 in its type"),
    "no column": (changed(table(PLAIN), array_children=[]), "has 0 columns in a batch and 1 in its type"),
    "columns that are said and not there": (changed(table(PLAIN), array_children=[], n_children=1), "has 1 columns in a batch"),
    "a pointer to nothing for a column": (changed(table(PLAIN), array_children=[None]), "without one of its columns"),
    "a length beyond memory": (table(PLAIN, length=2**62), "a batch of impossible length or offset"),
    "one row that is missing as a whole": (changed(table(PLAIN), null_count=-1, buffers=[b"\x05"]), "missing as a whole"),
    "rows that are missing and no bitmap": (changed(table(PLAIN), null_count=2, buffers=[None]), "missing as a whole"),
    "rows that are missing as a whole": (changed(table(PLAIN), null_count=1, buffers=[b"\x05"]), "missing as a whole"),
}


@pytest.mark.parametrize("hand", [ByStream, ByArray])
@pytest.mark.parametrize("name", WRONG_BATCHES)
def test_a_malformed_batch_is_refused(name, hand):
    batch, told = WRONG_BATCHES[name]
    given = hand(batch, types=table(PLAIN))
    with pytest.raises(ValueError, match=told) as error:
        read(given)
    del error
    gc.collect()
    assert make.is_whole(given.producer)


def test_a_batchs_bitmap_may_say_that_all_are_there():
    assert read(ByArray(changed(table(PLAIN), null_count=-1, buffers=[b"\x07"])))[0].tolist() == [1, 2, 3]


def test_a_large_dictionary_is_read_once_per_batch_and_cut_to_what_is_there():
    names = [f"w{number}" for number in range(10_000)]
    given = ByArray(table(make.coded([9_999, None, 5, 9_999], make.texts("u", names)), make.coded([5] * 4, make.texts("u", names), name="z")))
    held = as_arrow_table(given)
    for _ in range(2):
        column = held.column(0)
        assert (column.places.tolist(), column.distinct) == ([1, -1, 0, 1], ["w5", "w9999"])
    assert held.column(1).cells().tolist() == ["w5"] * 4
    assert len(held._pieces[0][0].owned.dictionaries) == 2


def test_a_batch_of_another_type_is_refused():
    """The interface gives a stream one type, so a batch can only contradict it."""
    for other in (table(make.texts("u", ["a"])), table(CODES), table()):
        given = ByStream(table(PLAIN), other, types=table(PLAIN))
        with pytest.raises(ValueError, match="has 3 buffers where|its type or in its values alone|has 0 columns in a batch"):
            read(given)


def test_a_types_columns_are_checked():
    for types in (changed(table(PLAIN), format=None), table(changed(PLAIN, format=None))):
        with pytest.raises(ValueError, match="a column without a type"):
            read(ByStream(table(PLAIN), types=types))


# ---- producers


FAILING = {
    "the types cannot be told": ({"schema_error": 5}, "producer stopped with an error: the disk is on fire"),
    "the first batch cannot be read": ({"next_error": 5}, "producer stopped with an error: the disk is on fire"),
    "a later batch cannot be read": ({"next_error": 5, "after": 1}, "producer stopped with an error: the disk is on fire"),
    "an error without words": ({"next_error": 12, "told": None}, "producer stopped with an error: Cannot allocate memory"),
    "an error in no encoding": ({"next_error": 5, "told": b"\xff!"}, "producer stopped with an error: \ufffd!"),
    "an error without a callback": ({"next_error": 5, "without": ("get_last_error",)}, "error: Input/output error"),
    "a stream without types": ({"no_schema": True}, "has no types"),
    "a stream without get_schema": ({"without": ("get_schema",)}, "has no get_schema"),
    "a stream without get_next": ({"without": ("get_next",)}, "has no get_next"),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_producers_error_is_told(name):
    options, told = FAILING[name]
    given = ByStream(table(PLAIN), table(PLAIN), **options)
    with pytest.raises(ValueError, match=told) as error:
        read(given)
    del error
    gc.collect()
    assert make.is_whole(given.producer)


def test_an_exception_of_the_producer_goes_on():
    class Failing:
        def __arrow_c_stream__(self, requested_schema=None):
            raise KeyError("no such view")

    with pytest.raises(KeyError, match="no such view"):
        read(Failing())


@pytest.mark.parametrize("given", [5, None, "arrow_array_stream", object()])
def test_what_is_no_capsule_is_refused(given):
    class Odd:
        def __arrow_c_stream__(self, requested_schema=None):
            return given

    with pytest.raises(TypeError, match="must come as a capsule 'arrow_array_stream'"):
        read(Odd())


def test_a_capsule_of_another_kind_is_refused():
    class Odd:
        producer = make.Producer([table(PLAIN)])

        def __arrow_c_stream__(self, requested_schema=None):
            return self.producer.array()[1]

    with pytest.raises(TypeError, match="must come as a capsule"):
        read(Odd())


@pytest.mark.parametrize("pair", [lambda one: one.array()[::-1], lambda one: (one.array()[0], 5), lambda one: (5, one.array()[1])])
def test_a_pair_of_wrong_capsules_is_refused(pair):
    class Odd:
        producer = make.Producer([table(PLAIN)])

        def __arrow_c_array__(self, requested_schema=None):
            return pair(self.producer)

    with pytest.raises(TypeError, match="must come as a capsule") as error:
        read(Odd())
    del error
    gc.collect()
    assert make.is_whole(Odd.producer)


def test_a_capsule_is_read_once():
    class Again:
        def __init__(self):
            self.producer = make.Producer([table(PLAIN)])
            self.capsule = self.producer.stream()

        def __arrow_c_stream__(self, requested_schema=None):
            return self.capsule

    given = Again()
    assert read(given)[0].tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="was read before: get it from its producer again"):
        read(given)
    del given.capsule
    gc.collect()
    assert make.is_whole(given.producer)


# ---- memory


def test_float64_stays_where_it_lies():
    given = ByStream(table(make.numbers("g", [1.5, 2.5]), make.numbers("g", [1, None], name="z")))
    view, copy = read(given, NUMBER, {**NUMBER, "name": "z"})
    assert not view.flags.owndata and not view.flags.writeable and copy.flags.owndata
    gc.collect()
    assert given.producer.released == given.producer.made - 1  # the batch
    assert view.tolist() == [1.5, 2.5]
    del view
    gc.collect()
    assert make.is_whole(given.producer)


def test_parts_are_as_large_as_blocks_and_read_as_they_are_asked_for():
    batches = [table(make.numbers("g", np.arange(size, dtype=float).tolist())) for size in (50_000, 30_000, 0, 200_000, 5)]
    given = ByStream(*batches)
    sizes = []
    for part in arrow_parts(given):
        sizes.append(len(part))
        held = given.producer.made - given.producer.released
        assert held <= 4  # the stream, the batches of this part, and the one that is cut
    assert sizes == [65_536] * 4 + [17_861]
    del part
    gc.collect()
    assert make.is_whole(given.producer)


def test_parts_have_the_rows_of_the_whole():
    batches = [table(make.coded([0, 1, None] * 20_000, make.texts("u", words)), make.bools([True, None, False] * 20_000, name="z"))
               for words in (["a", "bb"], ["bb", "a"])]
    features = TEXT, {**FLAG, "name": "z"}
    whole = read(ByStream(*batches), *features)
    parts = [read(part, *features) for part in arrow_parts(ByStream(*batches))]
    assert len(parts) == 2
    for place in range(2):
        assert np.array_equal(np.concatenate([part[place] for part in parts]), whole[place], equal_nan=True)


def test_no_rows_are_one_part():
    assert [len(part) for part in arrow_parts(ByStream(types=table(PLAIN)))] == [0]


# ---- estimators

PEOPLE_ROWS = 300


@pytest.fixture(scope="module")
def rows(people):
    return people.head(PEOPLE_ROWS)


def plain(values):
    return [None if value is None or value != value else value for value in values]


def arrow_of(frame, batches=3, hand=ByStream):
    """The frame as Arrow: numbers, texts by a dictionary or not, bools."""
    made = []
    for begin in range(0, len(frame), -(-len(frame) // batches)):
        part = frame.iloc[begin : begin + -(-len(frame) // batches)]
        columns = []
        for number, name in enumerate(part):
            values = plain(part[name].tolist())
            if part[name].dtype.kind == "f":
                columns.append(make.numbers("g", values, name=name))
            elif part[name].dtype.kind == "b":
                columns.append(make.bools(values, name=name))
            elif number % 2:
                words = sorted(set(values) - {None}, reverse=begin > 0)
                columns.append(make.coded([None if value is None else words.index(value) for value in values],
                                          make.texts("u", words), name=name))
            else:
                columns.append(make.views(values, name=name))
        made.append(table(*columns))
    return hand(*made)


FEATURES = ["age", "plan", "member"]


def column_of(frame, name):
    """One column, as a Series of Polars hands it over."""
    values = plain(frame[name].tolist())
    given = ByStream(make.numbers("g", values) if frame[name].dtype.kind == "f" else make.views(values))
    given.name = name
    return given


def quietly(call, *arguments, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call(*arguments, **more)


@pytest.fixture(scope="module")
def estimators(rows):
    """Fitted to the frame and to Arrow, without privacy and so alike."""
    declared = {"bounds": {"age": (18, 90)}, "categories": {"plan": ["basic", "plus", "gold"]}, "epsilon": math.inf}
    of_class = PrivateTreeClassifier(**declared, classes=["leaves", "stays"])
    of_number = PrivateTreeRegressor(**declared, target_bounds=(0, 120))
    fit = {
        "frame": (quietly(of_class.fit, rows[FEATURES], rows["label"]), quietly(of_number.fit, rows[FEATURES], rows["spends"])),
    }
    of_class = PrivateTreeClassifier(**declared, classes=["leaves", "stays"])
    of_number = PrivateTreeRegressor(**declared, target_bounds=(0, 120))
    fit["arrow"] = (quietly(of_class.fit, arrow_of(rows[FEATURES]), column_of(rows, "label")),
                    quietly(of_number.fit, arrow_of(rows[FEATURES]), column_of(rows, "spends")))
    return fit


def test_a_fit_is_that_of_the_frame(estimators, rows):
    for by_frame, by_arrow in zip(estimators["frame"], estimators["arrow"]):
        assert list(by_arrow.feature_names_in_) == FEATURES
        assert by_arrow.model_.schema == by_frame.model_.schema
        assert (by_arrow.predict(rows[FEATURES]) == by_frame.predict(rows[FEATURES])).all()


@pytest.mark.parametrize("hand", [ByStream, ByArray])
def test_predictions_are_those_of_the_frame(hand, estimators, rows):
    given = lambda: arrow_of(rows[FEATURES], 1, hand)
    for estimator in estimators["frame"]:
        methods = ["predict", "predict_interval"] + ["predict_proba"] * hasattr(estimator, "predict_proba")
        for method in methods:
            assert (getattr(estimator, method)(given()) == getattr(estimator, method)(rows[FEATURES])).all()
        assert estimator.model_.explain(given()).equals(estimator.model_.explain(rows[FEATURES]).reset_index(drop=True))
        assert (estimator.model_.predict(given()) == estimator.model_.predict(rows[FEATURES])).all()
    classifier, regressor = estimators["frame"]
    assert classifier.score(given(), column_of(rows, "label")) == classifier.score(rows[FEATURES], rows["label"])
    assert regressor.score(given(), column_of(rows, "spends")) == regressor.score(rows[FEATURES], rows["spends"])
    named = classifier.set_output(transform="pandas").predict(given())
    classifier.set_output(transform="default")
    assert isinstance(named, pd.Series) and list(named.index) == list(range(len(rows)))


def test_a_study_is_simulated(rows):
    schema = coppice.declare_schema(FEATURES, bounds={"age": (18, 90)}, classes=["leaves", "stays"],
                                    categories={"plan": ["basic", "plus", "gold"], "member": ["False", "True"]})
    held = rows[[*FEATURES, "label"]]
    model = quietly(coppice.simulate, arrow_of(held), arrow_of(held), schema=schema, epsilon=4)
    assert set(model.predict(arrow_of(rows[FEATURES]))) <= {"leaves", "stays"}


def test_public_rows_come_by_arrow(rows):
    estimator = PrivateTreeClassifier(bounds={"age": (18, 90)}, categories={"plan": ["basic", "plus", "gold"]},
                                      classes=["leaves", "stays"], epsilon=1)
    quietly(estimator.fit, arrow_of(rows[FEATURES]), column_of(rows, "label"),
            public=(arrow_of(rows[FEATURES]), column_of(rows, "label")))
    assert estimator.privacy_.public_rows == len(rows)


def test_categories_come_from_dictionaries_where_they_may():
    given = lambda: ByStream(table(make.coded([0, 1] * 20, make.texts("u", ["b", "a", "never"]))),
                             table(make.coded([0] * 4, make.texts("u", ["late"]))))
    estimator = PrivateTreeClassifier(categories="from dtypes", classes=[0, 1], epsilon=math.inf)
    with pytest.warns(coppice.LeakWarning, match="categories of 'x'"):
        estimator.fit(given(), [0, 1] * 22)
    assert list(estimator.model_.schema.features[0].values) == ["b", "a", "never", "late"]
    with pytest.raises(ValueError, match="categories are public and are never read off the rows"):
        PrivateTreeClassifier(classes=[0, 1]).fit(given(), [0, 1] * 22)


def test_types_tell_numbers_from_categories():
    declare = lambda column, **more: PrivateTreeClassifier(classes=[0, 1], epsilon=math.inf, **more).fit(ByStream(table(column)), [0, 1])
    for column in (make.numbers("c", [1, 2]), make.numbers("e", [1, 2]), make.decimals([1, 2])):
        assert quietly(declare, column, bounds=(0, 9)).model_.schema.features[0].type == "numeric"
    assert list(quietly(declare, make.bools([True, False])).model_.schema.features[0].values) == ["False", "True"]
    for column in (make.stored_as("tsn:", "l", [1, 2]), make.stored_as("tDs", "l", [1, 2])):
        with pytest.raises(ValueError, match="column 'x' holds times"):
            declare(column, bounds=(0, 9))
    for column in (make.texts("u", ["a", "b"]), make.nulls(2), make.extension(make.numbers("l", [1, 2]), "pandas.period")):
        with pytest.raises(ValueError, match="categories are public"):
            declare(column, bounds=(0, 9))


class BySchema:
    """A schema, as that of a table of PyArrow."""

    def __init__(self, *columns):
        self.producer = make.Producer([table(*columns)])

    def __arrow_c_schema__(self):
        return self.producer.schema()


@pytest.mark.parametrize("hand", [BySchema, lambda *columns: ByStream(table(*columns)), lambda *columns: ByArray(table(*columns))])
def test_a_schema_is_declared_by_types(hand):
    given = hand(make.numbers("i", [1], name="age"), make.bools([True], name="member"), make.texts("u", ["a"], name="plan"))
    declare = lambda names, **more: coppice.declare_schema(names, dtypes=given, bounds={"age": (0, 9)}, classes=[0, 1], **more)
    assert [feature.type for feature in declare(["member", "age"]).features] == ["categorical", "numeric"]
    with pytest.raises(ValueError, match="declare those of 'plan'"):
        declare(["plan", "age"])
    assert declare(["plan", "age"], categories={"plan": ["a"]}).features[0].values == ["a"]
    with pytest.raises(ValueError, match="dtypes has no column 'income'"):
        declare(["age", "income"])
    gc.collect()
    assert make.is_whole(given.producer)


def test_a_schema_of_two_columns_of_one_name_is_refused():
    with pytest.raises(ValueError, match="several columns of one name"):
        coppice.declare_schema(["x"], dtypes=BySchema(PLAIN, PLAIN), bounds=(0, 1), classes=[0, 1])


def test_answers_of_every_type(rows):
    column = make.numbers("g", [float(number) for number in range(40)])
    fit = lambda y, classes: quietly(PrivateTreeClassifier(bounds=(0, 40), classes=classes, epsilon=math.inf).fit, ByStream(table(column)), y)
    for y, classes in ((make.numbers("l", [0, 1] * 20), [0, 1]), (make.bools([False, True] * 20), [False, True]),
                       (make.views(["n", "y"] * 20), ["n", "y"]), (make.coded([0, 1] * 20, make.texts("u", ["n", "y"])), ["n", "y"])):
        for held in (ByStream(y), ByArray(y), ByStream(table(y)), ByStream(changed(y, length=20), changed(sliced(y, 20), length=20))):
            fitted = fit(held, classes)
            assert fitted.classes_.tolist() == classes
    with pytest.raises(ValueError, match="y must be one column, and this Arrow table has 2"):
        fit(ByStream(table(column, column)), [0, 1])
    with pytest.raises(ValueError, match="y has missing values"):
        fit(ByStream(make.views(["n", None] * 20)), ["n", "y"])
    with pytest.raises(ValueError, match="NaN"):
        fit(ByStream(make.numbers("l", [0, None] * 20)), [0, 1])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        fit(ByStream(make.numbers("l", [0, 1])), [0, 1])


def test_a_column_is_no_table():
    with pytest.raises(ValueError, match="rows must be a table, and this is one column of Arrow"):
        read(ByStream(PLAIN))


def test_columns_go_by_name():
    given = lambda *names: ByStream(table(*(make.numbers("g", [1], name=name) for name in names)))
    with pytest.raises(ValueError, match="have no column x"):
        read(given("z"))
    with pytest.raises(ValueError, match="have several columns called x"):
        read(given("x", "x"))
    assert [column.tolist() for column in read(given("z", "w", "x"), NUMBER, {**NUMBER, "name": "z"})] == [[1], [1]]


def test_whole_numbers_beyond_float64_are_counted():
    for column in (make.numbers("l", [2**53 + 1, 2**53]), make.numbers("l", [2**53 + 1, None]), make.numbers("L", [2**53 + 1, 1]),
                   make.decimals([2**53 + 1, 1])):
        assert _rows.Rows(ByStream(table(column)), schema_of(WIDE)).notes == {"inexact": 1}


def test_large_integers_with_missing_ones_are_their_categories():
    feature = {"name": "x", "type": "categorical", "values": [str(2**53 + 1)]}
    for column in (make.numbers("l", [2**53 + 1, None, 2**53]), make.decimals([2**53 + 1, None, 2**53])):
        assert values_of(read(ByStream(table(column)), feature)[0], feature) == [str(2**53 + 1), None, "other"]
