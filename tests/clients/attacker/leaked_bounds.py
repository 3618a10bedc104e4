#!/usr/bin/env python3
"""An owner uploads a schema whose bounds were read from private rows, over gRPC, with and without saying so."""

import unittest

import curator
from curator import DATASETS, MODELS, STUDIES, TRAINING

LEAKING = ["salary", "ward", "ill"]


def leaking_schema():
    """The largest salary and the rarest ward are somebody's, and so is the class that only one row has."""
    return {"features": [{"name": "age", "numeric": {"min": 0, "max": 120}},
                         {"name": "salary", "numeric": {"min": 0, "max": 7654321}, "from_private_rows": True},
                         {"name": "ward", "categorical": {"values": ["a", "b"]}, "from_private_rows": True}],
            "label": "ill", "classes": ["no", "yes"], "answers_from_private_rows": True}


def study_request(name):
    return {"request_id": f"make-{name}", "study_id": name, "schema": leaking_schema(), "epsilon_nanos": 10**9,
            "partition": {"from_schema": True, "ignore_labels": True, "rule": 4, "criterion": 2, "max_depth": 2,
                          "min_leaf": 1, "trees": 4, "seed": 1},
            "choose_mechanism": {}}


class LeakedBounds(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.curator = curator.Curator()
        cls.curator.__enter__()
        cls.addClassCleanup(cls.curator.__exit__, None, None, None)
        cls.client = cls.curator.client()

    def refused(self, service, method, **request):
        with self.assertRaises(curator.grpc.RpcError) as caught:
            self.client.call(service, method, **request)
        self.assertEqual(caught.exception.code(), curator.grpc.StatusCode.INVALID_ARGUMENT)
        for name in LEAKING:
            self.assertIn(name, caught.exception.details())
        self.assertNotIn("7654321", caught.exception.details())

    def test_a_dataset_is_refused_and_nothing_is_made_of_it(self):
        self.refused(DATASETS, "CreateDataset", request_id="a", dataset_id="silent", schema=leaking_schema(),
                     cap=curator.cap())
        self.assertEqual(curator.outcome_of(lambda: self.client.call(DATASETS, "GetDataset", name="datasets/silent")),
                         "NOT_FOUND")

    def test_a_study_is_refused_and_nothing_is_made_of_it(self):
        self.refused(STUDIES, "CreateStudy", **study_request("silent"))
        self.assertEqual(curator.outcome_of(lambda: self.client.call(STUDIES, "GetStudy", name="studies/silent")),
                         "NOT_FOUND")

    def test_an_accepted_leak_is_in_the_certificates_of_all_models(self):
        self.client.call(DATASETS, "CreateDataset", request_id="b", dataset_id="known", schema=leaking_schema(),
                         cap=curator.cap(4 * 10**9), accept_leak=True)
        rows = 200
        block = {"columns": [{"values": [float(i % 90) for i in range(rows)]},
                             {"values": [1000.0 * i for i in range(rows)]},
                             {"values": [float(i % 2) for i in range(rows)]}],
                 "labels": [i % 2 for i in range(rows)]}
        self.client.call(DATASETS, "AppendRows", dataset="datasets/known", first_row=0, rows=block, complete=True)
        for algorithm in ("auto", "spe", "logistic"):
            self.client.call(TRAINING, "SubmitJob", request_id=f"job-{algorithm}", job_id=algorithm, model_id=algorithm,
                             spec={"dataset": "datasets/known", "algorithm": algorithm, "epsilon_nanos": 10**9})
            curator.await_job(self.client, algorithm)
            model = self.client.call(MODELS, "GetModel", name=f"models/{algorithm}").model
            said = [text for text in model.certificate.public_inputs if "private rows" in text]
            self.assertEqual(said, ["bounds of columns salary, ward, ill were read from the private rows and are not "
                                    "covered by ε"])


if __name__ == "__main__":
    unittest.main()
