#!/usr/bin/python3
"""An owner whose patterns begin with few letters waits for ids that the daemon draws for others to fall under them.

team-b leaves all ids to the daemon. team-h may see, and train on, all that begins with one of half of all characters.
"""

from curator import DATASETS, MODELS, TRAINING, Curator, cap, fill_dataset, make_token, outcome_of, schema

KEPT = "abcdefghijklmnopqr"
# Half of all ids begin so. Where the daemon ignores it, one of 40 falls under it but with a probability of 1e-12.
DRAWN = 40


def main():
    hunter, hunter_entry = make_token("team-h", ["trainer"], [f"*/{first}*" for first in KEPT])
    owner, owner_entry = make_token("team-b", ["trainer"])
    anonymous = {"roles": ["analyst"], "resources": ["models/s*", "models/t*"]}
    with Curator(policy={"anonymous": anonymous, "tokens": [hunter_entry, owner_entry]}) as curator:
        b, h, anybody = curator.client(owner), curator.client(hunter), curator.client()
        names = []
        for i in range(DRAWN):
            made = b.call(DATASETS, "CreateDataset", request_id=f"d{i}", schema=schema(label="hiv_status"), cap=cap())
            names.append(made.dataset.name)
        fill_dataset(b, "9-rows", rows=50, epsilon_nanos=10**12)
        for i in range(DRAWN):
            job = b.call(TRAINING, "SubmitJob", request_id=f"j{i}",
                         spec={"dataset": "datasets/9-rows", "algorithm": "rdt", "epsilon_nanos": 10**9}).job
            names += [job.name, job.model]
        assert not [name for name in names if name.split("/")[1][0] in KEPT], names
        assert not [name for name in names if name.startswith(("models/s", "models/t"))], names
        assert not h.call(DATASETS, "ListDatasets").datasets
        assert not h.call(MODELS, "ListModels").models
        assert not anybody.call(MODELS, "ListModels").models

        # With every id granted to others the daemon says so, and makes nothing.
        hunter_entry["resources"] = [f"datasets/{first}*" for first in "abcdefghijklmnopqrstuvwxyz0123456789"]
        curator.reload({"tokens": [hunter_entry, owner_entry]})
        before = len(b.call(DATASETS, "ListDatasets", page_size=1000).datasets)
        refused = outcome_of(lambda: b.call(DATASETS, "CreateDataset", request_id="last", schema=schema(), cap=cap()))
        assert refused == "FAILED_PRECONDITION", refused
        assert len(b.call(DATASETS, "ListDatasets", page_size=1000).datasets) == before
    print("no drawn id fell under what others may see")


main()
