"""Between what people write and what messages carry: epsilons, deltas, ids, names and times."""

from __future__ import annotations

import re
from decimal import ROUND_FLOOR, Decimal, InvalidOperation
from typing import Any, Union

Number = Union[int, float, str, Decimal]

_MAX_EPSILON = 1_000_000
_NANO = Decimal("1e-9")
_ATTO = Decimal("1e-18")
_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


def epsilon_nanos(epsilon: Number, name: str = "epsilon") -> int:
    """Return epsilon in billionths, rounded down."""
    nanos = _units(epsilon, _NANO, name)
    if 1 <= nanos <= _MAX_EPSILON * 10**9:
        return nanos
    raise ValueError(f"{name}={epsilon}: must be from 0.000000001 to {_MAX_EPSILON}")


def delta_atto(delta: Number, name: str = "delta") -> int:
    """Return delta in 1e-18, rounded down."""
    atto = _units(delta, _ATTO, name)
    if 0 <= atto < 10**18 and (atto > 0 or Decimal(str(delta)) == 0):
        return atto
    raise ValueError(f"{name}={delta}: must be 0, or from 1e-18 to below 1, such as 1e-6")


def _units(value: Number, unit: Decimal, name: str) -> int:
    # By the digits that people see: 0.3 is three tenths, and not the nearest double below.
    try:
        decimal = Decimal(str(value))
    except InvalidOperation:
        raise ValueError(f"{name}={value!r}: must be a number") from None
    if not decimal.is_finite():
        raise ValueError(f"{name}={value}: must be finite")
    return int((decimal / unit).to_integral_value(ROUND_FLOOR))


def epsilon_number(nanos: int) -> float:
    """Return an epsilon of billionths as a number."""
    return nanos / 1e9


def delta_number(atto: int) -> float:
    """Return a delta of 1e-18 as a number."""
    return atto / 1e18


def make_name(collection: str, identifier: str) -> str:
    """Return the name that messages carry, such as ``studies/s-4f2a``."""
    identifier = identifier.removeprefix(collection + "/")
    if _ID.fullmatch(identifier):
        return f"{collection}/{identifier}"
    raise ValueError(
        f"id {identifier!r}: must be 1 to 63 of a-z 0-9 - _, starting with a letter or digit"
    )


def new_id(identifier: str | None) -> str:
    """Return an id that a caller chose, checked; empty: the curator chooses."""
    return "" if identifier is None else id_of(make_name("ids", identifier))


def id_of(name: str) -> str:
    """Return the id in a name."""
    return name.rpartition("/")[2]


def enum_value(kind: Any, text: str, prefix: str, name: str) -> Any:
    """Return the value of an enum that `text` stands for."""
    words = [word.removeprefix(prefix).lower() for word in kind.keys()]
    if text in words and text != "unspecified":
        return kind.Value(prefix + text.upper())
    known = ", ".join(word for word in words if word != "unspecified")
    raise ValueError(f"{name}={text!r}: must be one of {known}")
