"""Models of a curator, and the endpoints that serve them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, Iterator, Optional

from coppice.evaluation import PrivateEvaluation
from coppice.remote import evaluations
from coppice.remote._calls import Caller
from coppice.remote._describe import describe, describe_version, frame_of
from coppice.remote._predictions import Predictor, explanations_frame, predictions_frame
from coppice.remote._tables import Table, from_message
from coppice.remote._units import Number, delta_number, epsilon_number, id_of, make_name
from coppice.v1 import model_pb2

if TYPE_CHECKING:
    import pandas as pd

    from coppice import Schema
    from coppice.model import Model


class Models:
    """The models of a curator. `Client.models` is one.

    Attributes
    ----------
    endpoints : Endpoints
        Names that serve one model at a time.
    """

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self.endpoints = Endpoints(caller)

    def list(self, study: Optional[str] = None) -> pd.DataFrame:
        """Return all models, or those of a study, by their ids.

        Parameters
        ----------
        study : str, optional
            The id of the study; all models if not given.
        """
        request = model_pb2.ListModelsRequest(page_size=1000)
        if study is not None:
            request.study = make_name("studies", study)
        pages = self._caller.pages(request, model_pb2.ListModelsResponse)
        models = [describe("model_briefly", model) for page in pages for model in page.models]
        return frame_of(models, describe("model_briefly", model_pb2.Model()))

    def get(self, model_id: str) -> RemoteModel:
        """Return a model.

        Parameters
        ----------
        model_id : str
            The id of the model.

        Raises
        ------
        NotFoundError
            If there is no such model, or it belongs to somebody else.
        """
        request = model_pb2.GetModelRequest(name=make_name("models", model_id))
        response = self._caller.call(request, model_pb2.GetModelResponse)
        return RemoteModel(self._caller, response.model)

    def delete(self, model_id: str) -> None:
        """Delete a model that no endpoint serves; what it cost stays spent.

        Parameters
        ----------
        model_id : str
            The id of the model.
        """
        request = model_pb2.DeleteModelRequest(name=make_name("models", model_id))
        self._caller.delete(request, model_pb2.DeleteModelResponse)

    def predict(self, model_id: str, rows: Any, **options: Any) -> pd.DataFrame:
        """Predict, as `RemoteModel.predict` does.

        Parameters
        ----------
        model_id : str
            The id of the model.
        rows : DataFrame or Arrow table
            The features by name; other columns are ignored.
        **options
            What else `RemoteModel.predict` takes, by name.
        """
        return self.get(model_id).predict(rows, **options)

    def explain(self, model_id: str, rows: Any, **options: Any) -> pd.DataFrame:
        """Explain predictions, as `RemoteModel.explain` does.

        Parameters
        ----------
        model_id : str
            The id of the model.
        rows : DataFrame or Arrow table
            The features by name; other columns are ignored.
        **options
            What else `RemoteModel.explain` takes, by name.
        """
        return self.get(model_id).explain(rows, **options)


class _Predicting:
    """What predicts: a model, or an endpoint by the model that it serves."""

    _caller: Caller

    def _served(self) -> RemoteModel:
        raise NotImplementedError

    def _name(self) -> str:
        raise NotImplementedError

    def predict(
        self,
        rows: Any,
        *,
        probabilities: bool = False,
        abstain_below: float = 0.0,
        progress: Optional[bool] = False,
    ) -> pd.DataFrame:
        """Predict the class, or the number, of rows, which the curator sees and does not keep.

        Parameters
        ----------
        rows : DataFrame or Arrow table
            The features by name; other columns are ignored. Sent in blocks over one stream.
        probabilities : bool
            Whether to add a column for each class.
        abstain_below : float
            Leave out a label that is less likely than this to be the most probable class.
        progress : bool or None
            Whether to show how far it is; None: in a terminal or a notebook.

        Returns
        -------
        DataFrame
            ``label``, ``probability``, ``confidence`` or ``value``, with ``low``, ``high`` and
            ``standard_error``, with the index of the rows.
        """
        model = self._served()
        table = Table(rows, model.schema, labelled=False)
        predictor = Predictor(self._caller, self._name(), f"models/{model.id}", model.schema)
        return predictions_frame(
            predictor.predict(table, progress),
            table,
            model.schema,
            probabilities=probabilities,
            abstain_below=abstain_below,
        )

    def explain(self, rows: Any, *, trees: int = 10) -> pd.DataFrame:
        """Return each row's path through the trees, for at most 100 rows.

        Parameters
        ----------
        rows : DataFrame or Arrow table
            The features by name; other columns are ignored.
        trees : int
            At most this many trees for each row, those that contribute most; 0: all.

        Returns
        -------
        DataFrame
            A line for each row and tree. ``base`` and the contributions of all trees add up to the
            answer, in what ``attrs["unit"]`` says.
        """
        model = self._served()
        table = Table(rows, model.schema, labelled=False)
        predictor = Predictor(self._caller, self._name(), f"models/{model.id}", model.schema)
        response = predictor.explain(table, trees)
        explained = explanations_frame(response, table, model.schema)
        unit = model_pb2.ContributionUnit.Name(response.explanations[0].unit)
        explained.attrs["unit"] = unit.removeprefix("CONTRIBUTION_UNIT_").lower()
        return explained


class RemoteModel(_Predicting):
    """A model that a curator keeps. Models never change."""

    def __init__(self, caller: Caller, message: model_pb2.Model) -> None:
        self._caller = caller
        self._message = message
        self._schema = from_message(message.schema)

    def _served(self) -> RemoteModel:
        return self

    def _name(self) -> str:
        return str(self._message.name)

    @property
    def id(self) -> str:
        """The id."""
        return id_of(self._message.name)

    @property
    def schema(self) -> Schema:
        """What rows it takes, and what it predicts."""
        return self._schema

    @property
    def epsilon(self) -> float:
        """What it cost in privacy."""
        return epsilon_number(self._message.certificate.epsilon_nanos)

    @property
    def delta(self) -> float:
        """The delta that it cost."""
        return delta_number(self._message.certificate.delta_atto)

    def releases(self) -> pd.DataFrame:
        """Return everything that left the private rows for it, and what each time cost."""
        import pandas as pd

        return pd.DataFrame([describe("release", one) for one in self._message.certificate.releases])

    def to_dict(self) -> Dict[str, Any]:
        """Return what it is, in a few figures."""
        described = describe("model_briefly", self._message)
        described.update(describe("model", self._message))
        described["delta"] = self.delta
        return described

    def download(self) -> Model:
        """Return the model itself, which predicts without the curator."""
        from coppice.model import Model

        return Model.from_bytes(self._message.SerializeToString())

    def to_estimator(self) -> Any:
        """Return a scikit-learn estimator that predicts with the model."""
        import coppice

        if self.schema.target is None:
            return coppice.PrivateTreeClassifier.from_model(self.download())
        return coppice.PrivateTreeRegressor.from_model(self.download())

    def evaluate_privately(
        self,
        dataset_id: str,
        epsilon: Number,
        *,
        by: Optional[str] = None,
        reach: Optional[float] = None,
        request_id: Optional[str] = None,
    ) -> PrivateEvaluation:
        """Measure, with noise, how good the model is on a dataset's private rows.

        With a reserve its rows alone are read, and its account pays; else the dataset's one account.

        Parameters
        ----------
        dataset_id : str
            The id of the dataset.
        epsilon : number
            What the evaluation costs in total.
        by : str, optional
            A categorical feature: each of its values is measured too, at no further cost.
        reach : float, optional
            Numbers: larger errors count as this. The smaller, the less noise; choose it without
            looking at the rows. The span of the target if not given.
        request_id : str, optional
            Repeating it returns the evaluation that it made, charged once; a new one otherwise.

        Raises
        ------
        BudgetExhaustedError
            If the account has too little left; nothing was charged.
        """
        return evaluations.evaluate(
            self._caller, self.id, dataset_id, epsilon, by, reach, request_id
        )

    def preview_evaluation(
        self,
        dataset_id: str,
        epsilon: Number,
        rows: int,
        *,
        by: Optional[str] = None,
        reach: Optional[float] = None,
    ) -> Dict[str, Any]:
        """Return what `evaluate_privately` would cost, and about how wide its interval would be.

        Parameters
        ----------
        dataset_id : str
            The id of the dataset.
        epsilon : number
            What the evaluation would cost in total.
        rows : int
            About how many rows are evaluated on: a guess, since the number is private.
        by : str, optional
            As for `evaluate_privately`.
        reach : float, optional
            As for `evaluate_privately`.
        """
        return evaluations.preview(self._caller, self.id, dataset_id, epsilon, rows, by, reach)

    def delete(self) -> None:
        """Delete the model, unless an endpoint serves it; what it cost stays spent."""
        Models(self._caller).delete(self.id)

    def __repr__(self) -> str:
        trees = len(self._message.forest.trees)
        return f"<RemoteModel {self.id}: {trees} trees, epsilon {self.epsilon:g}>"

    def _repr_html_(self) -> str:
        return self.download()._repr_html_()


class Endpoints:
    """Names that serve one model at a time. `Models.endpoints` is one."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def __iter__(self) -> Iterator[Endpoint]:
        request = model_pb2.ListEndpointsRequest(page_size=1000)
        for page in self._caller.pages(request, model_pb2.ListEndpointsResponse):
            for endpoint in page.endpoints:
                yield Endpoint(self._caller, endpoint)

    def list(self) -> pd.DataFrame:
        """Return what each endpoint serves."""
        empty = describe_version(model_pb2.Endpoint(), model_pb2.EndpointVersion())
        return frame_of([endpoint.to_dict() for endpoint in self], empty)

    def get(self, endpoint_id: str) -> Endpoint:
        """Return an endpoint.

        Parameters
        ----------
        endpoint_id : str
            The id of the endpoint.

        Raises
        ------
        NotFoundError
            If there is no such endpoint, or it belongs to somebody else.
        """
        request = model_pb2.GetEndpointRequest(name=make_name("endpoints", endpoint_id))
        response = self._caller.call(request, model_pb2.GetEndpointResponse)
        return Endpoint(self._caller, response.endpoint)

    def set(
        self,
        endpoint_id: str,
        model_id: str,
        *,
        expected_version: Optional[int] = None,
        allow_schema_change: bool = False,
    ) -> Endpoint:
        """Answer with a model from now on; makes the endpoint if there is none.

        Parameters
        ----------
        endpoint_id : str
            The id of the endpoint.
        model_id : str
            The id of the model that it serves from now on.
        expected_version : int, optional
            Fail unless this version is served now; 0: the endpoint must not exist yet.
        allow_schema_change : bool
            Accept a model with another schema than the one that is served.
        """
        request = model_pb2.SetServingModelRequest(
            endpoint=make_name("endpoints", endpoint_id),
            model=make_name("models", model_id),
            expected_version=expected_version,
            allow_schema_change=allow_schema_change,
        )
        response = self._caller.call(request, model_pb2.SetServingModelResponse)
        return Endpoint(self._caller, response.endpoint)


