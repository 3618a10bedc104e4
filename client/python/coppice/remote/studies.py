"""Studies: what devices are asked, and what an answer costs."""

from __future__ import annotations

import base64
import datetime
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

from coppice.schema import as_schema
from coppice.remote import _pages
from coppice.remote._calls import BUILD_TIMEOUT, Caller, new_request_id
from coppice.remote._describe import describe, frame_of, study_settings
from coppice.remote._public_rows import AUTO, study_request
from coppice.remote._relay import RelayKey, set_relay
from coppice.remote._tables import Table, as_frame, from_message, ids_of
from coppice.remote._units import (
    Number,
    enum_value,
    epsilon_nanos,
    epsilon_number,
    id_of,
    make_name,
    new_id,
)
from coppice.remote.models import RemoteModel
from coppice.remote.plans import Plan, make_plan
from coppice.v1 import model_pb2, study_pb2

if TYPE_CHECKING:
    import pandas as pd

    from coppice import Schema

_JOIN_ROWS = 1000
_TOKENS_PER_CALL = 10_000


class Studies:
    """The studies of a curator. `Client.studies` is one."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def list(self) -> pd.DataFrame:
        """Return all studies, by their ids."""
        pages = self._caller.pages(
            study_pb2.ListStudiesRequest(page_size=1000), study_pb2.ListStudiesResponse
        )
        studies = [describe("study_briefly", study) for page in pages for study in page.studies]
        return frame_of(studies, describe("study_briefly", study_pb2.Study()))

    def get(self, study_id: str) -> Study:
        """Return a study as it is now, with its alarms.

        Parameters
        ----------
        study_id : str
            The id of the study.

        Raises
        ------
        NotFoundError
            If there is no such study, or it belongs to somebody else.
        """
        request = study_pb2.GetStudyRequest(name=make_name("studies", study_id))
        return Study(self._caller, self._caller.call(request, study_pb2.GetStudyResponse).study)

    def plan(self, public: Any, schema: Any, **settings: Any) -> Plan:
        """Forecast a study, as `Client.plan` does.

        Parameters
        ----------
        public : DataFrame, Arrow table, or None
            Public rows; None: there are none.
        schema : Schema, dict, JSON text or path
            What rows look like.
        **settings
            What else `Client.plan` takes, by name.
        """
        return make_plan(self._caller, public, schema, **settings)

    def create(
        self,
        public: Any,
        schema: Any,
        epsilon: Number,
        *,
        study_id: Optional[str] = None,
        mechanism: str = AUTO,
        max_payload: int = 0,
        devices: int = 0,
        public_labels: str = "as_given",
        rounding: Optional[Tuple[float, float]] = None,
        joined_by: str = "",
        split_rule: Optional[str] = None,
        criterion: Optional[str] = None,
        depth: Optional[int] = None,
        min_leaf: Optional[int] = None,
        trees: Optional[int] = None,
        by: str = "",
        seed: Optional[int] = None,
        min_reports: Optional[int] = None,
        expires: Optional[datetime.datetime] = None,
        retention_days: Optional[int] = None,
        require_submission_token: bool = False,
        relay_key: Optional[RelayKey] = None,
        min_batch: Optional[int] = None,
        dishonest: Optional[Number] = None,
        relay_delta: Optional[Number] = None,
        request_id: Optional[str] = None,
        accept_leak: bool = False,
        **settings: Any,
    ) -> Study:
        """Grow a partition from public rows and open a study on it.

        The curator chooses what is not given; `Study.to_dict` says what it chose.

        Parameters
        ----------
        public : DataFrame, Arrow table, or None
            Public rows, never private ones: the partition that every device gets shows them almost
            exactly. None: there are none, and the partition is spread over the schema's bounds.
        schema : Schema, dict, JSON text or path
            What rows look like.
        epsilon : number
            What one report costs its device, 0.01 to 20.
        study_id : str, optional
            The id of the new study; the curator chooses one otherwise.
        mechanism : str
            How devices hide their rows; ``auto`` chooses a small report among those with the least noise.
        max_payload : int
            For ``auto``: the most bytes that a report's payload may have; 0 sets no limit.
        devices : int
            About how many devices will answer, which sizes a partition without labels. 0: not known.
        public_labels : {"as_given", "none"}
            ``none`` if the public labels are missing or not to be trusted: the partition then comes
            from the features alone.
        rounding : (low, high), optional
            Where a number is predicted: what devices cut it to before they round it.
        joined_by : str
            The name of the id that devices show in place of their features; see `Study.join`.
        split_rule : {"max_edge", "random_max_edge", "cart", "hybrid", "random_cut"}, optional
            How cells are divided.
        criterion : {"gini", "entropy"}, optional
            What a split reduces.
        depth, min_leaf, trees : int, optional
            The largest depth of a leaf, the fewest public rows in a leaf, and how many trees.
        by : str
            A public categorical feature whose values each tree begins with.
        seed : int, optional
            Public randomness of the partition; no privacy rests on it.
        min_reports : int, optional
            The fewest accepted reports that a model is built from.
        expires : datetime, optional
            When collection ends by itself.
        retention_days : int, optional
            The days after sealing until sums, public rows and tickets are deleted; never if not given.
        require_submission_token : bool
            Whether devices get a ticket for a submission token alone; see `submission_tokens`.
        relay_key : str, path or bytes, optional
            ``ed25519:...``, or a file: takes reports through the relay with this key alone, so that
            the curator does not learn which device gave which.
        min_batch : int, optional
            With `relay_key`: the fewest reports that the relay passes on together.
        dishonest : number, optional
            The share of a batch that is assumed to hide nobody, for what is promised towards the
            curator.
        relay_delta : number, optional
            The delta of that promise.
        request_id : str, optional
            Repeating it returns the study that it made; a new one otherwise.
        accept_leak : bool
            Whether the schema may have columns that are marked as read from private rows. They leak
            what is in the rows, which no epsilon covers; certificates of models say so.
        **settings
            Further settings, by the names of the flags of ``coppice study create``.
        """
        request = study_request(
            as_schema(schema),
            public,
            public_labels=public_labels,
            rounding=rounding,
            mechanism=mechanism,
            max_payload=max_payload,
        )
        request.request_id = request_id or new_request_id()
        request.accept_leak = accept_leak
        request.study_id = new_id(study_id)
        request.epsilon_nanos = epsilon_nanos(epsilon)
        request.expected_devices = devices
        request.joined_by = joined_by
        _set_partition(
            request.partition,
            split_rule=split_rule,
            criterion=criterion,
            depth=depth,
            min_leaf=min_leaf,
            trees=trees,
        )
        request.partition.by_feature = by
        if seed is not None:
            request.partition.seed = seed
        settings.update(
            min_reports=min_reports,
            expires=expires,
            retention_days=retention_days,
            require_submission_token=require_submission_token,
        )
        request.settings.CopyFrom(study_settings(settings))
        set_relay(request.settings, relay_key, min_batch, dishonest, relay_delta)
        response = self._caller.call(request, study_pb2.CreateStudyResponse, timeout=BUILD_TIMEOUT)
        return Study(self._caller, response.study)

    def submission_tokens(self, count: int) -> List[str]:
        """Make submission tokens, one for each person, in the form that devices read.

        They are secret. Each counts once in every study that asks for them; do not note who got
        which.

        Parameters
        ----------
        count : int
            How many.
        """
        tokens: List[str] = []
        while len(tokens) < count:
            request = study_pb2.IssueSubmissionTokensRequest(
                count=min(_TOKENS_PER_CALL, count - len(tokens))
            )
            response = self._caller.call(request, study_pb2.IssueSubmissionTokensResponse)
            tokens += [base64.urlsafe_b64encode(one).decode() for one in response.tokens]
        return tokens


class Study:
    """A study as it was when it was asked for; `refresh` asks again."""

    def __init__(self, caller: Caller, message: study_pb2.Study) -> None:
        self._caller = caller
        self._message = message

    @property
    def id(self) -> str:
        """The id."""
        return id_of(self._message.name)

    @property
    def state(self) -> str:
        """``open`` takes reports, ``sealed`` never will again, ``built`` has its final model."""
        return str(self._brief["state"])

    @property
    def epsilon(self) -> float:
        """What one report costs its device."""
        return epsilon_number(self._message.terms.epsilon_nanos)

    @property
    def mechanism(self) -> str:
        """How devices hide their rows."""
        return str(self.to_dict()["mechanism"])

    @property
    def schema(self) -> Schema:
        """What rows look like."""
        return from_message(self._message.terms.schema)

    @property
    def accepted(self) -> int:
        """How many reports count."""
        return int(self._brief["accepted"])

    @property
    def final_model(self) -> Optional[str]:
        """The id of the first model that was built after sealing."""
        return id_of(self._message.final_model) or None

    @property
    def alarms(self) -> List[Dict[str, Any]]:
        """What the sums say of the devices' honesty."""
        return list(self.to_dict()["alarms"])

    @property
    def _brief(self) -> Dict[str, Any]:
        return describe("study_briefly", self._message)

    def to_dict(self) -> Dict[str, Any]:
        """Return what ``coppice study show --json`` prints."""
        return describe("study", self._message)

    def refresh(self) -> Study:
        """Ask the curator again; returns the study itself."""
        request = study_pb2.GetStudyRequest(name=self._message.name)
        self._message = self._caller.call(request, study_pb2.GetStudyResponse).study
        return self

    def seal(self) -> Study:
        """End collection, for good; returns the study itself."""
        request = study_pb2.SealStudyRequest(name=self._message.name)
        self._caller.call(request, study_pb2.SealStudyResponse)
        return self.refresh()

    def rotate_sealing_key(self) -> Study:
        """Give a study with a relay its next sealing key; returns the study itself.

        The key that is replaced is the one of the last `refresh`: if another call replaced it
        meanwhile, this one is refused.
        """
        request = study_pb2.RotateSealingKeyRequest(
            name=self._message.name, sealing_key_id=self._message.relay.sealing_key_id
        )
        self._caller.call(request, study_pb2.RotateSealingKeyResponse, repeatable=False)
        return self.refresh()

    def delete(self) -> None:
        """Delete the study, its sums and its models, for good."""
        request = study_pb2.DeleteStudyRequest(name=self._message.name)
        self._caller.delete(request, study_pb2.DeleteStudyResponse)

    def join(self, rows: Any, id_column: Optional[str] = None) -> int:
        """Add the features of ids to a study that is joined by id; may be repeated.

        Parameters
        ----------
        rows : DataFrame or Arrow table
            Every feature of the schema, and the ids.
        id_column : str, optional
            The column of the ids; the name that the study calls them by otherwise.

        Returns
        -------
        int
            How many ids the study has features of.
        """
        column = id_column or self._message.terms.joined_by
        if not self._message.terms.joined_by:
            raise ValueError(f"study {self.id}: is not joined by an id; create one with joined_by")
        frame = as_frame(rows, column)
        ids = ids_of(frame, column)
        table = Table(frame, self.schema, labelled=False)
        stored = self._message.join_rows
        for begin in range(0, len(table), _JOIN_ROWS):
            end = min(begin + _JOIN_ROWS, len(table))
            request = study_pb2.AddJoinRowsRequest(name=self._message.name)
            for identifier, row in zip(ids[begin:end], table.rows(begin, end)):
                request.rows.add(id=identifier, row=row)
            stored = self._caller.call(request, study_pb2.AddJoinRowsResponse).rows
        return int(stored)

    def counts(
        self,
        tree: int = 0,
        *,
        node: Optional[int] = None,
        depth: Optional[int] = None,
        confidence: float = 0.95,
    ) -> pd.DataFrame:
        """Break the reports down by the nodes of a tree; costs no privacy.

        Parameters
        ----------
        tree : int
            Which tree, from 0.
        node, depth : int, optional
            One node alone, or all nodes down to a depth; all of the tree otherwise. Fewer nodes
            have narrower intervals.
        confidence : float
            The least probability that all intervals hold.

        Returns
        -------
        DataFrame
            A row for each node and what is counted there: ``rows``, a class, or a margin. Its
            ``attrs`` tell the reports and the method.
        """
        if node is not None and depth is not None:
            raise ValueError("node, depth: take one of them")
        request = study_pb2.GetCountsRequest(
            name=self._message.name, tree=tree, node=node, depth=depth, confidence=confidence
        )
        return _counts_frame(self._caller.call(request, study_pb2.GetCountsResponse))

    def build_model(
        self,
        model_id: Optional[str] = None,
        *,
        estimator: Optional[str] = None,
        evidence: Optional[str] = None,
        weight: Optional[float] = None,
        where: Optional[Tuple[str, Optional[str]]] = None,
        where_other: Optional[str] = None,
    ) -> RemoteModel:
        """Turn the study's sums into a model; costs no privacy.

        Parameters
        ----------
        model_id : str, optional
            The id of the new model; the curator chooses one otherwise.
        estimator : {"pooled", "smooth", "weighted", "prune"}, optional
            ``smooth`` is what the public rows predict, corrected by the reports; ``pooled``
            treats all trees as one; the others are the paper's. If not given, ``weighted`` where
            `weight` is given, or else the curator's choice: ``smooth`` with public labels, unless
            the study was created with other trees, and ``pooled`` otherwise.
        evidence : {"both", "reports", "public"}, optional
            What ``pooled`` and ``smooth`` go by.
        weight : float, optional
            For ``weighted``, lambda: what one public row counts, in private ones; 0 to infinity.
        where : (feature, value), optional
            For these two: only the reports with this public value; None: where it is
            missing.
        where_other : str, optional
            The same for the reports whose value of this feature is not in the schema.
        """
        request = model_pb2.BuildModelRequest(study=self._message.name, model_id=new_id(model_id))
        _set_estimator(request, estimator, evidence, weight)
        _set_where(request, where, where_other)
        # Without an id of the caller's a second try would build a second model.
        response = self._caller.call(
            request,
            model_pb2.BuildModelResponse,
            timeout=BUILD_TIMEOUT,
            repeatable=model_id is not None,
        )
        return RemoteModel(self._caller, response.model)

    def __repr__(self) -> str:
        return f"<Study {self.id}: {self.state}, epsilon {self.epsilon:g}, {self.accepted} reports>"

    def _repr_html_(self) -> str:
        return _pages.record("Study", f"Study {self.id}", self.to_dict())


