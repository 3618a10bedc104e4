"""Errors of calls to a curator, by gRPC status.

Each text says what is wrong, where, and what to do. Catch `RemoteError` for all of them, or a
subclass, or the builtin that a subclass also is (`LookupError`, `TimeoutError`, ...).
"""

from __future__ import annotations

from typing import Optional

from coppice._core import BudgetExhausted, CoppiceError


class RemoteError(CoppiceError):
    """A call to the curator failed.

    Attributes
    ----------
    code : str
        The name of the gRPC status, such as ``"NOT_FOUND"``.
    request_id : str or None
        The id under which the curator's log has the call; None if nobody answered.
    pushback : float or None
        The seconds that the curator asks to wait before another try, or a number below 0: another
        try would fail as well. None if it does not say.
    """

    code: str = "UNKNOWN"
    request_id: Optional[str] = None
    pushback: Optional[float] = None


class InvalidArgumentError(RemoteError, ValueError):
    """The curator refuses a value; the text names the field."""

    code = "INVALID_ARGUMENT"


class OutOfRangeError(InvalidArgumentError):
    """A limit is exceeded, such as the rows of a dataset."""

    code = "OUT_OF_RANGE"


class NotFoundError(RemoteError, LookupError):
    """No such study, dataset, job, model, endpoint or version, or it belongs to somebody else."""

    code = "NOT_FOUND"


class AlreadyExistsError(RemoteError):
    """The id is taken by something else."""

    code = "ALREADY_EXISTS"


class UnauthenticatedError(RemoteError, PermissionError):
    """A token is missing, unknown or expired."""

    code = "UNAUTHENTICATED"


class PermissionDeniedError(RemoteError, PermissionError):
    """The caller is known, but has no role for this call."""

    code = "PERMISSION_DENIED"


class FailedPreconditionError(RemoteError):
    """Something else has to change first: a study is sealed, an endpoint serves the model, ..."""

    code = "FAILED_PRECONDITION"


class ResourceExhaustedError(RemoteError):
    """A limit of the curator or of a budget; without `pushback` another try fails as well."""

    code = "RESOURCE_EXHAUSTED"


class BudgetExhaustedError(ResourceExhaustedError, BudgetExhausted):
    """What is left of a dataset's budget does not allow the job. Nothing was spent."""


class DeadlineExceededError(RemoteError, TimeoutError):
    """No answer in time. Whether the call was done is not known."""

    code = "DEADLINE_EXCEEDED"


class UnavailableError(RemoteError, ConnectionError):
    """The curator does not answer, or is stopping."""

    code = "UNAVAILABLE"


class CallCancelledError(RemoteError):
    """A stream was ended by the curator before it was done."""

    code = "CANCELLED"


class AbortedError(RemoteError):
    """A proxy gave up on the call."""

    code = "ABORTED"


class UnimplementedError(RemoteError):
    """The curator does not have this method: it is older than this package, or has no policy."""

    code = "UNIMPLEMENTED"


class InternalError(RemoteError):
    """A fault of the curator, whose log says more."""

    code = "INTERNAL"


class DataLossError(RemoteError):
    """The curator's store is corrupt, or its answer makes no sense."""

    code = "DATA_LOSS"


class JobFailedError(RemoteError):
    """A training job failed. What it cost stays spent."""

    code = "ABORTED"


class JobCancelledError(RemoteError):
    """A training job was cancelled. What it cost is refunded if it had not begun."""

    code = "CANCELLED"


_BY_CODE = {
    kind.code: kind
    for kind in (
        InvalidArgumentError,
        OutOfRangeError,
        NotFoundError,
        AlreadyExistsError,
        UnauthenticatedError,
        PermissionDeniedError,
        FailedPreconditionError,
        ResourceExhaustedError,
        DeadlineExceededError,
        UnavailableError,
        CallCancelledError,
        AbortedError,
        UnimplementedError,
        InternalError,
        DataLossError,
    )
}


def error_of_code(code: str, message: str) -> RemoteError:
    """Return the error that stands for the gRPC status `code`."""
    error = _BY_CODE.get(code, RemoteError)(message)
    error.code = code
    return error
