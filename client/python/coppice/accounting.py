"""Privacy budgets that fits share."""

from __future__ import annotations

import datetime
import json
import os
import threading
from typing import Any, Optional, Union

from coppice import _core


class PrivacyWarning(UserWarning):
    """Something about privacy that the person who trains must know."""


class BudgetAccountant:
    """A privacy budget that any number of fits share.

    The account is kept by the curator's own ledger: every fit is charged in full before it draws any
    noise, and a fit that the budget has no room for raises `BudgetExhausted` and releases nothing. A
    fit that fails, or that Ctrl-C stops, stays charged: it may have drawn noise.

    Parameters
    ----------
    epsilon : float
        The total that all fits may cost.
    delta : float, default 0
        The same for delta.
    composition : {"basic", "zcdp"}, default "basic"
        How costs add up. "zcdp" (zero-concentrated privacy) needs a delta, and allows more of many
        small fits and less of a few large ones.
    neighbours : {"add_or_remove_row", "change_label"}, default "add_or_remove_row"
        How two tables that must not be told apart differ.
    path : path, optional
        A file that holds the account, so that processes and sessions share it. Its cap cannot be
        changed. Without one the account lives in this process.

    Examples
    --------
    >>> accountant = BudgetAccountant(epsilon=2, path="adult.budget")   # doctest: +SKIP
    >>> PrivateTreeClassifier(epsilon=1, accountant=accountant)         # doctest: +SKIP
    """

    def __init__(
        self,
        epsilon: float,
        delta: float = 0.0,
        *,
        composition: str = "basic",
        neighbours: str = "add_or_remove_row",
        path: Optional[Union[str, "os.PathLike[str]"]] = None,
    ) -> None:
        self._asked = (float(epsilon), float(delta), str(composition), str(neighbours))
        if path is not None and not os.fspath(path):
            raise ValueError("path is empty: name a file, or leave it out for an account in memory")
        self._path = "" if path is None else os.path.realpath(os.fspath(path))
        self._process = os.getpid()
        self._opened: Optional[_core.Accountant] = self._open(may_create=True)

    def _open(self, may_create: bool) -> _core.Accountant:
        epsilon, delta, composition, neighbours = self._asked
        return _core.Accountant(
            self._path, epsilon, repr(delta), composition, neighbours, may_create
        )

    @property
    def _core(self) -> _core.Accountant:
        """The account, reopened in a process that was forked or unpickled it."""
        if self._opened is None or (self._path and self._process != os.getpid()):
            self._process = os.getpid()
            self._opened = self._open(may_create=False)
        return self._opened

    @property
    def account(self) -> dict[str, Any]:
        """The account as it is now: the cap, what is spent and left, and every entry."""
        return self._core.account()

    @property
    def spent(self) -> tuple[float, float]:
        """Epsilon and delta that were charged."""
        account = self.account
        return account["epsilon_spent"], account["delta_spent"]

    @property
    def left(self) -> tuple[float, float]:
        """Epsilon and delta of the largest fit that the budget still allows."""
        account = self.account
        return account["epsilon_left"], account["delta_left"]

    @property
    def fits(self) -> int:
        """How many fits were charged."""
        return sum(entry["kind"] == "reserved" for entry in self.account["entries"])

    def to_frame(self) -> Any:
        """Return the entries of the account as a DataFrame."""
        import pandas

        return pandas.DataFrame(self.account["entries"])

    def _repr_html_(self) -> str:
        from coppice._html import frame

        return frame(_core.budget_page(json.dumps(_as_dataset(self.account))))

    def __repr__(self) -> str:
        try:
            account = self.account
        except Exception as error:
            return f"<BudgetAccountant: {error}>"
        return (
            f"<BudgetAccountant: epsilon {account['epsilon_spent']:g} of {account['epsilon']:g} spent, "
            f"{self.fits} fits; {account['neighbours']}, {account['composition']}>"
        )

    # Cloning an estimator, as searches over grids do, must not make a second budget.
    def __copy__(self) -> BudgetAccountant:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> BudgetAccountant:
        return self

    def __getstate__(self) -> dict[str, Any]:
        if not self._path:
            raise TypeError(
                "an accountant in memory cannot be sent to another process, which would have a budget "
                "of its own: give it a file, BudgetAccountant(..., path=...)"
            )
        return {"_asked": self._asked, "_path": self._path}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # The file is opened once it is needed: a model may be loaded where there is none.
        self.__dict__.update(state, _process=os.getpid(), _opened=None)


def _as_dataset(account: dict[str, Any]) -> dict[str, Any]:
    """Return the account in the form of `coppice dataset show --json`."""
    return {
        "epsilon_total": account["epsilon"],
        "delta_total": account["delta"],
        "epsilon_spent": account["epsilon_spent"],
        "delta_spent": account["delta_spent"],
        "epsilon_left": account["epsilon_left"],
        "delta_left": account["delta_left"],
        "composition": account["composition"],
        "neighbours": account["neighbours"],
        "ledger_head": account["head"],
        "ledger": [_as_entry(entry) for entry in account["entries"]],
    }


def _as_entry(entry: dict[str, Any]) -> dict[str, Any]:
    time = datetime.datetime.fromtimestamp(entry["unix_seconds"], datetime.timezone.utc)
    described = {"time": time.strftime("%Y-%m-%dT%H:%M:%SZ"), "entry": entry["kind"], "job": entry["fit"]}
    return {**described, **{name: entry[name] for name in ("epsilon", "delta", "releases")}}


class SpendingTally:
    """The total cost of this process's fits without an accountant. It refuses nothing."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._fits, self._epsilon, self._delta = 0, 0.0, 0.0

    def add(self, epsilon: float, delta: float) -> None:
        """Add a fit."""
        with self._lock:
            self._fits += 1
            self._epsilon += epsilon
            self._delta += delta

    @property
    def spent(self) -> tuple[float, float]:
        """Epsilon and delta of all fits."""
        return self._epsilon, self._delta

    @property
    def fits(self) -> int:
        """How many fits were made."""
        return self._fits

    def __repr__(self) -> str:
        return f"<SpendingTally: epsilon {self._epsilon:g}, {self._fits} fits>"

    def __deepcopy__(self, memo: dict[int, Any]) -> SpendingTally:
        return self


_tallies = {name: SpendingTally() for name in ("add_or_remove_row", "change_label")}


def default_accountant(neighbours: str = "add_or_remove_row") -> SpendingTally:
    """Return the tally of this process's fits that have no accountant of their own.

    There is one for each relation of neighbours, since costs under one are not costs under the other.

    Parameters
    ----------
    neighbours : {"add_or_remove_row", "change_label"}
        The relation.
    """
    return _tallies[neighbours]
