"""Models: files that predict anywhere, with their certificates."""

from __future__ import annotations

import datetime
import os
from typing import Any, Optional, Union

import numpy as np
import numpy.typing as npt

from coppice import _core, _rows
from coppice._core import Schema
from coppice._html import frame
from coppice.certificate import Certificate, RelayPromise

Path = Union[str, "os.PathLike[str]"]


class Model:
    """A trained model: complete, so that it predicts anywhere.

    It holds sums that were released and what follows from them, and no row. Load one from a file that
    `coppice model export` or `save` wrote.
    """

    def __init__(self, core: _core.Model) -> None:
        self._core = core

    @classmethod
    def load(cls, path: Path) -> Model:
        """Read a model from a file.

        Parameters
        ----------
        path : str or os.PathLike
            The file, as `save` or `coppice model export` wrote it.

        Raises
        ------
        FileNotFoundError
            If it cannot be read.
        ValueError
            If the file is not a model, or its certificate does not add up.
        """
        return cls(_core.Model.load(os.fspath(path)))

    def save(self, path: Path, *, replace: bool = False) -> None:
        """Write the model to a file, completely or not at all.

        Parameters
        ----------
        path : str or os.PathLike
            Where to write it.
        replace : bool
            Whether to replace an existing file; it is kept otherwise, and a
            `FileExistsError` says so.
        """
        self._core.save(os.fspath(path), replace)

    @classmethod
    def from_bytes(cls, data: bytes) -> Model:
        """Read a model from a serialized `coppice.v1.Model`.

        Parameters
        ----------
        data : bytes
            The message.

        Raises
        ------
        ValueError
            If this is not a model, or its certificate does not add up.
        """
        return cls(_core.Model.from_bytes(data))

    def to_bytes(self) -> bytes:
        """Return the serialized `coppice.v1.Model`."""
        return self._core.to_bytes()

    @property
    def name(self) -> str:
        """"models/ID" at the curator that made it, or empty."""
        return self._core.name

    @property
    def schema(self) -> Schema:
        """What rows it takes, and what it predicts."""
        return self._core.schema

    @property
    def certificate(self) -> Certificate:
        """What it cost in privacy."""
        described = dict(self._core.certificate)
        relay = described.pop("relay")
        return Certificate(relay=relay and RelayPromise(**relay), **described)

    def registry_entry(self) -> str:
        """Return an entry of the public registry of deployments of differential privacy, in YAML.

        What only a person can say is marked TO SAY, and listed at the top.

        Raises
        ------
        RuntimeError
            If the model was trained without privacy.
        """
        today = datetime.datetime.now(datetime.timezone.utc).date()
        return self._core.registry_entry(today.isoformat())

    @property
    def num_trees(self) -> int:
        """How many trees it has."""
        return self._core.num_trees

    @property
    def feature_importances(self) -> npt.NDArray[np.float64]:
        """How much its answers depend on each feature, by released numbers alone."""
        return np.array(self._core.importances)

    def predict_arrays(self, X: Any) -> dict[str, npt.NDArray[Any]]:
        """Return everything that is predicted, one array each.

        Parameters
        ----------
        X : DataFrame, Arrow table or array of shape (rows, features)
            The rows, by the names or in the order of the features.

        Returns
        -------
        dict
            `labels` (positions of classes), `probabilities`, `standard_error`, and for numbers `value`
            and `value_error`; `low` and `high` are a 95 % interval of the label's probability or of
            the number.

        Warns
        -----
        RuntimeWarning
            If numbers were outside their bounds or categories were unknown, with how many.
        """
        rows = _rows.Rows(X, self.schema)
        predicted, notes = self._core.predict(rows.columns)
        _rows.tell_what_changed({**notes, **rows.notes}, len(predicted["low"]))
        return predicted

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class, as text, or the number of every row.

        Parameters
        ----------
        X : DataFrame, Arrow table or array of shape (rows, features)
            The rows, by the names or in the order of the features.
        """
        predicted = self.predict_arrays(X)
        if self.schema.target is not None:
            return predicted["value"]
        classes = np.array(self.schema.classes)
        return np.asarray(classes[predicted["labels"]])

    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the probability of every class, in the schema's order.

        Parameters
        ----------
        X : DataFrame, Arrow table or array of shape (rows, features)
            The rows, by the names or in the order of the features.

        Raises
        ------
        AttributeError
            If the model predicts a number.
        """
        if self.schema.target is not None:
            raise AttributeError("this model predicts a number, not a class")
        return self.predict_arrays(X)["probabilities"]

    def export(self, format: str, path: Optional[Path] = None, *, replace: bool = False) -> bytes:
        """Write the model for programs without Coppice (docs/export.md).

        Parameters
        ----------
        format : {"json", "onnx", "xgboost", "c", "sql", "message"}
            "message" is what a device in C reads (docs/device.md).
        path : path, optional
            Where to write it; nowhere if not given.
        replace : bool
            Whether to replace an existing file; it is kept otherwise, and a `FileExistsError`
            says so.

        Returns
        -------
        bytes
            What the file holds.

        Raises
        ------
        CoppiceError
            If the format cannot say what the model says.
        """
        data = self._core.export(format)
        if path is not None:
            _core.write_file(os.fspath(path), data, replace)
        return data

    def explain(self, X: Any) -> Any:
        """Say what each feature added to each row's answer.

        Contributions follow a row's paths through the trees, by released numbers alone
        (docs/research/mechanisms.md): a split adds the mean of its side's leaves minus the mean of both
        sides. A row's bias and contributions add up to its answer, in the unit of `attrs["unit"]`:
        "score", "probability" or "weight" of the label that is predicted, or "value".

        Parameters
        ----------
        X : DataFrame, Arrow table or array of shape (rows, features)
            The rows, by the names or in the order of the features.

        Returns
        -------
        DataFrame
            A column "bias", then one per feature. Derived features have columns of
            their own.
        """
        import pandas

        rows = _rows.Rows(X, self.schema)
        explained = self._core.explain(rows.columns)
        _rows.tell_what_changed({**explained["notes"], **rows.notes}, len(explained["bias"]))
        index = _rows.index_of(X)
        frame = pandas.DataFrame(
            explained["contributions"], index=index, columns=explained["names"]
        )
        frame.insert(0, "bias", explained["bias"], allow_duplicates=True)
        frame.attrs["unit"] = explained["unit"]
        return frame

    def check_signature(self, curator_key: Optional[Path] = None) -> None:
        """Check that a curator signed the model and that nothing in it has changed since.

        Parameters
        ----------
        curator_key : path, optional
            The key that must have signed, or have led to the one that did: "ed25519:..." as
            `coppice study key` prints it, or a file of it. Without one any key's signature is
            taken.

        Raises
        ------
        LookupError
            If nobody signed it; models that were trained in this process have no signature.
        CoppiceError
            If it was changed, or another key signed it.
        """
        self._core.check_signature(None if curator_key is None else os.fspath(curator_key))

    def render(self, tree: int = 0, format: str = "text") -> str:
        """Draw a tree as "text", "dot" or "svg".

        Parameters
        ----------
        tree : int
            Which tree, from 0 to `num_trees` - 1.
        format : {"text", "dot", "svg"}
            What is returned: text for people, a graph for Graphviz, or a picture.

        Raises
        ------
        ValueError
            If there is no such tree or format.
        """
        return self._core.render(tree, format)

    def to_html(self) -> str:
        """Return the page that shows its trees."""
        return _core.tree_page(self.name.partition("/")[2], self._core)

    def _repr_html_(self) -> str:
        return frame(self.to_html())

    def __repr__(self) -> str:
        return self._core.summary()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Model) and self._core == other._core

    __hash__ = None  # type: ignore[assignment]  # models are compared by what they hold
