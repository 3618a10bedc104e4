"""Ed25519, RFC 8032, section 5.1, in whole numbers. For tests only: not in constant time."""

import hashlib

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
ROOT_OF_MINUS_ONE = pow(2, (P - 1) // 4, P)
NEUTRAL = (0, 1, 1, 0)  # extended coordinates: x/z, y/z, and x*y/z


def add(a, b):
    e = (a[1] - a[0]) * (b[1] - b[0]) % P
    f = (a[1] + a[0]) * (b[1] + b[0]) % P
    g = 2 * a[3] * b[3] * D % P
    h = 2 * a[2] * b[2] % P
    left, middle, right, top = f - e, h - g, h + g, f + e
    return left * middle % P, right * top % P, middle * right % P, left * top % P


def multiply(scalar, point):
    total = NEUTRAL
    while scalar:
        if scalar & 1:
            total = add(total, point)
        point = add(point, point)
        scalar >>= 1
    return total


def decode(data):
    """Returns the point, or None if there is none."""
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & (1 << 255) - 1
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if x * x % P != square:
        x = x * ROOT_OF_MINUS_ONE % P
    if y >= P or x * x % P != square or (x == 0 and sign):
        return None
    if x & 1 != sign:
        x = P - x
    return x, y, 1, x * y % P


def encode(point):
    inverse = pow(point[2], -1, P)
    x, y = point[0] * inverse % P, point[1] * inverse % P
    return (y | (x & 1) << 255).to_bytes(32, "little")


BASE = decode((4 * pow(5, -1, P) % P).to_bytes(32, "little"))


def public_key(seed):
    scalar = int.from_bytes(hashlib.sha512(seed).digest()[:32], "little")
    return encode(multiply(scalar & (1 << 254) - 8 | 1 << 254, BASE))


def sign(seed, message):
    def digest(*parts):
        return int.from_bytes(hashlib.sha512(b"".join(parts)).digest(), "little") % ORDER

    half = hashlib.sha512(seed).digest()
    scalar = int.from_bytes(half[:32], "little") & (1 << 254) - 8 | 1 << 254
    nonce = digest(half[32:], message)
    start = encode(multiply(nonce, BASE))
    return start + ((nonce + digest(start, public_key(seed), message) * scalar) % ORDER).to_bytes(32, "little")


def verify(key, message, signature):
    point = decode(key)
    scalar = int.from_bytes(signature[32:], "little")
    if point is None or len(signature) != 64 or scalar >= ORDER:
        return False
    digest = hashlib.sha512(signature[:32] + key + message).digest()
    minus = (P - point[0], point[1], 1, P - point[3])
    claimed = add(multiply(scalar, BASE), multiply(int.from_bytes(digest, "little") % ORDER, minus))
    return encode(claimed) == signature[:32]
