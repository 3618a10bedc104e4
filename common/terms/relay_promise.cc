#include "common/terms/relay_promise.h"

#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"

namespace coppice {
namespace {

Status CheckStudyId(const std::string& study) {
  if (IsValidId(study)) return OkStatus();
  return InvalidArgumentError(
      "study: an id is 1 to 63 of a-z 0-9 - _ and starts with a letter or digit");
}

Status CheckCount(std::string_view field, uint64_t count, uint64_t min_batch) {
  if (min_batch == 0) return InvalidArgumentError("min_batch: must be at least 1");
  if (count >= min_batch && count <= kMaxEpochTickets) return OkStatus();
  return InvalidArgumentError(
      StrCat(field, ": must be min_batch (", min_batch, ") to ", kMaxEpochTickets, ", is ", count));
}

}  // namespace

Status ValidateRelayTerms(const RelayTerms& terms) {
  if (Status study = CheckStudyId(terms.study); !study.ok()) return study;
  if (Status count = CheckCount("tickets", terms.tickets, terms.min_batch); !count.ok()) {
    return count;
  }
  if (terms.deal_until_unix_seconds <= 0 ||
      terms.freeze_at_unix_seconds < terms.deal_until_unix_seconds) {
    return InvalidArgumentError(
        "deal_until_unix_seconds, freeze_at_unix_seconds: must be times, in this order");
  }
  if (terms.offer_bytes == 0) return InvalidArgumentError("offer_bytes: must be at least 1");
  return OkStatus();
}

Status ValidateBatchHeader(const BatchHeader& header) {
  if (Status study = CheckStudyId(header.study); !study.ok()) return study;
  return CheckCount("reports", header.reports, header.min_batch);
}

}  // namespace coppice
