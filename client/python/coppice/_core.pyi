"""The C++ core, typed. What is not exported by `coppice` is for the package alone."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, Optional, Union

import numpy as np
import numpy.typing as npt

__version__: str

class CoppiceError(RuntimeError): ...
class BudgetExhausted(CoppiceError): ...

class Feature:
    @property
    def name(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def min(self) -> float: ...
    @property
    def max(self) -> float: ...
    @property
    def values(self) -> list[str]: ...
    @property
    def unit(self) -> str: ...
    @property
    def integer(self) -> bool: ...
    @property
    def public(self) -> bool: ...

class Schema:
    @staticmethod
    def from_json(text: str) -> Schema: ...
    @staticmethod
    def from_file(path: str) -> Schema: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> Schema: ...
    def to_bytes(self) -> bytes: ...
    def to_json(self) -> str: ...
    @property
    def features(self) -> list[Feature]: ...
    @property
    def label(self) -> str: ...
    @property
    def classes(self) -> list[str]: ...
    @property
    def target(self) -> Optional[tuple[float, float]]: ...

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
    @property
    def importances(self) -> list[float]: ...
    @property
    def num_trees(self) -> int: ...
    def summary(self) -> str: ...
    def render(self, tree: int = 0, format: str = "text") -> str: ...
    def predict(self, columns: Sequence[npt.NDArray[np.float64]]) -> dict[str, npt.NDArray[Any]]: ...
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

def write_file(path: str, data: bytes, replace: bool) -> None: ...
def algorithms() -> list[dict[str, Any]]: ...
def plan(
    schema: Schema,
    algorithm: str,
    epsilon: float,
    delta: str,
    settings: Mapping[str, str],
    accountant: Optional[Accountant] = None,
) -> dict[str, Any]: ...
def train(
    table: Table,
    algorithm: str,
    epsilon: float,
    delta: str,
    settings: Mapping[str, str],
    accountant: Optional[Accountant],
    fit: str,
    progress: Optional[Callable[[float], None]] = None,
) -> tuple[Model, str]: ...
def simulate(
    public_rows: Table, private_rows: Table, epsilon: float, mechanism: Optional[str] = None
) -> Model: ...

class Policy:
    def __init__(
        self,
        max_epsilon: float,
        *,
        max_total_epsilon: Optional[float] = None,
        max_epsilon_direct: Optional[float] = None,
        opted_out: bool = False,
        max_waiting: Optional[int] = None,
        own_schema: Optional[Schema] = None,
        shows: Sequence[str] = (),
    ) -> None: ...

class Journal:
    def __init__(self, path: str) -> None: ...
    def spent(self, subject: str) -> float: ...
    def entries(self) -> list[dict[str, Any]]: ...

class Privatizer:
    def __init__(self, terms: bytes, trees: Sequence[bytes]) -> None: ...
    @property
    def epsilon(self) -> float: ...
    def privatize(self, row: Mapping[str, Any], ticket: bytes) -> dict[str, Any]: ...

Path = Union[str, PathLike[str]]
Row = Union[Mapping[str, Any], Callable[[], Mapping[str, Any]]]

class Device:
    def __init__(
        self,
        server: str,
        policy: Policy,
        journal: Journal,
        *,
        subject: str = "this device",
        ca: str = "",
        curator_key: str = "",
        demand_pin: bool = False,
        min_reports: int = 0,
        insecure: bool = False,
    ) -> None: ...
    def answer(self, study: str, read: Row, submission_token: bytes = b"") -> None: ...
    def deliver(self) -> dict[str, Any]: ...
    def give_up(self, study: str) -> None: ...

class RelayedDevice:
    """A device that answers studies through a relay, so that the curator cannot tell whose report is whose.

    It decides by the relay's signed terms before it has a ticket, and nothing declines after that. What it
    sends is randomized, sealed for the curator, and goes to this relay alone. `docs/relay.md` says what a
    relay promises and what breaks the promise.

    Calls from several threads wait for one another.

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
        The longest offer that the device has room for, in bytes; reading one takes 64 times as much memory.
    max_send_delay : int
        In seconds: a report is sent at a random time between a tenth of this and all of it after its ticket
        came. 0: at once.
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
            because silence would tell, and the error goes to `sys.unraisablehook`.

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
            If no answer to it waits.
        """

def certificate_page(json_text: str) -> str: ...
def plan_page(json_text: str) -> str: ...
def budget_page(json_text: str) -> str: ...
def record_page(kind: str, title: str, json_text: str) -> str: ...
def tree_page(id: str, model: Model) -> str: ...
