"""Messages as plain dictionaries, with the members that the command line prints with --json."""

from __future__ import annotations

from typing import Any, Dict, List

from coppice.remote._relay import describe_relay, describe_relay_settings
from coppice.remote._units import (
    delta_number,
    enum_text,
    epsilon_number,
    id_of,
    rho_number,
    time_text,
)
from coppice.v1 import dataset_pb2, forest_pb2, model_pb2, schema_pb2, study_pb2, training_pb2

Description = Dict[str, Any]

_NO_RHO = 2**64 - 1


def count_leaves(forest: forest_pb2.Forest) -> int:
    """Return how many leaves all trees have."""
    return sum(list(tree.kinds).count(forest_pb2.SPLIT_KIND_LEAF) for tree in forest.trees)


def describe_release(release: model_pb2.Release) -> Description:
    """Describe one release."""
    described: Description = {
        "what": release.what,
        "mechanism": release.mechanism,
        "epsilon": epsilon_number(release.epsilon_nanos),
    }
    if release.delta_atto:
        described["delta"] = delta_number(release.delta_atto)
    if release.rho_pico:
        described["rho"] = rho_number(release.rho_pico)
    described["times"] = release.times
    described["part"] = release.part or "all"
    return described


def describe_cost(cost: dataset_pb2.Cost) -> Description:
    """Describe what something cost, or would."""
    described: Description = {
        "epsilon": epsilon_number(cost.epsilon_nanos),
        "delta": delta_number(cost.delta_atto),
    }
    if 0 < cost.rho_pico < _NO_RHO:
        described["rho"] = rho_number(cost.rho_pico)
    return described


# ---- studies


def describe_study_briefly(study: study_pb2.Study) -> Description:
    """Describe a study of a list, without its terms."""
    described: Description = {"study": id_of(study.name), "state": study_state(study)}
    described.update(describe_counts(study))
    described["created"] = time_text(study.created_unix_seconds)
    return described


def study_state(study: study_pb2.Study) -> str:
    """Return ``open``, ``sealed`` or ``built``."""
    return enum_text(study_pb2.StudyState, study.state, "STUDY_STATE_")


def mechanism_text(mechanism: int) -> str:
    """Return the name of a local mechanism."""
    return enum_text(study_pb2.Mechanism, mechanism, "MECHANISM_")


def describe_counts(study: study_pb2.Study) -> Description:
    """Describe what happened to the reports of a study."""
    rejected: Description = {}
    described: Description = {"received": study.received, "accepted": 0, "duplicate": 0}
    described["rejected"] = rejected
    for count in study.counts:
        outcome = enum_text(study_pb2.ReportOutcome, count.outcome, "REPORT_OUTCOME_")
        (described if outcome in ("accepted", "duplicate") else rejected)[outcome] = count.reports
    return described


def describe_study(study: study_pb2.Study) -> Description:
    """Describe a study with its terms, its life and its alarms."""
    described = describe_study_briefly(study)
    del described["created"]
    described["leaves"] = count_leaves(study.forest)
    described.update(_describe_terms(study))
    described["fingerprint"] = study.fingerprint.hex()
    described.update(_describe_life(study))
    described["alarms"] = [
        {"name": alarm.name, "value": alarm.value, "raised": alarm.raised, "text": alarm.text}
        for alarm in study.alarms
    ]
    return described


def _describe_terms(study: study_pb2.Study) -> Description:
    terms = study.terms
    described: Description = {
        "epsilon": epsilon_number(terms.epsilon_nanos),
        "mechanism": mechanism_text(terms.mechanism),
    }
    public = [feature.name for feature in terms.schema.features if feature.is_public]
    if public:
        described["public_features"] = public
    if terms.HasField("rounding"):
        described["rounding"] = [terms.rounding.low, terms.rounding.high]
    if terms.joined_by:
        described.update(joined_by=terms.joined_by, join_rows=study.join_rows)
    described["trees"] = terms.trees
    described["public_rows"] = study.public_rows
    described["partition"] = _partition_text(study.partition)
    if study.partition.by_feature:
        described["by"] = study.partition.by_feature
    if study.choice:
        described["choice"] = study.choice
    described.update(_describe_settings(study.settings))
    return described


def _describe_settings(settings: study_pb2.StudySettings) -> Description:
    described: Description = {}
    if settings.require_submission_token:
        described["submission_tokens"] = "required"
    described["min_reports"] = settings.min_reports
    if settings.expires_unix_seconds:
        described["expires"] = time_text(settings.expires_unix_seconds)
    if settings.retention_days:
        described["retention_days"] = settings.retention_days
    described.update(describe_relay_settings(settings))
    return described


