"""Datasets: budgets, uploads that break, ledgers, and jobs."""

import os
import signal
import threading
import uuid

import arrow_maker as make
import coppice
import numpy as np
import pandas as pd
import pytest
from coppice import remote
from curator import NUMBER_SCHEMA, SCHEMA, Curator, CuttingProxy, customers, interrupt_once

ROWS = customers(2000)
LONG = [f"long-{number}" for number in range(5)]


@pytest.fixture(scope="module")
def busy():
    """A curator that trains for long, so that further jobs wait."""
    started = Curator("--training-jobs", "1")
    yield started
    started.end()


@pytest.fixture(scope="module")
def busy_client(busy):
    with coppice.connect(busy.server, ca=busy.ca, token=busy.tokens["owner"]) as client:
        rows = pd.concat([customers(100_000)] * 4)
        large = client.datasets.create(rows, SCHEMA, 100)
        for name in LONG:
            large.train("spe", epsilon=10, trees=1024, rows="all", job_id=name)
        yield client


def running(client):
    """The long job that runs now."""
    while True:
        jobs = client.jobs.list()
        found = jobs.index[jobs["state"] == "running"]
        if len(found) > 0:
            return client.job(found[0])


@pytest.fixture(scope="module")
def dataset(owner):
    return owner.datasets.create(ROWS, SCHEMA, 3, dataset_id="people")


# ---- budgets and uploads


def test_a_dataset_tells_of_itself(owner, dataset):
    assert (dataset.id, dataset.state, dataset.rows) == ("people", "ready", len(ROWS))
    assert (dataset.epsilon_total, dataset.delta_total) == (3.0, 0.0)
    assert dataset.schema.label == "left"
    assert owner.datasets.list().loc["people", "epsilon_total"] == 3.0
    assert len(dataset.ledger_head) == 64 and dataset.hold is None
    assert "people" in repr(dataset)


def test_a_budget_has_its_page(dataset):
    page = dataset._repr_html_()
    assert page.startswith("<iframe srcdoc=") and "Dataset people" in page and "<script" not in page


def test_a_dataset_is_its_owners(reader, dataset):
    with pytest.raises(remote.PermissionDeniedError):
        reader.dataset("people")


def test_rows_come_in_parts(owner):
    parts = iter([ROWS.head(700), ROWS.iloc[700:1500], ROWS.iloc[1500:]])
    dataset = owner.datasets.create(parts, SCHEMA, 1)
    assert (dataset.state, dataset.rows) == ("ready", len(ROWS))
    with pytest.raises(ValueError, match="has no table"):
        owner.datasets.create(iter([]), SCHEMA, 1)


def arrow_of(frame, batch_rows=700):
    """The frame by Arrow, in batches of so many rows."""
    batches = [make.table(*(make.column_of(part[name].tolist(), name) for name in part))
               for part in (frame.iloc[begin : begin + batch_rows] for begin in range(0, len(frame), batch_rows))]
    return make.ByStream(*batches, types=make.table(*(make.column_of(frame[name].tolist(), name) for name in frame)))


def test_rows_come_by_arrow(owner):
    given = arrow_of(ROWS)
    dataset = owner.datasets.create(given, SCHEMA, 1)
    assert (dataset.state, dataset.rows) == ("ready", len(ROWS))
    parts = iter([arrow_of(ROWS.head(1000)), ROWS.iloc[1000:], arrow_of(ROWS, len(ROWS))])
    assert owner.datasets.create(parts, SCHEMA, 1).rows == 2 * len(ROWS)
    assert make.is_whole(given.producer)


