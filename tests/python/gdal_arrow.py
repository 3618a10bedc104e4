"""GDAL's layers as a producer of Arrow that nobody here wrote. Its release of 2022 knows no capsules, so they are made here."""

import ctypes
import datetime
import functools
import importlib.util

import arrow_maker as make
import missing_package


@functools.lru_cache
def gdal():
    """The module; skips the test where there is none."""
    if importlib.util.find_spec("osgeo") is None:
        missing_package.skip("no GDAL for Python: tests/python/packages.txt has it")
    from osgeo import gdal, ogr

    gdal.UseExceptions()
    ogr.UseExceptions()
    return gdal


def new_source():
    """A source of layers in memory, which live as long as it does."""
    return gdal().GetDriverByName("Memory").Create("", 0, 0, 0, gdal().GDT_Unknown)


def fill_layer(source, columns):
    """Makes a layer of columns of texts, numbers, bools, days or times, None where one is missing; None if it has no such type."""
    from osgeo import ogr

    types = [(str, ogr.OFTString), (bool, ogr.OFTInteger), (int, ogr.OFTInteger64), (float, ogr.OFTReal), (datetime.datetime, None),
             (datetime.date, ogr.OFTDate), (datetime.time, ogr.OFTTime)]
    layer = source.CreateLayer("rows", None, ogr.wkbNone)
    for name, cells in columns.items():
        first = next((cell for cell in cells if cell is not None), "")
        type = next((type for kind, type in types if isinstance(first, kind)), None)
        if type is None or (isinstance(first, int) and abs(first) >= 2**63):
            return None
        field = ogr.FieldDefn(name, type)
        if isinstance(first, bool):
            field.SetSubType(ogr.OFSTBoolean)
        layer.CreateField(field)
    for row in zip(*columns.values()):
        feature = ogr.Feature(layer.GetLayerDefn())
        for name, cell in zip(columns, row):
            if cell is not None:
                feature.SetField(name, str(cell) if isinstance(cell, (datetime.date, datetime.time)) else cell)
        layer.CreateFeature(feature)
    return layer


class Layer:
    """A layer of OGR as an Arrow stream: each struct and each release callback is GDAL's."""

    def __init__(self, layer, batch_rows=65_536):
        self._stream = layer.GetArrowStream(["INCLUDE_FID=NO", f"MAX_FEATURES_IN_BATCH={batch_rows}"])

    def __arrow_c_stream__(self, requested_schema=None):
        held = make.Stream()

        @make.GET
        def get_schema(_, out):
            _move(self._stream.GetSchema(), make.Schema, out)
            return 0

        @make.GET
        def get_next(_, out):
            array = self._stream.GetNextRecordBatch()
            if array is None:
                make.Array.from_address(out).release = None
            else:
                _move(array, make.Array, out)
            return 0

        @make.RELEASE
        def release(address):
            make.Stream.from_address(address).release = None
            self._stream = None  # a layer has one at a time

        self._kept = (held, get_schema, get_next, release)
        for name, callback in (("get_schema", get_schema), ("get_next", get_next), ("release", release)):
            setattr(held, name, ctypes.cast(callback, ctypes.c_void_p))
        return make.capsule_of(held, b"arrow_array_stream", self)


def _move(wrapped, kind, out):
    """Moves a struct out of GDAL's wrapper, which then has nothing to release."""
    held = kind.from_address(int(wrapped._getPtr()))
    ctypes.memmove(out, ctypes.addressof(held), ctypes.sizeof(kind))
    held.release = None
