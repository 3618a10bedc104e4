"""HPKE in base mode, RFC 9180, with X25519, HKDF-SHA256 and AES-128-GCM (1) or ChaCha20-Poly1305 (3), and answers as in
RFC 9458, section 4.4, in whole numbers. For checking only: not in constant time."""

import hmac
import struct

P = 2**255 - 19


def x25519(secret, point):
    """RFC 7748, section 5."""
    scalar = int.from_bytes(secret, "little") & (1 << 254) - 8 | 1 << 254
    x = int.from_bytes(point, "little") & (1 << 255) - 1
    x2, z2, x3, z3 = 1, 0, x, 1
    for bit in reversed(range(255)):
        if scalar >> bit & 1:
            x2, z2, x3, z3 = x3, z3, x2, z2
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        cross, straight = d * a, c * b
        x3, z3 = (cross + straight) ** 2 % P, x * (cross - straight) ** 2 % P
        x2, z2 = a * a * b * b % P, (a * a - b * b) * (a * a + 121665 * (a * a - b * b)) % P
        if scalar >> bit & 1:
            x2, z2, x3, z3 = x3, z3, x2, z2
    return (x2 * pow(z2, P - 2, P) % P).to_bytes(32, "little")


def public_key(secret):
    return x25519(secret, (9).to_bytes(32, "little"))


def times_x(byte):
    return byte << 1 ^ (0x11B if byte & 0x80 else 0)


def make_sbox():
    power, logs, powers = 1, {}, []
    for i in range(255):
        logs[power] = i
        powers.append(power)
        power ^= times_x(power)  # times 3, which generates all
    box = []
    for byte in range(256):
        inverse = powers[-logs[byte] % 255] if byte else 0
        turned = [(inverse << shift | inverse >> 8 - shift) & 0xFF for shift in range(5)]
        box.append(turned[0] ^ turned[1] ^ turned[2] ^ turned[3] ^ turned[4] ^ 0x63)
    return box


SBOX = make_sbox()


def aes_keys(key):
    words, factor = [key[i : i + 4] for i in range(0, 16, 4)], 1
    for i in range(4, 44):
        word = words[-1]
        if i % 4 == 0:
            word = bytes(SBOX[byte] for byte in word[1:] + word[:1])
            word = bytes([word[0] ^ factor]) + word[1:]
            factor = times_x(factor)
        words.append(bytes(a ^ b for a, b in zip(word, words[-4])))
    return [b"".join(words[i : i + 4]) for i in range(0, 44, 4)]


def aes_block(keys, block):
    state = bytes(a ^ b for a, b in zip(block, keys[0]))
    for number, key in enumerate(keys[1:], 1):
        state = [SBOX[state[(i + 4 * (i % 4)) % 16]] for i in range(16)]  # and shifts the rows
        if number < 10:
            mixed = []
            for column in (state[i : i + 4] for i in range(0, 16, 4)):
                for i in range(4):
                    a, b, c, d = (column[(i + k) % 4] for k in range(4))
                    mixed.append(times_x(a) ^ times_x(b) ^ b ^ c ^ d)
            state = mixed
        state = bytes(a ^ b for a, b in zip(state, key))
    return state


def ghash(factor, data):
    total = 0
    for start in range(0, len(data), 16):
        total ^= int.from_bytes(data[start : start + 16], "big")
        product, shifted = 0, factor
        for bit in reversed(range(128)):
            if total >> bit & 1:
                product ^= shifted
            shifted = shifted >> 1 ^ (0xE1 << 120 if shifted & 1 else 0)
        total = product
    return total


def padded(data):
    return data + bytes(-len(data) % 16)


