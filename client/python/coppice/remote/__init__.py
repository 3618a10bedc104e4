"""A curator over the network: studies, datasets, jobs and models.

`connect` makes a `Client`. Importing this package loads neither gRPC nor pandas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Optional

from coppice.remote.errors import (
    AbortedError,
    AlreadyExistsError,
    BudgetExhaustedError,
    CallCancelledError,
    DataLossError,
    DeadlineExceededError,
    FailedPreconditionError,
    InternalError,
    InvalidArgumentError,
    JobCancelledError,
    JobFailedError,
    NotFoundError,
    OutOfRangeError,
    PermissionDeniedError,
    RemoteError,
    ResourceExhaustedError,
    UnauthenticatedError,
    UnavailableError,
    UnimplementedError,
)

if TYPE_CHECKING:
    from coppice.remote._channel import PathLike
    from coppice.remote.client import Client

__all__ = [
    "AbortedError",
    "AlreadyExistsError",
    "BudgetExhaustedError",
    "CallCancelledError",
    "DataLossError",
    "DeadlineExceededError",
    "FailedPreconditionError",
    "InternalError",
    "InvalidArgumentError",
    "JobCancelledError",
    "JobFailedError",
    "NotFoundError",
    "OutOfRangeError",
    "PermissionDeniedError",
    "RemoteError",
    "ResourceExhaustedError",
    "UnauthenticatedError",
    "UnavailableError",
    "UnimplementedError",
    "connect",
]


def connect(
    server: str,
    *,
    ca: Optional[PathLike] = None,
    cert: Optional[PathLike] = None,
    key: Optional[PathLike] = None,
    token: Optional[str] = None,
    token_file: Optional[PathLike] = None,
    insecure: bool = False,
    timeout: Optional[float] = None,
) -> Client:
    """Return a connection to a curator, to be used in a ``with`` block or closed.

    Parameters
    ----------
    server : str
        Where coppiced listens, ``HOST:PORT``.
    ca : path, optional
        PEM file of the authority that signed the server's certificate; gRPC's own list otherwise.
    cert, key : path, optional
        PEM files of the client's certificate and of its private key.
    token, token_file : str or path, optional
        The bearer token that the operator gave out, or a file that holds it.
    insecure : bool
        No TLS, on loopback addresses only; then no token either.
    timeout : float, optional
        The seconds that each call may take, retries included. Otherwise a minute, or for
        calls that compute as long as the curator allows.

    Raises
    ------
    ValueError
        If these do not go together.
    OSError
        If a file cannot be read.

    Examples
    --------
    >>> with coppice.connect("curator.example:8443", ca="ca.crt", token_file="token") as client:
    ...     client.studies.list()
    """
    from coppice.remote._channel import ConnectOptions
    from coppice.remote.client import Client

    options = ConnectOptions(
        server=server,
        ca=ca,
        cert=cert,
        key=key,
        token=token,
        token_file=token_file,
        insecure=insecure,
    )
    return Client(options, timeout)
