"""Devices of Python that answer through a real relay, and what its curator counts of them."""

import os
import pathlib
import signal
import sys
import threading
import time

import pytest

import coppice
from coppice import Device, Journal, Policy, RelayedDevice
from curator import Curator, customers
from eventually import eventually
from relay import TICKETS, Relay

ROW = {"age": 30, "plan": "plus", "calls": 12.5, "left": "yes"}
STUDY = "relayed"
COUNTED = "counted"


@pytest.fixture(scope="module")
def curator():
    started = Curator()
    yield started
    started.end()


@pytest.fixture(scope="module")
def relay(curator):
    started = Relay(curator, STUDY, COUNTED)
    yield started
    started.end()


def device(relay, journal, **more):
    given = {"relay_key": relay.key, "curator_key": relay.curator_key, "ca": relay.ca,
             "token_file": relay.token_file, "max_send_delay": 0, **more}
    policy = given.pop("policy", Policy(2))
    return RelayedDevice(relay.server, policy, journal, **given)


class NoText(str):
    """A text that says it can be written, and cannot."""

    def __str__(self):
        return self

    def __new__(cls):
        return super().__new__(cls, "\udc80")

    def encode(self):
        return b""


def never():
    raise AssertionError("the row was read")


@pytest.fixture
def journal(tmp_path):
    return Journal(tmp_path / "journal")


class TestAnswering:
    def test_it_answers_once_and_delivers(self, relay, journal):
        one = device(relay, journal)
        reads = []

        def read():
            reads.append(1)
            return ROW

        one.answer(STUDY, read)
        one.answer(STUDY, read)  # the same answer, from the journal
        assert len(reads) == 1
        (waiting,) = journal.entries()
        assert waiting["relayed"] and not waiting["delivered"] and waiting["payload_bytes"] > 0
        assert one.deliver() == {"stored": 1, "lost": []}
        assert one.deliver() == {"stored": 0, "lost": []}
        (final,) = journal.entries()
        assert final["delivered"] and final["epsilon"] == 2
        assert not final["relayed"] and final["payload_bytes"] == 0
        assert journal.spent("this device") == 2

    @pytest.mark.parametrize("policy, more, message", [
        (Policy(1), {}, "at most 1"),
        (Policy(2, opted_out=True), {}, "opted out"),
        (Policy(2, max_total_epsilon=1), {}, "in all"),
        (Policy(2), {"min_batch": TICKETS + 1}, "at least 1001"),
        (Policy(2), {"max_offer_bytes": 8}, "has room for 8"),
        (Policy(2), {"max_send_delay": 7300}, "closes in"),
    ])
    def test_what_declines_does_so_before_the_row_is_read(self, relay, journal, policy, more, message):
        with pytest.raises(coppice.CoppiceError, match=message):
            device(relay, journal, policy=policy, **more).answer(STUDY, never)
        assert journal.entries() == []

    def test_a_limit_for_direct_answers_is_none_for_relayed_ones(self, relay, journal):
        one = device(relay, journal, policy=Policy(2, max_epsilon_direct=0.5))
        one.answer(STUDY, ROW)
        assert one.deliver()["stored"] == 1

    def test_a_row_that_fails_to_be_read_is_answered(self, relay, journal, monkeypatch):
        """Silence would tell whose ticket it was."""
        told = []
        monkeypatch.setattr(sys, "unraisablehook", told.append)

        def fails():
            raise RuntimeError("the sensor is cold")

        one = device(relay, journal)
        one.answer(STUDY, fails)
        assert one.deliver()["stored"] == 1
        assert "the sensor is cold" in str(told[0].exc_value)

    @pytest.mark.parametrize("row", [{"\udc80": 1}, {**ROW, "\udc80": 1, "plan": "\udc80"}, {NoText(): NoText()}])
    def test_a_row_without_text_is_answered_by_the_first_ticket(self, relay, journal, row):
        one = device(relay, journal)
        one.answer(STUDY, lambda: row)
        assert len(journal.entries()) == 1
        assert one.deliver()["stored"] == 1

    def test_a_row_that_calls_its_device_is_refused_and_answered(self, relay, journal, alarm):
        one, told = device(relay, journal), []

        def read():
            for call in (lambda: one.answer(STUDY, never), one.deliver, lambda: one.give_up(STUDY)):
                with pytest.raises(coppice.CoppiceError, match="is in a call of this thread"):
                    call()
                told.append(1)
            return ROW

        alarm(20)
        one.answer(STUDY, read)
        assert len(told) == 3 and one.deliver()["stored"] == 1

    def test_two_devices_of_a_subject_spend_no_more_than_its_policy_allows(self, relay, journal):
        """The second one asks while the first one has its ticket and no entry in the journal yet."""
        policy = Policy(2, max_total_epsilon=3)
        one, two = (device(relay, journal, policy=policy) for _ in range(2))
        errors = []

        def answer_too():
            try:
                two.answer(COUNTED, never)
            except coppice.CoppiceError as error:
                errors.append(str(error))

        other = threading.Thread(target=answer_too)

        def read():
            other.start()
            other.join(2)
            return ROW

        one.answer(STUDY, read)
        other.join(30)
        assert journal.spent("this device") == 2
        assert len(errors) == 1 and "in all" in errors[0]

    def test_a_journal_serves_many_subjects(self, relay, journal):
        for subject in ("first", "second"):
            device(relay, journal, subject=subject).answer(STUDY, ROW)
        assert [entry["subject"] for entry in journal.entries()] == ["first", "second"]
        assert device(relay, journal, subject="second").deliver()["stored"] == 1
        assert [entry["delivered"] for entry in journal.entries()] == [False, True]

    def test_an_answer_that_is_given_up_is_not_sent(self, relay, journal):
        one = device(relay, journal)
        with pytest.raises(LookupError):
            one.give_up(STUDY)
        one.answer(STUDY, ROW)
        one.give_up(STUDY)
        assert one.deliver() == {"stored": 0, "lost": []}
        assert journal.spent("this device") == 2

    def test_the_device_of_a_curator_refuses_it_and_says_how(self, curator, relay, journal):
        direct = Device(curator.server, Policy(2), journal, ca=str(curator.ca))
        with pytest.raises(coppice.CoppiceError, match="relay"):
            direct.answer(STUDY, never)

    def test_errors_say_what_is_wrong(self, relay, journal, tmp_path):
        with pytest.raises(LookupError, match="nobody"):
            device(relay, journal).answer("nobody", never)
        with pytest.raises(TypeError, match="mapping"):
            device(relay, journal).answer(STUDY, 3)
        other = tmp_path / "token"
        other.touch(mode=0o600)
        other.write_text("of-nobody\n")
        with pytest.raises(coppice.CoppiceError):
            device(relay, journal, token_file=other).answer(STUDY, never)
        assert journal.entries() == []

    def test_another_relays_terms_are_declined(self, relay, journal):
        other = "ed25519:" + "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="
        with pytest.raises(coppice.CoppiceError, match="not signed by the relay"):
            device(relay, journal, relay_key=other).answer(STUDY, never)