class AesGcm:
    def __init__(self, key, nonce):
        self.keys, self.nonce = aes_keys(key), nonce

    def stream(self, size):
        blocks = (aes_block(self.keys, self.nonce + struct.pack(">I", 2 + i)) for i in range((size + 15) // 16))
        return b"".join(blocks)[:size]

    def tag(self, aad, sealed):
        lengths = struct.pack(">QQ", 8 * len(aad), 8 * len(sealed))
        factor = int.from_bytes(aes_block(self.keys, bytes(16)), "big")
        mask = int.from_bytes(aes_block(self.keys, self.nonce + struct.pack(">I", 1)), "big")
        return (ghash(factor, padded(aad) + padded(sealed) + lengths) ^ mask).to_bytes(16, "big")


class ChaChaPoly:
    """RFC 8439."""

    def __init__(self, key, nonce):
        self.words = struct.unpack("<8I", key)
        self.nonce = struct.unpack("<3I", nonce)

    def block(self, counter):
        start = [*struct.unpack("<4I", b"expand 32-byte k"), *self.words, counter, *self.nonce]
        state = start[:]
        for number in range(80):
            offset = number % 8
            places = [offset % 4 + 4 * row for row in range(4)]
            if offset >= 4:  # diagonals
                places = [4 * row + (offset + row) % 4 for row in range(4)]
            self.quarter(state, *places)
        return struct.pack("<16I", *((a + b) & 0xFFFFFFFF for a, b in zip(state, start)))

    @staticmethod
    def quarter(state, a, b, c, d):
        for x, y, z, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            state[x] = (state[x] + state[y]) & 0xFFFFFFFF
            mixed = state[z] ^ state[x]
            state[z] = (mixed << turn | mixed >> 32 - turn) & 0xFFFFFFFF

    def stream(self, size):
        return b"".join(self.block(1 + i) for i in range((size + 63) // 64))[:size]

    def tag(self, aad, sealed):
        key = self.block(0)
        factor = int.from_bytes(key[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
        data, total = padded(aad) + padded(sealed) + struct.pack("<QQ", len(aad), len(sealed)), 0
        for start in range(0, len(data), 16):
            total = (total + int.from_bytes(data[start : start + 16] + b"\1", "little")) * factor % (2**130 - 5)
        return ((total + int.from_bytes(key[16:32], "little")) % 2**128).to_bytes(16, "little")


CIPHERS = {1: (AesGcm, 16), 3: (ChaChaPoly, 32)}
KEM = b"KEM\x00\x20"


def extract(suite, salt, label, data):
    return hmac.digest(salt or bytes(32), b"HPKE-v1" + suite + label + data, "sha256")


def expand(suite, key, label, info, size):
    return hmac.digest(key, struct.pack(">H", size) + b"HPKE-v1" + suite + label + info + b"\1", "sha256")[:size]


def schedule(aead, agreed, encapsulated, recipient, info):
    """Returns the message's cipher and its exporter secret."""
    suite = suite_of(aead)
    make, key_bytes = CIPHERS[aead]
    shared = expand(KEM, extract(KEM, b"", b"eae_prk", agreed), b"shared_secret", encapsulated + recipient, 32)
    context = b"\0" + extract(suite, b"", b"psk_id_hash", b"") + extract(suite, b"", b"info_hash", info)
    secret = extract(suite, shared, b"secret", b"")
    cipher = make(expand(suite, secret, b"key", context, key_bytes), expand(suite, secret, b"base_nonce", context, 12))
    return cipher, expand(suite, secret, b"exp", context, 32)


def suite_of(aead):
    return b"HPKE\x00\x20\x00\x01" + struct.pack(">H", aead)


def encrypt(cipher, aad, plaintext):
    sealed = bytes(a ^ b for a, b in zip(plaintext, cipher.stream(len(plaintext))))
    return sealed + cipher.tag(aad, sealed)


def decrypt(cipher, aad, ciphertext):
    """Returns the plaintext, or None."""
    sealed, tag = ciphertext[:-16], ciphertext[-16:]
    if len(tag) < 16 or cipher.tag(aad, sealed) != tag:
        return None
    return bytes(a ^ b for a, b in zip(sealed, cipher.stream(len(sealed))))


def seal_with_secret(aead, recipient, info, aad, plaintext, ephemeral):
    """Returns the ephemeral public key, the ciphertext with its tag, and the exporter secret."""
    encapsulated = public_key(ephemeral)
    cipher, exporter = schedule(aead, x25519(ephemeral, recipient), encapsulated, recipient, info)
    return encapsulated, encrypt(cipher, aad, plaintext), exporter


def seal(aead, recipient, info, aad, plaintext, ephemeral):
    """Returns the ephemeral public key, and the ciphertext with its tag."""
    return seal_with_secret(aead, recipient, info, aad, plaintext, ephemeral)[:2]


def open_with_secret(aead, secret, info, aad, encapsulated, ciphertext):
    """Returns the plaintext and the exporter secret, or None."""
    if len(encapsulated) != 32:
        return None
    agreed = x25519(secret, encapsulated)
    cipher, exporter = schedule(aead, agreed, encapsulated, public_key(secret), info)
    plaintext = None if agreed == bytes(32) else decrypt(cipher, aad, ciphertext)
    return None if plaintext is None else (plaintext, exporter)


def open_sealed(aead, secret, info, aad, encapsulated, ciphertext):
    """Returns the plaintext, or None."""
    opened = open_with_secret(aead, secret, info, aad, encapsulated, ciphertext)
    return None if opened is None else opened[0]


def answer_nonce_bytes(aead):
    return max(12, CIPHERS[aead][1])


def answer_cipher(aead, exporter, encapsulated, label, nonce):
    make, key_bytes = CIPHERS[aead]
    exported = expand(suite_of(aead), exporter, b"sec", label, answer_nonce_bytes(aead))
    prk = hmac.digest(encapsulated + nonce, exported, "sha256")
    key, cipher_nonce = (hmac.digest(prk, name + b"\1", "sha256") for name in (b"key", b"nonce"))
    return make(key[:key_bytes], cipher_nonce[:12])


def seal_answer(aead, exporter, encapsulated, label, plaintext, nonce):
    return nonce + encrypt(answer_cipher(aead, exporter, encapsulated, label, nonce), b"", plaintext)


def open_answer(aead, exporter, encapsulated, label, answer):
    """Returns the plaintext, or None."""
    nonce, sealed = answer[:answer_nonce_bytes(aead)], answer[answer_nonce_bytes(aead):]
    if len(sealed) < 16:
        return None
    return decrypt(answer_cipher(aead, exporter, encapsulated, label, nonce), b"", sealed)
