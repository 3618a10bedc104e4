"""Why no connection can be made, which gRPC does not tell.

Connects once more to find out. Sends neither a token nor a request.
"""

from __future__ import annotations

import os
import socket
import ssl
from typing import Optional

from coppice.remote._channel import ConnectOptions, text_bytes
from coppice.remote._proxy import Proxy

_PATIENCE = 5.0  # seconds for each step
_MAX_HEAD = 8192


def diagnose(options: ConnectOptions) -> Optional[str]:
    """Return what is wrong, and what to do, in a line; None if nothing is, or it cannot be told."""
    proxy = options.proxy
    partner, address = options.server, options.address
    if_unknown, if_down = "check the name", "check the address and that coppiced runs there"
    if proxy is not None:
        partner, address = f"{proxy}, which leads to {options.server}", (proxy.host, proxy.port)
        if_unknown = if_down = proxy.advice(options.address[0])
    try:
        connection = socket.create_connection(address, timeout=_PATIENCE)
    except socket.gaierror as error:
        return f"nobody answers at {partner}: {error.strerror}; {if_unknown}"
    except OSError as error:
        why = error.strerror or str(error)
        return f"nobody answers at {partner}: {why}; {if_down}"
    with connection:
        fault = None if proxy is None else _open_tunnel(proxy, options, connection)
        if fault is not None or options.insecure:
            return fault
        return _diagnose_tls(options, connection)


def _open_tunnel(proxy: Proxy, options: ConnectOptions, connection: socket.socket) -> Optional[str]:
    """Ask the proxy for a connection to the server; return what is wrong."""
    server, advice = options.server, proxy.advice(options.address[0])
    request = f"CONNECT {server} HTTP/1.1\r\nHost: {server}\r\n"
    if proxy.authorization is not None:
        request += f"Proxy-Authorization: {proxy.authorization}\r\n"
    try:
        connection.sendall(f"{request}\r\n".encode())
        head = _read_head(connection)
    except OSError:
        head = ""
    protocol, _, answer = head.partition("\r\n")[0].partition(" ")
    if not protocol.startswith("HTTP/1."):
        return f"{proxy}: it does not answer as a proxy does; {advice}"
    if answer.startswith("2"):
        return None
    shown = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in answer)
    return (
        f"{proxy} does not connect to {server}: it answers {shown}; ask whoever runs it, or {advice}"
    )


def _read_head(connection: socket.socket) -> str:
    """Read the head of an answer and no further: the next byte is the server's."""
    head = b""
    while len(head) < _MAX_HEAD and not head.endswith(b"\r\n\r\n"):
        byte = connection.recv(1)
        if not byte:
            break
        head += byte
    return head.decode(errors="replace")


def _diagnose_tls(options: ConnectOptions, connection: socket.socket) -> Optional[str]:
    server = options.server
    authorities = None if options.ca is None else text_bytes(options.ca).decode(errors="replace")
    context = ssl.create_default_context(cadata=authorities)
    context.set_alpn_protocols(["h2"])
    try:
        if options.cert is not None and options.key is not None:
            context.load_cert_chain(options.cert, options.key, password=lambda: "")
    except ssl.SSLError:  # gRPC read it, and has the word
        return None
    try:
        with context.wrap_socket(connection, server_hostname=options.address[0]) as tls:
            if tls.selected_alpn_protocol() != "h2":
                return f"{server} speaks TLS, but not gRPC; check the port"
            # In TLS 1.3 a server looks at the client's certificate after the client's part of the
            # handshake; gRPC's servers then end the connection, where they would speak first.
            return None if _speaks(tls) else _refusal(options)
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
        if "CERTIFICATE_REQUIRED" in error.reason:
            return _refusal(options)
        return f"{server} refuses the TLS connection: {error.reason}; check `cert` and `key`"
    except OSError:  # it was cut in the handshake, which says nothing of why
        return None


def _speaks(tls: ssl.SSLSocket) -> bool:
    """Tell whether the server says something, once the handshake is over."""
    try:
        return bool(tls.recv(1))
    except ConnectionResetError:
        return False


def _refusal(options: ConnectOptions) -> str:
    first = f"{options.server} ends the connection after the handshake"
    if options.cert is None:
        return f"{first}, as one does that asks for client certificates; give `cert` and `key`"
    return (
        f"{first}, as one does that does not accept the certificate {os.fspath(options.cert)}; "
        "ask whoever runs the server for one that its --client-ca signed"
    )
