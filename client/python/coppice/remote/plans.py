"""The accuracy to expect of a study, from its public rows alone."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple, Union

from coppice.schema import as_schema
from coppice.remote import _pages
from coppice.remote._calls import PLAN_TIMEOUT, Caller
from coppice.remote._describe import describe
from coppice.remote._public_rows import AUTO, study_request
from coppice.remote._relay import honest_reports, set_batches
from coppice.remote._units import Number, epsilon_nanos
from coppice.v1 import study_pb2

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


class Plan:
    """The forecast of a study, for each number of devices and each epsilon.

    Attributes
    ----------
    advice : str
        What to do, in a sentence.
    public_rows : int
        How many public rows the forecast rests on.
    effective_cells : float
        How many cells of equal size would tell rows apart as well as the forest does.
    baseline : float or None
        What always answering the most frequent class scores on the public rows, or by how much
        always answering their mean errs. None without public labels.
    """

    def __init__(
        self, study: study_pb2.CreateStudyRequest, response: study_pb2.PreviewStudyResponse
    ) -> None:
        self._response = response
        self._relay = response.relay if response.HasField("relay") else None
        self._predicts_numbers = study.schema.HasField("target")
        self.advice: str = response.advice
        self.public_rows: int = response.public_rows
        self.effective_cells: float = response.effective_cells
        self.baseline: Optional[float] = None
        self._baseline_answer = ""
        if not study.partition.ignore_labels:
            self._set_baseline(study)

    def _set_baseline(self, study: study_pb2.CreateStudyRequest) -> None:
        if self._predicts_numbers:
            numbers = list(study.public_numbers)
            mean = sum(numbers) / len(numbers)
            self.baseline = (sum((y - mean) ** 2 for y in numbers) / len(numbers)) ** 0.5
            self._baseline_answer = f"{mean:.4g}"
        else:
            label, count = Counter(study.public_labels).most_common(1)[0]
            self.baseline = count / len(study.public_labels)
            self._baseline_answer = study.schema.classes[label]

    @property
    def measure(self) -> str:
        """What is forecast: ``accuracy``, or ``rmse`` of numbers."""
        return "rmse" if self._predicts_numbers else "accuracy"

    @property
    def public_only(self) -> Optional[Tuple[float, float, float]]:
        """Low, mean and high from public labels alone, at 90 %; None without labels."""
        name = "public_only_rmse" if self._predicts_numbers else "public_only"
        if not self._response.HasField(name):
            return None
        level = getattr(self._response, name)
        return level.low, level.mean, level.high

    def to_frame(self) -> pd.DataFrame:
        """Return a row for each epsilon and number of devices; intervals are of 90 %.

        If the plan was asked about batches of a relay, ``relay_epsilon`` and ``relay_delta`` are what
        holds towards a curator that does not collude with it.
        """
        import pandas as pd

        return pd.DataFrame([self._describe(outlook) for outlook in self._response.outlooks])

    def public_features(self) -> pd.DataFrame:
        """Return what each public feature is worth: the gain that would be lost if it were private."""
        import pandas as pd

        return pd.DataFrame(
            [
                {"feature": one.name, "gain": one.gain, "equivalent_rows": one.equivalent_rows}
                for one in self._response.public_features
            ],
            columns=["feature", "gain", "equivalent_rows"],
        )

    def plot(self, ax: Optional[Axes] = None, *, gain: bool = False) -> Axes:
        """Draw what to expect over epsilon: a line with its 90 % band for each number of devices.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure otherwise.
        gain : bool
            Draw what the reports add to public labels alone, whose band is narrower: where few
            public rows say little of the level, all lines move up or down together.
        """
        if self.public_only is None:
            raise ValueError("plan: no accuracy is forecast without public labels")
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots()[1]
        drawn = ("gain", "gain_low", "gain_high") if gain else (self.measure, "low", "high")
        frame = self.to_frame().sort_values("epsilon")
        for devices, line in frame.groupby("devices"):
            middle, low, high = (line[name] for name in drawn)
            (path,) = ax.plot(line["epsilon"], middle, marker="o", label=f"{devices:,} devices")
            ax.fill_between(line["epsilon"], low, high, alpha=0.15, color=path.get_color())
        self._draw_levels(ax, gain)
        epsilons = sorted(set(frame["epsilon"]))
        ax.set_xscale("log")
        ax.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
        ax.set_xticks([], minor=True)
        ax.set_xlabel("epsilon of one report")
        ax.set_ylabel("gain over public labels alone" if gain else f"{self.measure} to expect")
        ax.legend()
        return ax

    def _draw_levels(self, ax: Axes, gain: bool) -> None:
        if gain:
            ax.axhline(0, linestyle="--", color="0.4", label="no gain")
            return
        if self.public_only is not None:
            alone = self.public_only[1]
            ax.axhline(alone, linestyle="--", color="0.4", label="public labels alone")
        if self.baseline is not None:
            always = f"always {self._baseline_answer}"
            ax.axhline(self.baseline, linestyle=":", color="0.4", label=always)

    def _describe(self, outlook: study_pb2.Outlook) -> Dict[str, Any]:
        described = describe("outlook" if self._relay is None else "outlook_with_relay", outlook)
        described.setdefault("influence", None)
        return described

    def to_dict(self) -> Dict[str, Any]:
        """Return the plan as ``coppice-lab plan --json`` prints one."""
        described: Dict[str, Any] = {
            "public_rows": self.public_rows,
            "effective_cells": self.effective_cells,
            "advice": self.advice,
        }
        if self.public_only is not None:
            low, mean, high = self.public_only
            name = "public_only_rmse" if self._predicts_numbers else "public_only"
            described[name] = {"low": low, "mean": mean, "high": high}
        if self.baseline is not None and self._predicts_numbers:
            described["mean_rmse"] = self.baseline
        elif self.baseline is not None:
            described.update(majority=self.baseline, majority_class=self._baseline_answer)
        described["studies"] = [self._describe_nested(one) for one in self._response.outlooks]
        if self._relay is not None:
            described["relay"] = self._describe_batches(self._relay)
        return described

    def _describe_batches(self, relay: study_pb2.RelaySettings) -> Dict[str, Any]:
        # However many devices answer, it is the smallest batch that counts.
        most = max(outlook.devices for outlook in self._response.outlooks)
        rows = [self._describe(one) for one in self._response.outlooks if one.devices == most]
        return {
            "min_batch": relay.min_batch,
            "honest_reports": honest_reports(relay),
            "delta": max(row["relay_delta"] for row in rows),
            "studies": [
                {
                    "epsilon": row["epsilon"],
                    "mechanism": row["mechanism"],
                    "batch_epsilon": row["relay_epsilon"],
                }
                for row in rows
            ],
        }

    def _describe_nested(self, outlook: study_pb2.Outlook) -> Dict[str, Any]:
        described = self._describe(outlook)
        study = {name: value for name, value in described.items() if value is not None}
        if outlook.HasField(self.measure):
            level = getattr(outlook, self.measure)
            study[self.measure] = {"low": level.low, "mean": level.mean, "high": level.high}
            study["gain_interval"] = [study.pop("gain_low"), study.pop("gain_high")]
            del study["low"], study["high"]
        return study

    def __repr__(self) -> str:
        return f"<Plan of {len(self._response.outlooks)} studies: {self.advice}>"

    def _repr_html_(self) -> str:
        if self._predicts_numbers:  # the page draws accuracies; errors have no natural scale
            return str(self.to_frame()._repr_html_())
        return _pages.plan(self.to_dict())


def make_plan(
    caller: Caller,
    public: Any,
    schema: Any,
    *,
    epsilon: Union[Number, Sequence[Number]] = (),
    devices: Union[int, Sequence[int]] = (),
    public_labels: str = "as_given",
    rounding: Optional[Tuple[float, float]] = None,
    mechanism: str = AUTO,
    max_payload: int = 0,
    seed: Optional[int] = None,
    min_batch: Optional[int] = None,
    dishonest: Optional[Number] = None,
    relay_delta: Optional[Number] = None,
) -> Plan:
    """Forecast a study; `Client.plan` describes the parameters."""
    study = study_request(
        as_schema(schema),
        public,
        public_labels=public_labels,
        rounding=rounding,
        mechanism=mechanism,
        max_payload=max_payload,
    )
    if seed is not None:
        study.partition.seed = seed
    set_batches(study.settings, min_batch, dishonest, relay_delta)
    request = study_pb2.PreviewStudyRequest(
        study=study,
        epsilon_nanos=[epsilon_nanos(one) for one in _several(epsilon)],
        devices=_several(devices),
    )
    response = caller.call(request, study_pb2.PreviewStudyResponse, timeout=PLAN_TIMEOUT)
    return Plan(study, response)


def _several(values: Any) -> List[Any]:
    return [values] if isinstance(values, (int, float, str)) else list(values)
