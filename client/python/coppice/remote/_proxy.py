"""The HTTP proxy through which the environment has connections made.

gRPC's variables, read as client/device/grpc/proxy.h says: also "*" in no_proxy excepts all hosts.
"""

from __future__ import annotations

import base64
import os
import urllib.parse
from dataclasses import dataclass, field
from typing import Optional, Tuple

_VARIABLES = ("grpc_proxy", "https_proxy", "http_proxy")
_EXCEPTIONS = ("no_grpc_proxy", "no_proxy")


@dataclass(frozen=True)
class Proxy:
    """A proxy; its URL may hold a user and a password, and is never shown."""

    variable: str
    url: str = field(repr=False)
    host: str
    port: int
    authorization: Optional[str] = field(default=None, repr=False)

    def __str__(self) -> str:
        return f"the proxy {self.host}:{self.port} ({self.variable})"

    def advice(self, server: str) -> str:
        """Return what to do if it does not lead to `server`, a host."""
        return f"check {self.variable}, or set no_proxy={server} to connect without a proxy"


def proxy_for(host: str) -> Optional[Proxy]:
    """Return the proxy through which `host`, which is not this machine, is reached; None if none."""
    if _is_excepted(host):
        return None
    variable, value = _first_set(_VARIABLES)
    return _parse(variable, value) if value else None


def _first_set(names: Tuple[str, ...]) -> Tuple[str, str]:
    for name in names:
        if name in os.environ:
            return name, os.environ[name].strip()
    return "", ""


def _is_excepted(host: str) -> bool:
    for entry in _first_set(_EXCEPTIONS)[1].split(","):
        entry = entry.strip().lower()
        if entry == "*":
            return True
        entry = entry.removeprefix("*")
        if entry and host.lower().endswith(entry):
            return True
    return False


def _parse(variable: str, value: str) -> Optional[Proxy]:
    parts = urllib.parse.urlsplit(value if "://" in value else f"http://{value}")
    try:
        port = parts.port or 80
    except ValueError:
        return None
    if parts.scheme != "http" or not parts.hostname:
        return None
    user, at, _ = parts.netloc.rpartition("@")
    secret = urllib.parse.unquote_to_bytes(user)
    authorization = f"Basic {base64.b64encode(secret).decode()}" if at else None
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    url = f"http://{user}{at}{host}:{port}"
    return Proxy(variable, url, parts.hostname, port, authorization)
