"""The C++ core, typed. What is not exported by `coppice` is for the package alone."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, Optional, Union

import numpy as np
import numpy.typing as npt

__version__: str

class CoppiceError(RuntimeError):
    """What could not be done, and what to do about it: a device that declines, a file that is damaged.

    Values that cannot be used are a `ValueError` instead, what does not exist a `LookupError`, and what the
    system or the network refuses an `OSError`.
    """

class BudgetExhausted(CoppiceError):
    """There is no room for what was asked: in a budget, or for answers that wait. Nothing was released."""

def printable(text: bytes) -> str:
    """Return `text` with a replacement for each byte or character that may steer a terminal or cannot be seen."""

class Feature:
    """One feature of a `Schema`: a column of the rows. It is read only."""

    @property
    def name(self) -> str:
        """Name of the column."""

    @property
    def type(self) -> str:
        """``"numeric"`` or ``"categorical"``."""

    @property
    def min(self) -> float:
        """Public lower bound of a numeric feature, in its `unit`; a smaller number counts as this one."""

    @property
    def max(self) -> float:
        """Public upper bound of a numeric feature, in its `unit`; a larger number counts as this one."""

    @property
    def values(self) -> list[str]:
        """Public vocabulary of a categorical feature, in order; any other text is "other"."""

    @property
    def unit(self) -> str:
        """Unit of a numeric feature, for people, such as ``"mmHg"``; empty if the schema does not say."""

    @property
    def integer(self) -> bool:
        """Whether a numeric feature takes whole numbers only."""

    @property
    def public(self) -> bool:
        """Whether devices send it in the clear in a study, where the other features and the label are private."""

class Schema:
    """What a row looks like: features with public bounds or categories, and what is predicted.

    It is public: whoever sees a model or a study sees it. `coppice.declare_schema` makes one from bounds and
    categories, and ``from_json`` or ``from_file`` from the text of `coppice schema infer`. Schemas compare by
    value, can be pickled, and do not change.
    """

    @staticmethod
    def from_json(text: str) -> Schema:
        """Read a schema from the text of a schema file (docs/schema.md).

        Parameters
        ----------
        text : str
            JSON.

        Returns
        -------
        Schema

        Raises
        ------
        ValueError
            With everything that is wrong in it.
        """

    @staticmethod
    def from_file(path: str) -> Schema:
        """Read a schema file (docs/schema.md).

        Parameters
        ----------
        path : str
            The file.

        Returns
        -------
        Schema

        Raises
        ------
        FileNotFoundError
            If it cannot be read.
        ValueError
            With everything that is wrong in it.
        """

    @staticmethod
    def from_bytes(bytes: bytes) -> Schema:
        """Read a serialized `coppice.v1.Schema`.

        Parameters
        ----------
        bytes : bytes
            The message, as `to_bytes` writes it.

        Returns
        -------
        Schema

        Raises
        ------
        ValueError
            If they are not that of a schema.
        """

    def to_bytes(self) -> bytes:
        """Return the serialized `coppice.v1.Schema`."""

    def to_json(self) -> str:
        """Return the text of a schema file, as `from_json` reads it."""

    @property
    def features(self) -> list[Feature]:
        """The features, in the order of columns."""

    @property
    def label(self) -> str:
        """Name of the column that is predicted."""

    @property
    def classes(self) -> list[str]:
        """The classes that are predicted, in order; empty if a number is."""

    @property
    def target(self) -> Optional[tuple[float, float]]:
        """Lower and upper bound of the number that is predicted; None if a class is."""

class Table:
    def __init__(
        self,
        schema: Schema,
        columns: Sequence[npt.NDArray[np.float64]],
        answers: Optional[npt.NDArray[np.float64]] = None,
    ) -> None: ...
    @property
    def num_rows(self) -> int: ...
    @property
    def notes(self) -> dict[str, int]: ...
    @property
    def labels(self) -> npt.NDArray[np.uint32]: ...
    @property
    def targets(self) -> npt.NDArray[np.float64]: ...
    def column(self, feature: int) -> npt.NDArray[np.float64]: ...

class Model:
    @staticmethod
    def from_bytes(bytes: bytes) -> Model: ...
    @staticmethod
    def load(path: str) -> Model: ...
    def save(self, path: str, replace: bool = False) -> None: ...
    def to_bytes(self) -> bytes: ...
    @property
    def name(self) -> str: ...
    @property
    def schema(self) -> Schema: ...
    @property
    def certificate(self) -> dict[str, Any]: ...
    def registry_entry(self, today: str) -> str: ...
    @property
    def importances(self) -> list[float]: ...
    @property
    def num_trees(self) -> int: ...
    def summary(self) -> str: ...
    def render(self, tree: int = 0, format: str = "text") -> str: ...
    def predict(
        self, columns: Sequence[npt.NDArray[np.float64]]
    ) -> tuple[dict[str, npt.NDArray[Any]], dict[str, int]]: ...
    def export(self, format: str) -> bytes: ...
    def explain(self, columns: Sequence[npt.NDArray[np.float64]]) -> dict[str, Any]: ...
    def check_signature(self, curator_key: Optional[str] = None) -> None: ...

class Accountant:
    def __init__(
        self,
        path: str,
        epsilon: float,
        delta: str,
        composition: str,
        neighbours: str,
        may_create: bool,
    ) -> None: ...
    @property
    def path(self) -> str: ...
    def account(self) -> dict[str, Any]: ...

def parse_number(text: str) -> Optional[float]: ...
def distinct_bytes(
    addresses: npt.NDArray[np.int64],
    lengths: npt.NDArray[np.int64],
    missing: Optional[npt.NDArray[np.bool_]],
) -> tuple[npt.NDArray[np.int64], list[bytes]]: ...
def write_file(path: str, data: bytes, replace: bool) -> None: ...
def algorithms() -> list[dict[str, Any]]: ...
def plan(
    schema: Schema,
    algorithm: str,
    epsilon: float,
    delta: str,
    settings: Mapping[str, str],
    accountant: Optional[Accountant] = None,
    accept_leak: bool = False,
    public_rows: Optional[Table] = None,
) -> dict[str, Any]: ...
def train(
    table: Table,
    algorithm: str,
    epsilon: float,
    delta: str,
    settings: Mapping[str, str],
    accountant: Optional[Accountant],
    fit: str,
    accept_leak: bool = False,
    progress: Optional[Callable[[float], None]] = None,
    public_rows: Optional[Table] = None,
) -> tuple[Model, str]: ...
def evaluate(
    table: Table,
    model: Model,
    epsilon: float,
    by: str,
    reach: float,
    neighbours: str,
    accountant: Optional[Accountant],
    evaluation: str,
) -> tuple[bytes, str]: ...
def simulate(
    public_rows: Table,
    private_rows: Table,
    epsilon: float,
    mechanism: Optional[str] = None,
    accept_leak: bool = False,
) -> Model: ...

Path = Union[str, PathLike[str]]

class Policy:
    """What a device's owner agrees to. It decides before the row is read, and never by the row.

    Parameters
    ----------
    max_epsilon : float
        The largest epsilon of a report. A relayed report counts with its own epsilon, because the relay could
        collude with the curator.
    max_total_epsilon : float, optional
        The largest sum of epsilon over all reports of a subject, as its journal has them; no limit if not
        given.
    max_epsilon_direct : float, optional
        The largest epsilon of a report that goes to the curator itself, where more may go through a relay.
    opted_out : bool
        The owner takes no part: no offer is fetched, and nothing is answered.
    max_waiting : int, optional
        How many answers may wait for delivery; at this number no further study is answered.
    own_schema : Schema, optional
        What the rows look like: studies that do not agree with it are declined.
    allow_in_clear : sequence of str
        Names of features that may be sent in the clear where a study marks them as public. A study that asks
        for any other is declined.
    join_ids : sequence of str
        Names of ids by which studies may join. A report shows the text of such a column as it is, so never
        name a feature here; with `own_schema`, a study that would join by one of its columns is declined.
    shows : sequence of str
        The earlier name of `allow_in_clear`; the names of both are allowed.

    Raises
    ------
    ValueError
        If an epsilon is not above 0, or too large.
    """

    def __init__(
        self,
        max_epsilon: float,
        *,
        max_total_epsilon: Optional[float] = None,
        max_epsilon_direct: Optional[float] = None,
        opted_out: bool = False,
        max_waiting: Optional[int] = None,
        own_schema: Optional[Schema] = None,
        allow_in_clear: Sequence[str] = (),
        join_ids: Sequence[str] = (),
        shows: Sequence[str] = (),
    ) -> None: ...

class Journal:
    """A device's memory of its answers, by subject and study: a file that one process holds.

    Devices of one subject that share it answer one after the other, also where one is a `RelayedDevice`, so that
    `Policy.max_total_epsilon` holds for all of them together.

    Every answer is on the disk before it is sent. Whoever loses the file loses the account of what was spent,
    and a row could be randomized again. A child after `fork` is refused every use.

    Parameters
    ----------
    path : path
        The file, which is made if there is none.

    Raises
    ------
    OSError
        If it cannot be opened, or another process holds it.
    CoppiceError
        If it is damaged, or a later version wrote it.
    """

    def __init__(self, path: Path) -> None: ...
    def spent(self, subject: str) -> float:
        """Return the epsilon that all answers of a subject add up to; 0 if it gave none.

        Parameters
        ----------
        subject : str
            Whose rows: ``"this device"`` unless the device was given another.
        """

    def entries(self) -> list[dict[str, Any]]:
        """Return every answer of all subjects, oldest first.

        Returns
        -------
        list of dict
            ``"subject"``, ``"study"``, ``"epsilon"``, ``"delivered"``, ``"payload_bytes"`` of what waits (the
            randomized report or, for a relay, the encrypted one), and ``"relayed"``, whether it waits for a
            relay. What was sent is forgotten once an answer is delivered, refused or given up.
        """

class Privatizer:
    """Turns one row into one randomized report, for programs with a transport and a memory of their own.

    It remembers nothing: **the program must see to it that a row is randomized once per study**, because two
    reports of a row cost its epsilon twice. `Device` does.

    Parameters
    ----------
    terms : bytes
        The study's terms, as the curator sent them (`GetOfferResponse.terms`). The program must check who
        signed them.
    trees : sequence of bytes
        All trees of the study, as the curator sent them (`GetOfferResponse.forest`).

    Raises
    ------
    ValueError
        If these are not terms, or trees of them.
    CoppiceError
        If bytes are damaged.
    """

    def __init__(self, terms: bytes, trees: Sequence[bytes]) -> None: ...
    @property
    def epsilon(self) -> float:
        """Privacy of each report."""

    def privatize(self, row: Mapping[str, Any], ticket: bytes) -> dict[str, Any]:
        """Randomize a row.

        Parameters
        ----------
        row : mapping
            Names to values. What is left out, or does not fit the schema, is missing.
        ticket : bytes
            The ticket that the curator gave to this row, 32 bytes.

        Returns
        -------
        dict
            ``"study"``, ``"ticket"``, ``"payload"`` and ``"public_values"``: what a message of reports seals (docs/protocol.md).

        Raises
        ------
        ValueError
            If the ticket is none.
        OSError
            If the system's random source fails.
        """

Row = Union[Mapping[str, Any], Callable[[], Mapping[str, Any]]]

class Device:
    """A device that answers studies of a curator: from the question to the delivery.

    Each subject answers a study once, with the same bytes at every try. Whether it answers depends on the
    policy, the offer and the journal, and never on the row. Studies whose reports come through a relay are
    declined: `RelayedDevice` answers these.

    Answers from several threads wait for one another. The function that reads the row, and handlers of signals
    meanwhile, must not let the device answer: that raises `CoppiceError`.

    Parameters
    ----------
    server : str
        Where coppiced listens, ``HOST:PORT``.
    policy : Policy
        What the device's owner agrees to.
    journal : Journal
        The device's memory. Devices of several subjects may share it.
    subject : str
        Whose row it is: each subject answers a study once.
    ca : path, optional
        PEM file of the authority that signed the curator's certificate; the system's authorities if not given.
    curator_key : str or path, optional
        The curator's public key, ``"ed25519:..."`` or a file of it. If not given, the key that is seen first is
        trusted from then on.
    demand_pin : bool
        Answer nothing without a `curator_key`.
    min_reports : int
        Fewest reports that a model may be built from.
    max_offer_bytes : int
        The longest tree, with its path, that the device has room for, 1 to 16777216 bytes; reading one takes up
        to 64 times as much memory.
    insecure : bool
        No TLS, on a loopback address only.

    Raises
    ------
    ValueError
        If an argument cannot be used, or a file cannot be read.
    """

    def __init__(
        self,
        server: str,
        policy: Policy,
        journal: Journal,
        *,
        subject: str = "this device",
        ca: Optional[Path] = None,
        curator_key: Optional[Path] = None,
        demand_pin: bool = False,
        min_reports: int = 0,
        max_offer_bytes: int = 1048576,
        insecure: bool = False,
    ) -> None: ...
    def answer(self, study: str, read: Row, submission_token: bytes = b"") -> None:
        """Randomize the row for a study, and keep the report in the journal.

        Nothing is sent before `deliver`. A study that was answered before is left alone.

        Parameters
        ----------
        study : str
            The study's id.
        read : mapping or function
            The row, names to values, or a function without arguments that returns it. It is called once,
            after the policy agreed. What it leaves out is missing; if it raises, all is missing, because
            silence would tell, and the error goes to `sys.unraisablehook`. Ctrl-C is raised once the answer
            is kept.
        submission_token : bytes
            The token of this row, in studies that ask for one.

        Raises
        ------
        CoppiceError
            If the device declines, in words for its owner, or the curator's offer is damaged.
        BudgetExhausted
            If too many answers wait, or the curator's limits have no room.
        LookupError
            If the curator does not know the study.
        ValueError
            If the study is joined by an id, and the row has none.
        OSError
            If the curator cannot be reached, or the journal cannot be written.
        TypeError
            If `read` is neither a mapping nor a function.
        """

    def deliver(self) -> dict[str, Any]:
        """Send what waits for this curator. Call it whether or not `answer` succeeded.

        Returns
        -------
        dict
            ``"delivered"``, the number of reports that the curator counted, now or before;
            ``"of_other_curators"``, the number that is kept for others; ``"unknown"``, studies that this
            curator does not know, whose reports are kept; ``"refused"``, for each report that was refused
            for good, why.

        Raises
        ------
        OSError
            If the curator cannot be reached, or the journal cannot be written. What was not sent is kept.
        CoppiceError
            If the curator does not prove that it is the one that was answered.
        """

    def give_up(self, study: str) -> None:
        """End the waiting of an answer, which is not delivered then. Its epsilon stays spent.

        Parameters
        ----------
        study : str
            The study's id.

        Raises
        ------
        LookupError
            If there is no answer to it.
        """

class RelayedDevice:
    """A device that answers studies through a relay, so that the curator cannot tell whose report is whose.

    It decides by the relay's signed terms before it has a ticket, and nothing declines after that. What it
    sends is randomized, sealed for the curator, and goes to this relay alone. `docs/relay.md` says what a
    relay promises and what breaks the promise.

    Calls from several threads wait for one another. The function that reads the row, and handlers of signals,
    must not call a device that is in a call of their thread: that raises `CoppiceError`.

    Parameters
    ----------
    server : str
        Where coppice-relay listens, ``HOST:PORT``.
    policy : Policy
        What the device's owner agrees to. `max_epsilon` bounds a relayed report, too.
    journal : Journal
        The device's memory. Devices of several subjects may share it.
    relay_key : str or path
        The relay's public key, ``"ed25519:..."`` or a file of it, from the relay's operator: never from the
        curator.
    curator_key : str or path
        The curator's public key, ``"ed25519:..."`` or a file of it, from a source that the relay does not
        control.
    ca : path
        PEM file of the authority that signed the relay's certificate, from the relay's operator. Needed
        unless `insecure`.
    cert, key : path, optional
        PEM files of the device's certificate and of its private key, where the relay asks for one.
    token_file : path, optional
        File of the token that the relay's operator gave this device, one line. It is shown where a ticket is
        taken, and in no other call.
    subject : str
        Whose row it is: each subject answers a study once.
    min_batch : int
        Fewest reports, 1000 to 16777216, among which the curator finds the answer.
    max_offer_bytes : int
        The longest offer that the device has room for, 1 to 16777216 bytes; reading one takes 64 times as much
        memory.
    max_send_delay : int
        In seconds: a report is sent at a random time between a tenth of this and all of it after its ticket
        came. 0: at once. Where the row's function takes longer than the drawn time, the report goes as soon as
        it may, and the time of sending tells how long the row took: choose ten times what the row takes at most.
    min_reports : int
        Fewest reports that a model may be built from.
    insecure : bool
        No TLS, on a loopback address only.

    Raises
    ------
    ValueError
        If an argument cannot be used, or a file cannot be read.
    """

    def __init__(
        self,
        server: str,
        policy: Policy,
        journal: Journal,
        *,
        relay_key: Path,
        curator_key: Path,
        ca: Optional[Path] = None,
        cert: Optional[Path] = None,
        key: Optional[Path] = None,
        token_file: Optional[Path] = None,
        subject: str = "this device",
        min_batch: int = 1000,
        max_offer_bytes: int = 1048576,
        max_send_delay: int = 60,
        min_reports: int = 0,
        insecure: bool = False,
    ) -> None: ...
    def answer(self, study: str, read: Row) -> None:
        """Take a ticket of a study, randomize the row, and keep the sealed answer in the journal.

        Nothing is sent before `deliver`. A study that was answered before is left alone.

        Parameters
        ----------
        study : str
            The study's id.
        read : mapping or function
            The row, names to values, or a function without arguments that returns it. It is called once,
            when nothing can decline any more. What it leaves out is missing; if it raises, all is missing,
            because silence would tell, and the error goes to `sys.unraisablehook`. Ctrl-C is raised once the
            answer is kept.

        Raises
        ------
        CoppiceError
            If the device declines, in words for its owner, or the relay's answer is none.
        BudgetExhausted
            If too many answers wait, or the relay has no ticket left for this device.
        LookupError
            If the relay does not know the study.
        OSError
            If the relay cannot be reached, or the journal cannot be written.
        TypeError
            If `read` is neither a mapping nor a function.
        """

    def deliver(self) -> dict[str, Any]:
        """Wait for the time of sending, then send what waits for this relay.

        The time was drawn before the ticket was taken. What an earlier process left waits for a time that is
        drawn anew. Other threads run meanwhile, and Ctrl-C ends the wait: nothing is sent then, and the next
        call waits for what is left of it.

        Returns
        -------
        dict
            ``"stored"``, the number of reports that the relay has on its disk, and ``"lost"``, for each
            report that is lost for good, why. Its epsilon stays spent.

        Raises
        ------
        OSError
            If the relay cannot be reached, or the journal cannot be written. What was not sent is kept.
        KeyboardInterrupt
            On Ctrl-C, in the main thread.
        """

    def give_up(self, study: str) -> None:
        """End the waiting of an answer, which is not delivered then. Its epsilon stays spent.

        Parameters
        ----------
        study : str
            The study's id.

        Raises
        ------
        LookupError
            If there is no answer to it.
        """

def describe(kind: str, message: bytes) -> str: ...
def study_settings(settings: Mapping[str, str]) -> bytes: ...
def certificate_page(json_text: str) -> str: ...
def plan_page(json_text: str) -> str: ...
def budget_page(json_text: str) -> str: ...
def record_page(kind: str, title: str, json_text: str) -> str: ...
def tree_page(id: str, model: Model) -> str: ...

class PostgresQuery:
    """A query in a PostgreSQL database, in a transaction that can write nothing.

    Parameters
    ----------
    uri : str
        As libpq takes it.
    query : str
        One SELECT.
    seconds : float
        How long the query may take.
    """

    def __init__(self, uri: str, query: str, seconds: float) -> None: ...
    @property
    def columns(self) -> list[tuple[str, str]]:
        """Each column's name and kind: ``number``, ``text`` or ``boolean``."""

    def read(self, bytes: int) -> bytes:
        """Return at most so many bytes of the rows as CSV with a header; empty at their end."""
