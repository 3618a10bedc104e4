"""As much of HTTP/2 (RFC 9113) and its header coding (RFC 7541) as breaking their rules takes."""

import zlib

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 8, 9
END_STREAM, ACK, END_HEADERS = 1, 1, 4
MAX_FRAME = 16384


def frame(kind, flags, stream, payload=b""):
    return (len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big")
            + payload)


OPENING = PREFACE + frame(SETTINGS, 0, 0)


def _length(value):
    """An integer after the one bit that says that no Huffman code is used."""
    if value < 127:
        return bytes([value])
    coded, value = bytearray([127]), value - 127
    while value >= 128:
        coded.append(value % 128 + 128)
        value //= 128
    coded.append(value)
    return bytes(coded)


def header_block(headers):
    """Codes headers as literals that no table remembers."""
    return b"".join(b"\0" + _length(len(name)) + name + _length(len(value)) + value
                    for name, value in headers)


def call_headers(path, *more):
    return header_block([(b":method", b"POST"), (b":scheme", b"https"), (b":path", path.encode()),
                         (b":authority", b"localhost"), (b"te", b"trailers"),
                         (b"content-type", b"application/grpc"), *more])


def call(stream, path):
    """Opens a call."""
    return frame(HEADERS, END_HEADERS, stream, call_headers(path))


def bomb(mebibytes):
    """A gRPC message that claims to be compressed: zeros in a field that no message has, in about a thousandth of their
    size."""
    size = mebibytes << 20
    field, length = bytes([15 << 3 | 2]), size
    while length >= 128:
        field += bytes([length % 128 + 128])
        length //= 128
    field += bytes([length])
    compressor = zlib.compressobj(9, zlib.DEFLATED, 31)
    block = bytes(1 << 20)
    body = b"".join([compressor.compress(field), *(compressor.compress(block) for _ in range(mebibytes)),
                     compressor.flush()])
    return b"\1" + len(body).to_bytes(4, "big") + body


def grpc_status(block):
    """Returns grpc-status from a header block of a gRPC server, which uses no Huffman code; None without one."""
    name = b"grpc-status"
    at = block.find(name)
    if at < 0:
        return None
    at += len(name)
    return int(block[at + 1:at + 1 + block[at]])


def long_headers(stream, block):
    """Splits a header block of any length into as many frames as it takes."""
    parts = [block[i:i + MAX_FRAME] for i in range(0, len(block), MAX_FRAME)]
    frames = [frame(HEADERS if i == 0 else CONTINUATION,
                    END_HEADERS if i == len(parts) - 1 else 0, stream, part)
              for i, part in enumerate(parts)]
    return b"".join(frames)


class Sender:
    """Sends one stream's data as fast as the peer's windows allow."""

    def __init__(self, reader, writer, stream):
        self._reader, self._writer, self._stream = reader, writer, stream
        self.status = None  # grpc-status, once the peer has answered
        self._connection_window = self._stream_window = self._initial_window = 65535

    async def send(self, data):
        """Raises ConnectionError or IncompleteReadError if the peer closes or resets before the end."""
        data = memoryview(data)
        while data:
            room = min(len(data), self._connection_window, self._stream_window, MAX_FRAME)
            if room <= 0:
                await self._take_frame()
                continue
            self._writer.write(frame(DATA, 0, self._stream, data[:room].tobytes()))
            await self._writer.drain()
            self._connection_window -= room
            self._stream_window -= room
            data = data[room:]

    async def wait_for_status(self):
        while self.status is None:
            await self._take_frame()
        return self.status

    async def _take_frame(self):
        head = await self._reader.readexactly(9)
        kind, flags = head[3], head[4]
        stream = int.from_bytes(head[5:9], "big")
        payload = await self._reader.readexactly(int.from_bytes(head[:3], "big"))
        if kind == SETTINGS and not flags & ACK:
            for at in range(0, len(payload), 6):
                if payload[at:at + 2] == b"\0\4":
                    window = int.from_bytes(payload[at + 2:at + 6], "big")
                    self._stream_window += window - self._initial_window
                    self._initial_window = window
            self._writer.write(frame(SETTINGS, ACK, 0))
        elif kind == PING and not flags & ACK:
            self._writer.write(frame(PING, ACK, 0, payload))
        elif kind == WINDOW_UPDATE:
            if stream == 0:
                self._connection_window += int.from_bytes(payload, "big")
            else:
                self._stream_window += int.from_bytes(payload, "big")
        elif kind == HEADERS and stream == self._stream:
            self.status = grpc_status(payload)
        elif kind == RST_STREAM:
            raise ConnectionError("the stream was reset")
