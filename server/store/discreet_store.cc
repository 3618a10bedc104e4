#include "server/store/discreet_store.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace coppice::storage {
namespace {

absl::string_view SentenceOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kResourceExhausted:
      return "the curator's store has no room for this";
    case absl::StatusCode::kDataLoss:
      return "the curator's store is damaged";
    case absl::StatusCode::kUnavailable:
      return "the curator's store does not answer; try again later";
    default:
      return "the curator's store refuses this";
  }
}

}  // namespace

absl::Status DiscreetError(const absl::Status& error) {
  return absl::Status(
      error.code(), absl::StrCat(SentenceOf(error.code()), ". The operator's log has the reason"));
}

absl::StatusOr<std::optional<std::string>> DiscreetStore::Get(absl::string_view key) const {
  absl::StatusOr<std::optional<std::string>> value = store_.Get(key);
  if (value.ok()) return value;
  return Judge(value.status());
}

absl::Status DiscreetStore::Apply(const StoreBatch& batch) { return Judge(store_.Apply(batch)); }

absl::Status DiscreetStore::Purge(absl::string_view prefix) { return Judge(store_.Purge(prefix)); }

absl::Status DiscreetStore::Scan(
    absl::string_view prefix,
    absl::FunctionRef<absl::Status(absl::string_view key, absl::string_view value)> visit) const {
  absl::Status visited;
  const absl::Status scanned =
      store_.Scan(prefix, [&](absl::string_view key, absl::string_view value) {
        visited = visit(key, value);
        return visited;
      });
  return visited.ok() ? Judge(scanned) : visited;
}

absl::Status DiscreetStore::Judge(const absl::Status& status) const {
  if (status.ok() || !hides_) return status;
  if (!WasToldLately(status)) tell_(status);
  return DiscreetError(status);
}

bool DiscreetStore::WasToldLately(const absl::Status& error) const {
  const absl::Time now = absl::Now();
  const MutexLock lock(mutex_);
  if (error == last_told_ && now - last_told_at_ < kTellAgain) return true;
  last_told_ = error;
  last_told_at_ = now;
  return false;
}

}  // namespace coppice::storage
