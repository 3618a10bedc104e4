"""Local privacy: devices that answer studies, and whole studies in this process.

`Policy`, `Journal` and `Device` are a device's whole path: a device agrees by its policy, before it
reads its row, to send one randomized report, and remembers in its journal that it did. `RelayedDevice`
does the same through a relay, so that the curator does not learn whose report is whose. `Privatizer` is
that path without network and memory, for programs with their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional

from coppice import _core
from coppice._base import ClassEstimator, NumberEstimator, TreeEstimator
from coppice._core import Device, Journal, Policy, Privatizer, RelayedDevice, Schema
from coppice.model import Model
from coppice.schema import Bounds, Categories, Pair, SchemaLike, as_schema

__all__ = [
    "Device",
    "Journal",
    "LocalTreeClassifier",
    "LocalTreeRegressor",
    "Policy",
    "Privatizer",
    "RelayedDevice",
    "simulate",
]


def simulate(
    public: Any,
    private: Any,
    *,
    schema: SchemaLike,
    epsilon: float,
    mechanism: Optional[str] = None,
    accept_leak: bool = False,
) -> Model:
    """Run a study in this process: every private row is a device, and a curator adds up the reports.

    The code and the reports are those of devices and the daemon: each report is randomized with noise
    that nobody can repeat. Only the network is left out.

    Parameters
    ----------
    public : DataFrame
        Rows that anybody may see, with their labels: trees are grown from these alone.
    private : DataFrame
        One row per device.
    schema : Schema, dict, JSON text or path
        What rows look like. Features that it marks as public are sent in the clear.
    epsilon : float
        Privacy of each report.
    mechanism : str, optional
        How reports are randomized; if not given, the mechanism that suits the trees best.
    accept_leak : bool, default False
        Whether the schema may have columns that are marked as read from private rows.

    Returns
    -------
    Model
    """
    checked = as_schema(schema)
    return Model(
        _core.simulate(
            _table_of(public, checked), _table_of(private, checked), epsilon, mechanism, accept_leak
        )
    )


def _table_of(rows: Any, schema: Schema) -> Any:
    from coppice import _rows

    frame = _rows.as_rows(rows)
    if not _rows.is_frame(frame) or schema.label not in map(str, frame.columns):
        raise ValueError(f"rows must be a DataFrame with the schema's columns and {schema.label!r}")
    answers = _rows.column_of(frame, schema.label)
    return _rows.make_table(frame, schema, _rows.read_answers(answers, schema))


class _LocalTree(TreeEstimator):
    """Trains by a study that runs in this process."""

    def fit(self, X: Any, y: Any, *, X_public: Any, y_public: Any) -> Any:
        """Run a study: each row of `X` is a device that sends one randomized report.

        Parameters
        ----------
        X : DataFrame, Arrow table or array of shape (rows, features)
            The private rows.
        y : Series, Arrow column or array of shape (rows,)
            What is predicted; private as well.
        X_public, y_public : the same for rows that anybody may see
            The trees are grown from these alone.

        Returns
        -------
        self
        """
        public_table, schema, _ = self._encode(X_public, y_public)
        private_table, private_schema, attributes = self._encode(X, y)
        if private_schema != schema:
            raise ValueError("the public rows have other features or classes than the private ones")
        core = _core.simulate(
            public_table, private_table, float(self.epsilon), self.mechanism, self._accepts_leak()
        )
        self._finish(Model(core), attributes)
        return self


_DOCUMENTATION = """

    What accuracy a study would have, before there are any devices: it runs in this process, with the
    reports of the real one. Bounds, categories{and_classes} are public, and declared as for
    `{central}`.

    Parameters
    ----------
    epsilon : float, default 1.0
        Privacy of each report: nobody learns more than that about any row, the curator included.
    mechanism : str, optional
        How reports are randomized; chosen if not given.
    bounds, categories, {answers}, schema, accept_leak
        As for `{central}`.
    """


class LocalTreeClassifier(_LocalTree, ClassEstimator):
    __doc__ = "Trees that predict a class, learned under local privacy." + _DOCUMENTATION.format(
        and_classes=" and classes", answers="classes", central="PrivateTreeClassifier"
    )

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        mechanism: Optional[str] = None,
        bounds: Optional[Bounds] = None,
        categories: Optional[Categories] = None,
        classes: Optional[Sequence[Any]] = None,
        schema: Optional[SchemaLike] = None,
        accept_leak: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.mechanism = mechanism
        self.bounds = bounds
        self.categories = categories
        self.classes = classes
        self.schema = schema
        self.accept_leak = accept_leak


class LocalTreeRegressor(_LocalTree, NumberEstimator):
    __doc__ = "Trees that predict a number, learned under local privacy." + _DOCUMENTATION.format(
        and_classes="", answers="target_bounds", central="PrivateTreeRegressor"
    )

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        mechanism: Optional[str] = None,
        bounds: Optional[Bounds] = None,
        categories: Optional[Categories] = None,
        target_bounds: Optional[Pair] = None,
        schema: Optional[SchemaLike] = None,
        accept_leak: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.mechanism = mechanism
        self.bounds = bounds
        self.categories = categories
        self.target_bounds = target_bounds
        self.schema = schema
        self.accept_leak = accept_leak
