"""scikit-learn's estimators over the trainers, for rows that you hold."""

from __future__ import annotations

import math
import uuid
import warnings
from collections.abc import Mapping
from typing import Any, Optional, Union

from coppice import _core, _rows
from coppice._base import ClassEstimator, NumberEstimator, Progress, TreeEstimator
from coppice._core import Schema
from coppice.accounting import BudgetAccountant, PrivacyWarning, SpendingTally, default_accountant
from coppice.model import Model
from coppice.schema import Bounds, Categories, Pair, SchemaLike, text_of


def algorithms() -> Any:
    """Return the algorithms as a DataFrame: name, what each protects, predicts and takes."""
    import pandas

    return pandas.DataFrame(_core.algorithms()).set_index("name")


def _public_table(public: Any, schema: Schema) -> Any:
    """Return public rows as trainers take them."""
    try:
        rows, answers = public
    except (TypeError, ValueError):
        raise TypeError("public must be a pair: rows and what is predicted of them") from None
    rows = _rows.as_rows(rows)
    return _rows.make_table(rows, schema, _rows.read_answers(answers, schema))


class _PrivateTree(TreeEstimator):
    """Trains in this process, and charges an accountant."""

    def fit(
        self, X: Any, y: Any, *, public: Optional[tuple[Any, Any]] = None, progress: Progress = None
    ) -> Any:
        """Train on private rows.

        Parameters
        ----------
        X : DataFrame, Arrow table or array of shape (rows, features)
            The rows. NaN, NaT, None, pandas.NA and empty texts are missing values. Numbers outside their
            bounds are cut to them, and unknown categories become "other": a warning counts both.
            Dates and times are refused: turn them into numbers or texts first.
        y : Series, Arrow column or array of shape (rows,)
            What is predicted.
        public : pair (X, y), optional
            Public rows to start from, with algorithm "auto": at least 20. Nothing protects them: the model may
            contain them. They must not depend on the private rows in any way. A few hundred are worth more than
            a larger epsilon where private rows are few.
        progress : callable, optional
            Called from time to time with the share that is done, 0 to 1.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If bounds, categories or classes are not declared, with the line that would declare them.
        BudgetExhausted
            If the budget does not allow it. Nothing was released.
        KeyboardInterrupt
            On Ctrl-C. What was charged stays charged.
        """
        if progress is not None and not callable(progress):
            raise TypeError("progress must be a function of the share that is done")
        self._check_is_private()
        table, schema, attributes = self._encode(X, y)
        public_table = None if public is None else _public_table(public, schema)
        model, unsettled = self._train(table, schema, public_table, progress)
        self._finish(model, attributes)
        if unsettled:
            warnings.warn(
                f"the fit was charged, and that it ended could not be noted: {unsettled}",
                PrivacyWarning,
                stacklevel=2,
            )
        if float(self.epsilon) != math.inf:
            _tell_what_is_spent(self.accountant or default_accountant(self._neighbours()))
        return self

    def _train(
        self, table: Any, schema: Schema, public_table: Any, progress: Progress
    ) -> tuple[Model, str]:
        """Return the model and, if its end could not be recorded in the account, why."""
        settings = {str(key): text_of(value) for key, value in (self.settings or {}).items()}
        epsilon = float(self.epsilon)
        asked = (str(self.algorithm), epsilon, repr(float(self.delta)), settings)
        core = self._checked_accountant()
        accept_leak = self._accepts_leak()
        plan = _core.plan(schema, *asked, core, accept_leak, public_table)
        for warning in plan["warnings"]:
            warnings.warn(warning, PrivacyWarning, stacklevel=3)
        if core is None and epsilon != math.inf:
            default_accountant(plan["neighbours"]).add(plan["epsilon"], plan["delta"])
        fit = f"fit-{uuid.uuid4().hex}"
        model, unsettled = _core.train(table, *asked, core, fit, accept_leak, progress, public_table)
        return Model(model), unsettled

    def _checked_accountant(self) -> Optional[_core.Accountant]:
        if self.accountant is not None and not isinstance(self.accountant, BudgetAccountant):
            raise ValueError("accountant must be a BudgetAccountant")
        if float(self.epsilon) == math.inf:
            if self.accountant is not None:
                raise ValueError("epsilon is infinite: no budget has room for a fit without privacy")
            warnings.warn("epsilon is infinite: nothing is private", PrivacyWarning, stacklevel=4)
        return None if self.accountant is None else self.accountant._core

    def _stated(self) -> dict[str, Any]:
        """Return the algorithm's description; nothing if no algorithm has that name."""
        return next((a for a in _core.algorithms() if a["name"] == str(self.algorithm)), {})

    def _neighbours(self) -> str:
        return str(self._stated()["neighbours"])

    def _check_is_private(self) -> None:
        if float(self.epsilon) != math.inf and not self._stated().get("private", True):
            raise ValueError(
                f"{self.algorithm} is not private, and is for comparison alone: it needs epsilon=inf"
            )


