#!/usr/bin/python3
"""A thousand connections to the HTTP port stall, drip, send garbage, too much or half of something, or read no answer.
All calls of one honest client must succeed meanwhile, and the daemon's memory must stay bounded. Before that, it
requests files that are not the console's.

run.sh runs it with --http-listen and --console; COPPICE_SERVER, _HTTP, _CA and _DAEMON_PID are set.
"""

import asyncio
import collections
import http.client
import json
import os
import socket
import threading
import time
import urllib.request

from attackers import (Port, attack_all, begin, check, drips, end, memory_mib, open_files, print_kinds, sends, wait_for_files)
from hostile_connections import create_large_study

CONNECTIONS = 1000
STALL_SECONDS = 20      # in server/http/connection.cc, for the handshake and again for a head
BODY_SECONDS = 10       # in server/serving/access/method_table.cc, for ListStudies
LATE_SECONDS = 75       # a busy machine may close this much later
MAX_GROWTH_MIB = 300    # the daemon's resident memory, see docs/threat-model.md
UNREAD_CONNECTIONS = 40
MEANWHILE_CALLS = 50    # ten a second
UNREAD_FILES = 100
MAX_FILES_GROWTH_MIB = 60
MAX_UNREAD_GROWTH_MIB = 350  # of large answers 256, and what is being written as JSON

HTTPS = Port(os.environ["COPPICE_HTTP"], [])
LARGE = "/assets/large-1.js"  # 6.4 MB, made by tests/clients/CMakeLists.txt
LIST = "/coppice.v1.StudyService/ListStudies"
OFFER = "/coppice.v1.StudyService/GetOffer"


def head(path, *lines):
    return "\r\n".join([f"POST {path} HTTP/1.1", "Host: localhost", "Content-Type: application/json", *lines,
                        "", ""]).encode()


def get(target):
    return f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


def request(path, message):
    body = json.dumps(message).encode()
    return head(path, f"Content-Length: {len(body)}") + body


async def floods(reader, writer):
    """Sends requests and never reads an answer."""
    while True:
        writer.write(request(LIST, {}) * 100)
        await writer.drain()
        await asyncio.sleep(0.2)


MANY_HEADERS = head(LIST, *[f"X-{i}: {'v' * 1000}" for i in range(1000)])
# These never finish a request, so the daemon must close them.
STALLS = {
    "tcp, silence": sends(False, b""),
    "half a ClientHello": sends(False, HTTPS.client_hello()[:100]),
    "half a head": sends(True, head(LIST)[:40]),
    "a head, a byte a second": drips(b"", MANY_HEADERS),
    "half a body": sends(True, head(LIST, "Content-Length: 1000") + b"{"),
    "a body, a byte a second": drips(head(LIST, "Content-Length: 1000"), b" " * 1000),
    "chunks, a byte a second": drips(head(LIST, "Transfer-Encoding: chunked"), b"1\r\n \r\n" * 200),
    "no TLS": sends(False, request(LIST, {})),
    "garbage after TLS": sends(True, os.urandom(4096)),
    "a head of 1 MiB": sends(True, MANY_HEADERS),
    "a line of 1 MiB": sends(True, b"POST /" + b"a" * (1 << 20)),
    "both lengths": sends(True, head(LIST, "Content-Length: 3", "Transfer-Encoding: chunked") + b"0\r\n\r\n"),
    "two lengths": sends(True, head(LIST, "Content-Length: 3", "Content-Length: 4") + b"{} "),
    "a body above the limit": sends(True, head(LIST, f"Content-Length: {1 << 40}") + b"{" * 100000),
    "chunks above 2^64": sends(True, head(LIST, "Transfer-Encoding: chunked") + b"f" * 17 + b"\r\n{"),
    "HTTP/2": sends(True, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(100)),
}
OTHERS = {
    "tls, silence": sends(True, b""),
    "1 of 60 MiB": sends(True, head(LIST, f"Content-Length: {60 << 20}") + b" " * (1 << 20)),
    "requests, unread": (True, floods),
    "a file, unread": sends(True, get(LARGE) * 100),
    "an odd upgrade": sends(True, head(LIST, "Upgrade: h2c", "Connection: Upgrade", "Content-Length: 2") + b"{}"),
}
ATTACKS = {**STALLS, **OTHERS}


