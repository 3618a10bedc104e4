"""Local privacy: devices against a real curator, and whole studies in this process."""

import json
import math
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import pytest

import coppice
from coppice import Device, Journal, LocalTreeClassifier, LocalTreeRegressor, Policy, Privatizer
from curator import BIN, SCHEMA, Curator, customers

STUDY = "from-python"
ROW = {"age": 30, "plan": "plus", "calls": 12.5, "left": "yes"}


@pytest.fixture(scope="module")
def curator():
    started = Curator()
    yield started
    started.end()


@pytest.fixture(scope="module")
def study(curator):
    """A study whose public rows are a few customers."""
    rows, schema = curator.folder / "public.csv", curator.folder / "declared.json"
    customers(400).to_csv(rows, index=False)
    schema.write_text(json.dumps(SCHEMA))
    subprocess.run(
        [BIN / "coppice", "study", "create", "--study", STUDY, "--public", rows, "--schema", schema,
         "--epsilon", "1.5", "--server", curator.server, "--ca", curator.ca, "--token-file",
         curator.folder / "ops.token", "--json"],
        check=True, capture_output=True,
    )
    return STUDY


def device(curator, path, **more):
    limits = more.pop("policy", Policy(2, max_total_epsilon=3))
    return Device(curator.server, limits, Journal(path), ca=curator.ca, **more)


