#!/usr/bin/python3
"""Somebody shows credentials of two owners at once, and hopes that the role of one acts on what the other owns.

team-b has a trainer, and phones with a device's token. team-a has a trainer's certificate for names of its own.
"""

import hashlib
import subprocess

from curator import (ADMIN, DATASETS, MODELS, TRAINING, Curator, await_job, fill_dataset, make_token, outcome_of)

ROWS = 123
REFUSALS = ("NOT_FOUND", "PERMISSION_DENIED", "UNAUTHENTICATED")
PUBLIC = {"roles": ["device", "analyst"], "resources": ["models/public-*", "studies/public-*"]}


def certificate_entry(pem):
    der = subprocess.run(["openssl", "x509", "-in", pem, "-outform", "DER"], check=True, capture_output=True).stdout
    return {"name": "team-a", "sha256": hashlib.sha256(der).hexdigest(), "roles": ["trainer"],
            "resources": ["datasets/team-a-*", "models/team-a-*", "jobs/team-a-*"]}


def train(client, job, model):
    client.call(TRAINING, "SubmitJob", request_id=job, job_id=job, model_id=model,
                spec={"dataset": "datasets/patients", "algorithm": "rdt", "epsilon_nanos": 10**8})
    await_job(client, job)


def sees_nothing(client):
    reads = {
        "ListDatasets": lambda: [d.name for d in client.call(DATASETS, "ListDatasets").datasets],
        "ListJobs": lambda: [j.name for j in client.call(TRAINING, "ListJobs").jobs],
        "ListModels": lambda: [m.name for m in client.call(MODELS, "ListModels").models],
        "GetDataset": lambda: client.call(DATASETS, "GetDataset", name="datasets/patients"),
        "GetJob": lambda: client.call(TRAINING, "GetJob", name="jobs/first"),
        "GetModel": lambda: client.call(MODELS, "GetModel", name="models/secret"),
    }
    for name, read in reads.items():
        outcome = outcome_of(read)
        assert outcome in REFUSALS or outcome == [], (name, outcome)


def changes_nothing(client):
    spec = {"dataset": "datasets/patients", "algorithm": "rdt", "epsilon_nanos": 10**8}
    changes = {
        "SubmitJob": lambda: client.call(TRAINING, "SubmitJob", request_id="evil", job_id="team-a-j",
                                         model_id="team-a-m", spec=spec),
        "CancelJob": lambda: client.call(TRAINING, "CancelJob", name="jobs/first"),
        "DeleteModel": lambda: client.call(MODELS, "DeleteModel", name="models/secret"),
        "DeleteDataset": lambda: client.call(DATASETS, "DeleteDataset", name="datasets/patients"),
    }
    for name, change in changes.items():
        outcome = outcome_of(change)
        assert outcome in REFUSALS, (name, outcome)


def main():
    trainer, trainer_entry = make_token("team-b", ["trainer"])
    phone, phone_entry = make_token("team-b", ["device"])
    operator, operator_entry = make_token("ops", ["admin"])
    tokens = [trainer_entry, phone_entry, operator_entry]
    # Every client shows the certificate, which the policy lists from the second part on.
    with Curator("--client-ca", "{certs}/ca.crt", policy={"anonymous": PUBLIC, "tokens": tokens}) as curator:
        certificate = f"{curator.certs}/client"
        owner = curator.client(trainer, certificate)
        fill_dataset(owner, "patients", ROWS)
        train(owner, "first", "secret")
        assert owner.call(DATASETS, "GetDataset", name="datasets/patients").dataset.rows == ROWS
        # The grant of everybody shows public models alone, to phones of team-b as to anybody.
        for client in (curator.client(None, certificate), curator.client(phone, certificate)):
            sees_nothing(client)
            changes_nothing(client)

        curator.reload({"tokens": tokens, "certificates": [certificate_entry(f"{certificate}.crt")]})
        for client in (curator.client(None, certificate), curator.client(phone, certificate)):
            sees_nothing(client)
            changes_nothing(client)
        # Whatever the token, the dataset is team-a's, as its trainer's certificate allowed it.
        joint = curator.client(phone, certificate)
        fill_dataset(joint, "team-a-rows", ROWS)
        made = joint.call(DATASETS, "GetDataset", name="datasets/team-a-rows").dataset
        assert (made.owner, made.rows) == ("team-a", ROWS), made
        # The owner with that certificate still has all of its own.
        owner = curator.client(trainer, certificate)
        mine = owner.call(DATASETS, "GetDataset", name="datasets/patients").dataset
        assert mine.rows == ROWS and mine.epsilon_left_nanos == 9 * 10**8, mine
        log = curator.client(operator, certificate).call(ADMIN, "ReadAuditLog")
        assert not [entry for entry in log.entries if "team-a" in entry.resource and entry.actor == "team-b"], log
    print("no role of one owner acted on what another owns")


main()