def test_what_reading_changes_in_parts_is_told_once(owner):
    rows = customers(150_000, seed=3)
    rows.loc[[5, 70_000, 140_000], "calls"] = 1e6
    rows.loc[[6, 140_001], "plan"] = "gold"
    for given, read in ((arrow_of(rows, 10_000), 150_000), (iter([rows.head(75_000), rows.iloc[75_000:]]), 150_000)):
        with pytest.warns(RuntimeWarning) as told:
            owner.datasets.create(given, SCHEMA, 1)
        (warning,) = [one for one in told if one.category is RuntimeWarning]
        assert str(warning.message).startswith(f"of {read} rows, 3 numbers outside their bounds were cut to them; 2 values are no category")
        assert warning.filename == __file__


def test_what_was_changed_is_told_where_an_upload_ends_early(owner):
    rows = customers(3000, seed=3).assign(calls=1e6)
    with pytest.warns(RuntimeWarning, match="of 1000 rows, 1000 numbers"), pytest.raises(ValueError, match="must hold numbers"):
        owner.datasets.create(iter([rows.head(1000), rows.assign(age="old")]), SCHEMA, 1)


def test_a_broken_stream_goes_on_by_arrow(curator):
    """A stream is asked for once, however often the connection breaks; what is sent again is in memory."""
    rows = customers(200_000, seed=3)
    proxy = CuttingProxy(curator.port)
    options = {"ca": curator.ca, "token": curator.tokens["owner"]}
    with coppice.connect(f"127.0.0.1:{proxy.port}", **options) as client:
        dataset = client.datasets.create(None, SCHEMA, 1)
        proxy.cut_after = 2 << 20
        dataset.upload(arrow_of(rows, 50_000))
    proxy.close()
    assert proxy.cuts >= 1
    assert (dataset.state, dataset.rows) == ("ready", len(rows))


def test_an_upload_by_arrow_goes_on(owner):
    rows = customers(150_000, seed=3)
    given = arrow_of(rows, 10_000)
    failing = make.ByStream(*given.producer._batches, next_error=5, after=14)
    with pytest.raises(ValueError, match="their producer stopped with an error: the disk is on fire"):
        owner.datasets.create(failing, SCHEMA, 1, dataset_id="on-fire")
    dataset = owner.dataset("on-fire")
    assert (dataset.state, dataset.rows) == ("uploading", 65_536)
    assert make.is_whole(failing.producer)
    assert dataset.upload(given).rows == len(rows)


def test_an_upload_goes_on(owner):
    dataset = owner.datasets.create(None, SCHEMA, 1)
    assert (dataset.state, dataset.rows) == ("uploading", 0)

    def stops():
        yield ROWS.head(500)
        yield ROWS.iloc[500:1000]
        raise InterruptedError

    with pytest.raises(InterruptedError):
        dataset.upload(stops())
    assert dataset.refresh().rows == 500
    assert dataset.upload(ROWS).rows == len(ROWS)
    with pytest.raises(remote.FailedPreconditionError, match="is ready: nothing can be added"):
        dataset.upload(ROWS)


def test_other_rows_do_not_go_on(owner):
    dataset = owner.datasets.create(None, SCHEMA, 1)
    dataset._upload(iter([]), False)
    parts = iter([ROWS, ROWS])
    next(parts)
    from coppice.remote._tables import Table
    from coppice.remote._uploads import Upload
    table = Table(ROWS, dataset.schema, labelled=True)
    Upload(owner._caller, dataset._message, print).send(table, 0, complete=False)
    with pytest.raises(ValueError, match="has 2000 rows already"):
        dataset.upload(ROWS.head(10))
    assert dataset.upload(ROWS).state == "ready"


def test_a_broken_stream_goes_on(curator):
    rows = pd.concat([customers(100_000, seed=3)] * 4, ignore_index=True)
    proxy = CuttingProxy(curator.port)
    options = {"ca": curator.ca, "token": curator.tokens["owner"]}
    with coppice.connect(f"127.0.0.1:{proxy.port}", **options) as client:
        dataset = client.datasets.create(None, SCHEMA, 1)
        proxy.cut_after = 4 << 20
        dataset.upload(rows)
    proxy.close()
    assert proxy.cuts >= 2
    assert (dataset.state, dataset.rows) == ("ready", len(rows))


