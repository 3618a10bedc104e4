#!/usr/bin/python3
"""A thousand connections stall, drip, send garbage, too much or half of something. All calls of one honest client must
succeed meanwhile, and the daemon's memory must stay bounded.

run.sh runs it, and sets COPPICE_SERVER, COPPICE_CA and COPPICE_DAEMON_PID.
"""

import asyncio
import collections
import json
import os
import subprocess
import sys

import http2
from attackers import (Port, attack_all, begin, check, drips, end, memory_mib, open_files, print_kinds, sends,
                       until_closed, wait_for_files)
from device import sample_study
from reflected import ReflectedClient

CONNECTIONS = 1000
HANDSHAKE_SECONDS = 20  # in server/process/connections.cc
LATE_SECONDS = 75       # a busy machine may close this much later
MAX_GROWTH_MIB = 600    # the daemon's resident memory, see docs/threat-model.md
BOMB_MIB = 256          # decompressed
MAX_BOMB_GROWTH_MIB = 64

STREAM = "/coppice.v1.ReportService/StreamReports"
UNARY = "/coppice.v1.ReportService/SubmitReports"
# Calls of devices and health checks, which strangers may make if the policy has anonymous devices.
WITHOUT_A_ROLE = [
    "/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch",
    "/coppice.v1.StudyService/GetOffer", "/coppice.v1.StudyService/GetCuratorKeys", UNARY, STREAM]
UNIMPLEMENTED = 12

GRPC = Port(os.environ["COPPICE_SERVER"], ["h2"])


async def garbage_frames(reader, writer):
    """Sends frames with correct lengths and random content."""
    writer.write(http2.OPENING)
    while True:
        noise = os.urandom(9 + 64)
        writer.write(http2.frame(noise[0], noise[1], int.from_bytes(noise[2:6], "big") >> 1,
                                 noise[9:]))
        await writer.drain()
        await asyncio.sleep(0.5)


async def half_large_message(reader, writer):
    """Announces 60 MiB, less than the limit, and sends 1 MiB as fast as it may."""
    writer.write(http2.OPENING + http2.call(1, UNARY))
    promise = b"\0" + (60 << 20).to_bytes(4, "big")
    await http2.Sender(reader, writer, 1).send(promise + bytes(1 << 20))
    await until_closed(reader)


async def send_bomb(reader, writer, path, encoding):
    """Returns the status of a call whose one message is a bomb; None if the daemon closed it without a status."""
    writer.write(http2.OPENING + http2.frame(
        http2.HEADERS, http2.END_HEADERS, 1, http2.call_headers(path, (b"grpc-encoding", encoding))))
    sender = http2.Sender(reader, writer, 1)
    try:
        await sender.send(BOMB)
        writer.write(http2.frame(http2.DATA, http2.END_STREAM, 1))
        return await sender.wait_for_status()
    except ConnectionError:
        return sender.status


async def bombs(reader, writer):
    """Sends a bomb to each method in turn."""
    path = WITHOUT_A_ROLE[int.from_bytes(os.urandom(2), "big") % len(WITHOUT_A_ROLE)]
    await send_bomb(reader, writer, path, b"gzip")
    await until_closed(reader)


async def many_streams(reader, writer):
    """Agrees to the daemon's limit of open calls, and then opens more."""
    writer.write(http2.OPENING)
    await reader.readexactly(9)  # its settings; the rest is ignored
    writer.write(http2.frame(http2.SETTINGS, http2.ACK, 0))
    await open_calls(writer, 1000)
    await until_closed(reader)


async def many_streams_unagreed(reader, writer):
    """Opens calls before it has agreed to a limit: gRPC 1.51 then applies none."""
    writer.write(http2.OPENING)
    await open_calls(writer, 64)
    await until_closed(reader)


async def open_calls(writer, calls):
    for call in range(calls):
        if writer.transport.is_closing():
            return
        writer.write(http2.call(2 * call + 1, STREAM))
        await writer.drain()