def _describe_life(study: study_pb2.Study) -> Description:
    described: Description = {"created": time_text(study.created_unix_seconds)}
    if study.sealed_unix_seconds:
        described["sealed"] = time_text(study.sealed_unix_seconds)
    for name in ("expired", "retired", "seen_early"):
        if getattr(study, name):
            described[name] = True
    if study.final_model:
        described["final_model"] = id_of(study.final_model)
    described.update(describe_relay(study))
    if study.owner:
        described["owner"] = study.owner
    return described


def _partition_text(partition: study_pb2.PartitionOptions) -> str:
    parts = [enum_text(study_pb2.SplitRule, partition.rule, "SPLIT_RULE_")]
    if partition.max_depth < 64:
        parts.append(f"depth {partition.max_depth}")
    if not partition.from_schema:
        rows = "row" if partition.min_leaf == 1 else "rows"
        parts.append(f"at least {partition.min_leaf} public {rows} a leaf")
    if partition.max_leaves:
        parts.append(f"at most {partition.max_leaves} leaves a tree")
    if partition.from_schema:
        parts.append("from the schema's bounds alone")
    elif partition.ignore_labels:
        parts.append("without the public labels")
    return ", ".join(parts)


# ---- datasets


def describe_dataset_briefly(dataset: dataset_pb2.Dataset) -> Description:
    """Describe a dataset of a list: its state and its budget."""
    cap = dataset.cap
    zero_concentrated = is_zero_concentrated(dataset)
    composition = enum_text(dataset_pb2.Composition, cap.composition, "COMPOSITION_")
    return {
        "dataset": id_of(dataset.name),
        "state": enum_text(dataset_pb2.DatasetState, dataset.state, "DATASET_STATE_"),
        "rows": "hidden" if dataset.rows_hidden else dataset.rows,
        "epsilon_total": epsilon_number(cap.epsilon_nanos),
        "epsilon_spent": epsilon_number(dataset.spent.epsilon_nanos),
        "epsilon_left": epsilon_number(dataset.epsilon_left_nanos),
        "delta_total": delta_number(cap.delta_atto),
        # Rhos are spent there: what jobs have for a delta does not add up.
        "delta_spent": 0 if zero_concentrated else delta_number(dataset.spent.delta_atto),
        "composition": "zcdp" if zero_concentrated else composition,
        "neighbours": enum_text(dataset_pb2.Neighbours, cap.neighbours, "NEIGHBOURS_"),
        "created": time_text(dataset.created_unix_seconds),
    }


def is_zero_concentrated(dataset: dataset_pb2.Dataset) -> bool:
    """Tell whether the costs of jobs add up as rhos."""
    zero_concentrated: int = dataset_pb2.COMPOSITION_ZERO_CONCENTRATED
    return dataset.cap.composition == zero_concentrated


def describe_dataset(dataset: dataset_pb2.Dataset) -> Description:
    """Describe a dataset with its schema and its ledger."""
    described = describe_dataset_briefly(dataset)
    if is_zero_concentrated(dataset):
        described["rho_spent"] = rho_number(dataset.spent.rho_pico)
        described["epsilon_left_with_delta"] = epsilon_number(dataset.epsilon_left_at_delta_nanos)
    if dataset.hold != dataset_pb2.LEDGER_HOLD_UNSPECIFIED:
        described["hold"] = enum_text(dataset_pb2.LedgerHold, dataset.hold, "LEDGER_HOLD_")
    if dataset.owner:
        described["owner"] = dataset.owner
    if dataset.HasField("hold_lost"):
        described["hold_lost"] = describe_cost(dataset.hold_lost)
    if dataset.ledger and dataset.ledger[-1].hash:
        described["ledger_head"] = dataset.ledger[-1].hash.hex()
    described["schema"] = _describe_schema(dataset.schema)
    described["ledger_entries"] = dataset.ledger_entries
    described["ledger"] = [
        describe_entry(entry, with_rho=is_zero_concentrated(dataset)) for entry in dataset.ledger
    ]
    return described


def _describe_schema(schema: schema_pb2.Schema) -> Description:
    described: Description = {
        "label": schema.label,
        "features": [feature.name for feature in schema.features],
    }
    leaked = [feature.name for feature in schema.features if feature.from_private_rows]
    if schema.answers_from_private_rows:
        leaked.append(schema.label)
    if leaked:
        described["from_private_rows"] = leaked
    if not schema.HasField("target"):
        described["classes"] = list(schema.classes)
        return described
    described.update(target_min=schema.target.min, target_max=schema.target.max)
    if schema.target.unit:
        described["unit"] = schema.target.unit
    return described