class TestDevice:
    def test_it_answers_once_and_delivers(self, curator, study, tmp_path):
        journal = Journal(str(tmp_path / "journal"))
        one = Device(curator.server, Policy(2), journal, ca=str(curator.ca))
        reads = []

        def read():
            reads.append(1)
            return ROW

        one.answer(study, read)
        one.answer(study, read)  # the same answer, from the journal
        assert len(reads) == 1
        assert one.deliver()["delivered"] == 1
        assert one.deliver()["delivered"] == 0
        assert journal.spent("this device") == 1.5
        (entry,) = journal.entries()
        assert entry["study"] == study and entry["delivered"] and entry["epsilon"] == 1.5
        assert not entry["relayed"]

    def test_the_policy_decides_before_the_row_is_read(self, curator, study, tmp_path):
        def never():
            raise AssertionError("the row was read")

        for policy, message in (
            (Policy(1), "epsilon"),
            (Policy(2, max_epsilon_direct=1), "only through a relay"),
            (Policy(2, opted_out=True), "opted"),
            (Policy(2, own_schema=coppice.declare_schema(["age"], bounds=(0, 1), classes=[0, 1])), "schema|feature"),
        ):
            with pytest.raises(coppice.CoppiceError, match=message):
                device(curator, tmp_path / message[:4], policy=policy).answer(study, never)

    def test_a_feature_that_may_be_sent_in_the_clear_is_no_id(self, curator, study, tmp_path):
        """As an id its text would be sent as it is, however coarse the schema."""
        def never():
            raise AssertionError("the row was read")

        joined, rows = "joined-by-plan", curator.folder / "ids.csv"
        public = {**SCHEMA, "features": [{**feature, "public": True} for feature in SCHEMA["features"]
                                         if feature["name"] != "plan"]}
        schema = curator.folder / "labels.json"
        schema.write_text(json.dumps(public))
        customers(400).drop(columns="plan").to_csv(rows, index=False)
        curator.describe("study", "create", "--study", joined, "--public", rows, "--schema", schema, "--epsilon", "1",
                         "--joined-by", "plan")
        customers(3).assign(plan=["a", "b", "plus"]).to_csv(rows, index=False)
        curator.describe("study", "join", "--study", joined, "--data", rows)
        own = coppice.declare_schema(["plan"], bounds=(0, 1), classes=["no", "yes"], label="left")
        for number, policy in enumerate((
            Policy(2, allow_in_clear=["plan"]),
            Policy(2, shows=["plan"]),
            Policy(2, join_ids=["plan"], own_schema=own),
        )):
            with pytest.raises(coppice.CoppiceError, match='"plan"'):
                device(curator, tmp_path / str(number), policy=policy).answer(joined, never)
        one = device(curator, tmp_path / "listed", policy=Policy(2, join_ids=["plan"]))
        one.answer(joined, ROW)
        assert one.deliver()["delivered"] == 1

    def test_a_row_that_fails_to_be_read_is_answered(self, curator, study, tmp_path, monkeypatch):
        """Silence would tell that something was wrong with the row."""
        told = []
        monkeypatch.setattr(sys, "unraisablehook", told.append)

        def fails():
            raise RuntimeError("the sensor is cold")

        one = device(curator, tmp_path / "journal")
        one.answer(study, fails)
        assert one.deliver()["delivered"] == 1
        assert "the sensor is cold" in str(told[0].exc_value)

    @pytest.mark.usefixtures("ctrl_c")
    def test_an_interrupted_row_is_answered_before_the_interrupt_goes_on(self, curator, study, tmp_path, monkeypatch):
        monkeypatch.setattr(sys, "unraisablehook", lambda told: None)

        def interrupted():
            raise KeyboardInterrupt

        one = device(curator, tmp_path / "journal")
        with pytest.raises(KeyboardInterrupt):
            one.answer(study, interrupted)
        assert one.deliver()["delivered"] == 1

    def test_a_row_that_calls_its_device_is_refused_and_answered(self, curator, study, tmp_path):
        one, told = device(curator, tmp_path / "journal"), []

        def read():
            with pytest.raises(coppice.CoppiceError, match="is in a call of this thread"):
                one.answer(study, ROW)
            told.append(1)
            return ROW

        # A mutex of one thread's own cannot be left by a signal: the other thread hangs, not the tests.
        other = threading.Thread(target=one.answer, args=(study, read), daemon=True)
        other.start()
        other.join(30)
        assert not other.is_alive() and told == [1]
        assert one.deliver()["delivered"] == 1

    def test_two_devices_of_a_subject_give_one_answer(self, curator, study, tmp_path):
        journal = Journal(tmp_path / "journal")
        one, two = (Device(curator.server, Policy(2), journal, ca=curator.ca) for _ in range(2))
        reads = []
        other = threading.Thread(target=lambda: two.answer(study, lambda: reads.append("two") or ROW))

        def read():
            reads.append("one")
            other.start()
            other.join(2)
            return ROW

        one.answer(study, read)
        other.join(30)
        assert reads == ["one"] and len(journal.entries()) == 1

    @pytest.mark.parametrize(
        "row", [{}, {"age": None, "plan": math.nan, "calls": "many", "left": "perhaps"}, {"more": 1}, {"\udc80": 1}]
    )
    def test_every_row_has_an_answer(self, curator, study, tmp_path, row):
        one = device(curator, tmp_path / "journal")
        one.answer(study, row)
        assert one.deliver()["delivered"] == 1

    def test_the_curators_key_may_be_pinned(self, curator, study, tmp_path):
        pem = subprocess.run(
            [BIN / "coppice", "study", "key", "--pem", "--server", curator.server, "--ca", curator.ca],
            check=True, capture_output=True,
        ).stdout
        (tmp_path / "key").write_bytes(pem)
        device(curator, tmp_path / "a", curator_key=str(tmp_path / "key")).answer(study, ROW)
        (pin,) = curator.describe("study", "key")
        device(curator, tmp_path / "pinned", curator_key=pin["pin"]).answer(study, ROW)
        other = subprocess.run(
            ["openssl", "genpkey", "-algorithm", "ed25519"], check=True, capture_output=True
        ).stdout
        public = subprocess.run(
            ["openssl", "pkey", "-pubout"], input=other, check=True, capture_output=True
        ).stdout
        (tmp_path / "other").write_bytes(public)
        with pytest.raises(coppice.CoppiceError):
            device(curator, tmp_path / "b", curator_key=tmp_path / "other").answer(study, ROW)
        with pytest.raises(ValueError, match="curator_key: .*nowhere"):
            device(curator, tmp_path / "c", curator_key="nowhere")

    def test_errors_say_what_to_do(self, curator, tmp_path):
        with pytest.raises(LookupError, match="nobody"):
            device(curator, tmp_path / "a").answer("nobody", ROW)
        with pytest.raises(ValueError, match="epsilon"):
            Policy(0)
        with pytest.raises(OSError, match="nowhere"):
            Journal(str(tmp_path / "nowhere" / "journal"))
        journal = Journal(str(tmp_path / "journal"))
        with pytest.raises(OSError, match="another process|lock"):
            Journal(str(tmp_path / "journal"))
        assert journal.entries() == []


