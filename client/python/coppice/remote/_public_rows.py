"""The public rows and the mechanism of a study, to create it or to forecast it."""

from __future__ import annotations

from typing import Any, Optional, Tuple

from coppice import Schema
from coppice.remote._tables import Table, to_message
from coppice.remote._units import enum_value
from coppice.v1 import study_pb2

AUTO = "auto"


def study_request(
    schema: Schema,
    public: Any,
    *,
    public_labels: str,
    rounding: Optional[Tuple[float, float]],
    mechanism: str,
    max_payload: int,
) -> study_pb2.CreateStudyRequest:
    """Return a request with all that a study and its forecast have in common."""
    if public_labels not in ("as_given", "none"):
        raise ValueError(f"public_labels={public_labels!r}: must be 'as_given' or 'none'")
    request = study_pb2.CreateStudyRequest(schema=to_message(schema))
    request.partition.from_schema = public is None
    request.partition.ignore_labels = public is None or public_labels == "none"
    if rounding is not None:
        request.rounding.low, request.rounding.high = rounding
    if mechanism != AUTO:
        request.mechanism = enum_value(study_pb2.Mechanism, mechanism, "MECHANISM_", "mechanism")
    elif max_payload:
        request.choose_mechanism.max_payload_bytes = max_payload
    if public is not None:
        _add_rows(request, Table(public, schema, labelled=not request.partition.ignore_labels))
    return request


def _add_rows(request: study_pb2.CreateStudyRequest, table: Table) -> None:
    request.public_rows.extend(table.rows(0, len(table)))
    has_target = request.schema.HasField("target")
    labels = request.public_numbers if has_target else request.public_labels
    if table.labels is not None:
        labels.extend(table.labels.tolist())
    elif has_target:
        labels.extend([request.schema.target.min] * len(table))
    else:
        labels.extend([0] * len(table))
