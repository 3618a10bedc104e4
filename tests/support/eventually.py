"""Waiting for what another process or thread brings about."""

import re
import time


def eventually(holds, tell=lambda: "it does not come to that", seconds=600):
    """Returns what `holds` returns as soon as that is true. Fails with what `tell` says after `seconds`, which is far
    longer than a slow machine needs. Use it only where no event of the test's own can take its place."""
    end = time.monotonic() + seconds
    while not (found := holds()):
        if time.monotonic() >= end:
            raise AssertionError(tell())
        time.sleep(0.02)
    return found


def port_of(daemon, port_file, log):
    """The port that a daemon has just written into its file; fails with its log if it ended instead."""

    def port():
        if daemon.poll() is not None:
            raise RuntimeError(log.read_text(errors="replace"))
        return port_file.exists() and port_file.read_text().strip()

    return int(eventually(port, lambda: log.read_text(errors="replace")))


def http_port(daemon, read_log):
    """The port of a daemon's HTTP listener, of which its log tells."""

    def port():
        if daemon.poll() is not None:
            raise RuntimeError(read_log())
        return re.search(r" http .*port=(\d+)", read_log())

    return int(eventually(port, read_log).group(1))
