"""What hostile_connections.py and hostile_http.py share: connections that attack, and what the daemon takes meanwhile.

COPPICE_CA and COPPICE_DAEMON_PID are set by run.sh.
"""

import asyncio
import logging
import os
import resource
import ssl
import sys
import time

SETTLE_SECONDS = 100  # the daemon's time to close what the attackers left
DAEMON = os.environ["COPPICE_DAEMON_PID"]


class Port:
    """A port of the daemon, and connections to it."""

    def __init__(self, address, protocols):
        self.host, self.number = address.rsplit(":", 1)
        self.tls = ssl.create_default_context(cafile=os.environ["COPPICE_CA"])
        if protocols:
            self.tls.set_alpn_protocols(protocols)

    async def connect(self, tls=True):
        if not tls:
            return await asyncio.open_connection(self.host, self.number)
        return await asyncio.open_connection(self.host, self.number, ssl=self.tls, server_hostname="localhost",
                                             ssl_handshake_timeout=60)

    def client_hello(self):
        """The first bytes of a TLS handshake."""
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        try:
            self.tls.wrap_bio(incoming, outgoing, server_hostname="localhost").do_handshake()
        except ssl.SSLWantReadError:
            pass
        return outgoing.read()


async def until_closed(reader):
    while await reader.read(65536):
        pass


def sends(tls, data):
    """Returns an attack that sends `data` and then nothing."""
    async def attack(reader, writer):
        writer.write(data)
        await until_closed(reader)
    return tls, attack


def drips(first, data):
    """Returns an attack that sends `first`, and then `data` one byte per second until it is cut off."""
    async def attack(reader, writer):
        reading = asyncio.ensure_future(until_closed(reader))
        writer.write(first)
        for at in range(len(data)):
            if reading.done():
                break
            writer.write(data[at:at + 1])
            await asyncio.sleep(1)
        await reading
    return True, attack


class Attacker:
    """One connection of one kind."""

    def __init__(self, port, kind, attack):
        self.kind = kind
        self.open = False                 # whether it got as far as attacking
        self.seconds_until_closed = None  # by the daemon
        self._port, self._attack, self._writer = port, attack, None

    async def run(self):
        tls, attack = self._attack
        begin = time.monotonic()
        try:
            reader, self._writer = await self._port.connect(tls)
            self.open = True
            await attack(reader, self._writer)
        except (OSError, EOFError):
            pass
        self.seconds_until_closed = time.monotonic() - begin

    def leave(self):
        if self._writer is not None:
            self._writer.transport.abort()


async def attack_all(port, attacks, connections, stalls, seconds):
    """Attacks by this many connections until each whose kind is in `stalls` was closed, or should have been, `seconds`
    from now. Returns the attackers, and the largest number of files that the daemon had open."""
    kinds = list(attacks)
    attackers = [Attacker(port, kinds[i % len(kinds)], attacks[kinds[i % len(kinds)]]) for i in range(connections)]
    tasks = [asyncio.ensure_future(attacker.run()) for attacker in attackers]
    stalled = [task for attacker, task in zip(attackers, tasks) if attacker.kind in stalls]
    most_files = 0
    last = time.monotonic() + seconds
    while time.monotonic() < last and not all(task.done() for task in stalled):
        await asyncio.sleep(0.2)
        most_files = max(most_files, open_files())
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    for attacker in attackers:
        attacker.leave()
    await asyncio.sleep(0)
    return attackers, most_files


def print_kinds(attackers):
    for kind in dict.fromkeys(attacker.kind for attacker in attackers):
        of_kind = [attacker for attacker in attackers if attacker.kind == kind]
        closed = [a.seconds_until_closed for a in of_kind if a.seconds_until_closed is not None]
        print(f"  {kind:26} {len(of_kind):4} connections, {len(closed):4} closed by the daemon"
              + (f", the last after {max(closed):.1f} s" if closed else ""))


def memory_mib(field):
    with open(f"/proc/{DAEMON}/status") as status:
        for line in status:
            if line.startswith(field + ":"):
                return int(line.split()[1]) / 1024
    raise LookupError(field)


def open_files():
    return len(os.listdir(f"/proc/{DAEMON}/fd"))


def wait_for_files(limit):
    last = time.monotonic() + SETTLE_SECONDS
    while open_files() > limit and time.monotonic() < last:
        time.sleep(0.2)
    return open_files()


def begin():
    """Allows as many files as a thousand connections take."""
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # it reports each write that fails
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def check(holds, problem, problems):
    if not holds:
        problems.append(problem)


def end(test, problems):
    for problem in problems:
        print(f"{test}: {problem}", file=sys.stderr)
    sys.exit(1 if problems else 0)