class TestPrivatizer:
    def test_reports_of_its_own_transport(self, curator, study):
        """A program with its own transport hands over the bytes that it fetched."""
        import grpc

        from coppice.v1 import study_pb2, study_pb2_grpc

        credentials = grpc.ssl_channel_credentials(curator.ca.read_bytes())
        with grpc.secure_channel(curator.server, credentials) as channel:
            offer = study_pb2_grpc.StudyServiceStub(channel).GetOffer(
                study_pb2.GetOfferRequest(name=f"studies/{study}", tickets=2, whole_forest=True)
            )
        privatizer = Privatizer(offer.terms, list(offer.forest))
        assert privatizer.epsilon == 1.5
        report = privatizer.privatize(ROW, offer.tickets[0])
        assert report["study"] == study and report["payload"]
        with pytest.raises(ValueError):
            privatizer.privatize(ROW, b"short")
        with pytest.raises((ValueError, coppice.CoppiceError)):
            Privatizer(b"nonsense", [])


class TestSimulation:
    def test_a_study_in_process_learns_what_a_real_one_does(self):
        public, private, test = customers(500, 1), customers(20_000, 2), customers(3000, 3)
        model = coppice.simulate(public, private, schema=SCHEMA, epsilon=2)
        accuracy = (model.predict(test) == test["left"]).mean()
        assert accuracy > max(test["left"].value_counts(normalize=True)) + 0.05
        assert model.certificate.epsilon == 2
        assert model.certificate.reports == 20_000
        assert "report" in str(model.certificate)

    def test_what_a_relay_promises_is_a_field(self):
        """Of a model that a relayed study built, as its file says it."""
        from coppice.v1 import model_pb2

        model = coppice.simulate(customers(300, 1), customers(2000, 2), schema=SCHEMA, epsilon=2)
        assert model.certificate.relay is None
        message = model_pb2.Model.FromString(model.to_bytes())
        message.certificate.reports = 2500
        message.certificate.relay.CopyFrom(model_pb2.RelayBound(
            epsilon_nanos=500_000_000, delta_atto=10**10, honest_reports=900, batches=2,
            dishonest_millionths=100_000, least_accepted=1000, relay_key_id=bytes(range(16))))
        relayed = coppice.Model.from_bytes(message.SerializeToString())
        relay = relayed.certificate.relay
        assert (relay.epsilon, relay.delta, relay.honest_reports) == (0.5, 1e-8, 900)
        assert (relay.dishonest, relay.batches, relay.least_accepted) == (0.1, 2, 1000)
        assert relay.relay_key_id == bytes(range(16)).hex()
        assert "does not collude with the relay" in str(relayed.certificate)
        assert "RelayPromise(epsilon=0.5" in repr(relayed.certificate)

    def test_estimators(self):
        public, private, test = customers(500, 1), customers(20_000, 2), customers(3000, 3)
        features = ["age", "plan", "calls"]
        declared = {
            "bounds": {"age": (18, 90), "calls": (0, 40)},
            "categories": {"plan": ["basic", "plus", "business"]},
        }
        classifier = LocalTreeClassifier(epsilon=4, classes=["no", "yes"], **declared)
        classifier.fit(
            private[features], private["left"], X_public=public[features], y_public=public["left"]
        )
        assert classifier.score(test[features], test["left"]) > 0.7
        regressor = LocalTreeRegressor(epsilon=4, target_bounds=(0, 200), **declared)
        regressor.fit(
            private[features], private["spent"], X_public=public[features], y_public=public["spent"]
        )
        assert regressor.score(test[features], test["spent"]) > 0.3

    @pytest.mark.parametrize(
        "wrong, message",
        [
            ({"epsilon": 0}, "epsilon"),
            ({"epsilon": 2000}, "epsilon|1000"),
            ({"mechanism": "magic"}, "magic"),
            ({"schema": {"features": []}}, "feature|label"),
        ],
    )
    def test_wrong_settings_name_themselves(self, wrong, message):
        rows = customers(100)
        with pytest.raises(ValueError, match=message):
            coppice.simulate(rows, rows, **{"schema": SCHEMA, "epsilon": 1, **wrong})

    def test_rows_without_labels_are_refused(self):
        rows = customers(100)
        with pytest.raises(ValueError, match="'left'"):
            coppice.simulate(rows, rows.drop(columns="left"), schema=SCHEMA, epsilon=1)
        with pytest.raises(ValueError):
            coppice.simulate(rows, np.zeros((3, 4)), schema=SCHEMA, epsilon=1)
        with pytest.raises(ValueError):
            coppice.simulate(rows[:0], rows, schema=SCHEMA, epsilon=1)

    def test_no_rows_are_no_reports(self):
        rows = customers(100)
        model = coppice.simulate(rows, rows[:0], schema=SCHEMA, epsilon=1)
        assert model.certificate.reports == 0
        assert isinstance(pd.Series(model.predict(rows)), pd.Series)
