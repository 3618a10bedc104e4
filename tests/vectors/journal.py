"""A device's journal (docs/protocol.md#journal), on bytes: makes its records, writes it anew, and reads a file."""

from device import DATA_LOSS, DECLINED, Refused, read_manifest, sha256

HEADER = b"coppice journal\n" + (1).to_bytes(4, "little")
WAITING, DELIVERED, SEEN, FINAL, CHOICE, ENCRYPTED = range(1, 7)
REWRITTEN_RECORD_BYTES = 1 << 16


def number(value, size):
    return value.to_bytes(size, "little")


def text(data):
    return number(len(data), 4) + data


def answers_body(kind, answers):
    """Each answer: subject, epsilon_nanos, study, fingerprint, and the bytes that go when it is final."""
    body = number(kind, 1) + number(len(answers), 4)
    for subject, nanos, study, fingerprint, report in answers:
        body += text(subject) + number(nanos, 8) + text(study) + fingerprint
        body += b"" if kind == FINAL else report
    return body


def report_bytes(answer):
    if "relay" not in answer:
        return answer["ticket"] + text(answer["payload"]) + text(answer["public_values"])
    parts = [answer["ticket"], answer["relay"], answer["epoch"], number(answer["closes"], 8)]
    return b"".join(parts) + answer["claim"] + answer["encapsulated"] + text(answer["ciphertext"])


def delivered_body(study, subjects):
    return number(DELIVERED, 1) + text(study) + number(len(subjects), 4) + b"".join(map(text, subjects))


def seen_body(curator, manifest, key, root):
    return number(SEEN, 1) + text(curator) + text(manifest) + key + root


def choice_body(opted_out):
    return number(CHOICE, 1) + number(opted_out, 1)


def frame(previous, body):
    """Returns the frame, and the digest that chains the next one."""
    length = number(len(body), 4)
    digest = sha256(previous + length + body)
    return length + sha256(previous + length)[:4] + body + digest[:8], digest


class Journal:
    def __init__(self):
        self.opted_out = 0
        self.manifests = []  # (how many answers came before, study, curator, root, body)
        self.answers = {}  # (subject, study) -> [kind, end of the deal, answer]
        self.start()

    def start(self):
        self.file, self.previous = HEADER, sha256(HEADER)
        self.append(choice_body(self.opted_out))

    def append(self, body):
        added, self.previous = frame(self.previous, body)
        self.file += added

    def choose(self, opted_out):
        self.opted_out = opted_out
        self.append(choice_body(opted_out))

    def see(self, curator, manifest, key, root):
        body = seen_body(curator, manifest, key, root)
        self.manifests.append((len(self.answers), read_manifest(manifest)["study"], curator, root, body))
        self.append(body)

    def answer(self, answers):
        kind = ENCRYPTED if "relay" in answers[0] else WAITING
        added = [
            (one["subject"], one["epsilon_nanos"], one["study"], one["fingerprint"], report_bytes(one))
            for one in answers
        ]
        for one, line in zip(answers, added):
            self.answers[one["subject"], one["study"]] = [kind, one.get("closes"), line]
        self.append(answers_body(kind, added))

    def deliver(self, study, subjects):
        for subject in subjects:
            self.answers[subject, study][0] = FINAL
        self.append(delivered_body(study, subjects))

    def waiting(self):
        return sum(kind != FINAL for kind, _, _ in self.answers.values())

    def needed_manifests(self):
        """Their positions: those that decide a look-up, or whose answer it is."""
        answers, needed = list(self.answers.values()), set()
        for place, (_, _, line) in enumerate(answers):
            before = [i for i, seen in enumerate(self.manifests) if seen[0] <= place and seen[1] == line[2]]
            needed.update(before[-1:])
        for column in (1, 2, 3):
            needed.update({seen[column]: i for i, seen in enumerate(self.manifests)}.values())
        return sorted(needed)

    def forget(self, now):
        """Writes the file anew, without what is left of answers that are final."""
        for answer in self.answers.values():
            if answer[1] is not None and answer[1] <= now:
                answer[0] = FINAL
        manifests = [self.manifests[i] for i in self.needed_manifests()]
        self.start()
        kind, lines, size = 0, [], 0

        def flush():
            nonlocal lines, size
            if lines:
                self.append(answers_body(kind, lines))
            lines, size = [], 0

        for place, answer in enumerate([*self.answers.values(), None]):
            while manifests and manifests[0][0] <= place:
                flush()
                self.append(manifests.pop(0)[4])
            if answer is None or answer[0] != kind:
                flush()
            if answer is not None:
                kind, lines = answer[0], [*lines, answer[2]]
                size += len(answers_body(kind, lines[-1:])) + 16
                if size >= REWRITTEN_RECORD_BYTES:
                    flush()


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


def read_answer(reader, kind):
    subject, _, study, _ = reader.text(), reader.take(8), reader.text(), reader.take(32)
    if kind == WAITING:
        reader.take(32), reader.text(), reader.text()
    if kind == ENCRYPTED:
        reader.take(32 + 16 + 16 + 8 + 16 + 32), reader.text()
    return subject, study


def read_body(body, waiting):
    """Updates `waiting`, the set of (subject, study) whose answers are not final."""
    reader = Reader(body)
    kind = reader.number(1)
    if kind > ENCRYPTED:
        raise Refused(DECLINED, "a newer version wrote it")
    if kind in (WAITING, FINAL, ENCRYPTED):
        answers = {read_answer(reader, kind) for _ in range(reader.number(4))}
        waiting |= set() if kind == FINAL else answers
    elif kind == DELIVERED:
        study = reader.text()
        waiting -= {(reader.text(), study) for _ in range(reader.number(4))}
    elif kind == SEEN:
        reader.text()
        read_manifest(reader.text())
        reader.take(64)
    elif kind == CHOICE and reader.number(1) > 1:
        raise Refused(DATA_LOSS, "the owner's choice is none")
    if kind == 0 or reader.at != len(body):
        raise Refused(DATA_LOSS, "a record is of no kind, or too long")


def read_file(data):
    """Returns how many bytes of the file are kept, and how many answers wait."""
    if not data.startswith(HEADER):
        newer = data.startswith(HEADER[:16]) and int.from_bytes(data[16:20], "little") > 1
        raise Refused(DECLINED if newer else DATA_LOSS, "another version, cut off, or no journal")
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
    if at == len(HEADER):
        raise Refused(DATA_LOSS, "a journal is stored with a first record in it, so this one is cut off")
    return at, len(waiting)
