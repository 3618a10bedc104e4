"""How good models are on private rows, measured by the curator with noise."""

from __future__ import annotations

from typing import Any, Dict, Optional

from coppice.evaluation import PrivateEvaluation
from coppice.remote._calls import BUILD_TIMEOUT, Caller, new_request_id
from coppice.remote._describe import describe
from coppice.remote._units import Number, epsilon_nanos, make_name
from coppice.remote.errors import BudgetExhaustedError, ResourceExhaustedError
from coppice.v1 import training_pb2


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
    try:
        response = caller.call(request, training_pb2.EvaluateModelResponse, timeout=BUILD_TIMEOUT)
    except ResourceExhaustedError as error:
        # The lane's room, which may be exhausted too, is no matter of budgets.
        if _fits(caller, request.spec):
            raise
        exhausted = BudgetExhaustedError(str(error))
        exhausted.request_id = error.request_id
        raise exhausted from None
    return PrivateEvaluation(describe("evaluation", response.evaluation))


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


def _fits(caller: Caller, spec: training_pb2.EvaluationSpec) -> bool:
    request = training_pb2.PreviewEvaluationRequest(spec=spec)
    return bool(caller.call(request, training_pb2.PreviewEvaluationResponse).fits)


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