def _set_partition(
    options: study_pb2.PartitionOptions,
    *,
    split_rule: Optional[str],
    criterion: Optional[str],
    depth: Optional[int],
    min_leaf: Optional[int],
    trees: Optional[int],
) -> None:
    """Ask for what is given alone."""
    if split_rule is not None:
        options.rule = enum_value(study_pb2.SplitRule, split_rule, "SPLIT_RULE_", "split_rule")
    if criterion is not None:
        options.criterion = enum_value(
            study_pb2.Criterion, criterion, "CRITERION_", "criterion"
        )
    if depth is not None:
        options.max_depth = depth
    for name, value in (("min_leaf", min_leaf), ("trees", trees)):
        if value is None:
            continue
        if value < 1:  # 0 would leave it to the curator
            raise ValueError(f"{name}={value}: must be at least 1")
        setattr(options, name, value)


def _set_estimator(
    request: model_pb2.BuildModelRequest,
    estimator: Optional[str],
    evidence: Optional[str],
    weight: Optional[float],
) -> None:
    if estimator not in (None, "pooled", "smooth", "weighted", "prune"):
        raise ValueError(
            f"estimator={estimator!r}: must be 'pooled', 'smooth', 'weighted' or 'prune'"
        )
    if evidence not in (None, "both", "reports", "public"):
        raise ValueError(f"evidence={evidence!r}: must be 'both', 'reports' or 'public'")
    if estimator == "prune":
        request.prune.SetInParent()
    elif estimator == "weighted" or (estimator is None and weight is not None):
        given = {} if weight is None else {"lambda": weight}
        request.weighted.CopyFrom(model_pb2.WeightedEstimator(**given))
    else:
        word = "UNSPECIFIED" if evidence in (None, "both") else str(evidence).upper()
        chosen = model_pb2.Evidence.Value("EVIDENCE_" + word)
        if estimator == "smooth":
            request.smooth.evidence = chosen
            request.smooth.SetInParent()
        elif estimator == "pooled":
            request.pooled.evidence = chosen
            request.pooled.SetInParent()
        else:
            request.evidence = chosen


