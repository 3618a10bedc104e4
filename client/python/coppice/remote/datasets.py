"""Datasets: tables of an owner who trusts the curator with them, each under a privacy budget."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import TYPE_CHECKING, Any, Dict, Iterator, Mapping, Optional, Tuple

from coppice._arrow import arrow_parts, is_arrow
from coppice._rows import tell_what_changed
from coppice.schema import as_schema
from coppice.remote import _pages
from coppice.remote._calls import Caller, new_request_id
from coppice.remote._describe import describe, frame_of
from coppice.remote._progress import make_bar
from coppice.remote._tables import Table, from_message, to_message
from coppice.remote._units import Number, delta_atto, epsilon_nanos, id_of, make_name, new_id
from coppice.remote._uploads import Upload, get_dataset
from coppice.remote.errors import FailedPreconditionError, RemoteError
from coppice.remote.jobs import (
    DATASET,
    Job,
    JobPreview,
    Jobs,
    job_spec,
    preview_job,
    public_block,
    submit_job,
)
from coppice.v1 import dataset_pb2

if TYPE_CHECKING:
    import pandas as pd

    from coppice import Schema

_COMPOSITIONS = {
    "basic": dataset_pb2.COMPOSITION_BASIC,
    "zcdp": dataset_pb2.COMPOSITION_ZERO_CONCENTRATED,
}
_NEIGHBOURS = {
    "add_or_remove_row": dataset_pb2.NEIGHBOURS_ADD_OR_REMOVE_ROW,
    "change_label": dataset_pb2.NEIGHBOURS_CHANGE_LABEL,
}


class Datasets:
    """The datasets of a curator that the caller may see. `Client.datasets` is one."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def list(self) -> pd.DataFrame:
        """Return all datasets that the caller may see, by their ids."""
        request = dataset_pb2.ListDatasetsRequest(page_size=1000)
        pages = self._caller.pages(request, dataset_pb2.ListDatasetsResponse)
        datasets = [describe("dataset_briefly", one) for page in pages for one in page.datasets]
        return frame_of(datasets, describe("dataset_briefly", dataset_pb2.Dataset()))

    def get(self, dataset_id: str) -> Dataset:
        """Return a dataset as it is now, with its ledger.

        Parameters
        ----------
        dataset_id : str
            The id of the dataset.

        Raises
        ------
        NotFoundError
            If there is no such dataset, or it belongs to somebody else.
        """
        name = make_name("datasets", dataset_id)
        return Dataset(self._caller, get_dataset(self._caller, name))

    def create(
        self,
        rows: Any,
        schema: Any,
        epsilon_total: Number,
        *,
        delta_total: Number = 0,
        composition: Optional[str] = None,
        neighbours: Optional[str] = None,
        dataset_id: Optional[str] = None,
        unlabelled: bool = False,
        progress: Optional[bool] = None,
        request_id: Optional[str] = None,
        accept_leak: bool = False,
        public: Any = None,
        reserve: float = 0.0,
    ) -> Dataset:
        """Upload a table under a privacy budget, which cannot be changed.

        Parameters
        ----------
        rows : DataFrame, Arrow table, an iterator of them, or None
            As `Dataset.upload` takes them; None: nothing is uploaded yet.
        schema : Schema, dict, JSON text or path
            Its bounds, categories and classes are public.
        epsilon_total : number
            What all jobs on it together may cost, for good.
        delta_total : number
            The same for delta; 0: pure differential privacy only.
        composition : {"basic", "zcdp"}, optional
            How the costs of jobs add up: ``basic``, their epsilons; ``zcdp`` allows more small
            jobs for a `delta_total` such as 1e-6.
        neighbours : {"add_or_remove_row", "change_label"}, optional
            What is hidden: whether a row is there at all, or the label of a row alone. If not given,
            the curator chooses the one that protects more.
        dataset_id : str, optional
            The id of the new dataset; the curator chooses one otherwise.
        unlabelled : bool
            Whether rows whose class is missing are taken; they count where no class is needed.
        progress : bool or None
            Whether to show how far the upload is; None: in a terminal or a notebook.
        request_id : str, optional
            Repeating it returns the dataset that it made; a new one otherwise.
        accept_leak : bool
            Whether the schema may have columns that are marked as read from private rows. They leak
            what is in the rows, which no epsilon covers; certificates of models say so.
        public : DataFrame or Arrow table, optional
            Rows that everybody may see, with the label, for jobs to start from; at most 20,000. Nothing
            protects them: a model may contain them. Choose them without looking at `rows`.
        reserve : float
            The share of rows that is kept for evaluations, such as 0.1: a coin decides for each row.
            Training never reads them, and evaluations are charged to an account of their own, also of
            `epsilon_total`. 0: none.
        """
        if not 0 <= reserve < 1:
            raise ValueError(f"reserve={reserve!r}: must be at least 0 and below 1")
        checked = as_schema(schema)
        cap = dataset_pb2.BudgetCap(
            epsilon_nanos=epsilon_nanos(epsilon_total, "epsilon_total"),
            delta_atto=delta_atto(delta_total, "delta_total"),
            reserve_millionths=round(reserve * 1_000_000),
        )
        if composition is not None:
            cap.composition = _choice("composition", composition, _COMPOSITIONS)
        if neighbours is not None:
            cap.neighbours = _choice("neighbours", neighbours, _NEIGHBOURS)
        if composition == "zcdp" and cap.delta_atto == 0:
            raise ValueError("delta_total: must be above 0 for composition='zcdp'")
        request = dataset_pb2.CreateDatasetRequest(
            request_id=request_id or new_request_id(),
            dataset_id=new_id(dataset_id),
            schema=to_message(checked),
            cap=cap,
            accept_leak=accept_leak,
        )
        if public is not None:
            request.public_rows.CopyFrom(public_block(public, checked))
        # Rows that do not fit are found before a budget is opened for them.
        tables = None if rows is None else _tables(rows, checked, unlabelled)
        response = self._caller.call(request, dataset_pb2.CreateDatasetResponse)
        dataset = Dataset(self._caller, response.dataset)
        if tables is not None:
            dataset._upload(tables, progress)
        return dataset.refresh()