# Usual attempts to leave the console's folder. No file has any of these names.
OUTSIDE = [
    "/../secret.txt", "/assets/../../secret.txt", "/assets/..%2f..%2fsecret.txt", "/assets/%2e%2e/%2e%2e/secret.txt",
    "/assets/%252e%252e%252f%252e%252e%252fsecret.txt", "/assets/..%5c..%5csecret.txt", "/assets/..\\..\\secret.txt",
    "/assets/....//....//secret.txt", "/assets/..;/..;/secret.txt", "/assets/%c0%ae%c0%ae/secret.txt",
    "/assets/.%00./secret.txt", "/assets/large-1.js%00.html", "/assets/large-1.js/..", "//secret.txt", "/./index.html",
    "/index.html", "/index.html.gz", "/assets", "/assets/", "/assets//large-1.js", "/assets/%6carge-1.js", "/%2f", "/.",
    "/assets%2flarge-1.js", "/etc/passwd", "file:///etc/passwd", "http://localhost/", "https://localhost/assets/large-1.js",
    "/ASSETS/large-1.js", "/assets/large-1.js;", "/assets/large-1.js#", "*", "/assets/" + "a" * 7000]
MALFORMED = ["/assets/" + "a" * 9000, "/assets/a b.js", "/assets/a\x00b.js", "/assets/a\tb.js", ""]


def ask(method, target, headers=None):
    """Returns the status, headers and body of one request with an unaltered target; 0 if the daemon just closed."""
    lines = [f"{method} {target} HTTP/1.1", "Host: localhost", *[f"{k}: {v}" for k, v in (headers or {}).items()], "", ""]
    with socket.create_connection((HTTPS.host, int(HTTPS.number)), timeout=60) as plain:
        with HTTPS.tls.wrap_socket(plain, server_hostname="localhost") as connection:
            connection.sendall("\r\n".join(lines).encode("latin-1"))
            response = http.client.HTTPResponse(connection, method=method)
            try:
                response.begin()
                return response.status, response.headers, response.read()
            except http.client.HTTPException:
                return 0, {}, b""


def ask_for_files(problems):
    status, headers, page = ask("GET", "/")
    check(status == 200 and b"<title>The console</title>" in page, f"GET / answers {status}", problems)
    for target in OUTSIDE:
        status, headers, body = ask("GET", target)
        check(status == 404 and headers["Content-Type"] == "application/json", f"{target[:60]} answers {status}", problems)
        check(b"secret" not in body and b"root:" not in body and page not in body, f"{target[:60]} shows a file", problems)
    for target in MALFORMED:
        status, _, body = ask("GET", target)
        check(status in (400, 429, 0), f"{target[:60]!r} answers {status}", problems)
    for method in ("POST", "PUT", "DELETE", "PATCH", "TRACE", "CONNECT", "OPTIONS", "PROPFIND", "get"):
        for target in ("/", LARGE):
            status, headers, body = ask(method, target)
            check(status == 405 and headers["Allow"] == "GET, HEAD" and page not in body, f"{method} {target}: {status}",
                  problems)
    status, headers, body = ask("HEAD", LARGE)
    check(status == 200 and headers["Content-Length"] == "6400000" and not body, f"HEAD {LARGE}: {status}", problems)
    for ranges in ("bytes=0-0", "bytes=-1", "bytes=5-2,0-9999999999999999999", "bytes=" + ",".join(["0-1"] * 1000)):
        status, _, body = ask("GET", "/", {"Range": ranges})
        check(status == 200 and body == page, f"Range: {ranges[:40]} answers {status}", problems)
    etag = ask("GET", "/")[1]["ETag"]
    for known, expected in ((etag, 304), ("W/" + etag, 304), ("*", 304), (etag[:-2] + '"', 200), ('"', 200), ("," * 5000, 200),
                            (etag.strip('"'), 200)):
        status, headers, body = ask("GET", "/", {"If-None-Match": known})
        check(status == expected and (status == 200) == (body == page), f"If-None-Match: {known[:50]} answers {status}",
              problems)
        check("frame-ancestors 'none'" in headers["Content-Security-Policy"], f"{status} has no policy", problems)
    for site in ("cross-site", "same-site", "nonsense"):
        check(ask("GET", LARGE, {"Sec-Fetch-Site": site})[0] == 403, f"another page got {LARGE} ({site})", problems)
        check(ask("POST", LIST, {"Sec-Fetch-Site": site})[0] == 403, f"another page called ({site})", problems)
    print(f"{len(OUTSIDE) + len(MALFORMED)} requests for other files than the console's: none was served")


