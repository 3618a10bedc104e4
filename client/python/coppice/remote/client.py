"""A connection to a curator."""

from __future__ import annotations

from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Optional, Sequence, Tuple, Type, Union

from coppice.remote._calls import Caller
from coppice.remote._channel import ConnectOptions, make_channel
from coppice.remote._diagnosis import diagnose
from coppice.remote._public_rows import AUTO
from coppice.remote._units import Number
from coppice.remote.datasets import Dataset, Datasets
from coppice.remote.jobs import Job, Jobs
from coppice.remote.models import Endpoint, Models, RemoteModel
from coppice.remote.plans import Plan, make_plan
from coppice.remote.studies import Studies, Study

if TYPE_CHECKING:
    import pandas as pd


class Client:
    """A connection to a curator; `coppice.connect` makes one. Threads may share it.

    Attributes
    ----------
    studies : Studies
    datasets : Datasets
    jobs : Jobs
    models : Models
    """

    def __init__(self, options: ConnectOptions, timeout: Optional[float]) -> None:
        if timeout is not None and timeout <= 0:
            raise ValueError(f"timeout={timeout}: must be above 0")
        self._server = options.server
        self._channel = make_channel(options)
        caller = Caller(self._channel, options.server, timeout, partial(diagnose, options))
        self._caller = caller
        self.studies = Studies(caller)
        self.datasets = Datasets(caller)
        self.jobs = Jobs(caller)
        self.models = Models(caller)

    def study(self, study_id: str) -> Study:
        """Return a study as it is now, with its alarms.

        Parameters
        ----------
        study_id : str
            The id of the study.
        """
        return self.studies.get(study_id)

    def dataset(self, dataset_id: str) -> Dataset:
        """Return a dataset as it is now, with its ledger.

        Parameters
        ----------
        dataset_id : str
            The id of the dataset.
        """
        return self.datasets.get(dataset_id)

    def job(self, job_id: str) -> Job:
        """Return a job as it is now.

        Parameters
        ----------
        job_id : str
            The id of the job.
        """
        return self.jobs.get(job_id)

    def model(self, model_id: str) -> RemoteModel:
        """Return a model.

        Parameters
        ----------
        model_id : str
            The id of the model.
        """
        return self.models.get(model_id)

    def endpoint(self, endpoint_id: str) -> Endpoint:
        """Return an endpoint as it is now.

        Parameters
        ----------
        endpoint_id : str
            The id of the endpoint.
        """
        return self.models.endpoints.get(endpoint_id)

    def algorithms(self) -> pd.DataFrame:
        """Return what can be trained on datasets."""
        return self.jobs.algorithms()

    def plan(
        self,
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
        """Forecast what a study would be worth, from its public rows alone; creates nothing.

        Parameters
        ----------
        public : DataFrame, Arrow table, or None
            Public rows; None: there are none.
        schema : Schema, dict, JSON text or path
            What rows look like.
        epsilon : number or sequence
            What one report may cost, up to 8 of them; the curator chooses if none is given.
        devices : int or sequence
            How many answer, up to 8 of them; the curator chooses if none is given.
        public_labels, rounding, mechanism, max_payload
            As `Studies.create` takes them.
        seed : int, optional
            Of partitions and of the simulation; public.
        min_batch : int, optional
            The fewest reports of a batch, where they would come through a relay: the plan then says
            what holds towards the curator, too.
        dishonest, relay_delta : number, optional
            As `Studies.create` takes them.
        """
        return make_plan(
            self._caller,
            public,
            schema,
            epsilon=epsilon,
            devices=devices,
            public_labels=public_labels,
            rounding=rounding,
            mechanism=mechanism,
            max_payload=max_payload,
            seed=seed,
            min_batch=min_batch,
            dishonest=dishonest,
            relay_delta=relay_delta,
        )

    def close(self) -> None:
        """End the connection. Calls that are under way are cancelled."""
        self._channel.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Client of {self._server}>"
