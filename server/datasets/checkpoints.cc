#include "server/datasets/checkpoints.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "coppice/v1/storage.pb.h"
#include "server/datasets/central_keys.h"
#include "server/store/store_record.h"

namespace coppice::central {
namespace {

std::string HashOf(std::string_view bytes) {
  const Sha256Digest digest = Sha256({bytes});
  return std::string(digest.begin(), digest.end());
}

template <typename Value>
std::string_view BytesOf(absl::Span<const Value> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Value)};
}

// Reads record `number` of the job, and goes back to the one before it.
StatusOr<std::string> ReadNamed(const storage::Store& store, std::string_view dataset,
                                std::string_view job, uint64_t number, std::string_view hash) {
  const std::string key = CheckpointKey(dataset, job, number);
  COPPICE_ASSIGN_OR_RETURN(std::optional<std::string> bytes, store.Get(key));
  if (!bytes.has_value()) {
    return FailedPreconditionError(
        "its checkpoints are not in this store, which was copied or repaired since");
  }
  if (HashOf(*bytes) != hash) {
    return storage::CorruptRecord(key, "is not the checkpoint that its job names");
  }
  return *std::move(bytes);
}

StatusOr<JobStart> ParseStart(const std::string& key, const std::string& bytes) {
  COPPICE_ASSIGN_OR_RETURN(v1::JobStartRecord record,
                           storage::ParseRecord<v1::JobStartRecord>(key, bytes));
  if (record.code_version() != COPPICE_VERSION) {
    return FailedPreconditionError(
        StrCat("version ", record.code_version(),
               " began it, and only the same version can go on with it"));
  }
  const StatusOr<CoinSeed> seed = CoinSeed::FromBytes(record.coin_seed());
  if (!seed.ok()) return storage::CorruptRecord(key, "has no seed");
  JobStart start{.seed = *seed, .rows_digest = record.rows_digest()};
  if (record.has_public_rows()) {
    start.public_rows =
        std::make_shared<const v1::RowBlock>(std::move(*record.mutable_public_rows()));
  }
  return start;
}

}  // namespace

void KeyedRowsDigest::Add(const Table& block) {
  for (size_t f = 0; f < block.schema().num_features(); ++f) {
    sha256_.Add(BytesOf(block.column(f)));
  }
  sha256_.Add(BytesOf(block.labels()));
  sha256_.Add(BytesOf(block.targets()));
}

std::string KeyedRowsDigest::Finish() {
  const Sha256Digest digest = sha256_.Finish();
  return std::string(digest.begin(), digest.end());
}

ResumePoint PutStart(std::string_view dataset, std::string_view job, const JobStart& start,
                     storage::StoreBatch& batch) {
  v1::JobStartRecord record;
  record.set_coin_seed(std::string(start.seed.bytes()));
  record.set_rows_digest(start.rows_digest);
  record.set_code_version(COPPICE_VERSION);
  if (start.public_rows != nullptr) *record.mutable_public_rows() = *start.public_rows;
  std::string bytes = record.SerializeAsString();
  ResumePoint point{.last_sha256 = HashOf(bytes), .runs = 1};
  batch.Put(CheckpointKey(dataset, job, 0), std::move(bytes));
  return point;
}

ResumePoint PutCheckpoint(std::string_view dataset, std::string_view job, const ResumePoint& last,
                          absl::Span<const trainers::ReleasedValues> released,
                          storage::StoreBatch& batch) {
  v1::CheckpointRecord record;
  record.set_previous_sha256(last.last_sha256);
  for (const trainers::ReleasedValues& release : released) {
    v1::ReleasedValues* const added = record.add_released();
    added->set_asked(release.asked);
    added->mutable_values()->Assign(release.values.begin(), release.values.end());
  }
  std::string bytes = record.SerializeAsString();
  ResumePoint point = last;
  ++point.checkpoints;
  point.last_sha256 = HashOf(bytes);
  point.runs = 1;
  batch.Put(CheckpointKey(dataset, job, point.checkpoints), std::move(bytes));
  return point;
}

void DeleteCheckpoints(std::string_view dataset, std::string_view job, storage::StoreBatch& batch) {
  batch.DeletePrefix(CheckpointPrefix(dataset, job));
}

StatusOr<KeptRun> ReadKeptRun(const storage::Store& store, std::string_view dataset,
                              std::string_view job, const ResumePoint& last) {
  std::vector<v1::CheckpointRecord> checkpoints;  // the last one first
  std::string hash = last.last_sha256;
  for (uint64_t number = last.checkpoints; number > 0; --number) {
    COPPICE_ASSIGN_OR_RETURN(const std::string bytes, ReadNamed(store, dataset, job, number, hash));
    COPPICE_ASSIGN_OR_RETURN(
        checkpoints.emplace_back(),
        storage::ParseRecord<v1::CheckpointRecord>(CheckpointKey(dataset, job, number), bytes));
    hash = checkpoints.back().previous_sha256();
  }
  COPPICE_ASSIGN_OR_RETURN(const std::string bytes, ReadNamed(store, dataset, job, 0, hash));
  COPPICE_ASSIGN_OR_RETURN(JobStart start, ParseStart(CheckpointKey(dataset, job, 0), bytes));
  KeptRun kept{.start = std::move(start)};
  for (; !checkpoints.empty(); checkpoints.pop_back()) {
    for (const v1::ReleasedValues& release : checkpoints.back().released()) {
      kept.released.push_back(
          {.asked = release.asked(), .values = {release.values().begin(), release.values().end()}});
    }
  }
  return kept;
}

}  // namespace coppice::central
