#!/usr/bin/python3
"""Somebody who was granted a dataset, and others who own one, look for how long its owner's upload takes, which tells
how many rows it has: by what the daemon shows of it, and by completing a dataset of their own again and again.

That their calls do not wait for each other's is tested where a test can hold a write back
(tests/server/datasets/datasets_test.cc).
"""

import time

from curator import DATASETS, Curator, cap, fill_dataset, make_token, outcome_of, schema

UPLOADING, READY = 1, 2
DAY = 24 * 60 * 60


def seen_by(client, name):
    """Returns all that the daemon tells of the dataset."""
    got = client.call(DATASETS, "GetDataset", name=f"datasets/{name}").dataset
    listed = client.call(DATASETS, "ListDatasets").datasets
    taken = outcome_of(lambda: client.call(DATASETS, "CreateDataset", request_id="again", dataset_id=name,
                                           schema=schema(), cap=cap()))
    refused = [outcome_of(lambda: client.call(DATASETS, "AppendRows", dataset=f"datasets/{name}", complete=True)),
               outcome_of(lambda: client.call(DATASETS, "DeleteDataset", name=f"datasets/{name}"))]
    return got, [got.SerializeToString(), [one.SerializeToString() for one in listed], taken, refused]


def look_at_an_upload(owner, partner, name, blocks, rows):
    block = {"columns": [{"values": [0.5] * rows}] * 2, "labels": [0] * rows}
    seen = [seen_by(partner, name)]
    for i in range(blocks):
        answer = owner.call(DATASETS, "AppendRows", dataset=f"datasets/{name}", first_row=i * rows, rows=block,
                            complete=i + 1 == blocks)
        seen.append(seen_by(partner, name))
    assert answer.dataset.state == READY and answer.dataset.rows == blocks * rows, "the owner sees its own"
    return answer.dataset, seen


def check_grantee(curator, policy, owner, entry, partner):
    """Repeats itself if midnight comes in between, when a grantee may see what has changed."""
    for attempt in range(2):
        name = f"shared-{attempt}"
        day = time.time() // DAY
        owner.call(DATASETS, "CreateDataset", request_id=name, dataset_id=name, schema=schema(), cap=cap())
        entry["resources"] = [f"datasets/{name}"]
        curator.reload(policy)
        own, seen = look_at_an_upload(owner, partner, name, blocks=3, rows=2000)
        if time.time() // DAY == day:
            break
    dataset = seen[0][0]
    assert dataset.rows_hidden and dataset.rows == 0 and dataset.state == UPLOADING, dataset
    assert dataset.created_unix_seconds == own.created_unix_seconds // DAY * DAY, "the creation shows its second"
    different = [i for i, (_, told) in enumerate(seen) if told != seen[0][1]]
    assert not different, f"the grantee sees the upload's steps {different} come"


def check_completing_again(prober):
    """It is an answer from memory, and takes about what reading the dataset takes."""
    fill_dataset(prober, "own", 1)

    def complete():
        answer = prober.call(DATASETS, "AppendRows", dataset="datasets/own", first_row=1, complete=True)
        assert answer.dataset.state == READY, answer

    complete()
    for _ in range(200):
        complete()
    refused = outcome_of(lambda: prober.call(DATASETS, "AppendRows", dataset="datasets/own", first_row=2, complete=True))
    assert refused == "FAILED_PRECONDITION", refused


def main():
    owner_token, owner_entry = make_token("hospital", ["trainer"])
    partner_token, partner_entry = make_token("partner", ["trainer"], ["datasets/none"])
    prober_token, prober_entry = make_token("prober", ["trainer"])
    policy = {"tokens": [owner_entry, partner_entry, prober_entry]}
    with Curator(policy=policy) as curator:
        owner, partner = curator.client(owner_token), curator.client(partner_token)
        check_grantee(curator, policy, owner, partner_entry, partner)
        check_completing_again(curator.client(prober_token))


main()
