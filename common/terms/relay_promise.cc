#include "common/terms/relay_promise.h"

#include "absl/strings/str_cat.h"

namespace coppice {
namespace {

absl::Status CheckStudyId(const std::string& study) {
  if (IsValidId(study)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "study: an id is 1 to 63 of a-z 0-9 - _ and starts with a letter or digit");
}

absl::Status CheckCount(absl::string_view field, uint64_t count, uint64_t min_batch) {
  if (min_batch == 0) return absl::InvalidArgumentError("min_batch: must be at least 1");
  if (count >= min_batch && count <= kMaxEpochTickets) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(field, ": must be min_batch (", min_batch, ") to ",
                                                 kMaxEpochTickets, ", is ", count));
}

}  // namespace

absl::Status ValidateRelayTerms(const RelayTerms& terms) {
  if (absl::Status study = CheckStudyId(terms.study); !study.ok()) return study;
  if (absl::Status count = CheckCount("tickets", terms.tickets, terms.min_batch); !count.ok()) {
    return count;
  }
  if (terms.deal_until_unix_seconds <= 0 ||
      terms.freeze_at_unix_seconds < terms.deal_until_unix_seconds) {
    return absl::InvalidArgumentError(
        "deal_until_unix_seconds, freeze_at_unix_seconds: must be times, in this order");
  }
  if (terms.offer_bytes == 0) return absl::InvalidArgumentError("offer_bytes: must be at least 1");
  return absl::OkStatus();
}

absl::Status ValidateBatchHeader(const BatchHeader& header) {
  if (absl::Status study = CheckStudyId(header.study); !study.ok()) return study;
  return CheckCount("reports", header.reports, header.min_batch);
}

}  // namespace coppice
