"""Why no connection can be made, which gRPC does not tell.

Connects once more to find out. Sends neither a token nor a request.
"""

from __future__ import annotations

import os
import socket
import ssl
from typing import Optional

from coppice.remote._channel import ConnectOptions

_PATIENCE = 5.0  # seconds for each step


def diagnose(options: ConnectOptions) -> Optional[str]:
    """Return what is wrong, and what to do, in a line; None if nothing is, or it cannot be told."""
    if any(os.environ.get(name) for name in ("https_proxy", "http_proxy", "grpc_proxy")):
        return None
    server = options.server
    try:
        connection = socket.create_connection(options.address, timeout=_PATIENCE)
    except socket.gaierror as error:
        return f"nobody answers at {server}: {error.strerror}; check the name"
    except OSError as error:
        why = error.strerror or str(error)
        return f"nobody answers at {server}: {why}; check the address and that coppiced runs there"
    with connection:
        return None if options.insecure else _diagnose_tls(options, connection)


def _diagnose_tls(options: ConnectOptions, connection: socket.socket) -> Optional[str]:
    server = options.server
    context = ssl.create_default_context(cafile=options.ca)
    context.set_alpn_protocols(["h2"])
    if options.cert is not None and options.key is not None:
        context.load_cert_chain(options.cert, options.key, password=lambda: "")
    try:
        with context.wrap_socket(connection, server_hostname=options.address[0]) as tls:
            if tls.selected_alpn_protocol() == "h2":
                return None
            return f"{server} speaks TLS, but not gRPC; check the port"
    except ssl.SSLCertVerificationError as error:
        return (
            f"cannot trust {server}: {error.verify_message}; check that `ca` is the certificate "
            "of the authority that signed the server's, and that the server goes by this name"
        )
    except ssl.SSLError as error:
        if error.reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST"):
            return f"{server} speaks no TLS; check the port, or give insecure=True on this machine"
        if error.reason is None:
            return None
        return f"{server} refuses the TLS connection: {error.reason}; check `cert` and `key`"
    except OSError:  # it was cut, which says nothing of why
        return None
