#include "server/curator/study/study.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/proto/convert.h"
#include "common/wire/proto/packed_forest.h"
#include "common/wire/terms.h"
#include "server/curator/keys/spent_tickets.h"
#include "server/curator/study/study_sealing.h"

namespace coppice::curator {
namespace {

Status CheckNumberOfSums(const StudyDefinition& definition) {
  uint64_t sums = 0;
  for (size_t t = 0; t < definition.form->num_trees(); ++t) sums += definition.form->SumSize(t);
  if (sums <= kMaxSums) return OkStatus();
  return InvalidArgumentError(StrCat(
      "the partition needs ", sums, " sums, the curator keeps at most ", kMaxSums,
      ": lower max_depth or trees",
      definition.partition.by_feature.empty() ? "" : ", or take a by_feature with fewer values"));
}

// Seconds of a clock that is never set.
int64_t SteadySeconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

StatusOr<StudyDefinition> DefinitionFromTerms(std::string terms_bytes, PackedForest packed,
                                              PartitionOptions partition) {
  StudyDefinition definition;
  definition.partition = std::move(partition);
  COPPICE_ASSIGN_OR_RETURN(Terms terms, ReadTerms(terms_bytes));
  definition.terms = std::make_shared<const Terms>(std::move(terms));
  definition.fingerprint = FingerprintOf(terms_bytes);
  definition.terms_bytes = std::make_shared<const std::string>(std::move(terms_bytes));
  COPPICE_ASSIGN_OR_RETURN(Forest forest, OpenForest(*definition.terms, packed));
  definition.forest = std::make_shared<const Forest>(std::move(forest));
  definition.packed_forest = std::make_shared<const PackedForest>(std::move(packed));
  COPPICE_ASSIGN_OR_RETURN(definition.form, StudyForm::Make(definition.terms, definition.forest,
                                                            definition.partition.by_feature));
  COPPICE_RETURN_IF_ERROR(CheckNumberOfSums(definition));
  return definition;
}

StudyProgress NoProgress(const StudyDefinition& definition) {
  StudyProgress progress;
  for (size_t t = 0; t < definition.form->num_trees(); ++t) {
    progress.sums.push_back(std::make_shared<const TreeSums>(
        TreeSums{.sums = std::vector<int64_t>(definition.form->SumSize(t)), .reports = 0}));
  }
  return progress;
}

Study::Study(StudyDefinition definition, StudyProgress progress, SpentTickets spent)
    : definition_(std::move(definition)),
      progress_(std::move(progress)),
      received_(progress_.counts.answered),
      history_(SteadySeconds()),
      spent_(std::move(spent)) {}

Counts Counts::operator+(const Counts& more) const {
  Counts sum = *this;
  for (size_t i = 0; i < outcomes.size(); ++i) sum.outcomes[i] += more.outcomes[i];
  sum.answered += more.answered;
  sum.failed += more.failed;
  return sum;
}

uint64_t Counts::Sum() const {
  return std::accumulate(outcomes.begin(), outcomes.end(), uint64_t{0});
}

ReportOutcome Study::AdmissionOutcome() const {
  const MutexLock lock(mutex_);
  if (progress_.deleted) return ReportOutcome::kUnknownStudy;
  if (progress_.life.state == StudyState::kOpen) return ReportOutcome::kAccepted;
  return progress_.life.expired ? ReportOutcome::kStudyExpired : ReportOutcome::kStudySealed;
}

ReportOutcome Study::AdmissionOfStored() const {
  const MutexLock lock(mutex_);
  if (progress_.deleted) return ReportOutcome::kUnknownStudy;
  return progress_.life.retired ? ReportOutcome::kStudySealed : ReportOutcome::kAccepted;
}

Status Study::CheckGivesTickets(size_t tickets, size_t tokens) const {
  const ReportOutcome admission = AdmissionOutcome();
  if (admission != ReportOutcome::kAccepted) {
    const bool expired = admission == ReportOutcome::kStudyExpired;
    return FailedPreconditionError(StrCat("the study ", id(),
                                          expired ? " is sealed, its time is over" : " is sealed",
                                          ": it takes no more reports"));
  }
  if (form().report().ShowsId() && join_rows() == 0) {
    return FailedPreconditionError(
        StrCat("the study ", id(), " has no features of any ", definition_.terms->joined_by,
               " yet, so it would refuse every report: `coppice study join` adds them"));
  }
  const size_t wanted = definition_.settings.require_submission_token ? tickets : 0;
  if (tokens == wanted) return OkStatus();
  return InvalidArgumentError(StrCat("submission_tokens: the study ", id(),
                                     wanted == 0
                                         ? " asks for none, leave them out"
                                         : StrCat(" asks for one a ticket, so for ", wanted),
                                     "; there are ", tokens));
}

bool Study::IsOver(int64_t now_unix_seconds) const {
  return definition_.settings.expires_unix_seconds != 0 &&
         now_unix_seconds >= definition_.settings.expires_unix_seconds;
}

bool Study::IsDueToRetire(int64_t now_unix_seconds) const {
  constexpr int64_t kDay = 24 * 60 * 60;
  const StudyLife life = Life();
  const uint32_t retention_days = definition_.settings.retention_days;
  return retention_days > 0 && life.state != StudyState::kOpen && !life.retired &&
         now_unix_seconds - life.sealed_unix_seconds >= kDay * retention_days;
}

StudyLife Study::Life() const {
  const MutexLock lock(mutex_);
  return progress_.life;
}

StudyLife Study::LifeOnceOver() const {
  return Expired(Life(), definition_.settings.expires_unix_seconds);
}

SharedSums Study::SumsOf(uint32_t tree) const {
  const MutexLock lock(mutex_);
  return progress_.sums[tree];
}

Counts Study::CountsSoFar() const {
  const MutexLock lock(mutex_);
  return progress_.counts;
}

StudyProgress Study::Progress() const {
  const MutexLock lock(mutex_);
  return progress_;
}

StudyInfo Study::Info() const {
  StudyInfo info{.id = id(),
                 .created_unix_seconds = definition_.created_unix_seconds,
                 .fingerprint = definition_.fingerprint,
                 .public_rows = definition_.public_rows,
                 .partition = definition_.partition,
                 .choice = definition_.choice,
                 .terms = definition_.terms,
                 .forest = definition_.forest};
  info.settings = definition_.settings;
  info.join_rows = join_rows();
  info.owner = definition_.owner;
  const MutexLock lock(mutex_);
  const StudyLife& life = progress_.life;
  info.state = life.state;
  info.sealed_unix_seconds = life.sealed_unix_seconds;
  info.expired = life.expired;
  info.final_model = life.final_model;
  info.retired = life.retired;
  info.seen_early = life.seen_early;
  info.outcomes = progress_.counts.outcomes;
  info.failed = progress_.counts.failed;
  info.alarms_at_last_look = last_alarms_;
  info.last_look_was_final = last_look_was_final_;
  for (const SharedSums& sums : progress_.sums) info.in_sums += sums->reports;
  info.relay = RelayInfo();
  info.received = received();  // read after the answered counts, so never below them
  return info;
}

std::optional<StudyRelayInfo> Study::RelayInfo() const {
  if (!definition_.settings.relay.has_value()) return std::nullopt;
  StudyRelayInfo info{.keys_erased = true, .batches = batches_.Summary(0)};
  if (sealing_keys_ == nullptr) return info;
  info.sealing_key = sealing_keys_->current().name;
  info.earlier_keys = static_cast<uint32_t>(sealing_keys_->size() - 1);
  info.keys_erased = sealing_keys_->erased();
  return info;
}

Status Study::CheckNoneWaits() const {
  if (Life().state == StudyState::kOpen) return OkStatus();
  const uint64_t waiting = batches_.waiting();
  if (waiting == 0) return OkStatus();
  return FailedPreconditionError(StrCat(waiting, " sealed reports of study ", id(),
                                        " wait to be opened: try again when they are counted"));
}

std::shared_ptr<const SealingKeys> Study::sealing_keys() const {
  const MutexLock lock(mutex_);
  return sealing_keys_;
}

void Study::SetSealingKeys(SealingKeys keys) {
  auto shared = std::make_shared<const SealingKeys>(std::move(keys));
  const MutexLock lock(mutex_);
  sealing_keys_ = std::move(shared);
}

Manifest Study::MakeManifest() const {
  Manifest manifest{.study = id(),
                    .fingerprint = definition_.fingerprint,
                    .epsilon = definition_.terms->epsilon,
                    .mechanism = definition_.terms->mechanism,
                    .expires_unix_seconds = definition_.settings.expires_unix_seconds,
                    .min_reports = definition_.settings.min_reports,
                    .sequence = 1,
                    .issued_unix_seconds = std::max<int64_t>(0, definition_.created_unix_seconds),
                    .public_features = definition_.terms->num_public_features()};
  const std::shared_ptr<const SealingKeys> keys = sealing_keys();
  if (keys == nullptr) return manifest;
  const StoredSealingKey& key = keys->current();
  manifest.sequence = key.first_sequence;
  manifest.issued_unix_seconds = std::max<int64_t>(0, key.created_unix_seconds);
  manifest.sealing =
      ManifestSealing{.suite = static_cast<uint16_t>(key.aead),
                      .key = key.public_key,
                      .min_batch = definition_.settings.relay->min_batch,
                      .payload_bytes = static_cast<uint32_t>(SealingOf(definition_).payload_bytes)};
  return manifest;
}

std::vector<Alarm> Study::AlarmsOf(const StudyProgress& progress) const {
  if (progress.counts.of(ReportOutcome::kAccepted) < definition_.settings.min_reports) return {};
  return form().Alarms(progress.sums);
}

std::vector<Alarm> Study::Alarms() const { return AlarmsOf(Progress()); }

void Study::LookForAlarms() {
  const bool at_end = SumsAreFinal();  // asked before the sums are read
  const StudyProgress progress = Progress();
  const uint64_t reports = progress.counts.of(ReportOutcome::kAccepted);
  const bool has_grown = reports > looked_at_reports_ + looked_at_reports_ / 2;
  if (progress.life.retired || looked_at_end_ || !(at_end || has_grown)) return;
  auto alarms = std::make_shared<const std::vector<Alarm>>(AlarmsOf(progress));
  looked_at_reports_ = reports;
  looked_at_end_ = at_end;
  const MutexLock lock(mutex_);
  last_alarms_ = std::move(alarms);
  last_look_was_final_ = at_end;
}

bool Study::SumsAreFinal() const {
  // In this order: a sealed study takes no more batches.
  return Life().state != StudyState::kOpen && batches_.waiting() == 0;
}

void Study::Publish(std::vector<SharedSums> sums, const Counts& counts) {
  history_.Add(counts.outcomes, SteadySeconds());
  const MutexLock lock(mutex_);
  for (size_t tree = 0; tree < sums.size(); ++tree) {
    if (sums[tree] != nullptr) progress_.sums[tree] = std::move(sums[tree]);
  }
  progress_.counts = progress_.counts + counts;
}

ReportSteps Study::ReportsOverTime(int64_t now_unix_seconds) {
  return history_.Read(SteadySeconds(), now_unix_seconds);
}

void Study::Advance(StudyLife life) {
  const MutexLock lock(mutex_);
  if (life.state < progress_.life.state) return;
  progress_.life = std::move(life);
  if (progress_.life.state != StudyState::kOpen) {
    if (!batches_.has_stored()) spent_ = SpentTickets();
    answered_ids_ = {};
  }
  if (!progress_.life.retired) return;
  progress_.sums.clear();
  sealing_keys_ = nullptr;
  SetJoinRows(0);
}

void Study::DropSpentOnceCounted() {
  if (Life().state != StudyState::kOpen && !batches_.has_stored()) spent_ = SpentTickets();
}

void Study::MarkDeleted() {
  const MutexLock lock(mutex_);
  progress_.deleted = true;
}

}  // namespace coppice::curator