async def rapid_reset(reader, writer):
    """Opens calls and cancels each at once."""
    reading = asyncio.ensure_future(until_closed(reader))
    reading.add_done_callback(lambda task: task.cancelled() or task.exception())  # expected
    writer.write(http2.OPENING)
    stream = 1
    while not reading.done():
        burst = b"".join(http2.call(s, UNARY) + http2.frame(http2.RST_STREAM, 0, s, bytes([0, 0, 0, 8]))
                         for s in range(stream, stream + 200, 2))
        stream += 200
        writer.write(burst)
        await writer.drain()
        await asyncio.sleep(1)


HALF_MESSAGE = (http2.OPENING + http2.call(1, STREAM)
                + http2.frame(http2.DATA, 0, 1, b"\0\0\0\1\0" + bytes(100)))
PROMISES_4_GIB = (http2.OPENING + http2.call(1, STREAM)
                  + http2.frame(http2.DATA, 0, 1, b"\0\xff\xff\xff\xff" + bytes(1000)))
TOO_LARGE = (http2.OPENING + http2.call(1, UNARY)
             + http2.frame(http2.DATA, 0, 1, b"\0" + ((64 << 20) + 1).to_bytes(4, "big")
                           + bytes(16000)))
MANY_HEADERS = http2.OPENING + http2.long_headers(
    1, http2.call_headers(UNARY, *[(b"x-%d" % i, b"v" * 1000) for i in range(1000)]))
ONE_LONG_HEADER = http2.OPENING + http2.long_headers(
    1, http2.call_headers(UNARY, (b"x", b"v" * (1 << 20))))


def odd_headers(name, value):
    """CVE-2023-1428: one of these headers, followed by more than 8 kB of others, aborted some versions."""
    odd = {b":method": b"POST", b":scheme": b"https", b":path": UNARY.encode(),
           b":authority": b"localhost", b"te": b"trailers",
           b"content-type": b"application/grpc", name: value}
    more = [(b"x-%d" % i, b"v" * 1000) for i in range(20)]
    return http2.OPENING + http2.long_headers(1, http2.header_block([*odd.items(), *more]))


CLIENT_HELLO = GRPC.client_hello()
BOMB = http2.bomb(BOMB_MIB)

