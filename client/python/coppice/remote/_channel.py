"""The address, the certificates and the channel of a connection."""

from __future__ import annotations

import codecs
import ipaddress
import os
import pathlib
import stat
import warnings
from dataclasses import dataclass, field
from typing import Any, Optional, Tuple, Union

# gRPC's core writes each failed handshake to stderr, where the error says it already.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")

import grpc  # noqa: E402

from coppice.remote._proxy import Proxy, proxy_for  # noqa: E402

PathLike = Union[str, "os.PathLike[str]"]

MAX_MESSAGE_BYTES = 64 << 20


@dataclass(frozen=True)
class ConnectOptions:
    """What a connection is made with; `check` refuses what does not go together."""

    server: str
    ca: Optional[PathLike] = None
    cert: Optional[PathLike] = None
    key: Optional[PathLike] = None
    token: Optional[str] = field(default=None, repr=False)
    token_file: Optional[PathLike] = None
    insecure: bool = False

    @property
    def address(self) -> Tuple[str, int]:
        """Host, without brackets, and port."""
        host, colon, port = self.server.rpartition(":")
        bracketed = host.startswith("[") and host.endswith("]")
        if bracketed:
            host = host[1:-1]
        ambiguous = ":" in host and not bracketed
        good_port = port.isascii() and port.isdigit() and 1 <= int(port) <= 65535
        if not colon or not host or ambiguous or "/" in host or not good_port:
            raise ValueError(
                f"server {self.server!r}: must be HOST:PORT with a port from 1 to 65535, "
                "and an IPv6 address in brackets"
            )
        return host, int(port)

    @property
    def proxy(self) -> Optional[Proxy]:
        """The proxy that the environment names for the server; this machine needs none."""
        host, _ = self.address
        return None if is_loopback(host) else proxy_for(host)

    def check(self) -> None:
        """Raise ValueError if the options do not go together."""
        host, _ = self.address
        if self.insecure and not is_loopback(host):
            raise ValueError(
                "insecure: an insecure connection is for loopback addresses only; "
                "use TLS for any other"
            )
        if self.insecure and (self.ca or self.cert or self.key):
            raise ValueError("insecure: an insecure connection uses no CA, certificate or key")
        if self.insecure and (self.token or self.token_file):
            raise ValueError(
                "insecure: the connection would show the token to whoever listens; "
                "use TLS, or leave the token out"
            )
        if (self.cert is None) != (self.key is None):
            raise ValueError("cert, key: a client certificate and its private key go together")
        if self.token is not None and self.token_file is not None:
            raise ValueError("token, token_file: give one of them")


def is_loopback(host: str) -> bool:
    """Tell whether `host` is this machine, by its text alone: names are not looked up."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def make_channel(options: ConnectOptions) -> Any:
    """Return a channel; nothing is sent before its first call.

    Raises
    ------
    ValueError
        If the options do not go together, or a file holds something else than it should.
    OSError
        If a file cannot be read.
    """
    options.check()
    _warn_of_open_file("key", options.key)
    _warn_of_open_file("token_file", options.token_file)
    arguments = _arguments(options.proxy)
    if options.insecure:
        return grpc.insecure_channel(options.server, arguments)
    return grpc.secure_channel(options.server, _credentials(options), arguments)


def _arguments(proxy: Optional[Proxy]) -> list[Tuple[str, Union[int, str]]]:
    arguments: list[Tuple[str, Union[int, str]]] = [
        ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
        # gRPC looks at the size of an answer before it decompresses it: a megabyte from a hostile
        # curator would take a gigabyte here.
        ("grpc.per_message_decompression", 0),
        ("grpc.compression_enabled_algorithms_bitset", 1),
        # The channel's own waits stay below ours, or another try would only meet its last error.
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 5000),
    ]
    if proxy is None:
        arguments.append(("grpc.enable_http_proxy", 0))
    else:
        arguments.append(("grpc.http_proxy", proxy.url))
    return arguments


def _credentials(options: ConnectOptions) -> Any:
    tls = grpc.ssl_channel_credentials(
        root_certificates=_pem("ca", options.ca, b"CERTIFICATE"),
        private_key=_pem("key", options.key, b"PRIVATE KEY"),
        certificate_chain=_pem("cert", options.cert, b"CERTIFICATE"),
    )
    token = _token(options)
    if token is None:
        return tls
    return grpc.composite_channel_credentials(tls, grpc.access_token_call_credentials(token))


def _warn_of_open_file(name: str, path: Optional[PathLike]) -> None:
    if path is not None and os.stat(path).st_mode & (stat.S_IROTH | stat.S_IWOTH):
        warnings.warn(
            f"{name}: everybody on this machine may read or change {os.fspath(path)}: chmod o-rwx "
            "it, and have it replaced if others use the machine",
            stacklevel=5,
        )


def _pem(name: str, path: Optional[PathLike], what: bytes) -> Optional[bytes]:
    if path is None:
        return None
    text = text_bytes(path)
    if what + b"-----" in text and b"-----BEGIN " in text:
        return text
    raise ValueError(f"{name}: {os.fspath(path)} is not a PEM file with a {what.decode().lower()}")


def text_bytes(path: PathLike) -> bytes:
    """Read a text file without the byte order mark that editors on Windows put before it."""
    return pathlib.Path(path).read_bytes().removeprefix(codecs.BOM_UTF8)


def _token(options: ConnectOptions) -> Optional[str]:
    if options.token_file is not None:
        name, token = "token_file", text_bytes(options.token_file).decode(errors="replace").strip()
    elif options.token is not None:
        name, token = "token", options.token.strip()
    else:
        return None
    # gRPC ends the process over a header with other characters.
    if token and all("!" <= character <= "~" for character in token):
        return token
    raise ValueError(f"{name}: must be one token, without blanks")
