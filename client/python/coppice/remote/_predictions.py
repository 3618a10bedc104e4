"""Predictions of a curator's models, block by block over one stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Optional

from coppice import Schema
from coppice.remote._calls import Caller, Patience
from coppice.remote._progress import make_bar
from coppice.remote._tables import Table
from coppice.remote._units import id_of
from coppice.remote.errors import DataLossError, FailedPreconditionError, RemoteError
from coppice.v1 import model_pb2

if TYPE_CHECKING:
    import pandas as pd

_STREAM_TIMEOUT = 600.0
MAX_EXPLAINED_ROWS = 100


class Predictor:
    """Asks one model, or the one that an endpoint serves, for predictions.

    Parameters
    ----------
    name : str
        ``models/ID`` or ``endpoints/ID``.
    model : str
        The ``models/ID`` that rows are encoded for.
    """

    def __init__(self, caller: Caller, name: str, model: str, schema: Schema) -> None:
        self._caller = caller
        self._name = name
        self._model = model
        self._schema = schema

    def predict(self, table: Table, progress: Optional[bool]) -> List[model_pb2.Prediction]:
        """Return a prediction for each row. Rows that were answered before a break are not sent again."""
        predictions: List[model_pb2.Prediction] = []
        patience = Patience(self._caller)
        bar = make_bar(f"predict {id_of(self._name)}", progress)
        try:
            while len(predictions) < len(table):
                before = len(predictions)
                try:
                    self._read_stream(table, predictions, bar.show)
                except RemoteError as error:
                    patience.wait_after(error, came_further=len(predictions) > before)
        finally:
            bar.close()
        return predictions

    def _read_stream(
        self, table: Table, predictions: List[model_pb2.Prediction], show: Any
    ) -> None:
        requests = self._requests(table, len(predictions))
        with self._caller.conversation(
            requests,
            model_pb2.StreamPredictionsRequest,
            model_pb2.StreamPredictionsResponse,
            self._caller.limit(_STREAM_TIMEOUT),
        ) as responses:
            for response in responses:
                if response.model:
                    self._check_model(response.model)
                self._check_answers(response)
                predictions.extend(response.predictions)
                show(len(predictions) / len(table), f"{len(predictions):,} rows")
                if len(predictions) > len(table):
                    break
        if len(predictions) != len(table):
            raise DataLossError(
                f"the curator predicted {len(predictions)} rows where {len(table)} were sent"
            )

    def _requests(self, table: Table, begin: int) -> Iterator[model_pb2.StreamPredictionsRequest]:
        step = table.rows_per_prediction()
        for first in range(begin, len(table), step):
            rows = table.rows(first, min(first + step, len(table)))
            yield model_pb2.StreamPredictionsRequest(name=self._name, rows=rows)

    def _check_answers(self, response: Any) -> None:
        outputs = 2 if self._schema.target is not None else len(self._schema.classes)
        for prediction in response.predictions:
            if prediction.label >= outputs or len(prediction.probabilities) != outputs:
                raise DataLossError("the curator predicted classes that the schema does not have")

    def _check_model(self, name: str) -> None:
        if name != self._model:
            raise FailedPreconditionError(
                f"{self._name} serves {name} now, and the rows were encoded for {self._model}; "
                "predict again"
            )

    def explain(self, table: Table, trees: int) -> model_pb2.PredictResponse:
        """Return predictions with each row's path through the trees."""
        if not 1 <= len(table) <= MAX_EXPLAINED_ROWS:
            raise ValueError(f"rows: explain takes 1 to {MAX_EXPLAINED_ROWS}, not {len(table)}")
        request = model_pb2.PredictRequest(
            name=self._name, rows=table.rows(0, len(table)), explain=True, explain_trees=trees
        )
        response = self._caller.call(request, model_pb2.PredictResponse)
        self._check_model(response.model)
        self._check_answers(response)
        return response


def predictions_frame(
    predictions: List[model_pb2.Prediction],
    table: Table,
    schema: Schema,
    *,
    probabilities: bool,
    abstain_below: float,
) -> pd.DataFrame:
    """Return predictions as a DataFrame with the index of the rows."""
    import pandas as pd

    if schema.target is not None:
        lines = [_describe_number(one, schema.target) for one in predictions]
        return pd.DataFrame(lines, index=table.index)
    lines = [_describe_class(one, schema.classes, abstain_below) for one in predictions]
    frame = pd.DataFrame(lines, index=table.index)
    if probabilities:
        for position, name in enumerate(schema.classes):
            frame[f"p({name})"] = [one.probabilities[position] for one in predictions]
    return frame


def _describe_class(
    prediction: model_pb2.Prediction, classes: Any, abstain_below: float
) -> Dict[str, Any]:
    return {
        "label": None if prediction.confidence < abstain_below else classes[prediction.label],
        "probability": prediction.probabilities[prediction.label],
        "low": max(prediction.low, 0.0),
        "high": min(prediction.high, 1.0),
        "standard_error": prediction.standard_error,
        "confidence": prediction.confidence,
    }


def _describe_number(prediction: model_pb2.Prediction, target: Any) -> Dict[str, Any]:
    return {
        "value": prediction.value,
        "low": max(prediction.low, target[0]),
        "high": min(prediction.high, target[1]),
        "standard_error": prediction.value_error,
    }


def explanations_frame(
    response: model_pb2.PredictResponse, table: Table, schema: Schema
) -> pd.DataFrame:
    """Return a line for each row and tree, the largest contribution to a row's answer first."""
    import pandas as pd

    lines = []
    for index, prediction, explanation in zip(
        table.index, response.predictions, response.explanations
    ):
        numbers = schema.target is not None
        answer = prediction.value if numbers else schema.classes[prediction.label]
        for path in explanation.trees:
            lines.append(
                {
                    "row": index,
                    "answer": answer,
                    "base": explanation.base,
                    "tree": path.tree,
                    "contribution": path.contribution,
                    "path": "; ".join(_step_text(step) for step in path.steps),
                }
            )
    return pd.DataFrame(
        lines, columns=["row", "answer", "base", "tree", "contribution", "path"]
    )


def _step_text(step: model_pb2.PathStep) -> str:
    return step.condition if step.holds else f"not {step.condition}"
