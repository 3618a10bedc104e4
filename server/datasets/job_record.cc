#include "server/datasets/job_record.h"

#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/sha256.h"
#include "common/wire/proto/convert.h"
#include "coppice/v1/storage.pb.h"
#include "server/datasets/central_keys.h"
#include "server/store/store_record.h"

namespace coppice::central {
namespace {

static_assert(static_cast<int>(JobState::kQueued) == v1::JOB_STATE_QUEUED);
static_assert(static_cast<int>(JobState::kRunning) == v1::JOB_STATE_RUNNING);
static_assert(static_cast<int>(JobState::kDone) == v1::JOB_STATE_DONE);
static_assert(static_cast<int>(JobState::kFailed) == v1::JOB_STATE_FAILED);
static_assert(static_cast<int>(JobState::kCancelled) == v1::JOB_STATE_CANCELLED);

v1::JobSpec ToProto(const JobSpec& spec) {
  v1::JobSpec proto;
  proto.set_dataset(MakeName(kDatasets, spec.dataset));
  proto.set_algorithm(spec.algorithm);
  proto.set_epsilon_nanos(spec.epsilon_nanos);
  proto.set_delta_atto(spec.delta_atto);
  for (const auto& [name, value] : spec.settings) (*proto.mutable_settings())[name] = value;
  proto.set_max_model_bytes(spec.max_model_bytes);
  proto.set_without_public_rows(spec.without_public_rows);
  return proto;
}

JobInfo ToInfo(const v1::Job& proto, std::string id, std::string dataset, std::string model) {
  JobInfo info{.id = std::move(id),
               .spec = {.dataset = std::move(dataset),
                        .algorithm = proto.spec().algorithm(),
                        .epsilon_nanos = proto.spec().epsilon_nanos(),
                        .delta_atto = proto.spec().delta_atto()},
               .state = static_cast<JobState>(proto.state()),
               .created_unix_seconds = proto.created_unix_seconds(),
               .started_unix_seconds = proto.started_unix_seconds(),
               .ended_unix_seconds = proto.ended_unix_seconds(),
               .model = std::move(model),
               .reason = proto.reason(),
               .cost = {.epsilon_nanos = proto.cost().epsilon_nanos(),
                        .delta_atto = proto.cost().delta_atto(),
                        .rho_pico = proto.cost().rho_pico()},
               .warnings = {proto.warnings().begin(), proto.warnings().end()},
               .model_bytes = proto.most_model_bytes(),
               .submitter = proto.submitter(),
               .public_rows = {.rows = proto.public_rows(), .sha256 = proto.public_rows_sha256()}};
  for (const auto& [name, value] : proto.spec().settings()) info.spec.settings[name] = value;
  info.spec.max_model_bytes = proto.spec().max_model_bytes();
  info.spec.without_public_rows = proto.spec().without_public_rows();
  if (proto.spec().has_public_rows()) {
    info.spec.public_rows = std::make_shared<const v1::RowBlock>(proto.spec().public_rows());
  }
  return info;
}

}  // namespace

std::string HashRequest(const JobRequest& request) {
  const JobSpec& spec = request.spec;
  // Each part carries its size, which keeps one part from passing for the end of another.
  std::string text;
  const auto add = [&text](std::string_view part) {
    StrAppend(&text, part.size(), " ", part, " ");
  };
  for (const std::string& part : {request.id, request.model, spec.dataset, spec.algorithm}) {
    add(part);
  }
  StrAppend(&text, spec.epsilon_nanos, " ", spec.delta_atto, " ");
  for (const auto& [name, value] : spec.settings) {
    add(name);
    add(value);
  }
  // Requests without these have the hash that they had before they existed.
  if (spec.max_model_bytes != 0) StrAppend(&text, "at most ", spec.max_model_bytes);
  if (spec.without_public_rows) StrAppend(&text, " without public rows");
  const Sha256Digest digest = Sha256({text, HashedPart(spec.public_rows)});
  return std::string(digest.begin(), digest.end());
}

v1::Cost ToProto(const ledger::Cost& cost) {
  v1::Cost proto;
  proto.set_epsilon_nanos(cost.epsilon_nanos);
  proto.set_delta_atto(cost.delta_atto);
  proto.set_rho_pico(cost.rho_pico);
  return proto;
}

v1::Job ToProto(const JobInfo& info) {
  v1::Job proto;
  proto.set_name(MakeName(kJobs, info.id));
  *proto.mutable_spec() = ToProto(info.spec);
  proto.set_state(static_cast<v1::JobState>(info.state));
  proto.set_created_unix_seconds(info.created_unix_seconds);
  proto.set_started_unix_seconds(info.started_unix_seconds);
  proto.set_ended_unix_seconds(info.ended_unix_seconds);
  proto.set_model(MakeName(kModels, info.model));
  proto.set_progress(info.state == JobState::kDone ? 1 : info.progress);
  proto.set_seconds_left(info.seconds_left);
  proto.set_reason(info.reason);
  *proto.mutable_cost() = ToProto(info.cost);
  proto.mutable_warnings()->Assign(info.warnings.begin(), info.warnings.end());
  proto.set_most_model_bytes(info.model_bytes);
  proto.set_submitter(info.submitter);
  proto.set_public_rows(info.public_rows.rows);
  proto.set_public_rows_sha256(info.public_rows.sha256);
  return proto;
}

std::string EncodeJob(const JobEntry& entry) {
  v1::JobRecord record;
  *record.mutable_job() = ToProto(entry.info);
  record.mutable_job()->clear_progress();
  record.mutable_job()->clear_seconds_left();
  // The public rows of a job that has begun are in its start (checkpoints.h).
  if (entry.info.state == JobState::kQueued && entry.info.spec.public_rows) {
    *record.mutable_job()->mutable_spec()->mutable_public_rows() = *entry.info.spec.public_rows;
  }
  for (const Release& release : entry.planned) *record.add_planned() = ToProto(release);
  record.set_request_id(entry.request_id);
  record.set_request_hash(entry.request_hash);
  if (entry.resume && entry.info.state == JobState::kRunning) {
    v1::ResumePoint& resume = *record.mutable_resume();
    resume.set_checkpoints(entry.resume->checkpoints);
    resume.set_last_sha256(entry.resume->last_sha256);
    resume.set_runs(entry.resume->runs);
    resume.set_cancel_asked(entry.resume->cancel_asked);
  }
  return record.SerializeAsString();
}

StatusOr<JobEntry> DecodeJob(std::string_view key, std::string_view bytes) {
  COPPICE_ASSIGN_OR_RETURN(const v1::JobRecord record,
                           storage::ParseRecord<v1::JobRecord>(key, bytes));
  const v1::Job& job = record.job();
  StatusOr<std::string> id = ParseName(kJobs, job.name());
  StatusOr<std::string> dataset = ParseName(kDatasets, job.spec().dataset());
  StatusOr<std::string> model = ParseName(kModels, job.model());
  if (!id.ok() || !dataset.ok() || !model.ok() || key != JobKey(*id)) {
    return storage::CorruptRecord(key, "has the job of another key");
  }
  if (job.state() < v1::JOB_STATE_QUEUED || job.state() > v1::JOB_STATE_CANCELLED) {
    return storage::CorruptRecord(key, "has an unknown state");
  }
  JobEntry entry;
  entry.info = ToInfo(job, *std::move(id), *std::move(dataset), *std::move(model));
  entry.planned = ParseReleases(record.planned());
  entry.request_id = record.request_id();
  entry.request_hash = record.request_hash();
  if (record.has_resume() && entry.info.state == JobState::kRunning) {
    entry.resume = {.checkpoints = record.resume().checkpoints(),
                    .last_sha256 = record.resume().last_sha256(),
                    .runs = record.resume().runs(),
                    .cancel_asked = record.resume().cancel_asked()};
  }
  return entry;
}

}  // namespace coppice::central