class TestArguments:
    @pytest.mark.parametrize("more, message", [
        ({"relay_key": "ed25519:short"}, "relay_key: "),
        ({"relay_key": pathlib.Path("nowhere")}, "relay_key: .*nowhere"),
        ({"curator_key": "nowhere"}, "curator_key: .*nowhere"),
        ({"min_batch": 999}, "min_batch must be from 1000 to 16777216, not 999"),
        ({"min_batch": -1}, "min_batch must be"),
        ({"max_offer_bytes": (16 << 20) + 1}, "max_offer_bytes must be from 1 to 16777216"),
        ({"max_send_delay": -1}, "max_send_delay must be"),
        ({"ca": None}, "ca is missing"),
        ({"ca": "nowhere"}, "nowhere"),
        ({"token_file": "nowhere"}, "nowhere"),
    ])
    def test_what_cannot_be_used_is_named(self, relay, journal, more, message):
        with pytest.raises(ValueError, match=message):
            device(relay, journal, **more)

    def test_both_keys_are_needed_and_must_differ(self, relay, journal):
        with pytest.raises(TypeError):
            RelayedDevice(relay.server, Policy(2), journal, relay_key=relay.key, ca=relay.ca)
        with pytest.raises(TypeError):
            RelayedDevice(relay.server, Policy(2), journal, curator_key=relay.curator_key, ca=relay.ca)
        with pytest.raises(ValueError, match="curator's key"):
            device(relay, journal, relay_key=relay.curator_key)