class Endpoint(_Predicting):
    """A name that serves one model at a time, as it was when it was asked for."""

    def __init__(self, caller: Caller, message: model_pb2.Endpoint) -> None:
        self._caller = caller
        self._message = message

    def _served(self) -> RemoteModel:
        return Models(self._caller).get(self.refresh().model_id)

    def _name(self) -> str:
        return str(self._message.name)

    @property
    def id(self) -> str:
        """The id."""
        return id_of(self._message.name)

    @property
    def version(self) -> int:
        """The version that is served."""
        return int(self._message.versions[-1].number)

    @property
    def model_id(self) -> str:
        """The id of the model that is served."""
        return id_of(self._message.versions[-1].model)

    def versions(self) -> pd.DataFrame:
        """Return the newest 100 versions; the first one is served."""
        import pandas as pd

        versions = reversed(self.refresh()._message.versions)
        described = [describe_version(self._message, one) for one in versions]
        return pd.DataFrame(described).set_index("version")

    def refresh(self) -> Endpoint:
        """Ask the curator again; returns the endpoint itself."""
        self._message = Endpoints(self._caller).get(self.id)._message
        return self

    def set(self, model_id: str, **options: Any) -> Endpoint:
        """Serve another model, as `Endpoints.set` does; returns the endpoint itself.

        Parameters
        ----------
        model_id : str
            The id of the model that it serves from now on.
        **options
            What else `Endpoints.set` takes, by name.
        """
        self._message = Endpoints(self._caller).set(self.id, model_id, **options)._message
        return self

    def roll_back(
        self,
        to_version: int = 0,
        *,
        expected_version: Optional[int] = None,
        allow_schema_change: bool = False,
    ) -> Endpoint:
        """Answer with the model of an earlier version again; returns the endpoint itself.

        Parameters
        ----------
        to_version : int
            The version to bring back; 0: the one before what is served.
        expected_version : int, optional
            Fail unless this version is served now.
        allow_schema_change : bool
            Accept a model with another schema than the one that is served.
        """
        request = model_pb2.RollBackRequest(
            endpoint=self._message.name,
            to_version=to_version,
            expected_version=expected_version,
            allow_schema_change=allow_schema_change,
        )
        # Repeated without the version that it expects, it would go back twice.
        repeatable = expected_version is not None
        self._message = self._caller.call(
            request, model_pb2.RollBackResponse, repeatable=repeatable
        ).endpoint
        return self

    def delete(self) -> None:
        """Delete the endpoint; its models stay."""
        request = model_pb2.DeleteEndpointRequest(name=self._message.name)
        self._caller.delete(request, model_pb2.DeleteEndpointResponse)

    def to_dict(self) -> Dict[str, Any]:
        """Return what is served."""
        return describe_version(self._message, self._message.versions[-1])

    def __repr__(self) -> str:
        return f"<Endpoint {self.id}: version {self.version}, model {self.model_id}>"