def test_what_is_stored_stays_when_the_upload_fails(curator, owner):
    proxy = CuttingProxy(curator.port)
    options = {"ca": curator.ca, "token": curator.tokens["owner"]}
    with coppice.connect(f"127.0.0.1:{proxy.port}", **options) as client:
        dataset = client.datasets.create(None, SCHEMA, 1)
        proxy.cut_after = 30_000  # less than the rows
        with pytest.raises(remote.UnavailableError, match=rf"client.dataset\('{dataset.id}'\).upload"):
            dataset.upload(ROWS)
    proxy.close()
    assert owner.dataset(dataset.id).upload(ROWS).rows == len(ROWS)


def test_rows_that_do_not_fit_open_no_budget(owner):
    before = len(owner.datasets.list())
    with pytest.raises(ValueError, match="no column left"):
        owner.datasets.create(ROWS.drop(columns="left"), SCHEMA, 1)
    with pytest.raises(ValueError, match="none of the declared classes"):
        owner.datasets.create(ROWS.assign(left="maybe"), SCHEMA, 1)
    with pytest.raises(ValueError, match="must hold numbers"):
        owner.datasets.create(ROWS.assign(age="old"), SCHEMA, 1)
    with pytest.raises(ValueError, match="must hold numbers"):
        owner.datasets.create(iter([ROWS.assign(age="old")]), SCHEMA, 1)
    with pytest.raises(ValueError, match="must hold numbers"):
        owner.datasets.create(arrow_of(ROWS.assign(age="old")), SCHEMA, 1)
    with pytest.raises(ValueError, match="in the part of the rows that begins with row 2,000: column 'age' must hold numbers; row 0,"):
        owner.datasets.create(iter([ROWS, ROWS.assign(age="old")]), SCHEMA, 1, dataset_id="half")
    before += 1
    assert len(owner.datasets.list()) == before


def test_missing_values_and_unknown_categories(owner):
    rows = ROWS.assign(calls=np.nan, plan="gold")
    with pytest.warns(RuntimeWarning, match="became .other."):
        assert owner.datasets.create(rows, SCHEMA, 1).rows == len(rows)


def test_rows_without_a_class(owner):
    rows = ROWS.assign(left=ROWS["left"].where(ROWS["age"] > 30))
    with pytest.raises(ValueError, match="none of the declared classes"):
        owner.datasets.create(rows, SCHEMA, 1)
    dataset = owner.datasets.create(rows, SCHEMA, 1, unlabelled=True)
    assert dataset.rows == len(rows)
    assert dataset.train("sspe1", epsilon=1).wait().state == "done"


def test_ctrl_c_ends_an_upload(curator, owner):
    proxy = CuttingProxy(curator.port)
    options = {"ca": curator.ca, "token": curator.tokens["owner"]}
    with coppice.connect(f"127.0.0.1:{proxy.port}", **options) as client:
        dataset = client.datasets.create(None, SCHEMA, 1)
        proxy.stall_after = 30_000
        interrupt_once(proxy.stalled)
        with pytest.raises(KeyboardInterrupt, match=r"\.upload\(rows\) goes on"):
            dataset.upload(ROWS)
        proxy.stall_after = None
    proxy.close()
    assert owner.dataset(dataset.id).upload(ROWS).rows == len(ROWS)


def test_an_upload_that_stalls_has_a_deadline(curator, owner):
    proxy = CuttingProxy(curator.port)
    options = {"ca": curator.ca, "token": curator.tokens["owner"], "timeout": 2}
    with coppice.connect(f"127.0.0.1:{proxy.port}", **options) as client:
        dataset = client.datasets.create(None, SCHEMA, 1)
        proxy.stall_after = 30_000
        with pytest.raises(remote.DeadlineExceededError, match="did not answer in time"):
            dataset.upload(ROWS)
        proxy.stall_after = None
    proxy.close()
    assert owner.dataset(dataset.id).rows == 0


