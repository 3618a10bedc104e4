"""A device's journal (docs/protocol.md#journal), on bytes: makes its records, and reads a file."""

from device import DATA_LOSS, DECLINED, NAMES, Refused, read_manifest, sha256

HEADER = b"coppice journal\n" + (1).to_bytes(4, "little")


def number(value, size):
    return value.to_bytes(size, "little")


def text(data):
    return number(len(data), 4) + data


def answers_body(answers):
    """Each answer: subject, epsilon_nanos, study, fingerprint, ticket, payload, public_values."""
    shows = any(answer[6] for answer in answers)
    body = number(4 if shows else 1, 1) + number(len(answers), 4)
    for subject, nanos, study, fingerprint, ticket, payload, shown in answers:
        body += text(subject) + number(nanos, 8) + text(study) + fingerprint + ticket + text(payload)
        body += (text(shown) if shows else b"") + b"\0"
    return body


def delivered_body(study, subjects):
    return b"\2" + text(study) + number(len(subjects), 4) + b"".join(text(subject) for subject in subjects)


def seen_body(curator, manifest, key, root):
    promise = read_manifest(manifest)
    public = promise["public_features"]
    body = number(5 if public else 3, 1) + text(curator) + text(promise["study"]) + promise["fingerprint"]
    body += number(promise["epsilon_nanos"], 8) + text(NAMES[promise["mechanism"] - 1].encode())
    for name in ("expires", "min_reports", "sequence", "issued"):
        body += number(promise[name], 8)
    return body + (number(public, 4) if public else b"") + sha256(manifest) + key + root


def frame(previous, body):
    """Returns the frame, and the digest that chains the next one."""
    length = number(len(body), 4)
    digest = sha256(previous + length + body)
    return length + sha256(previous + length)[:4] + body + digest[:8], digest


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, size):
        if self.at + size > len(self.data):
            raise Refused(DATA_LOSS, "a record is too short")
        self.at += size
        return self.data[self.at - size : self.at]

    def number(self, size):
        return int.from_bytes(self.take(size), "little")

    def text(self):
        return self.take(self.number(4))


def read_body(body, waiting):
    """Updates `waiting`, the set of (subject, study) whose answers are not delivered."""
    reader = Reader(body)
    kind = reader.number(1)
    if kind > 5:
        raise Refused(DECLINED, "a newer version wrote it")
    if kind in (1, 4):
        for _ in range(reader.number(4)):
            subject = (reader.text(), reader.take(8))[0]
            study = (reader.text(), reader.take(64), reader.text())[0]
            if kind == 4:
                reader.text()
            if not reader.number(1):
                waiting.add((subject, study))
    elif kind == 2:
        study = reader.text()
        waiting -= {(reader.text(), study) for _ in range(reader.number(4))}
    elif kind in (3, 5):
        reader.text(), reader.text(), reader.take(40)
        if reader.text().decode() not in NAMES:
            raise Refused(DATA_LOSS, "a mechanism that there is not")
        reader.take(32 + (4 if kind == 5 else 0) + 96)
    if kind == 0 or reader.at != len(body):
        raise Refused(DATA_LOSS, "a record is of no kind, or too long")


def read_file(data):
    """Returns how many bytes of the file are kept, and how many answers wait."""
    if HEADER.startswith(data):
        return len(HEADER), 0
    if not data.startswith(HEADER):
        newer = data.startswith(HEADER[:16]) and int.from_bytes(data[16:20], "little") > 1
        raise Refused(DECLINED if newer else DATA_LOSS, "another version, or no journal")
    at, previous, waiting = len(HEADER), sha256(HEADER), set()
    while at < len(data):
        length, check = data[at : at + 4], data[at + 4 : at + 8]
        if len(check) < 4:
            break
        if check != sha256(previous + length)[:4]:
            raise Refused(DATA_LOSS, "a head that does not check")
        end = at + 16 + int.from_bytes(length, "little")
        if end > len(data):
            break
        whole, previous = frame(previous, data[at + 8 : end - 8])
        if whole != data[at:end]:
            raise Refused(DATA_LOSS, "a body that does not check")
        read_body(data[at + 8 : end - 8], waiting)
        at = end
    return at, len(waiting)