# These never finish what the daemon's handshake timeout covers, so it must close them.
STALLS = {
    "tcp, silence": sends(False, b""),
    "half a ClientHello": sends(False, CLIENT_HELLO[:100]),
    "half a handshake": sends(False, CLIENT_HELLO),
    "tls, silence": sends(True, b""),
    "preface, a byte a second": drips(b"", http2.OPENING),
}
OTHERS = {
    "preface, silence": sends(True, http2.OPENING),
    "headers, a byte a second": drips(http2.OPENING, http2.call(1, STREAM)),
    "no TLS": sends(False, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    "garbage after TLS": sends(True, os.urandom(4096)),
    "garbage frames": (True, garbage_frames),
    "half a message": sends(True, HALF_MESSAGE),
    "a message of 4 GiB": sends(True, PROMISES_4_GIB),
    "a message above the limit": sends(True, TOO_LARGE),
    "half a message of 60 MiB": (True, half_large_message),
    "a message that decompresses": (True, bombs),
    "1,000 headers of 1 kB": sends(True, MANY_HEADERS),
    "a header of 1 MiB": sends(True, ONE_LONG_HEADER),
    "te: x, and 20 kB of headers": sends(True, odd_headers(b"te", b"x")),
    ":scheme: x, and 20 kB": sends(True, odd_headers(b":scheme", b"x")),
    "grpclb_client_stats, 20 kB": sends(True, odd_headers(b"grpclb_client_stats", b"x")),
    "1,000 calls": (True, many_streams),
    "64 calls, no SETTINGS ACK": (True, many_streams_unagreed),
    "rapid reset": (True, rapid_reset),
}
ATTACKS = {**STALLS, **OTHERS}


async def bomb_each_method(problems):
    """Sends a bomb to each method that strangers may call, one after the other; each must be refused unopened."""
    memory_before = memory_mib("VmHWM")
    for path in WITHOUT_A_ROLE:
        for encoding in (b"gzip", b"identity"):
            reader, writer = await GRPC.connect()
            status = await asyncio.wait_for(send_bomb(reader, writer, path, encoding), 60)
            writer.transport.abort()
            # A bomb that claims to be uncompressed is read as it is, and is not a message.
            refused = status == UNIMPLEMENTED if encoding == b"gzip" else status not in (None, 0)
            check(refused, f"{path} answered a bomb ({encoding.decode()}) with {status}", problems)
    growth = memory_mib("VmHWM") - memory_before
    print(f"a bomb of {BOMB_MIB} MiB to each of {len(WITHOUT_A_ROLE)} methods: {growth:.0f} MiB more")
    check(growth < MAX_BOMB_GROWTH_MIB, f"bombs took {growth:.0f} MiB", problems)


def create_large_study():
    """Creates "studies/large", whose whole forest takes more than 2 MB."""
    client = ReflectedClient(os.environ["COPPICE_SERVER"], os.environ["COPPICE_CA"])
    rows = [{"values": [10.0 * i / 999]} for i in range(1000)]
    client.call("coppice.v1.StudyService", "CreateStudy", **{
        **sample_study("large"), "public_rows": rows, "public_labels": [i % 2 for i in range(1000)],
        "partition": {"rule": "SPLIT_RULE_MAX_EDGE", "criterion": "CRITERION_GINI", "max_depth": 9,
                      "min_leaf": 1, "trees": 512, "seed": 1}})
    offer = client.call("coppice.v1.StudyService", "GetOffer", name="studies/large",
                        whole_forest=True)
    client.close()
    assert sum(len(tree) for tree in offer.forest) > 2 << 20, "the large study's forest is small"


class HonestClient:
    """A process that makes calls until it is told to stop."""

    def __init__(self):
        here = os.path.dirname(os.path.abspath(__file__))
        self._process = subprocess.Popen([sys.executable, os.path.join(here, "honest_client.py")],
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout.readline() == "ready\n", "the honest client did not begin"

    def stop(self, problems):
        """Returns its tally."""
        tally = json.loads(self._process.communicate(input="stop\n")[0])
        check(tally["calls"] >= 20, "the honest client hardly called", problems)
        check(not tally["failures"], f"honest calls failed: {tally['failures'][:5]}", problems)
        return tally


def main():
    begin()
    honest = HonestClient()
    problems = []
    asyncio.run(bomb_each_method(problems))
    files_before, memory_before = open_files(), memory_mib("VmHWM")

    attackers, most_files = asyncio.run(
        attack_all(GRPC, ATTACKS, CONNECTIONS, STALLS, HANDSHAKE_SECONDS + LATE_SECONDS))
    files_after = wait_for_files(files_before + 20)
    tally = honest.stop(problems)
    growth = memory_mib("VmHWM") - memory_before

    print_kinds(attackers)
    print(f"honest client: {tally['calls']} calls, {len(tally['failures'])} failed, "
          f"the slowest took {tally['slowest_seconds']:.2f} s")
    print(f"daemon: {memory_before:.0f} MiB before, at most {growth:.0f} MiB more; "
          f"{files_before} files open before, {most_files} at most, {files_after} after")

    opened = sum(attacker.open for attacker in attackers)
    check(opened >= 0.95 * CONNECTIONS, f"only {opened} connections attacked", problems)
    check(most_files >= 0.5 * CONNECTIONS, f"never more than {most_files} open at once", problems)
    left = collections.Counter(a.kind for a in attackers
                               if a.kind in STALLS and a.seconds_until_closed is None)
    check(not left, f"stalled and never closed: {dict(left)}", problems)
    check(growth < MAX_GROWTH_MIB, f"memory grew by {growth:.0f} MiB", problems)
    check(files_after <= files_before + 20, f"{files_after} files stay open", problems)
    end("hostile_connections.py", problems)


if __name__ == "__main__":
    main()