class Dataset:
    """A dataset as it was when it was asked for; `refresh` asks again."""

    def __init__(self, caller: Caller, message: dataset_pb2.Dataset) -> None:
        self._caller = caller
        self._message = message

    @property
    def id(self) -> str:
        """The id."""
        return id_of(self._message.name)

    @property
    def state(self) -> str:
        """``uploading``, ``ready`` or ``deleted``."""
        return str(self._brief["state"])

    @property
    def rows(self) -> int | None:
        """How many rows it has, exactly; None to whoever may see it and does not own it."""
        return None if self._message.rows_hidden else int(self._message.rows)

    @property
    def schema(self) -> Schema:
        """What rows look like."""
        return from_message(self._message.schema)

    @property
    def epsilon_total(self) -> float:
        """What all jobs together may cost."""
        return float(self._brief["epsilon_total"])

    @property
    def epsilon_spent(self) -> float:
        """What was charged and not refunded."""
        return float(self._brief["epsilon_spent"])

    @property
    def epsilon_left(self) -> float:
        """The largest epsilon that one more release of pure differential privacy may cost."""
        return float(self._brief["epsilon_left"])

    @property
    def reserve(self) -> float:
        """The share of rows that evaluations read and training does not; 0: none."""
        return float(self.to_dict().get("reserve", 0.0))

    @property
    def reserve_epsilon_spent(self) -> float:
        """What was charged to the account of the reserve."""
        return float(self.to_dict().get("reserve_epsilon_spent", 0.0))

    @property
    def reserve_epsilon_left(self) -> float:
        """The largest epsilon that one more release from the reserve may cost."""
        return float(self.to_dict().get("reserve_epsilon_left", 0.0))

    @property
    def delta_total(self) -> float:
        """The delta that all jobs together may cost."""
        return float(self._brief["delta_total"])

    @property
    def delta_spent(self) -> float:
        """The delta that was charged; 0 where rhos add up."""
        return float(self._brief["delta_spent"])

    @property
    def rho_spent(self) -> Optional[float]:
        """The rho that was charged, where rhos add up."""
        rho: Optional[float] = self.to_dict().get("rho_spent")
        return rho

    @property
    def ledger_head(self) -> Optional[str]:
        """The hash of the ledger's last entry: note it, for `confirm_ledger` after a restore."""
        head: Optional[str] = self.to_dict().get("ledger_head")
        return head

    @property
    def hold(self) -> Optional[str]:
        """Why nothing of the budget can be spent now: ``unconfirmed`` or ``closed``, or None."""
        hold: Optional[str] = self.to_dict().get("hold")
        return hold

    @property
    def _brief(self) -> Dict[str, Any]:
        return describe("dataset_briefly", self._message)

    def to_dict(self) -> Dict[str, Any]:
        """Return what ``coppice dataset show --json`` prints."""
        return describe("dataset", self._message)

    def ledger(self) -> pd.DataFrame:
        """Return every entry of the ledger: what was charged and refunded, and when."""
        import pandas as pd

        return pd.DataFrame(self.to_dict()["ledger"]).drop(columns="releases", errors="ignore")

    def releases(self) -> pd.DataFrame:
        """Return everything that was released from the rows, job by job, evaluations included."""
        import pandas as pd

        made = []
        for entry in self.to_dict()["ledger"]:
            if entry["entry"] == "settled":
                job = entry["job"] if "job" in entry else entry["evaluation"]
                made += [{"job": job, **release} for release in entry["releases"]]
        columns = ["job", "what", "mechanism", "epsilon", "times", "part"]
        return pd.DataFrame(made, columns=None if made else columns)

    def refresh(self) -> Dataset:
        """Ask the curator again; returns the dataset itself."""
        self._message = get_dataset(self._caller, self._message.name)
        return self

    def upload(
        self, rows: Any, *, unlabelled: bool = False, progress: Optional[bool] = None
    ) -> Dataset:
        """Upload the rows, or continue an interrupted upload with the same rows.

        If the connection breaks, the upload continues from what the curator has.

        Parameters
        ----------
        rows : DataFrame, Arrow table, or an iterator of them
            Features and label by name, such as ``pandas.read_parquet`` or ``pandas.read_sql``
            returns, also with ``chunksize``. A table with ``__arrow_c_stream__``, as Polars and DuckDB
            have it, is read in parts of 65,536 rows.
        unlabelled : bool
            Whether rows whose class is missing are taken.
        progress : bool or None
            Whether to show how far it is; None: in a terminal or a notebook.
        """
        self.refresh()
        if self.state != "uploading":
            raise FailedPreconditionError(
                f"dataset {self.id} is {self.state}: nothing can be added to it; create another one"
            )
        self._upload(_tables(rows, self.schema, unlabelled), progress)
        return self.refresh()

    def _upload(self, tables: Iterator[Tuple[Table, bool]], progress: Optional[bool]) -> None:
        bar = make_bar(f"upload {self.id}", progress)
        total, notes = 0, Counter[str]()

        def show(stored: int) -> None:
            bar.show(stored / total if total else 0.0, f"{stored:,} rows")

        upload = Upload(self._caller, self._message, show)
        first_row = 0
        try:
            for table, last in tables:
                total = first_row + len(table)
                notes.update(table.notes)
                self._check_not_longer(total, last)
                upload.send(table, first_row, complete=last)
                first_row = total
        except (RemoteError, KeyboardInterrupt) as error:
            error.args = (
                f"{error}; what is stored stays: client.dataset({self.id!r}).upload(rows) goes on",
            )
            raise
        finally:
            bar.close()
            tell_what_changed(notes, total)

    def _check_not_longer(self, total: int, last: bool) -> None:
        if last and self._message.rows > total:
            raise ValueError(
                f"dataset {self.id}: has {self._message.rows} rows already, and these are only "
                f"{total}; go on with the rows that the upload began with"
            )

    def train(
        self,
        algorithm: str = "auto",
        *,
        epsilon: Number,
        delta: Number = 0,
        job_id: Optional[str] = None,
        model_id: Optional[str] = None,
        request_id: Optional[str] = None,
        public: Any = DATASET,
        **settings: Any,
    ) -> Job:
        """Charge a job to the budget, and queue it.

        Parameters
        ----------
        algorithm : str
            What to train; `Jobs.algorithms` lists them.
        epsilon, delta : number
            What the job costs in all.
        job_id, model_id : str, optional
            The ids of the job and of its model; the curator chooses otherwise.
        request_id : str, optional
            Repeating it returns the job that it made, paid for once; a new one otherwise.
        public : "dataset", None, DataFrame or Arrow table
            The public rows to start from, which nothing protects: those that the dataset was created
            with, if any; none; or these, with the label, of which the curator keeps no more than their
            digest once the job has begun.
        **settings
            Parameters of the algorithm; `Jobs.settings` lists them.

        Raises
        ------
        BudgetExhaustedError
            If what is left does not allow it. Nothing was spent.
        """
        spec = job_spec(self._message, algorithm, epsilon, delta, settings, public)
        return submit_job(
            self._caller, spec, job_id=job_id, model_id=model_id, request_id=request_id
        )

    def preview(
        self,
        algorithm: str = "auto",
        *,
        epsilon: Number,
        delta: Number = 0,
        public: Any = DATASET,
        **settings: Any,
    ) -> JobPreview:
        """Return what a job would cost, and whether the budget allows it. Spends nothing.

        Parameters
        ----------
        algorithm : str
            What to train; `Jobs.algorithms` lists them.
        epsilon, delta : number
            What the job would cost in all.
        public : "dataset", None, DataFrame or Arrow table
            As in `train`.
        **settings
            Parameters of the algorithm; `Jobs.settings` lists them.
        """
        spec = job_spec(self._message, algorithm, epsilon, delta, settings, public)
        return preview_job(self._caller, spec)

    def jobs(self) -> pd.DataFrame:
        """Return the jobs on this dataset, by their ids."""
        return Jobs(self._caller).list(self.id)

    def delete(self) -> None:
        """Delete the rows, for good. The ledger and the models stay, and what was spent stays spent."""
        request = dataset_pb2.DeleteDatasetRequest(name=self._message.name)
        self._caller.call(request, dataset_pb2.DeleteDatasetResponse)

    def confirm_ledger(self, head: str) -> Dataset:
        """Say that the ledger of a dataset on hold lacks no entry, so that jobs run again.

        Parameters
        ----------
        head : str
            The `ledger_head` that was noted before the store was restored.
        """
        try:
            digest = bytes.fromhex(head)
        except ValueError:
            raise ValueError("head: must be 64 hexadecimal digits, as ledger_head has") from None
        request = dataset_pb2.ConfirmLedgerRequest(name=self._message.name, head=digest)
        self._caller.call(request, dataset_pb2.ConfirmLedgerResponse)
        return self.refresh()

    def write_off_ledger(self, epsilon: Number = 0, delta: Number = 0) -> Dataset:
        """Charge what lost entries of a dataset on hold cost, and end the hold.

        Parameters
        ----------
        epsilon, delta : number
            What they cost; both 0: what the curator's spending journal says.
        """
        request = dataset_pb2.WriteOffLedgerRequest(
            name=self._message.name,
            epsilon_nanos=epsilon_nanos(epsilon) if epsilon else 0,
            delta_atto=delta_atto(delta),
        )
        self._caller.call(request, dataset_pb2.WriteOffLedgerResponse, repeatable=False)
        return self.refresh()

    def __repr__(self) -> str:
        return (
            f"<Dataset {self.id}: {self.state}, epsilon {self.epsilon_spent:g} of "
            f"{self.epsilon_total:g} spent>"
        )

    def _repr_html_(self) -> str:
        return _pages.budget(self.to_dict())


