"""Training jobs: their cost, their progress and their models."""

from __future__ import annotations

import time
import warnings
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional

from coppice.remote import _pages
from coppice.remote._calls import (
    PLAN_TIMEOUT,
    Caller,
    Patience,
    is_transient,
    new_request_id,
    printable,
)
from coppice.remote._describe import (
    describe,
    describe_algorithm,
    describe_parameters,
    frame_of,
)
from coppice.remote._progress import Bar, make_bar
from coppice.remote._tables import Table, from_message
from coppice.remote._units import (
    Number,
    delta_atto,
    epsilon_nanos,
    epsilon_number,
    id_of,
    make_name,
    new_id,
)
from coppice.remote.errors import (
    BudgetExhaustedError,
    DeadlineExceededError,
    JobCancelledError,
    JobFailedError,
    RemoteError,
    ResourceExhaustedError,
    UnavailableError,
)
from coppice.remote.models import Models, RemoteModel
from coppice.v1 import dataset_pb2, training_pb2

if TYPE_CHECKING:
    import pandas as pd

    from coppice import Schema

# Stands for the public rows of the dataset.
DATASET = "dataset"
# A stream that says nothing for so long is opened anew: nobody may be there any more.
_STREAM_TIMEOUT = 600.0
# Curators end connections of some age, also while a job brings no news.
_MIN_SOUND_STREAM = 0.5


