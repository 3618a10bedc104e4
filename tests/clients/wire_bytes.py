"""Bytes of protobuf messages, written by hand where no library would write them."""


def varint(number):
    out = b""
    while number >= 0x80:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content
