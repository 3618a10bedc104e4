"""What a notebook shows of a study, a budget, a job or a plan: the pages of the command line."""

from __future__ import annotations

import json
import math
from typing import Any

from coppice import _core
from coppice._html import frame


def budget(dataset: Any) -> str:
    """Return markup of a dataset's budget."""
    return frame(_core.budget_page(_json(dataset)))


def plan(forecast: Any) -> str:
    """Return markup of a forecast."""
    return frame(_core.plan_page(_json(forecast)), height=720)


def record(kind: str, title: str, described: Any) -> str:
    """Return markup of something that is described by its members."""
    return frame(_core.record_page(kind, title, _json(described)))


def _json(described: Any) -> str:
    return json.dumps(_without_nan(described), allow_nan=False)


def _without_nan(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {name: _without_nan(member) for name, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(member) for member in value]
    return value
