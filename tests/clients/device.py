"""What a device does with an offer, written from docs/protocol.md alone."""

import hashlib
import secrets

from sealed import open_envelope

LEAF = 1  # SPLIT_KIND_LEAF
ACCEPTED, DUPLICATE = 1, 2  # ReportOutcome


def sample_study(study_id, **more):
    """Returns a CreateStudyRequest with 64 public rows of one feature, whose class is "yes" above 5."""
    rows = [{"values": [10.0 * i / 63]} for i in range(64)]
    return dict(
        request_id=f"create-{study_id}", study_id=study_id,
        schema={"features": [{"name": "x", "numeric": {"min": 0, "max": 10}}],
                "label": "answer", "classes": ["no", "yes"]},
        public_rows=rows, public_labels=[int(row["values"][0] > 5) for row in rows],
        partition={"rule": "SPLIT_RULE_CART", "criterion": "CRITERION_GINI", "max_depth": 2,
                   "min_leaf": 1, "trees": 1, "seed": 1},
        epsilon_nanos=2 * 10**9, mechanism="MECHANISM_DIRECT", **more)


def checked_terms(client, offer):
    """Checks the fingerprint of the terms and their root, and returns the terms and the offer's one tree."""
    assert hashlib.sha256(offer.terms).digest() == offer.fingerprint, "terms and fingerprint differ"
    terms = client.message("coppice.v1.Terms", offer.terms)
    tree, path = open_envelope(offer.tree), open_envelope(offer.tree_path)
    leaf_hash = hashlib.sha256(b"\0" + tree).digest()
    assert terms.trees == 1 and not path and leaf_hash == terms.forest_root, \
        "the tree is not the one that the terms stand for"
    return terms, client.message("coppice.v1.Tree", tree)


def direct_report(terms, tree, ticket):
    """Makes a report that says nothing: any cell (leaf, class), drawn uniformly."""
    cells = sum(kind == LEAF for kind in tree.kinds) * len(terms.schema.classes)
    width = ((cells - 1).bit_length() + 7) // 8
    return {"ticket": ticket, "payload": secrets.randbelow(cells).to_bytes(width, "little")}
