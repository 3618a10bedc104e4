#!/usr/bin/python3
"""Terms of 32 MiB that unfold when they are read: with a signature that does not check, beside a manifest of other
terms, and signed by a curator that lists categories without end. The device declines, in little more memory than the
message takes."""

from curator import Curator
from lure import OFFER, Forger, Lure
from terminal import STUDY, answer, make_study
from wire_bytes import field

MIB = 2**20
# gRPC's copies of the message and the one that is read; parsed, the terms take over 700 MiB.
MOST_MORE_MIB = 200


def endless_terms(size):
    """A feature with empty categories, each of two bytes."""
    categories = field(3, b"\x0a\x00" * (size // 2))
    return field(1, STUDY.encode()) + field(2, field(1, field(1, b"x") + categories))


class Curators:
    """What each hostile curator makes of an honest offer, and what the device says of it."""

    def __init__(self, client):
        self._client, self._forger = client, Forger(client)
        self._terms = endless_terms(32 * MIB)
        self.cases = [(self.bad_signature, "signature"), (self.other_terms, "do not match their fingerprint"),
                      (self.no_end, "must be at most 1310720")]

    def bad_signature(self, offer):
        self._forger.sign(offer, self._terms)
        offer.manifest.signature = offer.manifest.signature[:-1] + bytes([offer.manifest.signature[-1] ^ 1])

    def other_terms(self, offer):
        offer.terms = self._terms

    def no_end(self, offer):
        self._forger.sign(offer, self._terms)


def main():
    with Curator() as curator:
        make_study(curator)
        client = curator.client()
        client.describe("coppice.v1.StudyService")
        lure, curators = Lure(curator), Curators(client)
        lure.lie = lambda request: None
        code, text, usual = answer(curator, lure.address, f"{curator.folder}/honest")
        assert code == 0, text
        for number, (change, words) in enumerate(curators.cases):
            def changed(method, answered, change=change):
                if not method.endswith(OFFER):
                    return answered
                offer = client.message("coppice.v1.GetOfferResponse", answered)
                change(offer)
                return offer.SerializeToString()

            lure.change = changed
            code, text, peak = answer(curator, lure.address, f"{curator.folder}/journal{number}")
            assert code == 1 and words in text, text
            assert peak - usual < MOST_MORE_MIB, f"{words}: the device took {peak - usual:.0f} MiB more"
            print(f"32 MiB of terms, \"{words}\": {peak - usual:.0f} MiB more than an honest offer")
        lure.stop()


main()
