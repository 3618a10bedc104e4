#!/usr/bin/python3
"""A reader looks at a study while it takes reports, and takes two looks' difference for one device's report; the
certificate of the final model, which a later reader trusts, must not promise that nobody could.
"""

import os
import subprocess
import sys
import tempfile

from google.protobuf import json_format

from curator import BIN, MODELS, REPORTS, STUDIES, Curator, make_token, outcome_of

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from device import ACCEPTED, checked_terms, direct_report, sample_study  # noqa: E402
from sealed import submit  # noqa: E402

REPORTS_OF_A_STUDY = 600


def make_study(client, study):
    client.call(STUDIES, "CreateStudy", **sample_study(study))


def send_reports(client, study, number):
    name = f"studies/{study}"
    terms, tree = checked_terms(client, client.call(STUDIES, "GetOffer", name=name, tickets=1))
    offer = client.call(STUDIES, "GetOffer", name=name, tickets=number, whole_forest=True)
    reports = [direct_report(terms, tree, ticket) for ticket in offer.tickets]
    outcomes = submit(client, name, offer.fingerprint, reports)
    assert set(outcomes) == {ACCEPTED}, outcomes


def final_model(client, study):
    client.call(STUDIES, "SealStudy", name=f"studies/{study}")
    model = client.call(MODELS, "BuildModel", study=f"studies/{study}", model_id=f"{study}-final", pooled={}).model
    with tempfile.NamedTemporaryFile("w", suffix=".model") as file:
        file.write(json_format.MessageToJson(model, preserving_proto_field_name=True))
        file.flush()
        verified = subprocess.run([f"{BIN}/coppice", "model", "verify", "--file", file.name], capture_output=True,
                                  text=True)
        assert verified.returncode == 0, verified.stderr
    return model.certificate


def is_told_why(certificate):
    return any("before the last report had come" in text for text in certificate.public_inputs)


def look_at_counts(client, study):
    client.call(STUDIES, "GetCounts", name=f"studies/{study}")


def build_a_model(client, study):
    client.call(MODELS, "BuildModel", study=f"studies/{study}", model_id=f"{study}-early", pooled={})


def look_at_the_study(client, study):
    """Shows numbers of reports, which follow from no row, and no alarm before the study is sealed."""
    got = client.call(STUDIES, "GetStudy", name=f"studies/{study}").study
    assert len(got.alarms) == 0, f"a reader sees alarms of an open study: {got.alarms}"
    client.call(STUDIES, "GetReportHistory", name=f"studies/{study}")
    client.call(STUDIES, "ListStudies")


def check(curator, look, spoils, reader_token=None, operator_token=None):
    study = look.__name__.replace("_", "-")
    operator, reader = curator.client(operator_token), curator.client(reader_token)
    make_study(operator, study)
    send_reports(operator, study, REPORTS_OF_A_STUDY // 2)
    look(reader, study)
    send_reports(operator, study, 1)
    operator.close()
    reader.close()
    curator.stop()
    curator.start()
    operator = curator.client(operator_token)
    send_reports(operator, study, REPORTS_OF_A_STUDY // 2)
    certificate = final_model(operator, study)
    shown = operator.call(STUDIES, "GetStudy", name=f"studies/{study}").study
    assert shown.seen_early == spoils, shown
    assert certificate.HasField("readers") != spoils, certificate.readers
    assert is_told_why(certificate) == spoils, certificate.public_inputs
    if not spoils:
        assert 0 < certificate.readers.epsilon_nanos < certificate.epsilon_nanos
        assert len(shown.alarms) > 0, "the alarms of a sealed study are shown"


def check_all(curator, **tokens):
    check(curator, look_at_the_study, spoils=False, **tokens)
    check(curator, look_at_counts, spoils=True, **tokens)
    check(curator, build_a_model, spoils=True, **tokens)


def operator_looks(client, study):
    """Who runs the curator and has its store is no reader of models."""
    client.call(STUDIES, "GetCounts", name=f"studies/{study}")
    assert len(client.call(STUDIES, "GetStudy", name=f"studies/{study}").study.alarms) > 0


def main():
    # Without a policy nobody knows who looks.
    with Curator() as curator:
        check_all(curator)
    operator_token, operator_entry = make_token("operator", ["admin"])
    reader_token, reader_entry = make_token("reader", ["trainer"], ["studies/*", "models/*"])
    analyst_token, analyst_entry = make_token("analyst", ["analyst"], ["studies/*"])
    with Curator(policy={"tokens": [operator_entry, reader_entry, analyst_entry]}) as curator:
        check_all(curator, reader_token=reader_token, operator_token=operator_token)
        check(curator, operator_looks, spoils=False, reader_token=operator_token, operator_token=operator_token)
        refused = outcome_of(lambda: curator.client(analyst_token).call(
            MODELS, "BuildModel", study="studies/operator-looks", model_id="x"))
        assert refused == "PERMISSION_DENIED", refused


main()