@pytest.mark.usefixtures("ctrl_c")
class TestWaiting:
    """The delay is drawn from 6 to 60 seconds: no machine is so slow that it were over."""

    def test_other_threads_run_and_a_signal_ends_it_without_sending(self, relay, journal):
        one = device(relay, journal, max_send_delay=60)
        one.answer(STUDY, ROW)
        ticks = []

        def interrupt():
            for _ in range(5):
                time.sleep(0.1)
                ticks.append(1)
            os.kill(os.getpid(), signal.SIGINT)

        other = threading.Thread(target=interrupt)
        with pytest.raises(KeyboardInterrupt):
            other.start()
            one.deliver()
        other.join()
        assert len(ticks) == 5
        assert [entry["delivered"] for entry in journal.entries()] == [False]
        # Another one, which sends at once, finds it.
        assert device(relay, journal).deliver()["stored"] == 1

    def test_a_call_that_waits_for_another_one_ends_by_a_signal_too(self, relay, journal):
        one = device(relay, journal, max_send_delay=60)
        one.answer(STUDY, ROW)
        returned = []

        def interrupt_what_hangs():
            before = -1
            while len(returned) > before:
                before = len(returned)
                time.sleep(3)
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=one.deliver, daemon=True).start()
        with pytest.raises(KeyboardInterrupt):
            threading.Thread(target=interrupt_what_hangs).start()
            while True:  # it is answered already, so a call returns at once until the other has its turn
                one.answer(STUDY, never)
                returned.append(1)
                time.sleep(0.01)
        one_entry = journal.entries()
        assert len(one_entry) == 1 and not one_entry[0]["delivered"]

    def test_a_handler_that_calls_the_waiting_device_is_refused(self, relay, journal, alarm):
        one = device(relay, journal, max_send_delay=60)
        one.answer(STUDY, ROW)
        ended = threading.Event()

        def send_signals():
            while not ended.wait(0.1):
                os.kill(os.getpid(), signal.SIGUSR1)

        # It is answered already, so outside a call the handler's call returns at once.
        before = signal.signal(signal.SIGUSR1, lambda *_: one.answer(STUDY, never))
        sender = threading.Thread(target=send_signals)
        alarm(15)
        try:
            with pytest.raises(coppice.CoppiceError, match="is in a call of this thread"):
                sender.start()
                one.deliver()
        finally:
            ended.set()
            sender.join()
            signal.signal(signal.SIGUSR1, before)
        one.give_up(STUDY)
        assert one.deliver() == {"stored": 0, "lost": []}

    def test_a_report_is_not_sent_before_its_time(self, relay, journal):
        one = device(relay, journal, max_send_delay=10)
        one.answer(STUDY, ROW)
        start = time.monotonic()
        assert one.deliver()["stored"] == 1
        assert time.monotonic() - start > 0.9  # a tenth, less what came between


def test_the_curator_counts_it(curator, relay, tmp_path):
    """Three devices of Python complete a batch which is too small without them."""
    simulated = relay.simulate(COUNTED, customers(TICKETS - 3, seed=2))
    assert simulated["stored"] == TICKETS - 3
    journal = Journal(tmp_path / "journal")
    for subject in ("a", "b", "c"):
        one = device(relay, journal, subject=subject, max_send_delay=1)
        one.answer(COUNTED, ROW)
        assert one.deliver() == {"stored": 1, "lost": []}
    study = {}

    def is_counted():
        (said,) = curator.describe("study", "show", "--study", COUNTED)
        study.update(said)
        return said.get("accepted") == TICKETS and said.get("waiting") == 0

    eventually(is_counted, lambda: f"{study}\n{relay.log()}")
    assert study["batches"] == 1 and not study["rejected"] and study["least_accepted"] == TICKETS
    curator.describe("study", "seal", "--study", COUNTED)
    curator.describe("model", "build", "--study", COUNTED, "--model", "tree")
    with coppice.connect(curator.server, ca=curator.ca, token_file=curator.folder / "ops.token") as client:
        promise = client.models.get("tree").download().certificate.relay
    assert promise.honest_reports == TICKETS * 9 // 10 and promise.epsilon < 2
