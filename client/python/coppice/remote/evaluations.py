"""How good models are on private rows, measured by the curator with noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Optional, Tuple

from coppice.remote._calls import Caller, new_request_id
from coppice.remote._describe import describe
from coppice.remote._units import Number, epsilon_nanos, id_of, make_name
from coppice.v1 import training_pb2

if TYPE_CHECKING:
    import pandas as pd


class PrivateEvaluation:
    """A model's figures on private rows, with 95 % intervals.

    The intervals hold what is measured for rows drawn like these: they allow for the noise and for
    sampling. Where `caveat` says something, they claim nothing.
    """

    def __init__(self, message: training_pb2.Evaluation) -> None:
        self._message = message

    @property
    def id(self) -> str:
        """The id."""
        return id_of(self._message.name)

    @property
    def accuracy(self) -> Optional[float]:
        """Classes: the share of right answers; None for numbers."""
        return self._figure("accuracy")

    @property
    def rmse(self) -> Optional[float]:
        """Numbers: the root of the mean squared error; None for classes."""
        return self._figure("rmse")

    @property
    def interval(self) -> Tuple[float, float]:
        """The interval of `accuracy`, or of `rmse`."""
        low, high = self.to_dict()["interval"]
        return float(low), float(high)

    @property
    def account(self) -> str:
        """What paid: ``reserve`` or ``training``."""
        return str(self.to_dict()["account"])

    @property
    def caveat(self) -> Optional[str]:
        """Why the intervals do not cover what the model is worth on other rows; None: they do."""
        caveat: Optional[str] = self.to_dict().get("caveat")
        return caveat

    def groups(self) -> pd.DataFrame:
        """Return the figures of each value of the feature that was asked for."""
        import pandas as pd

        return pd.DataFrame(self.to_dict().get("groups", []))

    def to_dict(self) -> Dict[str, Any]:
        """Return what ``coppice model evaluate --json`` prints."""
        return describe("evaluation", self._message)

    def _figure(self, name: str) -> Optional[float]:
        figure: Optional[float] = self.to_dict().get(name)
        return figure

    def __repr__(self) -> str:
        name = "rmse" if self.accuracy is None else "accuracy"
        low, high = self.interval
        return (
            f"<PrivateEvaluation {self.id}: {name} {self._figure(name):.4g} "
            f"({low:.4g} to {high:.4g}), {self.account} account>"
        )


def evaluate(
    caller: Caller,
    model_id: str,
    dataset_id: str,
    epsilon: Number,
    by: Optional[str],
    reach: Optional[float],
    request_id: Optional[str],
) -> PrivateEvaluation:
    """Charge an evaluation and wait for it."""
    request = training_pb2.EvaluateModelRequest(
        request_id=request_id or new_request_id(),
        spec=_spec(model_id, dataset_id, epsilon, by, reach),
    )
    response = caller.call(request, training_pb2.EvaluateModelResponse)
    return PrivateEvaluation(response.evaluation)


def preview(
    caller: Caller,
    model_id: str,
    dataset_id: str,
    epsilon: Number,
    rows: int,
    by: Optional[str],
    reach: Optional[float],
) -> Dict[str, Any]:
    """Return what an evaluation would cost, and how wide its interval would be."""
    request = training_pb2.PreviewEvaluationRequest(
        spec=_spec(model_id, dataset_id, epsilon, by, reach), rows=rows
    )
    response = caller.call(request, training_pb2.PreviewEvaluationResponse)
    return describe("evaluation_preview", response)


def _spec(
    model_id: str, dataset_id: str, epsilon: Number, by: Optional[str], reach: Optional[float]
) -> training_pb2.EvaluationSpec:
    return training_pb2.EvaluationSpec(
        model=make_name("models", model_id),
        dataset=make_name("datasets", dataset_id),
        epsilon_nanos=epsilon_nanos(epsilon, "epsilon"),
        by=by or "",
        reach=reach or 0.0,
    )
