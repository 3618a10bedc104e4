#!/usr/bin/python3
"""A curator that answers every call with a message of 250 kB that decompresses to 256 MiB. The shipped device and
command line must refuse it without decompressing it: with an error, and with little memory.

    COPPICE_BIN_DIR=build/release/bin tests/clients/compressed_answers.py
"""

import asyncio
import os
import ssl
import subprocess
import sys
import tempfile

import http2

HERE = os.path.dirname(os.path.abspath(__file__))
BIN = os.environ["COPPICE_BIN_DIR"]
BOMB = http2.bomb(256)
MAX_RESIDENT_MIB = 100
SECONDS = 300  # for a client to give up


async def answer(reader, writer, stream):
    writer.write(http2.frame(http2.HEADERS, http2.END_HEADERS, stream, http2.header_block(
        [(b":status", b"200"), (b"content-type", b"application/grpc"), (b"grpc-encoding", b"gzip")])))
    await http2.Sender(reader, writer, stream).send(BOMB)
    writer.write(http2.frame(http2.HEADERS, http2.END_HEADERS | http2.END_STREAM, stream,
                             http2.header_block([(b"grpc-status", b"0")])))


async def serve(reader, writer):
    try:
        await reader.readexactly(len(http2.PREFACE))
        writer.write(http2.frame(http2.SETTINGS, 0, 0))
        while True:
            head = await reader.readexactly(9)
            payload = await reader.readexactly(int.from_bytes(head[:3], "big"))
            kind, flags = head[3], head[4]
            if kind == http2.SETTINGS and not flags & http2.ACK:
                writer.write(http2.frame(http2.SETTINGS, http2.ACK, 0))
            elif kind == http2.PING and not flags & http2.ACK:
                writer.write(http2.frame(http2.PING, http2.ACK, 0, payload))
            elif kind == http2.DATA and flags & http2.END_STREAM:
                await answer(reader, writer, int.from_bytes(head[5:9], "big"))
    except (OSError, EOFError):
        pass
    finally:
        writer.transport.abort()


def run_client(command):
    """Returns the exit code, the stderr, and the peak memory in MiB."""
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        _, wait_status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(wait_status)
        errors.seek(0)
        return child.returncode, errors.read().decode(errors="replace"), usage.ru_maxrss / 1024


async def check_client(name, command, problems):
    run = asyncio.get_running_loop().run_in_executor(None, run_client, command)
    code, errors, mebibytes = await asyncio.wait_for(run, SECONDS)
    print(f"{name}: exit code {code}, {mebibytes:.0f} MiB at most: {errors.strip()}")
    if code != 1:
        problems.append(f"{name}: exit code {code} instead of 1")
    if "ompress" not in errors:
        problems.append(f"{name}: does not say that the answer is compressed: {errors}")
    if mebibytes > MAX_RESIDENT_MIB:
        problems.append(f"{name}: took {mebibytes:.0f} MiB")


async def attack(work):
    subprocess.run([os.path.join(HERE, "../../deploy/make-certs.sh"), f"{work}/certs"],
                   check=True, stderr=subprocess.DEVNULL)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(f"{work}/certs/server.crt", f"{work}/certs/server.key")
    tls.set_alpn_protocols(["h2"])
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    address = "127.0.0.1:%d" % server.sockets[0].getsockname()[1]
    problems = []
    await check_client("the device", [f"{BIN}/coppice_device_example", address, f"{work}/certs/ca.crt",
                                      "study", f"{work}/journal", "yes", "1"], problems)
    await check_client("coppice", [f"{BIN}/coppice", "study", "list", "--server", address,
                                   "--ca", f"{work}/certs/ca.crt"], problems)
    server.close()
    return problems


def main():
    with tempfile.TemporaryDirectory() as work:
        problems = asyncio.run(attack(work))
    for problem in problems:
        print(f"compressed_answers.py: {problem}", file=sys.stderr)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