async def leave_answers_unread(honest, problems):
    """Whole forests that nobody reads are held once, and their connections are closed in time."""
    memory_before = memory_mib("VmHWM")
    writers = []
    for _ in range(UNREAD_CONNECTIONS):
        reader, writer = await HTTPS.connect()
        writer.transport.pause_reading()
        writer.write(request(OFFER, {"name": "studies/large", "wholeForest": True}) * 20)
        writers.append(writer)
    await honest.more_calls()
    growth = memory_mib("VmHWM") - memory_before
    for writer in writers:
        writer.transport.abort()
    print(f"{UNREAD_CONNECTIONS} connections with 20 unread whole forests each: {growth:.0f} MiB more")
    check(growth < MAX_UNREAD_GROWTH_MIB, f"unread answers took {growth:.0f} MiB", problems)


async def leave_files_unread(honest, problems):
    """Readers of a large file that stop reading hold buffers of their sockets, and no copy of the file."""
    memory_before = memory_mib("VmRSS")
    writers = []
    for _ in range(UNREAD_FILES):
        reader, writer = await HTTPS.connect()
        writer.transport.pause_reading()
        writer.write(get(LARGE) * 20)
        writers.append(writer)
    await honest.more_calls()
    growth = memory_mib("VmRSS") - memory_before
    for writer in writers:
        writer.transport.abort()
    print(f"{UNREAD_FILES} connections with 20 unread files of 6.4 MB each: {growth:.0f} MiB more")
    check(growth < MAX_FILES_GROWTH_MIB, f"unread files took {growth:.0f} MiB", problems)


class HonestClient(threading.Thread):
    """Makes a call every tenth of a second, each on its own connection."""

    def __init__(self):
        super().__init__()
        self.calls, self.failures, self.slowest = 0, [], 0.0
        self._stopping = threading.Event()

    def run(self):
        while not self._stopping.wait(0.1):
            begin = time.monotonic()
            try:
                call = urllib.request.Request(f"https://localhost:{HTTPS.number}{LIST}", data=b"{}",
                                              headers={"Content-Type": "application/json"})
                with urllib.request.urlopen(call, context=HTTPS.tls, timeout=60) as response:
                    json.load(response)
            except (OSError, ValueError) as error:
                self.failures.append(repr(error))
            self.calls += 1
            self.slowest = max(self.slowest, time.monotonic() - begin)

    async def more_calls(self):
        """Returns once so many more were answered that the daemon has got around to what others asked before."""
        end = self.calls + MEANWHILE_CALLS
        while self.calls < end:
            await asyncio.sleep(0.1)

    def stop(self):
        self._stopping.set()
        self.join()


def main():
    begin()
    problems = []
    ask_for_files(problems)
    create_large_study()
    honest = HonestClient()
    honest.start()
    asyncio.run(leave_files_unread(honest, problems))
    asyncio.run(leave_answers_unread(honest, problems))
    files_before, memory_before = open_files(), memory_mib("VmHWM")
    attackers, most_files = asyncio.run(
        attack_all(HTTPS, ATTACKS, CONNECTIONS, STALLS, 2 * STALL_SECONDS + LATE_SECONDS))
    files_after = wait_for_files(files_before + 20)
    honest.stop()
    growth = memory_mib("VmHWM") - memory_before

    print_kinds(attackers)
    left = collections.Counter(a.kind for a in attackers if a.kind in STALLS and a.seconds_until_closed is None)
    check(not left, f"stalled and never closed: {dict(left)}", problems)
    print(f"honest client: {honest.calls} calls, {len(honest.failures)} failed, the slowest took {honest.slowest:.2f} s")
    print(f"daemon: {memory_before:.0f} MiB before, at most {growth:.0f} MiB more; "
          f"{files_before} files open before, {most_files} at most, {files_after} after")
    opened = sum(attacker.open for attacker in attackers)
    check(opened >= 0.95 * CONNECTIONS, f"only {opened} connections attacked", problems)
    check(most_files >= 0.4 * CONNECTIONS, f"never more than {most_files} open at once", problems)
    check(honest.calls >= 20, "the honest client hardly called", problems)
    check(not honest.failures, f"honest calls failed: {honest.failures[:5]}", problems)
    check(growth < MAX_GROWTH_MIB, f"memory grew by {growth:.0f} MiB", problems)
    check(files_after <= files_before + 20, f"{files_after} files stay open", problems)
    end("hostile_http.py", problems)


if __name__ == "__main__":
    main()
