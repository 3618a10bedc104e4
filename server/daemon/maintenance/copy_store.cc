#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/sha256.h"
#include "server/daemon/maintenance/maintenance.h"
#include "server/datasets/central_keys.h"
#include "server/store/postgres/postgres_store.h"
#include "server/store/rocksdb/rocksdb_store.h"
#include "server/store/store_format.h"

namespace coppice::maintenance {
namespace {

constexpr size_t kBatchBytes = size_t{8} << 20;
constexpr uint64_t kRecordsBetweenTold = 10'000;

StatusOr<std::unique_ptr<storage::Store>> OpenSource(const storage::StoreLocation& from) {
  return from.is_postgres() ? storage::OpenPostgresStoreForReading(from.address())
                            : storage::OpenRocksDbStoreForReading(from.address());
}

StatusOr<std::unique_ptr<storage::Store>> OpenTarget(const storage::StoreLocation& to) {
  return to.is_postgres() ? storage::OpenPostgresStore(to.address())
                          : storage::OpenRocksDbStore(to.address());
}

Status Named(std::string_view flag, const storage::StoreLocation& location, const Status& status) {
  return Status(status.code(), StrCat(flag, " ", location.Shown(), ": ", status.message()));
}

Status CheckEmpty(const storage::Store& store) {
  return store.Scan("", [](std::string_view, std::string_view) {
    return FailedPreconditionError(
        "is not empty: give a new folder or database; if a copy was cut short there, remove the "
        "folder, or DROP SCHEMA coppice CASCADE");
  });
}

// Digests all records except the format's, each with its length, in order.
class RecordDigest {
 public:
  void Add(std::string_view key, std::string_view value) {
    sha256_.Add(StrCat(key.size(), " ", value.size(), " "));
    sha256_.Add(key);
    sha256_.Add(value);
    ++result_.records;
    result_.bytes += key.size() + value.size();
  }
  CopyResult Finish() && {
    const Sha256Digest digest = sha256_.Finish();
    result_.digest = BytesToHexString(AsBytes(digest));
    return std::move(result_);
  }
  uint64_t records() const { return result_.records; }

 private:
  Sha256Stream sha256_;
  CopyResult result_;
};

// Calls `visit` for each record except the format's and the checkpoints of jobs: both stores would
// finish the job, with noise of their own, for one charge. In the copy it ends.
StatusOr<CopyResult> Visit(
    const storage::Store& store, const ProgressCallback& progress, std::string_view what,
    absl::FunctionRef<Status(std::string_view key, std::string_view value)> visit) {
  RecordDigest digest;
  COPPICE_RETURN_IF_ERROR(store.Scan("", [&](std::string_view key, std::string_view value) {
    if (key == storage::kFormatKey || central::IsCheckpointKey(key)) return OkStatus();
    digest.Add(key, value);
    if (digest.records() % kRecordsBetweenTold == 0) {
      progress(StrCat(digest.records(), " records ", what));
    }
    return visit(key, value);
  }));
  return std::move(digest).Finish();
}

StatusOr<CopyResult> CopyRecords(const storage::Store& source, storage::Store& target,
                                 const ProgressCallback& progress) {
  storage::StoreBatch batch;
  size_t bytes = 0;
  COPPICE_ASSIGN_OR_RETURN(
      CopyResult copied,
      Visit(source, progress, "copied", [&](std::string_view key, std::string_view value) {
        batch.Put(std::string(key), std::string(value));
        bytes += key.size() + value.size();
        if (bytes < kBatchBytes) return OkStatus();
        bytes = 0;
        return target.Apply(std::exchange(batch, {}));
      }));
  COPPICE_RETURN_IF_ERROR(target.Apply(batch));
  return copied;
}

Status CompareWith(const CopyResult& copied, const storage::Store& target,
                   const ProgressCallback& progress) {
  COPPICE_ASSIGN_OR_RETURN(const CopyResult read,
                           Visit(target, progress, "compared",
                                 [](std::string_view, std::string_view) { return OkStatus(); }));
  if (read.records == copied.records && read.digest == copied.digest) return OkStatus();
  return DataLossError(StrCat("holds other records than were written: ", read.records,
                              " instead of ", copied.records,
                              ", or other bytes; the copy does not open"));
}

}  // namespace

StatusOr<CopyResult> CopyStore(const storage::StoreLocation& from, const storage::StoreLocation& to,
                               const ProgressCallback& progress) {
  const StatusOr<std::unique_ptr<storage::Store>> source = OpenSource(from);
  if (!source.ok()) return Named("--from", from, source.status());
  const StatusOr<bool> has_format = storage::HasFormat(**source);
  if (!has_format.ok()) return Named("--from", from, has_format.status());
  if (!*has_format) {
    return Named("--from", from, NotFoundError("holds no record"));
  }
  const StatusOr<std::unique_ptr<storage::Store>> target = OpenTarget(to);
  if (!target.ok()) return Named("--to", to, target.status());
  const Status empty = CheckEmpty(**target);
  if (!empty.ok()) return Named("--to", to, empty);
  COPPICE_ASSIGN_OR_RETURN(CopyResult copied, CopyRecords(**source, **target, progress));
  const Status same = CompareWith(copied, **target, progress);
  if (!same.ok()) return Named("--to", to, same);
  storage::StoreBatch last;
  const std::string format_text = StrCat(storage::kFormat);
  last.Put(std::string(storage::kFormatKey), format_text);
  COPPICE_RETURN_IF_ERROR((*target)->Apply(last));
  ++copied.records;
  copied.bytes += storage::kFormatKey.size() + format_text.size();
  return copied;
}

}  // namespace coppice::maintenance
