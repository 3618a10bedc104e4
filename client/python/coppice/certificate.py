"""What a model cost in privacy."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Optional

from coppice import _core
from coppice._html import frame


@dataclass(frozen=True)
class RelayPromise:
    """What holds, besides, towards a curator that does not collude with the study's relay.

    It rests on the relay, which has to have dealt the curator's tickets at random and told nobody who
    got which, and on so many reports of each batch being honest. If the two collude, the certificate's
    epsilon is all there is.

    Attributes
    ----------
    epsilon, delta : float
        The promise.
    honest_reports : int
        How many reports of each batch must come from devices that follow the protocol and tell nobody
        their ticket.
    dishonest : float
        The share of reports that is assumed to be dishonest.
    batches : int
        How many batches the model rests on.
    least_accepted : int
        Accepted reports of the smallest batch.
    relay_key_id : str
        Whose promise it is: the first 16 bytes of SHA-256 of the relay's key.
    """

    epsilon: float
    delta: float
    honest_reports: int
    dishonest: float
    batches: int
    least_accepted: int
    relay_key_id: str


@dataclass(frozen=True)
class Certificate:
    """What a model cost in privacy and what it assumed: every release, and what they add up to.

    Attributes
    ----------
    epsilon, delta : float
        In all.
    neighbouring : str
        The relation that the guarantee is about, in words.
    algorithm, mechanism : str
        What made the model; of a local study, what devices hid their rows with.
    releases : list of dict
        Everything that left the private rows, with what each time cost.
    public_inputs : list of str
        What was used without protection.
    reports : int
        How many randomized reports it rests on; 0 if it was trained on rows that a curator holds.
    public_rows : int
        How many public rows were used.
    public_rows_sha256 : str
        Which, if training started from them: their digest, as ``coppice model verify --public`` computes
        it; else empty.
    code_version : str
        The version of the program that made it.
    diagnosis : str
        What the estimator made of its evidence; empty if it cannot tell.
    words : list of dict
        What `str` says: sections with a title and sentences.
    questions : list of dict
        The questions of NIST SP 800-226: `question`, `answer`, and `to_say`, what only a person can say.
    relay : RelayPromise or None
        The promise towards a curator that does not collude with the study's relay; None: there is none.
    """

    epsilon: float
    delta: float
    neighbouring: str
    algorithm: str
    mechanism: str
    releases: list[dict[str, Any]] = field(repr=False)
    public_inputs: list[str] = field(repr=False)
    reports: int = field(repr=False)
    public_rows: int = field(repr=False)
    public_rows_sha256: str = field(repr=False)
    code_version: str = field(repr=False)
    diagnosis: str = field(repr=False)
    words: list[dict[str, Any]] = field(repr=False)
    questions: list[dict[str, Any]] = field(repr=False)
    relay: Optional[RelayPromise] = None

    def __str__(self) -> str:
        lines: list[str] = []
        for section in self.words:
            lines += ["", section["title"], *("  " + sentence for sentence in section["sentences"])]
        return "\n".join(lines[1:])

    def to_frame(self) -> Any:
        """Return the releases as a DataFrame."""
        import pandas

        return pandas.DataFrame(self.releases)

    def to_html(self) -> str:
        """Return the page for people."""
        page = {
            "model": self.algorithm,
            "verified": True,  # a model whose releases do not add up cannot be loaded
            "epsilon": self.epsilon,
            "delta": self.delta,
            "neighbouring": self.neighbouring,
            "words": self.words,
            "questions": self.questions,
        }
        return _core.certificate_page(json.dumps(page))

    def _repr_html_(self) -> str:
        return frame(self.to_html())