class Jobs:
    """The training jobs of a curator. `Client.jobs` is one."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def list(self, dataset: Optional[str] = None) -> pd.DataFrame:
        """Return all jobs that the caller may see, or those of a dataset, by their ids.

        Parameters
        ----------
        dataset : str, optional
            The id of the dataset; all that the caller may see if not given.
        """
        request = training_pb2.ListJobsRequest(page_size=1000)
        if dataset is not None:
            request.dataset = make_name("datasets", dataset)
        pages = self._caller.pages(request, training_pb2.ListJobsResponse)
        jobs = [describe("job_briefly", job) for page in pages for job in page.jobs]
        return frame_of(jobs, describe("job_briefly", training_pb2.Job()))

    def get(self, job_id: str) -> Job:
        """Return a job as it is now.

        Parameters
        ----------
        job_id : str
            The id of the job.

        Raises
        ------
        NotFoundError
            If there is no such job, or it belongs to somebody else.
        """
        return Job(self._caller, _get_job(self._caller, make_name("jobs", job_id)))

    def algorithms(self) -> pd.DataFrame:
        """Return what can be trained; ``settings`` has the defaults."""
        described = [describe_algorithm(one) for one in self._algorithms()]
        return frame_of(described, describe_algorithm(training_pb2.Algorithm()))

    def settings(self, algorithm: str) -> pd.DataFrame:
        """Return what can be set of an algorithm, and what it does.

        Parameters
        ----------
        algorithm : str
            Its name, as in `algorithms`.

        Raises
        ------
        ValueError
            If there is no such algorithm.
        """
        known = {one.name: one for one in self._algorithms()}
        if algorithm not in known:
            raise ValueError(f"algorithm={algorithm!r}: must be one of {', '.join(known)}")
        like = training_pb2.Algorithm(parameters=[training_pb2.Parameter()])
        return frame_of(describe_parameters(known[algorithm]), describe_parameters(like)[0])

    def _algorithms(self) -> List[training_pb2.Algorithm]:
        request = training_pb2.ListAlgorithmsRequest()
        response = self._caller.call(request, training_pb2.ListAlgorithmsResponse)
        return list(response.algorithms)


class Job:
    """A training job as it was when it was asked for; `refresh` asks again."""

    def __init__(self, caller: Caller, message: training_pb2.Job) -> None:
        self._caller = caller
        self._message = message

    @property
    def id(self) -> str:
        """The id."""
        return id_of(self._message.name)

    @property
    def state(self) -> str:
        """``queued``, ``running``, ``done``, ``failed`` or ``cancelled``."""
        return str(describe("job_briefly", self._message)["state"])

    @property
    def has_ended(self) -> bool:
        """Whether nothing about it will change."""
        return self.state in ("done", "failed", "cancelled")

    @property
    def progress(self) -> float:
        """From 0 to 1 while it runs, 1 once it is done."""
        return float(self._message.progress)

    @property
    def epsilon(self) -> float:
        """The epsilon that was asked for."""
        return epsilon_number(self._message.spec.epsilon_nanos)

    @property
    def reason(self) -> str:
        """Why it failed or was cancelled, or what it waits for."""
        return str(self._message.reason)

    def to_dict(self) -> Dict[str, Any]:
        """Return what ``coppice train show --json`` prints."""
        return describe("job", self._message)

    def refresh(self) -> Job:
        """Ask the curator again; returns the job itself."""
        self._message = _get_job(self._caller, self._message.name)
        return self

    def cancel(self) -> Job:
        """End the job; what it cost is refunded if it had not begun. Returns the job itself."""
        request = training_pb2.CancelJobRequest(name=self._message.name)
        self._message = self._caller.call(request, training_pb2.CancelJobResponse).job
        return self

    def wait(self, progress: Optional[bool] = None, timeout: Optional[float] = None) -> Job:
        """Wait for the end of the job, across restarts of the curator.

        Ctrl-C ends the waiting, and not the job.

        Parameters
        ----------
        progress : bool or None
            Whether to show how far it is, on stderr; None: in a terminal or a notebook.
        timeout : float, optional
            The most seconds to wait.

        Returns
        -------
        Job
            The job itself, which is done.

        Raises
        ------
        JobFailedError, JobCancelledError
            If it ended otherwise.
        DeadlineExceededError
            If it had not ended in time. It goes on.
        """
        until = float("inf") if timeout is None else time.monotonic() + timeout
        bar = make_bar(f"job {self.id}", progress)
        try:
            self.refresh()
            _show(bar, self)
            self._follow(bar, until)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(
                f"job {self.id} goes on: wait() follows it, cancel() ends it"
            ) from None
        finally:
            bar.close()
        return self._done()

    def model(self) -> RemoteModel:
        """Return the model that it made."""
        if not self.has_ended:
            self.refresh()
        if not self.has_ended:
            raise ValueError(f"job {self.id}: is {self.state}; wait() waits for its model")
        self._done()
        return Models(self._caller).get(id_of(self._message.model))

    def _follow(self, bar: Bar, until: float) -> None:
        patience = Patience(self._caller, until)
        while not self.has_ended:
            opened = time.monotonic()
            if opened >= until:
                raise DeadlineExceededError(
                    f"job {self.id} has not ended in time: it is {self.state}, and goes on"
                )
            seen = self._message
            error = self._read_stream(bar, min(_STREAM_TIMEOUT, until - opened))
            if self.has_ended or time.monotonic() >= until:
                continue
            lasted = time.monotonic() - opened >= _MIN_SOUND_STREAM
            patience.wait_after(error, came_further=lasted or self._message != seen)
            self.refresh()

    def _read_stream(self, bar: Bar, timeout: float) -> RemoteError:
        """Take what a stream tells until it ends, and return why it did."""
        request = training_pb2.WatchJobRequest(name=self._message.name)
        try:
            with self._caller.answers(request, training_pb2.WatchJobResponse, timeout) as responses:
                for response in responses:
                    self._message = response.job
                    _show(bar, self)
                    if self.has_ended:
                        break
        except RemoteError as error:
            if not is_transient(error):
                raise
            return error
        return UnavailableError(f"the curator stopped telling before job {self.id} had ended")

    def _done(self) -> Job:
        why = f": {printable(self.reason)}" if self.reason else ""
        if self.state == "failed":
            raise JobFailedError(f"job {self.id} failed{why}")
        if self.state == "cancelled":
            raise JobCancelledError(f"job {self.id} was cancelled{why}")
        return self

    def __repr__(self) -> str:
        return f"<Job {self.id}: {self.state}, {self.progress:.0%}>"

    def _repr_html_(self) -> str:
        return _pages.record("Training job", f"Job {self.id}", self.to_dict())


class JobPreview:
    """What a job would cost. Nothing was spent.

    Attributes
    ----------
    fits : bool
        Whether the budget allows it now.
    reason : str
        Why it does not fit; empty if it does.
    warnings : list of str
        What the owner should know first.
    """

    def __init__(self, response: training_pb2.PreviewJobResponse) -> None:
        self._response = response
        self.fits: bool = response.fits
        self.reason: str = response.reason
        self.warnings: List[str] = list(response.warnings)

    @property
    def cost(self) -> Dict[str, float]:
        """Epsilon and delta, and rho where rhos add up."""
        return describe("cost", self._response.cost)

    def releases(self) -> pd.DataFrame:
        """Return every release that would be made."""
        import pandas as pd

        return pd.DataFrame(self.to_dict()["releases"])

    def to_dict(self) -> Dict[str, Any]:
        """Return what ``coppice train preview --json`` prints."""
        return describe("job_preview", self._response)

    def __repr__(self) -> str:
        fits = "fits" if self.fits else f"does not fit: {self.reason}"
        return f"<JobPreview: epsilon {self.cost['epsilon']:g}, {fits}>"

    def _repr_html_(self) -> str:
        title = "Fits the budget" if self.fits else "Does not fit the budget"
        return _pages.record("Cost of a job", title, self.to_dict())


def job_spec(
    dataset: dataset_pb2.Dataset,
    algorithm: str,
    epsilon: Number,
    delta: Number,
    settings: Mapping[str, Any],
    public: Any,
) -> training_pb2.JobSpec:
    """Return what to train, as a message."""
    spec = training_pb2.JobSpec(
        dataset=dataset.name,
        algorithm=algorithm,
        epsilon_nanos=epsilon_nanos(epsilon),
        delta_atto=delta_atto(delta),
        settings={name: str(value) for name, value in settings.items()},
        without_public_rows=public is None,
    )
    if isinstance(public, str):
        if public != DATASET:
            raise ValueError(f"public={public!r}: must be 'dataset', None, or rows")
    elif public is not None:
        spec.public_rows.CopyFrom(public_block(public, from_message(dataset.schema)))
    return spec


def public_block(rows: Any, schema: Schema) -> dataset_pb2.RowBlock:
    """Return public rows as messages carry them."""
    table = Table(rows, schema, labelled=True)
    return table.block(0, len(table))


def preview_job(caller: Caller, spec: training_pb2.JobSpec) -> JobPreview:
    """Ask what a job would cost."""
    request = training_pb2.PreviewJobRequest(spec=spec)
    return JobPreview(
        caller.call(request, training_pb2.PreviewJobResponse, timeout=PLAN_TIMEOUT)
    )


def submit_job(
    caller: Caller,
    spec: training_pb2.JobSpec,
    *,
    job_id: Optional[str],
    model_id: Optional[str],
    request_id: Optional[str],
) -> Job:
    """Charge the job to the budget and queue it; a repeated call is charged once."""
    request = training_pb2.SubmitJobRequest(
        request_id=request_id or new_request_id(),
        job_id=new_id(job_id),
        model_id=new_id(model_id),
        spec=spec,
    )
    try:
        job = caller.call(request, training_pb2.SubmitJobResponse).job
    except ResourceExhaustedError as error:
        if preview_job(caller, spec).fits:  # another limit than the budget's
            raise
        exhausted = BudgetExhaustedError(str(error))
        exhausted.request_id = error.request_id
        raise exhausted from None
    except RemoteError as error:
        if is_transient(error):
            error.args = (
                f"{error}; if you try again, give request_id={request.request_id!r}: should the "
                "job have been taken after all, it is not paid for twice",
            )
        raise
    for warning in job.warnings:
        warnings.warn(printable(warning), stacklevel=3)
    return Job(caller, job)


def _get_job(caller: Caller, name: str) -> training_pb2.Job:
    request = training_pb2.GetJobRequest(name=name)
    return caller.call(request, training_pb2.GetJobResponse).job


def _show(bar: Bar, job: Job) -> None:
    left = job.to_dict()["seconds_left"]
    note = f"{job.state}, about {left:.0f} s left" if left else job.state
    bar.show(job.progress, note)
