"""Uploads a table block by block, and continues where a broken stream ended."""

from __future__ import annotations

from typing import Any, Callable, Iterator

from coppice.remote._calls import Caller, Patience, is_transient
from coppice.remote._tables import Table
from coppice.remote._units import id_of
from coppice.remote.errors import DataLossError, FailedPreconditionError, RemoteError
from coppice.v1 import dataset_pb2

# A stream is short, so that each has the deadline of one call and the answer comes soon.
_BLOCKS_PER_STREAM = 16
_STREAM_TIMEOUT = 60.0


class Upload:
    """Sends the rows of one dataset, of which it may have some already.

    Parameters
    ----------
    dataset : dataset_pb2.Dataset
        As it is now.
    show : callable
        Told how many rows the dataset has, now and then.
    """

    def __init__(
        self, caller: Caller, dataset: dataset_pb2.Dataset, show: Callable[[int], None]
    ) -> None:
        self._caller = caller
        self.dataset = dataset
        self._show = show
        self._sent = dataset.rows  # rows that may have arrived

    def send(self, table: Table, first_row: int, *, complete: bool) -> None:
        """Send a table whose first row is row `first_row` of the dataset.

        Parameters
        ----------
        complete : bool
            Whether these rows are the last.
        """
        patience = Patience(self._caller)
        end = first_row + len(table)
        while not self._has(end, complete):
            before = self.dataset.rows
            try:
                self._send_stream(table, first_row, complete)
            except RemoteError as error:
                # The curator may not have finished with the stream that broke: it then has another
                # number of rows than the next one says.
                if not is_transient(error) and not isinstance(error, FailedPreconditionError):
                    raise
                self._ask_where(error)
                came_further = self.dataset.rows > before
                if is_transient(error):
                    patience.wait_after(error, came_further=came_further)
                elif not came_further:
                    raise

    def _has(self, end: int, complete: bool) -> bool:
        if complete:
            ready: bool = self.dataset.state == dataset_pb2.DATASET_STATE_READY
            return ready and self.dataset.rows == end
        return bool(self.dataset.rows >= end)

    def _send_stream(self, table: Table, first_row: int, complete: bool) -> None:
        begin = self.dataset.rows
        requests = self._requests(table, first_row, begin, complete)
        response = self._caller.send(
            requests,
            dataset_pb2.UploadRowsRequest,
            dataset_pb2.UploadRowsResponse,
            self._caller.limit(_STREAM_TIMEOUT),
        )
        self.dataset = response.dataset
        self._show(self.dataset.rows)
        if self.dataset.rows != self._sent:
            raise DataLossError(
                f"the curator has {self.dataset.rows} rows where {self._sent} were sent; "
                "delete the dataset"
            )

    def _requests(
        self, table: Table, first_row: int, begin: int, complete: bool
    ) -> Iterator[dataset_pb2.UploadRowsRequest]:
        step = table.rows_per_upload()
        all_rows = first_row + len(table)
        for _ in range(_BLOCKS_PER_STREAM):
            end = min(begin + step, all_rows)
            last = end == all_rows
            self._sent = max(self._sent, end)
            yield dataset_pb2.UploadRowsRequest(
                dataset=self.dataset.name,
                first_row=begin,
                rows=table.block(begin - first_row, end - first_row),
                complete=complete and last,
            )
            if last:
                return
            begin = end

    def _ask_where(self, why: RemoteError) -> None:
        """Ask how far the stream that ended with `why` came."""
        before = self.dataset.rows
        self.dataset = get_dataset(self._caller, self.dataset.name)
        self._show(self.dataset.rows)
        if not before <= self.dataset.rows <= self._sent:
            raise FailedPreconditionError(
                f"somebody else uploads to dataset {id_of(self.dataset.name)}: it has "
                f"{self.dataset.rows} rows, of which {self._sent} were sent from here; delete it, "
                "and upload from one place"
            ) from why


def get_dataset(caller: Caller, name: str) -> Any:
    """Return a dataset as it is now, with its ledger."""
    request = dataset_pb2.GetDatasetRequest(name=name)
    return caller.call(request, dataset_pb2.GetDatasetResponse).dataset