def test_a_dataset_of_numbers(owner):
    dataset = owner.datasets.create(ROWS, NUMBER_SCHEMA, 4)
    model = dataset.train(epsilon=4).wait().model()
    predicted = model.predict(ROWS)
    error = np.sqrt(((predicted["value"] - ROWS["spent"]) ** 2).mean())
    assert error < ROWS["spent"].std()
    assert (predicted["low"] <= predicted["high"]).all()


@pytest.mark.parametrize(
    "settings, why",
    [
        ({"epsilon_total": 0}, "epsilon_total=0"),
        ({"delta_total": 1}, "delta_total=1: must be 0, or from"),
        ({"delta_total": 1e-19}, "delta_total"),
        ({"composition": "magic"}, "must be one of basic, zcdp"),
        ({"composition": "zcdp"}, "delta_total: must be above 0"),
        ({"neighbours": "all"}, "add_or_remove_row, change_label"),
        ({"dataset_id": "-"}, "starting with a letter"),
    ],
)
def test_wrong_budgets(owner, settings, why):
    with pytest.raises(ValueError, match=why):
        owner.datasets.create(None, SCHEMA, **{"epsilon_total": 1, **settings})


def test_the_same_request_makes_one_dataset(owner):
    request_id = uuid.uuid4().hex
    first = owner.datasets.create(None, SCHEMA, 1, request_id=request_id)
    assert owner.datasets.create(None, SCHEMA, 1, request_id=request_id).id == first.id
    with pytest.raises(remote.AlreadyExistsError):
        owner.datasets.create(None, SCHEMA, 1, dataset_id=first.id)


def test_rhos_add_up(owner):
    dataset = owner.datasets.create(ROWS, SCHEMA, 2, delta_total=1e-6, composition="zcdp")
    dataset.train(epsilon=1, delta=1e-6).wait()
    dataset.refresh()
    assert dataset.rho_spent > 0 and dataset.delta_spent == 0
    assert "rho" in dataset.ledger().columns
    assert "ρ spent" in dataset._repr_html_()


def test_a_dataset_is_deleted(owner):
    dataset = owner.datasets.create(ROWS, SCHEMA, 1)
    dataset.delete()
    dataset.delete()
    assert dataset.refresh().state == "deleted"
    with pytest.raises(remote.FailedPreconditionError):
        dataset.upload(ROWS)


def test_a_ledger_is_confirmed(client, dataset):
    held = client.dataset("people")
    assert held.confirm_ledger(held.ledger_head).hold is None  # of no effect on one that is not on hold
    with pytest.raises(ValueError, match="hexadecimal"):
        held.confirm_ledger("head")
    with pytest.raises(remote.FailedPreconditionError):
        held.write_off_ledger()
    with pytest.raises(remote.PermissionDeniedError):
        dataset.confirm_ledger(held.ledger_head)


def test_an_unknown_dataset(owner):
    with pytest.raises(remote.NotFoundError, match="nobody"):
        owner.dataset("nobody")


# ---- jobs


def test_a_job_trains_a_model(owner, dataset):
    job = dataset.train(epsilon=1, job_id="first", model_id="first-tree")
    assert job.wait().state == "done" and job.progress == 1
    assert job.model().id == "first-tree"
    assert owner.job("first").to_dict()["cost"]["epsilon"] == 1.0
    assert owner.jobs.list("people").loc["first", "state"] == "done"
    assert "first" in dataset.jobs().index and "first" in job._repr_html_()
    dataset.refresh()
    assert (dataset.epsilon_spent, dataset.epsilon_left) == (1.0, 2.0)
    assert list(dataset.ledger()["entry"]) == ["opened", "reserved", "settled"]
    releases = dataset.releases()
    assert releases["epsilon"].sum() == pytest.approx(1) and set(releases["job"]) == {"first"}
    accuracy = (job.model().predict(ROWS)["label"] == ROWS["left"]).mean()
    assert accuracy > (ROWS["left"] == "no").mean()