_DOCUMENTATION = """

    Bounds, categories{and_classes} are public: they are declared, and never read off the rows. `fit` says
    which line would declare what is missing. There is no `random_state`: privacy rests on noise that
    nobody can repeat.

    Parameters
    ----------
    epsilon : float, default 1.0
        Privacy of the whole model, for one row more or less (or, with algorithms that say so, one label
        changed). `float("inf")` trains without privacy, for comparison: with algorithm "auto" by
        ordinary gradient boosting with early stopping, which is a strong learner and not "auto" without noise.
    delta : float, default 0.0
        With algorithms that make use of one.
    algorithm : str, default "auto"
        See `coppice.algorithms()`.
    bounds : pair, mapping or sequence of pairs, optional
        Public bounds: `(low, high)` for every numeric feature{and_target}, a mapping from names to pairs,
        or a pair per column.
    categories : mapping or "from dtypes", optional
        Public values of each categorical feature, by name. Columns of bools need none.
{answers}
    schema : Schema, dict, JSON text or path, optional
        All of that at once, as `coppice schema infer` writes it.
    settings : mapping, optional
        Settings of the algorithm, by name.
    accountant : BudgetAccountant, optional
        What the fit is charged to; else `coppice.default_accountant()`, which only adds up.
    accept_leak : bool, default False
        Whether to train under a schema with columns that are marked as read from private rows. They leak
        what is in the rows, which no epsilon covers; the certificate says so.

    Attributes
    ----------
    model_ : Model
        The model: `model_.save(path)`, `model_.render()`.
    privacy_ : Certificate
        What it cost, release by release.
    feature_importances_ : array of shape (features,)
{attributes}
    n_features_in_ : int
    feature_names_in_ : array of str
        If the rows were a DataFrame.
    """


class PrivateTreeClassifier(_PrivateTree, ClassEstimator):
    __doc__ = "Trees that predict a class, learned under differential privacy." + _DOCUMENTATION.format(
        and_classes=" and classes",
        and_target="",
        answers="""\
    classes : sequence or "from y", optional
        What is predicted. "from y" takes the classes that occur, which tells that they do.""",
        attributes="""\
    classes_ : array
        The classes, in the order of the probabilities.""",
    )

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 0.0,
        algorithm: str = "auto",
        bounds: Optional[Bounds] = None,
        categories: Optional[Categories] = None,
        classes: Any = None,
        schema: Optional[SchemaLike] = None,
        settings: Optional[Mapping[str, Any]] = None,
        accountant: Optional[BudgetAccountant] = None,
        accept_leak: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.algorithm = algorithm
        self.bounds = bounds
        self.categories = categories
        self.classes = classes
        self.schema = schema
        self.settings = settings
        self.accountant = accountant
        self.accept_leak = accept_leak


class PrivateTreeRegressor(_PrivateTree, NumberEstimator):
    __doc__ = "Trees that predict a number, learned under differential privacy." + _DOCUMENTATION.format(
        and_classes="",
        and_target="\n        (and for what is predicted, unless `target_bounds` says otherwise)",
        answers="""\
    target_bounds : pair, optional
        The public range of what is predicted; numbers outside are cut to it. If only `bounds` is given,
        as one pair, it is the range too, and numbers outside are then an error.""",
        attributes="",
    )

    def __init__(
        self,
        *,
        epsilon: float = 1.0,
        delta: float = 0.0,
        algorithm: str = "auto",
        bounds: Optional[Bounds] = None,
        categories: Optional[Categories] = None,
        target_bounds: Optional[Pair] = None,
        schema: Optional[SchemaLike] = None,
        settings: Optional[Mapping[str, Any]] = None,
        accountant: Optional[BudgetAccountant] = None,
        accept_leak: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.algorithm = algorithm
        self.bounds = bounds
        self.categories = categories
        self.target_bounds = target_bounds
        self.schema = schema
        self.settings = settings
        self.accountant = accountant
        self.accept_leak = accept_leak


def _tell_what_is_spent(accountant: Union[BudgetAccountant, SpendingTally]) -> None:
    """Warn at the second fit, and each time their number doubles, that the costs of fits add up."""
    fits = accountant.fits
    if fits < 2 or fits & (fits - 1) != 0:
        return
    epsilon, delta = accountant.spent
    warnings.warn(
        f"{fits} fits were charged to this accountant, in all epsilon {epsilon:g}"
        f"{f' and delta {delta:g}' if delta > 0 else ''}: if their rows are the same people, as in a grid "
        "search, that is what they lost together. Scores on private rows are releases too, and are not in it.",
        PrivacyWarning,
        stacklevel=3,
    )
