#!/usr/bin/python3
"""Runs one study from beginning to end, as a client without any of Coppice's code: health, reflection, a study, an
offer, a report sent twice, a model, a prediction.

run.sh runs it, and sets COPPICE_SERVER and COPPICE_CA.
"""

import math
import os

import grpc

from device import ACCEPTED, DUPLICATE, checked_terms, direct_report, sample_study
from reflected import ReflectedClient
from sealed import submit

STUDIES = "coppice.v1.StudyService"
REPORTS = "coppice.v1.ReportService"
MODELS = "coppice.v1.ModelService"
STUDY = "studies/from-python"


def status_of(call):
    """Returns the status code that a call fails with."""
    try:
        call()
    except grpc.RpcError as error:
        return error.code()
    return grpc.StatusCode.OK


def check_service_names(client):
    names = client.services()
    for wanted in (STUDIES, REPORTS, MODELS):
        assert wanted in names, f"reflection does not list {wanted}, only {names}"


def send_report(client):
    """Takes an offer, answers it, and sends the answer again like a device that lost the first reply."""
    offer = client.call(STUDIES, "GetOffer", name=STUDY, tickets=1)
    terms, tree = checked_terms(client, offer)
    report = direct_report(terms, tree, offer.tickets[0])
    first = submit(client, STUDY, offer.fingerprint, [report])
    assert first == [ACCEPTED], f"the report met {first}"
    again = submit(client, STUDY, offer.fingerprint, [report])
    assert again == [DUPLICATE], f"the same report again met {again}"


def predict(client, model):
    response = client.call(MODELS, "Predict", name=model, rows=[{"values": [1]}, {"values": [9]}])
    assert list(response.classes) == ["no", "yes"] and len(response.predictions) == 2
    for prediction in response.predictions:
        assert math.isclose(sum(prediction.probabilities), 1, abs_tol=1e-9), prediction
    return [response.classes[prediction.label] for prediction in response.predictions]


def main():
    client = ReflectedClient(os.environ["COPPICE_SERVER"], os.environ["COPPICE_CA"])
    assert client.healthy(), "the health service does not say SERVING"
    check_service_names(client)

    study = sample_study("from-python", settings={"min_reports": 2})
    created = client.call(STUDIES, "CreateStudy", **study)
    assert created.study.name == STUDY

    def build():
        return client.call(MODELS, "BuildModel", study=STUDY, model_id="from-python", pooled={})

    send_report(client)
    code = status_of(build)
    assert code == grpc.StatusCode.FAILED_PRECONDITION, f"a model below the minimum of reports: {code}"
    send_report(client)
    model = build().model
    assert model.certificate.reports == 2, model.certificate
    # The public rows, 32 per class, outweigh two reports that say nothing.
    assert predict(client, model.name) == ["no", "yes"]

    client.call(STUDIES, "DeleteStudy", name=STUDY)
    code = status_of(lambda: client.call(STUDIES, "GetStudy", name=STUDY))
    assert code == grpc.StatusCode.NOT_FOUND, f"a study that was deleted: {code}"
    client.close()
    print(f"python3-grpcio {grpc.__version__}: a study from beginning to end")


if __name__ == "__main__":
    main()