def _tables(rows: Any, schema: Schema, unlabelled: bool) -> Iterator[Tuple[Table, bool]]:
    """Encode rows, each part as it is needed, with whether it is the last. The first one is encoded at once."""
    if is_arrow(rows):
        rows = arrow_parts(rows)
    if not hasattr(rows, "__next__"):
        return iter([(_table_of_part(rows, 0, schema, unlabelled), True)])
    tables = _tables_of_parts(rows, schema, unlabelled)
    return itertools.chain([next(tables)], tables)


def _tables_of_parts(
    parts: Iterator[Any], schema: Schema, unlabelled: bool
) -> Iterator[Tuple[Table, bool]]:
    first_row = 0
    part = next(parts, None)
    if part is None:
        raise ValueError("rows: the iterator has no table")
    while part is not None:
        following = next(parts, None)
        table = _table_of_part(part, first_row, schema, unlabelled)
        yield table, following is None
        first_row += len(table)
        part = following


def _table_of_part(part: Any, first_row: int, schema: Schema, unlabelled: bool) -> Table:
    try:
        return Table(part, schema, labelled=True, allow_unlabelled=unlabelled, tell=False)
    except ValueError as error:
        if first_row > 0:  # the row that it names is one of the part
            error.args = (f"in the part of the rows that begins with row {first_row:,}: {error}",)
        raise


def _choice(name: str, text: str, choices: Mapping[str, Any]) -> Any:
    if text in choices:
        return choices[text]
    raise ValueError(f"{name}={text!r}: must be one of {', '.join(choices)}")