def test_it_is_described_as_at_the_terminal(curator, owner, dataset):
    dataset.refresh()
    assert curator.describe("dataset", "show", "--dataset", "people") == [dataset.to_dict()]
    assert curator.describe("train", "show", "--job", "first") == [owner.job("first").to_dict()]
    preview = dataset.preview("spe", epsilon=1, trees=5).to_dict()
    command = ["train", "preview", "--dataset", "people", "--algorithm", "spe", "--epsilon", "1", "--set", "trees=5"]
    assert curator.describe(*command) == [preview]


def test_a_preview_spends_nothing(dataset):
    spent = dataset.refresh().epsilon_spent
    preview = dataset.preview("spe", epsilon=1, trees=5)
    assert preview.fits and 0.999 < preview.cost["epsilon"] <= 1
    assert len(preview.releases()) > 0 and "Fits the budget" in preview._repr_html_()
    refused = dataset.preview(epsilon=9)
    assert not refused.fits and "9" in refused.reason and "does not fit" in repr(refused)
    assert dataset.refresh().epsilon_spent == spent


def test_a_budget_is_exhausted(dataset):
    spent = dataset.refresh().epsilon_spent
    with pytest.raises(remote.BudgetExhaustedError, match="the job needs epsilon 9") as caught:
        dataset.train(epsilon=9)
    assert isinstance(caught.value, coppice.BudgetExhausted)
    assert dataset.refresh().epsilon_spent == spent


def test_jobs_start_from_public_rows(owner):
    public, others = customers(60, seed=2), customers(50, seed=3)
    dataset = owner.datasets.create(ROWS, SCHEMA, 3, public=public)
    assert dataset.to_dict()["public_rows"] == 60
    with pytest.raises(remote.InvalidArgumentError, match="spe cannot start from public rows"):
        dataset.train("spe", epsilon=0.5)
    with pytest.raises(ValueError, match="must be 'dataset', None, or rows"):
        dataset.train(epsilon=0.5, public="none")
    assert dataset.refresh().epsilon_spent == 0
    assert "bear out" in dataset.preview(epsilon=0.5).to_dict()["releases"][-1]["what"]
    job = dataset.train(epsilon=0.5)
    assert job.to_dict()["public_rows_sha256"] == dataset.to_dict()["public_rows_sha256"]
    job = dataset.train(epsilon=0.5, public=others)
    assert job.to_dict()["public_rows"] == 50
    assert "public_rows" not in dataset.train("spe", epsilon=0.5, public=None).to_dict()
    certificate = job.wait().model().download().certificate
    assert certificate.public_rows_sha256 == job.to_dict()["public_rows_sha256"]
    # The digest is of the rows: Python's own has the same.
    features = [feature["name"] for feature in SCHEMA["features"]]
    tree = coppice.PrivateTreeClassifier(schema=SCHEMA, epsilon=0.5)
    tree.fit(ROWS[features], ROWS["left"], public=(others[features], others["left"]))
    assert tree.privacy_.public_rows_sha256 == certificate.public_rows_sha256


def test_a_job_is_paid_for_once(owner):
    dataset = owner.datasets.create(ROWS, SCHEMA, 1)
    request_id = uuid.uuid4().hex
    first = dataset.train(epsilon=0.6, request_id=request_id)
    assert dataset.train(epsilon=0.6, request_id=request_id).id == first.id
    assert dataset.refresh().epsilon_spent == pytest.approx(0.6)


