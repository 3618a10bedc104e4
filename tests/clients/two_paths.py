#!/usr/bin/python3
"""Makes calls with two :path headers, against a daemon whose policy lets strangers call only health checks: the policy
and the dispatch must use the same one of the two.

run.sh runs it with closed_policy.json.
"""

import asyncio
import itertools
import os
import ssl
import sys

import http2

HOST, PORT = os.environ["COPPICE_SERVER"].rsplit(":", 1)
OPEN = b"/grpc.health.v1.Health/Check"
CLOSED = b"/coppice.v1.StudyService/ListStudies"
SERVING = b"\x08\x01"  # a HealthCheckResponse
TLS = ssl.create_default_context(cafile=os.environ["COPPICE_CA"])
TLS.set_alpn_protocols(["h2"])


def headers(first, second, late):
    """Puts the second path among the pseudo-headers, or after the others, where it must not be."""
    block = [(b":method", b"POST"), (b":scheme", b"https"), (b":path", first),
             (b":authority", b"localhost")]
    rest = [(b"te", b"trailers"), (b"content-type", b"application/grpc")]
    extra = [] if second is None else [(b":path", second)]
    return http2.header_block(block + (rest + extra if late else extra + rest))


async def call(first, second, late):
    """Returns the answer's messages and its status; None if the connection or the call was cut."""
    reader, writer = await asyncio.open_connection(HOST, PORT, ssl=TLS, server_hostname="localhost")
    writer.write(http2.OPENING + http2.frame(http2.HEADERS, http2.END_HEADERS, 1,
                                             headers(first, second, late))
                 + http2.frame(http2.DATA, http2.END_STREAM, 1, bytes(5)))
    data, status = b"", None
    try:
        while True:
            head = await asyncio.wait_for(reader.readexactly(9), 30)
            payload = await reader.readexactly(int.from_bytes(head[:3], "big"))
            if head[3] == http2.DATA:
                data += payload
            if head[3] == http2.HEADERS and head[4] & http2.END_STREAM:
                status = http2.grpc_status(payload)
                break
            if head[3] == http2.RST_STREAM:
                break
    except (OSError, EOFError):
        pass
    writer.transport.abort()
    return data[5:], status


async def main():
    problems = []
    alone = await call(OPEN, None, late=False), await call(CLOSED, None, late=False)
    if alone[0] != (SERVING, 0) or alone[1][1] in (None, 0):
        problems.append(f"with one path: {alone}")
    for (first, second), late in itertools.product([(OPEN, CLOSED), (CLOSED, OPEN)], [False, True]):
        answer, status = await call(first, second, late)
        print(f"{first.decode()}, then {second.decode()}{' (late)' if late else ''}: {answer} {status}")
        if status == 0 and answer != SERVING:
            problems.append(f"{first} and {second} reached the closed method")
    for problem in problems:
        print(f"two_paths.py: {problem}", file=sys.stderr)
    sys.exit(1 if problems else 0)


asyncio.run(main())
