#include "server/curator/study/study_batches.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/wire/calls.h"
#include "coppice/v1/storage.pb.h"
#include "server/curator/keys/store_keys.h"
#include "server/store/store_record.h"

namespace coppice::curator {
namespace {

using OutcomeCounts = std::array<uint64_t, kNumReportOutcomes>;

constexpr bool SameState(BatchState ours, v1::BatchState theirs) {
  return static_cast<int>(ours) == static_cast<int>(theirs);
}
static_assert(SameState(BatchState::kReceiving, v1::BATCH_STATE_RECEIVING));
static_assert(SameState(BatchState::kStored, v1::BATCH_STATE_STORED));
static_assert(SameState(BatchState::kCounted, v1::BATCH_STATE_COUNTED));
static_assert(SameState(BatchState::kBroken, v1::BATCH_STATE_BROKEN));

uint64_t SumOf(const OutcomeCounts& outcomes) {
  return std::accumulate(outcomes.begin(), outcomes.end(), uint64_t{0});
}

// Whether the numbers are possible for a batch in its state.
bool AddsUp(const RelayBatch& batch) {
  if (batch.received > batch.header.reports || batch.judged > batch.received ||
      SumOf(batch.outcomes) != batch.judged) {
    return false;
  }
  switch (batch.state) {
    case BatchState::kReceiving:
      return batch.judged == 0;
    case BatchState::kStored:
      return batch.received == batch.header.reports && batch.judged < batch.received;
    case BatchState::kCounted:
      return batch.judged == batch.header.reports;
    case BatchState::kBroken:
      return batch.judged == 0;
  }
  return false;
}

Status ReadCounts(std::string_view key, const v1::BatchRecord& record, OutcomeCounts& outcomes) {
  for (const v1::ReportCount& count : record.counts()) {
    const int outcome = count.outcome();
    if (outcome <= 0 || outcome >= static_cast<int>(outcomes.size()) || outcomes[outcome] != 0) {
      return storage::CorruptRecord(key, "has an outcome that there is not, or one twice");
    }
    outcomes[outcome] = count.reports();
  }
  return OkStatus();
}

// How many reports hide one of the batch, as far as is known. The curator has seen reports of every
// batch, counted or not; how few of them are accepted is known only after counting.
uint64_t CrowdOf(const RelayBatch& batch) {
  if (batch.state != BatchState::kCounted) return batch.header.reports;
  return batch.outcomes[static_cast<size_t>(ReportOutcome::kAccepted)];
}

}  // namespace

RelayBatch Dropped(RelayBatch batch) {
  batch.state = BatchState::kBroken;
  batch.received = 0;
  batch.last_ticket.reset();
  return batch;
}

std::string EncodeBatch(const RelayBatch& batch) {
  v1::BatchRecord record;
  record.set_header(WriteBatchHeader(batch.header));
  record.mutable_signature()->assign(batch.signature.begin(), batch.signature.end());
  record.set_state(static_cast<v1::BatchState>(batch.state));
  record.set_received(batch.received);
  record.set_judged(batch.judged);
  for (size_t outcome = 0; outcome < batch.outcomes.size(); ++outcome) {
    if (batch.outcomes[outcome] == 0) continue;
    v1::ReportCount& count = *record.add_counts();
    count.set_outcome(static_cast<v1::ReportOutcome>(outcome));
    count.set_reports(batch.outcomes[outcome]);
  }
  record.set_created_unix_seconds(batch.created_unix_seconds);
  return record.SerializeAsString();
}

StatusOr<RelayBatch> DecodeBatch(std::string_view study, std::string_view key,
                                 std::string_view bytes) {
  COPPICE_ASSIGN_OR_RETURN(const v1::BatchRecord record,
                           storage::ParseRecord<v1::BatchRecord>(key, bytes));
  RelayBatch batch{.id = Sha256({record.header()}),
                   .received = record.received(),
                   .judged = record.judged(),
                   .created_unix_seconds = record.created_unix_seconds()};
  const StatusOr<BatchHeader> header = ReadBatchHeader(record.header());
  if (!header.ok() || record.signature().size() != batch.signature.size()) {
    return storage::CorruptRecord(key, "has no header of a batch, or no signature of one");
  }
  batch.header = *header;
  std::copy(record.signature().begin(), record.signature().end(), batch.signature.begin());
  if (batch.header.study != study || BatchKey(study, batch.id) != key) {
    return storage::CorruptRecord(key, "is of another batch");
  }
  batch.state = static_cast<BatchState>(record.state());
  COPPICE_RETURN_IF_ERROR(ReadCounts(key, record, batch.outcomes));
  if (!AddsUp(batch)) return storage::CorruptRecord(key, "does not add up");
  return batch;
}

Status StudyBatches::Load(const storage::Store& store, std::string_view study) {
  std::vector<RelayBatch> batches;
  COPPICE_RETURN_IF_ERROR(
      store.Scan(BatchPrefix(study), [&](std::string_view key, std::string_view bytes) {
        COPPICE_ASSIGN_OR_RETURN(RelayBatch batch, DecodeBatch(study, key, bytes));
        batches.push_back(std::move(batch));
        return OkStatus();
      }));
  std::sort(batches.begin(), batches.end(), [](const RelayBatch& a, const RelayBatch& b) {
    return std::tie(a.created_unix_seconds, a.id) < std::tie(b.created_unix_seconds, b.id);
  });
  for (const RelayBatch& batch : batches) {
    if (OfEpoch(batch.header.epoch).has_value()) {
      return storage::CorruptRecord(BatchKey(study, batch.id), "is the second of one deal");
    }
    Set(batch);
  }
  return OkStatus();
}

void StudyBatches::Set(const RelayBatch& batch) {
  const MutexLock lock(mutex_);
  const auto [place, is_new] = of_epoch_.try_emplace(batch.header.epoch, batches_.size());
  if (!is_new) return Exchange(batches_[place->second], batch);
  batches_.push_back(batch);
  totals_.Add(batch);
}

void StudyBatches::Totals::Add(const RelayBatch& batch) {
  const uint64_t crowd = CrowdOf(batch);
  ++summary.batches;
  summary.waiting += batch.waiting();
  summary.smallest_crowd = std::min(summary.smallest_crowd.value_or(crowd), crowd);
  reserved += batch.reserved();
  if (batch.state == BatchState::kStored) ++stored;
  if (batch.state != BatchState::kCounted) return;
  summary.least_accepted = summary.counted == 0 ? crowd : std::min(summary.least_accepted, crowd);
  ++summary.counted;
}

void StudyBatches::Totals::Subtract(const RelayBatch& batch) {
  --summary.batches;
  summary.waiting -= batch.waiting();
  reserved -= batch.reserved();
  if (batch.state == BatchState::kStored) --stored;
  if (batch.state == BatchState::kCounted) --summary.counted;
}

void StudyBatches::Exchange(RelayBatch& place, const RelayBatch& batch) {
  // A batch's crowd falls when it is counted, and never changes after that.
  const bool minima_may_rise =
      CrowdOf(batch) > CrowdOf(place) || place.state == BatchState::kCounted;
  totals_.Subtract(place);
  place = batch;
  if (minima_may_rise) return AddUpAll();
  totals_.Add(place);
}

void StudyBatches::AddUpAll() {
  totals_ = Totals();
  for (const RelayBatch& batch : batches_) totals_.Add(batch);
}

void StudyBatches::Replace(const RelayBatch& batch) {
  const MutexLock lock(mutex_);
  const auto found = of_epoch_.find(batch.header.epoch);
  if (found != of_epoch_.end()) Exchange(batches_[found->second], batch);
}

bool StudyBatches::BeginCheck(const EpochId& epoch) {
  const MutexLock lock(mutex_);
  return in_check_.insert(epoch).second;
}

void StudyBatches::EndCheck(const EpochId& epoch) {
  const MutexLock lock(mutex_);
  in_check_.erase(epoch);
}

void StudyBatches::Forget(absl::Span<const RelayBatch> batches) {
  const MutexLock lock(mutex_);
  std::erase_if(batches_, [&](const RelayBatch& batch) {
    return std::any_of(batches.begin(), batches.end(),
                       [&](const RelayBatch& dropped) { return dropped.id == batch.id; });
  });
  of_epoch_.clear();
  for (size_t i = 0; i < batches_.size(); ++i) of_epoch_[batches_[i].header.epoch] = i;
  AddUpAll();
}

std::optional<RelayBatch> StudyBatches::OfEpoch(const EpochId& epoch) const {
  const MutexLock lock(mutex_);
  const auto found = of_epoch_.find(epoch);
  if (found == of_epoch_.end()) return std::nullopt;
  return batches_[found->second];
}

std::vector<RelayBatch> StudyBatches::InState(BatchState state) const {
  const MutexLock lock(mutex_);
  std::vector<RelayBatch> found;
  for (const RelayBatch& batch : batches_) {
    if (batch.state == state) found.push_back(batch);
  }
  return found;
}

size_t StudyBatches::size() const {
  const MutexLock lock(mutex_);
  return batches_.size();
}

BatchSummary StudyBatches::Summary(size_t newest) const {
  const MutexLock lock(mutex_);
  BatchSummary summary = totals_.summary;
  const size_t first = batches_.size() - std::min(newest, batches_.size());
  for (size_t i = first; i < batches_.size(); ++i) {
    const RelayBatch& batch = batches_[i];
    summary.newest.push_back({.id = batch.id,
                              .state = batch.state,
                              .reports = batch.header.reports,
                              .outcomes = batch.outcomes,
                              .created_unix_seconds = batch.created_unix_seconds});
  }
  return summary;
}

uint64_t StudyBatches::waiting() const {
  const MutexLock lock(mutex_);
  return totals_.summary.waiting;
}

uint64_t StudyBatches::reserved() const {
  const MutexLock lock(mutex_);
  return totals_.reserved;
}

bool StudyBatches::has_stored() const {
  const MutexLock lock(mutex_);
  return totals_.stored > 0;
}

}  // namespace coppice::curator