def test_an_unclear_submission_tells_its_request_id(curator, owner):
    dataset = owner.datasets.create(ROWS, SCHEMA, 1)
    proxy = CuttingProxy(curator.port)
    options = {"ca": curator.ca, "token": curator.tokens["owner"], "timeout": 1}
    with coppice.connect(f"127.0.0.1:{proxy.port}", **options) as client:
        through = client.dataset(dataset.id)
        proxy.cut_after = 10
        proxy.refuse = 10**9
        for _ in range(2):  # the connection that is there, and further ones
            try:
                through.refresh()
            except remote.RemoteError:
                pass
        with pytest.raises(remote.RemoteError, match="give request_id='[0-9a-f]{32}'"):
            through.train(epsilon=0.6)
    proxy.close()


def test_wrong_jobs(dataset):
    for settings in ({"algorithm": "magic"}, {"algorithm": "spe", "leaves": 3}, {"algorithm": "spe", "trees": 0}):
        with pytest.raises(remote.InvalidArgumentError):
            dataset.train(epsilon=0.1, **settings)
    with pytest.raises(ValueError, match="epsilon"):
        dataset.train(epsilon=0)


def test_algorithms_and_settings(owner):
    algorithms = owner.algorithms()
    assert {"auto", "spe", "logistic"} <= set(algorithms.index)
    assert algorithms.loc["spe", "settings"]["trees"] == "10"
    settings = owner.jobs.settings("spe")
    assert settings.loc["trees", "type"] == "integer"
    with pytest.raises(ValueError, match="must be one of auto"):
        owner.jobs.settings("magic")


def test_progress_is_shown(dataset, capsys):
    dataset.train(epsilon=0.1, job_id="shown").wait(progress=True)
    shown = capsys.readouterr().err
    assert "job shown [" in shown and "100% done" in shown
    dataset.train(epsilon=0.1).wait(progress=None)  # stderr is no terminal here
    assert capsys.readouterr().err == ""


def test_a_queued_job_gives_its_cost_back(busy_client):
    dataset = busy_client.datasets.create(ROWS, SCHEMA, 1)
    job = dataset.train(epsilon=0.5)
    with pytest.raises(ValueError, match="is queued; wait"):
        job.model()
    assert job.cancel().state == "cancelled"
    with pytest.raises(remote.JobCancelledError, match="was cancelled"):
        job.wait()
    assert dataset.refresh().epsilon_spent == 0


def test_waiting_has_an_end(busy_client):
    job = busy_client.datasets.create(ROWS, SCHEMA, 1).train(epsilon=0.5)
    with pytest.raises(remote.DeadlineExceededError, match="has not ended in time"):
        job.wait(timeout=0.3)
    assert job.refresh().state == "queued"


def test_ctrl_c_ends_the_waiting_and_not_the_job(busy_client):
    job = busy_client.datasets.create(ROWS, SCHEMA, 1).train(epsilon=0.5)
    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt, match="goes on"):
        job.wait(timeout=300)
    assert job.refresh().state == "queued"
    job.cancel()


def test_a_running_job_shows_how_far_it_is(busy_client, capsys):
    with pytest.raises(remote.DeadlineExceededError, match="it is running"):
        running(busy_client).wait(progress=True, timeout=5)
    assert "running" in capsys.readouterr().err


def test_waiting_goes_on_across_a_restart(busy, busy_client):
    job = busy_client.datasets.create(ROWS, SCHEMA, 1).train(epsilon=0.5)
    long = running(busy_client)
    for name in LONG:
        if name != long.id:
            busy_client.job(name).cancel()

    def restart():
        busy.stop()
        busy.start()

    restarting = threading.Timer(0.2, restart)
    restarting.start()
    assert job.wait(timeout=300).state == "done"
    restarting.join()
    assert job.model().epsilon == pytest.approx(0.5)
    assert long.wait(timeout=300).state == "done", "what ran when the daemon stopped went on"


def test_an_unknown_job(owner):
    with pytest.raises(remote.NotFoundError):
        owner.job("nothing")