def _set_where(
    request: model_pb2.BuildModelRequest,
    where: Optional[Tuple[str, Optional[str]]],
    where_other: Optional[str],
) -> None:
    if where is None and where_other is None:
        return
    if where is not None and where_other is not None:
        raise ValueError("where, where_other: take one of them")
    if request.WhichOneof("estimator") not in (None, "pooled", "smooth"):
        raise ValueError("where, where_other: are for estimator pooled or smooth only")
    if where_other is not None:
        request.where.feature, request.where.other = where_other, True
    elif where is not None:
        request.where.feature, category = where
        if category is None:
            request.where.missing = True
        else:
            request.where.category = category


def _counts_frame(response: study_pb2.GetCountsResponse) -> pd.DataFrame:
    import pandas as pd

    lines: List[Dict[str, Any]] = []
    for node in response.nodes:
        for counted, estimate in _estimates(response, node):
            lines.append(
                {
                    "node": node.node,
                    "depth": node.depth,
                    "where": ", ".join(node.conditions) or "everywhere",
                    "counted": counted,
                    "estimate": estimate.estimate,
                    "standard_error": estimate.standard_error,
                    "low": estimate.low,
                    "high": estimate.high,
                    "share": estimate.estimate / response.reports,
                    "public_rows": node.public_rows,
                }
            )
    frame = pd.DataFrame(lines)
    for name in ("tree", "reports", "tree_reports", "confidence", "intervals", "method"):
        frame.attrs[name] = getattr(response, name)
    return frame


def _estimates(
    response: study_pb2.GetCountsResponse, node: study_pb2.NodeCounts
) -> List[Tuple[str, study_pb2.CountEstimate]]:
    names = response.class_names
    estimates = []
    if node.HasField("rows"):
        estimates.append(("rows", node.rows))
    if node.HasField("margin") and len(names) == 2:
        estimates.append((f"{names[1]} less {names[0]}", node.margin))
    return estimates + list(zip(names, node.classes))
