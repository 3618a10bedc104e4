#!/usr/bin/python3
"""Callers whose writes fail, as the disk takes no more, look for the server's paths in what they are told.

The daemon may write files of a few hundred KiB, beyond which the system refuses, as a full disk does.
"""

import resource

import grpc

from curator import ADMIN, DATASETS, TRAINING, Curator, cap, fill_dataset, make_token, schema

MOST_BYTES = 256 * 1024
ROWS = 4096
WORDS = ("/tmp", "store/", ".log", ".sst", "IO error", "File too large", "errno")


def told(call):
    """Returns the code and the words of a call that fails, else None."""
    try:
        call()
    except grpc.RpcError as error:
        return error.code().name, error.details()
    return None


def upload(client):
    block = {"columns": [{"values": [0.5] * ROWS}] * 2, "labels": [0] * ROWS}
    for i in range(64):
        error = told(lambda: client.call(DATASETS, "AppendRows", dataset="datasets/large", first_row=i * ROWS,
                                         rows=block))
        if error is not None:
            return error
    raise AssertionError("the daemon wrote more than it may")


def main():
    trainer, trainer_entry = make_token("team", ["trainer"])
    operator, operator_entry = make_token("ops", ["admin"])
    policy = {"tokens": [trainer_entry, operator_entry]}
    with Curator(policy=policy, limits=["env", "--ignore-signal=XFSZ"]) as curator:
        owner, ops = curator.client(trainer), curator.client(operator)
        fill_dataset(owner, "small", rows=10)
        owner.call(DATASETS, "CreateDataset", request_id="large", dataset_id="large", schema=schema(), cap=cap())
        resource.prlimit(curator.pid(), resource.RLIMIT_FSIZE, (MOST_BYTES, resource.RLIM_INFINITY))
        spec = {"dataset": "datasets/small", "algorithm": "rdt", "epsilon_nanos": 10**6}
        new = {"request_id": "r", "dataset_id": "other", "schema": schema(), "cap": cap()}
        errors = [upload(owner)] + [told(call) for call in (
            lambda: owner.call(DATASETS, "CreateDataset", **new),
            lambda: owner.call(TRAINING, "SubmitJob", request_id="j", job_id="j", spec=spec),
            lambda: owner.call(DATASETS, "DeleteDataset", name="datasets/small"),
            lambda: ops.call(ADMIN, "ReadAuditLog"),
        )]
        for code, words in filter(None, errors):
            assert curator.folder not in words and not [word for word in WORDS if word in words], (code, words)
        # Some calls succeed, as the daemon begins new files, and others fail for what these did.
        failed = [error for error in errors if error is not None and error[0] != "FAILED_PRECONDITION"]
        assert failed[0] == errors[0], errors
        for code, words in failed:
            assert code in ("UNAVAILABLE", "RESOURCE_EXHAUSTED"), (code, words)
            assert "The operator's log has the reason" in words, (code, words)
        assert f"{curator.folder}/store" in curator.log(), "the operator's log lacks the reason"
    print(f"{len(failed)} calls failed, and none told where the store is")


main()
