#!/usr/bin/python3
"""Connections ask for many large answers and read none. All of their calls must end, most of them refused at once, while
the daemon's memory stays small and all calls of one honest client succeed.

run.sh runs it, and sets COPPICE_SERVER, COPPICE_CA and COPPICE_DAEMON_PID.
"""

import asyncio
import logging
import time

import http2
from attackers import check, end, memory_mib
from hostile_connections import GRPC, LATE_SECONDS, HonestClient, create_large_study

UNREAD_CONNECTIONS, UNREAD_CALLS = 12, 120  # per connection; each answer is above 2 MB
MAX_UNREAD_GROWTH_MIB = 150
UNREAD_SECONDS = 30     # in server/serving/access/method_table.cc, for GetOffer
RESOURCE_EXHAUSTED = 8
OFFER = "/coppice.v1.StudyService/GetOffer"


class SilentReader:
    """A connection that asks for whole forests and opens no window for them."""

    def __init__(self):
        self.ended = {}     # time, by call
        self.status = None  # of the first call; later ones refer to it in a coding that is not read here
        self._writer = None

    async def run(self):
        reader, self._writer = await GRPC.connect()
        name = b"studies/large"
        request = b"\x0a" + bytes([len(name)]) + name + b"\x20\1"
        message = b"\0" + len(request).to_bytes(4, "big") + request
        no_window = b"\0\4\0\0\0\0"
        self._writer.write(http2.PREFACE + http2.frame(http2.SETTINGS, 0, 0, no_window))
        for stream in range(1, 2 * UNREAD_CALLS, 2):
            self._writer.write(http2.call(stream, OFFER)
                               + http2.frame(http2.DATA, http2.END_STREAM, stream, message))
        try:
            while len(self.ended) < UNREAD_CALLS:
                head = await reader.readexactly(9)
                payload = await reader.readexactly(int.from_bytes(head[:3], "big"))
                kind, flags, stream = head[3], head[4], int.from_bytes(head[5:9], "big")
                if kind == http2.SETTINGS and not flags & http2.ACK:
                    self._writer.write(http2.frame(http2.SETTINGS, http2.ACK, 0))
                elif kind == http2.PING and not flags & http2.ACK:
                    self._writer.write(http2.frame(http2.PING, http2.ACK, 0, payload))
                elif kind == http2.HEADERS and flags & http2.END_STREAM:
                    self.status = self.status or http2.grpc_status(payload)
                    self.ended.setdefault(stream, time.monotonic())
                elif kind == http2.RST_STREAM:
                    self.ended.setdefault(stream, time.monotonic())
        except (OSError, EOFError):
            pass

    def leave(self):
        if self._writer is not None:
            self._writer.transport.abort()


async def leave_answers_unread(problems):
    """All calls must end, most of them refused at once, while the daemon's memory stays small."""
    memory_before = memory_mib("VmHWM")
    begin = time.monotonic()
    readers = [SilentReader() for _ in range(UNREAD_CONNECTIONS)]
    tasks = [asyncio.ensure_future(one.run()) for one in readers]
    await asyncio.wait(tasks, timeout=UNREAD_SECONDS + LATE_SECONDS)
    seconds = time.monotonic() - begin
    for one in readers:
        one.leave()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    calls = UNREAD_CONNECTIONS * UNREAD_CALLS
    ended = sum(len(one.ended) for one in readers)
    at_once = begin + UNREAD_SECONDS / 2
    refused = sum(end < at_once for one in readers for end in one.ended.values())
    statuses = {one.status for one in readers}
    growth = memory_mib("VmHWM") - memory_before
    print(f"{calls} unread whole forests: {refused} refused, {ended} ended within {seconds:.0f} s; "
          f"{growth:.0f} MiB more")
    check(ended == calls, f"{calls - ended} calls with unread answers never ended", problems)
    check(statuses == {RESOURCE_EXHAUSTED}, f"refused with {statuses}", problems)
    check(refused >= calls // 2, f"only {refused} large answers were refused", problems)
    check(growth < MAX_UNREAD_GROWTH_MIB, f"unread answers took {growth:.0f} MiB", problems)


def main():
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # it reports each write that fails
    create_large_study()
    honest = HonestClient()
    problems = []
    asyncio.run(leave_answers_unread(problems))
    honest.stop(problems)
    end("unread_answers.py", problems)


if __name__ == "__main__":
    main()
