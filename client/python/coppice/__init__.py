"""Decision trees learned under differential privacy.

Three doors lead in:

- **central, in process**: `PrivateTreeClassifier` and `PrivateTreeRegressor` train on rows that you
  hold, under a `BudgetAccountant`;
- **local**: `Device` answers a study with one randomized report, `RelayedDevice` does so through a relay,
  and `simulate` runs a whole study in this process;
- **remote**: `connect` talks to a curator.

Importing the package loads nothing but names: NumPy, pandas, scikit-learn and gRPC are loaded by what
needs them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from coppice._core import BudgetExhausted, CoppiceError, Feature, Schema, __version__

if TYPE_CHECKING:  # `as` says that the name is for others, too
    from coppice._core import (
        Device as Device,
        Journal as Journal,
        Policy as Policy,
        Privatizer as Privatizer,
        RelayedDevice as RelayedDevice,
    )
    from coppice.accounting import (
        BudgetAccountant as BudgetAccountant,
        PrivacyWarning as PrivacyWarning,
        default_accountant as default_accountant,
    )
    from coppice.certificate import Certificate as Certificate
    from coppice.estimators import (
        PrivateTreeClassifier as PrivateTreeClassifier,
        PrivateTreeRegressor as PrivateTreeRegressor,
        algorithms as algorithms,
    )
    from coppice.local import (
        LocalTreeClassifier as LocalTreeClassifier,
        LocalTreeRegressor as LocalTreeRegressor,
        simulate as simulate,
    )
    from coppice.model import Model as Model
    from coppice.remote import (
        RemoteError as RemoteError,
        connect as connect,
    )
    from coppice.schema import (
        LeakWarning as LeakWarning,
        declare_schema as declare_schema,
    )
    from coppice.sources import read_postgres as read_postgres

# Where each other public name lives.
_HOMES = {
    "BudgetAccountant": "coppice.accounting",
    "PrivacyWarning": "coppice.accounting",
    "default_accountant": "coppice.accounting",
    "Certificate": "coppice.certificate",
    "Device": "coppice._core",
    "Journal": "coppice._core",
    "LocalTreeClassifier": "coppice.local",
    "LocalTreeRegressor": "coppice.local",
    "Policy": "coppice._core",
    "Privatizer": "coppice._core",
    "PrivateTreeClassifier": "coppice.estimators",
    "PrivateTreeRegressor": "coppice.estimators",
    "RelayedDevice": "coppice._core",
    "RemoteError": "coppice.remote",
    "PrivateEvaluation": "coppice.evaluation",
    "algorithms": "coppice.estimators",
    "Model": "coppice.model",
    "LeakWarning": "coppice.schema",
    "connect": "coppice.remote",
    "declare_schema": "coppice.schema",
    "evaluate_privately": "coppice.evaluation",
    "read_postgres": "coppice.sources",
    "simulate": "coppice.local",
}

__all__ = ["BudgetExhausted", "CoppiceError", "Feature", "Schema", "__version__", *sorted(_HOMES)]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'coppice' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