def describe_entry(entry: dataset_pb2.LedgerEntry, *, with_rho: bool) -> Description:
    """Describe an entry of a ledger."""
    described: Description = {
        "time": time_text(entry.unix_seconds),
        "entry": enum_text(dataset_pb2.LedgerEntryKind, entry.kind, "LEDGER_ENTRY_KIND_"),
        "job": id_of(entry.job),
    }
    if entry.submitter:
        described["submitter"] = entry.submitter
    described.update(describe_cost(entry.cost))
    if not with_rho:
        described.pop("rho", None)
    described["releases"] = [describe_release(release) for release in entry.releases]
    described["hash"] = entry.hash.hex()
    return described


# ---- jobs


def job_state(job: training_pb2.Job) -> str:
    """Return ``queued``, ``running``, ``done``, ``failed`` or ``cancelled``."""
    return enum_text(training_pb2.JobState, job.state, "JOB_STATE_")


def describe_job_briefly(job: training_pb2.Job) -> Description:
    """Describe a job of a list."""
    return {
        "job": id_of(job.name),
        "state": job_state(job),
        "dataset": id_of(job.spec.dataset),
        "algorithm": job.spec.algorithm,
        "epsilon": epsilon_number(job.spec.epsilon_nanos),
        "model": id_of(job.model),
        "progress": job.progress,
        "created": time_text(job.created_unix_seconds),
    }


def describe_job(job: training_pb2.Job) -> Description:
    """Describe a job."""
    described: Description = {
        "job": id_of(job.name),
        "model": id_of(job.model),
        "state": job_state(job),
        "dataset": id_of(job.spec.dataset),
        "algorithm": job.spec.algorithm,
        "settings": dict(sorted(job.spec.settings.items())),
        "epsilon": epsilon_number(job.spec.epsilon_nanos),
        "delta": delta_number(job.spec.delta_atto),
        "cost": describe_cost(job.cost),
        "progress": job.progress,
        "seconds_left": job.seconds_left if job_state(job) == "running" else None,
        "created": time_text(job.created_unix_seconds),
        "started": time_text(job.started_unix_seconds),
        "ended": time_text(job.ended_unix_seconds),
    }
    if job.submitter:
        described["submitter"] = job.submitter
    if job.reason:
        described["reason"] = job.reason
    described["warnings"] = list(job.warnings)
    return described


def describe_algorithm(algorithm: training_pb2.Algorithm) -> Description:
    """Describe what can be trained."""
    return {
        "algorithm": algorithm.name,
        "summary": algorithm.summary,
        "classification": algorithm.classification,
        "regression": algorithm.regression,
        "neighbours": enum_text(dataset_pb2.Neighbours, algorithm.neighbours, "NEIGHBOURS_"),
        "delta": algorithm.delta,
        "settings": {one.name: one.default_value for one in algorithm.parameters},
        "source": algorithm.source,
    }


def describe_parameter(parameter: training_pb2.Parameter) -> Description:
    """Describe what can be set of an algorithm."""
    is_choice = parameter.type == training_pb2.PARAMETER_TYPE_CHOICE
    return {
        "setting": parameter.name,
        "type": enum_text(training_pb2.ParameterType, parameter.type, "PARAMETER_TYPE_"),
        "default": parameter.default_value,
        "min": None if is_choice else parameter.min,
        "max": None if is_choice else parameter.max,
        "choices": list(parameter.choices) or None,
        "description": parameter.description,
    }


# ---- models


def describe_model_briefly(model: model_pb2.Model) -> Description:
    """Describe a model of a list."""
    certificate = model.certificate
    return {
        "model": id_of(model.name),
        "study": id_of(model.study),
        "job": id_of(model.job),
        "estimator": certificate.estimator,
        "reports": certificate.reports,
        "public_rows": certificate.public_rows,
        "epsilon": epsilon_number(certificate.epsilon_nanos),
        "mechanism": certificate.mechanism,
        "created": time_text(model.created_unix_seconds),
    }


def describe_version(endpoint: model_pb2.Endpoint, version: Any) -> Description:
    """Describe a version of an endpoint."""
    return {
        "endpoint": id_of(endpoint.name),
        "version": version.number,
        "model": id_of(version.model),
        "created": time_text(version.created_unix_seconds),
        "restored": version.restored_version or None,
    }


def frame_of(described: List[Description], like: Description) -> Any:
    """Return descriptions as a DataFrame by their ids, which have the first member's name.

    Parameters
    ----------
    like : dict
        The description of an empty message: a list of nothing has columns too.
    """
    import pandas as pd

    columns = list(like)
    return pd.DataFrame(described, columns=columns).set_index(columns[0])
