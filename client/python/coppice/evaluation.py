"""How good a model is on private rows, released with noise."""

from __future__ import annotations

import json
import uuid
import warnings
from typing import TYPE_CHECKING, Any, Dict, Optional, Tuple

from coppice import _core, _rows
from coppice.accounting import BudgetAccountant, PrivacyWarning, default_accountant
from coppice.model import Model

if TYPE_CHECKING:
    import pandas as pd


class PrivateEvaluation:
    """A model's figures on private rows, with 95 % intervals.

    The intervals hold what is measured for rows drawn like these: they allow for the noise and for
    sampling. Where `caveat` says something, they claim nothing.

    Parameters
    ----------
    described : dict
        What ``coppice model evaluate --json`` prints.
    """

    def __init__(self, described: Dict[str, Any]) -> None:
        self._described = described

    @property
    def id(self) -> Optional[str]:
        """The id at the curator; None where none made it."""
        return self._described.get("evaluation") or None

    @property
    def accuracy(self) -> Optional[float]:
        """Classes: the share of right answers; None for numbers."""
        return self._described.get("accuracy")

    @property
    def rmse(self) -> Optional[float]:
        """Numbers: the root of the mean squared error; None for classes."""
        return self._described.get("rmse")

    @property
    def interval(self) -> Tuple[float, float]:
        """The interval of `accuracy`, or of `rmse`."""
        low, high = self._described["interval"]
        return float(low), float(high)

    @property
    def epsilon(self) -> float:
        """What it cost."""
        return float(self._described["epsilon"])

    @property
    def account(self) -> str:
        """What paid: ``reserve`` or ``training``."""
        return str(self._described["account"])

    @property
    def caveat(self) -> Optional[str]:
        """Why the intervals do not cover what the model is worth on other rows; None: they do."""
        return self._described.get("caveat")

    def groups(self) -> pd.DataFrame:
        """Return the figures of each value of the feature that was asked for."""
        import pandas as pd

        return pd.DataFrame(self._described.get("groups", []))

    def to_dict(self) -> Dict[str, Any]:
        """Return what ``coppice model evaluate --json`` prints."""
        return dict(self._described)

    def __repr__(self) -> str:
        name = "rmse" if self.accuracy is None else "accuracy"
        low, high = self.interval
        return (
            f"<PrivateEvaluation: {name} {self._described[name]:.4g} ({low:.4g} to {high:.4g}), "
            f"epsilon {self.epsilon:g}>"
        )


def evaluate_privately(
    model: Any,
    X: Any,
    y: Any,
    *,
    epsilon: float,
    by: Optional[str] = None,
    reach: Optional[float] = None,
    accountant: Optional[BudgetAccountant] = None,
    neighbours: str = "add_or_remove_row",
) -> PrivateEvaluation:
    """Measure, with noise, how good a model is on private rows.

    An exact score of private rows has no finite epsilon. This one is charged in full before any row is
    read. Take rows that the model was not trained on: otherwise the figures say how well it fits them,
    and the intervals do not cover what it is worth on others.

    Parameters
    ----------
    model : Model or fitted estimator
        What to evaluate.
    X : DataFrame, Arrow table, array or list of dicts
        The features, as `fit` takes them.
    y : array-like
        The true classes or numbers.
    epsilon : float
        What the evaluation costs in total.
    by : str, optional
        A categorical feature: each of its values is measured too, at no further cost.
    reach : float, optional
        Numbers: larger errors count as this. The smaller, the less noise; choose it without looking at
        the rows. The span of the target if not given.
    accountant : BudgetAccountant, optional
        What pays; it also says how neighbours differ.
    neighbours : {"add_or_remove_row", "change_label"}
        How two tables that must not be told apart differ, without an accountant.

    Raises
    ------
    ValueError
        If the rows or the arguments do not suit the model.
    BudgetExhausted
        If the budget does not allow it. Nothing was released.
    """
    fitted = getattr(model, "model_", model)
    if not isinstance(fitted, Model):
        raise TypeError("model must be a Model, or an estimator that was fitted")
    if accountant is not None and not isinstance(accountant, BudgetAccountant):
        raise ValueError("accountant must be a BudgetAccountant")
    schema = fitted.schema
    table = _rows.make_table(_rows.named_by_position(X, schema), schema, _rows.read_answers(y, schema))
    core = None if accountant is None else accountant._core
    name = f"evaluation-{uuid.uuid4().hex}"
    message, unsettled = _core.evaluate(
        table, fitted._core, float(epsilon), by or "", float(reach or 0), neighbours, core, name
    )
    if unsettled:
        warnings.warn(
            f"the evaluation was charged, and that it ended could not be noted: {unsettled}",
            PrivacyWarning,
            stacklevel=2,
        )
    described = json.loads(_core.describe("evaluation", message))
    for unknown in ("evaluation", "model", "dataset", "covers"):
        described.pop(unknown, None)
    if accountant is None:
        default_accountant(neighbours).add(described["epsilon"], described["delta"])
    return PrivateEvaluation(described)
