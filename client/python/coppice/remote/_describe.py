"""Messages as plain dictionaries, with the members that the command line prints with --json.

The C++ core describes them, for every program in the same words.
"""

from __future__ import annotations

import datetime
import json
from typing import Any, Dict, List

from google.protobuf.message import Message

from coppice import _core
from coppice.v1 import model_pb2, study_pb2, training_pb2

Description = Dict[str, Any]


def describe(kind: str, message: Message) -> Description:
    """Describe a message of a kind, such as ``study``, ``study_briefly`` or ``release``."""
    described: Description = json.loads(_core.describe(kind, message.SerializeToString()))
    return described


def describe_algorithm(algorithm: training_pb2.Algorithm) -> Description:
    """Describe what can be trained, as a line of a table."""
    described = describe("algorithm", algorithm)
    return {
        "algorithm": described["algorithm"],
        "summary": described["summary"],
        "classification": "classification" in described["tasks"],
        "regression": "regression" in described["tasks"],
        "neighbours": described["neighbours"],
        "delta": described["delta"],
        "settings": {one["name"]: one["default"] for one in described["parameters"]},
        "source": described["source"],
    }


def describe_parameters(algorithm: training_pb2.Algorithm) -> List[Description]:
    """Describe what can be set of an algorithm."""
    columns = ("type", "default", "min", "max", "choices", "description")
    return [
        {"setting": one["name"], **{column: one.get(column) for column in columns}}
        for one in describe("algorithm", algorithm)["parameters"]
    ]


def describe_version(endpoint: model_pb2.Endpoint, version: Any) -> Description:
    """Describe a version of an endpoint."""
    return describe("endpoint", model_pb2.Endpoint(name=endpoint.name, versions=[version]))


def study_settings(settings: Dict[str, Any]) -> study_pb2.StudySettings:
    """Return the settings of a study that are given: neither None nor False."""
    given = {
        name: _setting_text(name, value)
        for name, value in settings.items()
        if value is not None and value is not False
    }
    message = study_pb2.StudySettings()
    message.ParseFromString(_core.study_settings(given))
    return message


def _setting_text(name: str, value: Any) -> str:
    if value is True:  # a switch
        return ""
    if not isinstance(value, datetime.datetime):
        return str(value)
    if value.tzinfo is None:
        raise ValueError(f"{name}: must say its time zone, such as tzinfo=datetime.timezone.utc")
    return value.isoformat(timespec="seconds")


def frame_of(described: List[Description], like: Description) -> Any:
    """Return descriptions as a DataFrame by their ids, which have the first member's name.

    Parameters
    ----------
    like : dict
        The description of an empty message: a list of nothing has columns too.
    """
    import pandas as pd

    columns = list(like)
    return pd.DataFrame(described, columns=columns).set_index(columns[0])
