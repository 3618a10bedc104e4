#include "server/store/discreet_store.h"

#include <string_view>

#include "absl/time/clock.h"
#include "common/base/status.h"
#include "common/base/text.h"

namespace coppice::storage {
namespace {

std::string_view SentenceOf(StatusCode code) {
  switch (code) {
    case StatusCode::kResourceExhausted:
      return "the curator's store has no room for this";
    case StatusCode::kDataLoss:
      return "the curator's store is damaged";
    case StatusCode::kUnavailable:
      return "the curator's store does not answer; try again later";
    default:
      return "the curator's store refuses this";
  }
}

}  // namespace

Status DiscreetError(const Status& error) {
  return Status(error.code(),
                StrCat(SentenceOf(error.code()), ". The operator's log has the reason"));
}

StatusOr<std::optional<std::string>> DiscreetStore::Get(std::string_view key) const {
  StatusOr<std::optional<std::string>> value = store_.Get(key);
  if (value.ok()) return value;
  return Judge(value.status());
}

Status DiscreetStore::Apply(const StoreBatch& batch) { return Judge(store_.Apply(batch)); }

Status DiscreetStore::Purge(std::string_view prefix) { return Judge(store_.Purge(prefix)); }

Status DiscreetStore::Scan(
    std::string_view prefix,
    absl::FunctionRef<Status(std::string_view key, std::string_view value)> visit) const {
  Status visited;
  const Status scanned = store_.Scan(prefix, [&](std::string_view key, std::string_view value) {
    visited = visit(key, value);
    return visited;
  });
  return visited.ok() ? Judge(scanned) : visited;
}

Status DiscreetStore::Judge(const Status& status) const {
  if (status.ok() || !hides_) return status;
  if (!WasToldLately(status)) tell_(status);
  return DiscreetError(status);
}

bool DiscreetStore::WasToldLately(const Status& error) const {
  const absl::Time now = absl::Now();
  const MutexLock lock(mutex_);
  if (error == last_told_ && now - last_told_at_ < kTellAgain) return true;
  last_told_ = error;
  last_told_at_ = now;
  return false;
}

}  // namespace coppice::storage
