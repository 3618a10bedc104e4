#include "client/device/c/visit.h"

#include <algorithm>
#include <ctime>
#include <string_view>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"

namespace coppice {
namespace {

constexpr int64_t kDaySeconds = 24 * 60 * 60;

}  // namespace

absl::Time TimeSinceBoot() {
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  return absl::TimeFromTimespec(now);
}

Status OfOtherEnd(const Status& status) {
  return IsInvalidArgument(status) ? DataLossError(status.message()) : status;
}

Visit::Visit(const VisitParts& parts, VisitPlan plan) : parts_(parts), plan_(std::move(plan)) {
  if (!plan_.study.empty()) outcome_.answer = NotYet();
}

Status Visit::NotYet() const {
  return UnavailableError(
      StrCat("study ", plan_.study, " is not answered yet: carry the visit's calls to its end"));
}

void Visit::Ask(const char* method, std::string request) {
  method_ = method;
  request_ = std::move(request);
  takes_ticket_ = false;
  carried_from_ = absl::InfinitePast();
  sends_report_ = false;
  asked_ = true;
}

void Visit::AskReport(const char* method, std::string request) {
  Ask(method, std::move(request));
  sends_report_ = true;
}

Status Visit::DropSettled() {
  while (!waiting_.empty()) {
    COPPICE_ASSIGN_OR_RETURN(const bool still_waits, parts_.respondent.StillWaits(waiting_.back()));
    if (still_waits) break;
    waiting_.pop_back();
    if (sends_report_) asked_ = false;
  }
  return OkStatus();
}

Status Visit::FindCall() {
  COPPICE_RETURN_IF_ERROR(parts_.respondent.CheckMaySend());
  COPPICE_RETURN_IF_ERROR(DropSettled());
  return asked_ ? OkStatus() : Advance();
}

StatusOr<std::optional<VisitCall>> Visit::Next() {
  if (done_) return std::nullopt;
  const Status found = FindCall();
  if (!found.ok()) asked_ = false;
  done_ = !asked_;
  if (!found.ok()) return found;
  if (!asked_) return std::nullopt;
  const absl::Duration wait = carried_from_ - parts_.wait_clock();
  return VisitCall{method_, request_, std::max(wait, absl::ZeroDuration()), takes_ticket_};
}

Status Visit::Take(std::string_view response) {
  if (!asked_) return InvalidArgumentError("there is no call to take a response for");
  asked_ = false;
  return TakeAsked(response);
}

Status Visit::Fail(const Status& status) {
  if (!asked_) return InvalidArgumentError("there is no call that could have failed");
  asked_ = false;
  FailAsked(status);
  return OkStatus();
}

Status Visit::Review(const Terms& terms) const {
  if (plan_.review(terms)) return OkStatus();
  return FailedPreconditionError(
      StrCat("study ", plan_.study, " is declined by the device's own review"));
}

void Visit::NoteClock() {
  const std::optional<SeenManifest> seen = parts_.journal.OfStudy(plan_.study);
  if (!seen.has_value()) return;
  const int64_t now = std::max<int64_t>(0, parts_.clock());  // so that the difference is one
  const int64_t behind = std::max<int64_t>(0, seen->manifest.issued_unix_seconds) - now;
  if (behind > kDaySeconds) outcome_.clock_behind_seconds = behind;
}

}  // namespace coppice
