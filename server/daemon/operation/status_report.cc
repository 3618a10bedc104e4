#include "server/daemon/operation/status_report.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/time/clock.h"
#include "absl/types/span.h"
#include "common/base/text.h"
#include "server/serving/metrics/all_pages.h"
#include "server/store/store_location.h"

namespace coppice::daemon {
namespace {

constexpr size_t kMaxNames = 10;
constexpr absl::Duration kSoon = absl::Hours(7 * 24);  // as deploy/prometheus/alerts.yml

// "a, b and 3 more".
std::string ListOf(absl::Span<const std::string> names) {
  const absl::Span<const std::string> shown = names.subspan(0, kMaxNames);
  const size_t more = names.size() - shown.size();
  return StrCat(StrJoin(shown, ", "), more > 0 ? StrCat(" and ", more, " more") : "");
}

std::string DayText(absl::Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M UTC", time, absl::UTCTimeZone());
}

std::optional<std::string> HeldLedgers(const central::Datasets& datasets) {
  std::vector<std::string> held;
  metrics::ForEachOf([&](const Page& page) { return datasets.List(page); },
                     [&](const central::DatasetInfo& dataset) {
                       if (dataset.account.hold.reason == ledger::HoldReason::kNone) return;
                       held.push_back(StrCat("datasets/", dataset.id));
                     });
  if (held.empty()) return std::nullopt;
  return StrCat("Ledgers are on hold, and no job is charged: ", ListOf(held),
                ". Confirm each head with coppice dataset confirm, or write off what is lost "
                "with coppice dataset write-off.");
}

// Whether who asks for the status is an operator with a credential. Else it may be a reader of
// models, for whom alarms of studies whose sums are not final are not (curator::Viewer).
bool IsAskedByName(const access::AccessControl* access) {
  return access != nullptr && !access->policy()->anonymous().roles.Meets({access::Role::kAdmin});
}

std::optional<std::string> StudyAlarms(const curator::Studies& studies, bool is_asked_by_name) {
  std::vector<std::string> raised;
  metrics::ForEachOf(
      [&](const Page& page) { return studies.List(page); },
      [&](const curator::StudyInfo& study) {
        if (study.alarms_at_last_look == nullptr) return;
        if (!study.last_look_was_final && !is_asked_by_name) return;
        std::vector<std::string> names;
        for (const curator::Alarm& alarm : *study.alarms_at_last_look) {
          if (alarm.raised) names.push_back(alarm.name);
        }
        if (names.empty()) return;
        raised.push_back(StrCat("studies/", study.id, " (", StrJoin(names, ", "), ")"));
      });
  if (raised.empty()) return std::nullopt;
  return StrCat("Studies raise alarms, which honest devices rarely cause: ", ListOf(raised),
                ". See coppice study show.");
}

std::vector<std::string> FailingChecks(const Readiness* readiness) {
  if (readiness == nullptr) return {"The daemon is starting."};
  std::vector<std::string> alarms;
  for (const auto& [name, reason] : readiness->Failing()) {
    alarms.push_back(StrCat("The check ", name, " fails, and the daemon is not ready: ", reason));
  }
  return alarms;
}

// Nothing if it is unknown.
std::optional<std::filesystem::space_info> SpaceAt(const std::string& folder) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  if (error || space.capacity == 0) return std::nullopt;
  return space;
}

}  // namespace

std::optional<std::string> ExpiryAlarm(absl::Time certificate_expires, absl::Time now) {
  if (certificate_expires > now + kSoon) return std::nullopt;
  const bool is_over = certificate_expires <= now;
  return StrCat("The daemon's certificate ", is_over ? "expired on " : "expires on ",
                DayText(certificate_expires), ". Renew it and send SIGHUP.");
}

std::optional<std::string> TokenAlarm(const std::vector<access::PolicyEntry>& tokens,
                                      absl::Time now) {
  std::vector<std::string> ending;
  for (const access::PolicyEntry& token : tokens) {
    if (token.expires <= now || token.expires > now + kSoon) continue;
    ending.push_back(StrCat(token.name, " on ", DayText(token.expires)));
  }
  if (ending.empty()) return std::nullopt;
  return StrCat("Tokens expire within a week: ", ListOf(ending),
                ". Make new ones with coppiced token.");
}

std::optional<std::string> DiskAlarm(uint64_t free_bytes, uint64_t all_bytes) {
  if (free_bytes >= all_bytes / 10) return std::nullopt;
  return StrCat("The disk of the data directory is nearly full: ", free_bytes >> 20,
                " MiB are free. Below 32 MiB the daemon refuses writes.");
}

v1::GetStatusResponse StatusReport::Read() const {
  v1::GetStatusResponse status;
  status.set_version(COPPICE_VERSION);
  status.set_started_unix_seconds(absl::ToUnixSeconds(started_));
  const Readiness* const readiness = readiness_;
  status.set_serving(readiness != nullptr && readiness->IsReady());
  const auto add = [&status](std::optional<std::string> alarm) {
    if (alarm.has_value()) status.add_alarms(*std::move(alarm));
  };
  for (std::string& alarm : FailingChecks(readiness)) add(std::move(alarm));
  add(HeldLedgers(daemon_.curator.datasets));
  add(StudyAlarms(daemon_.curator.studies, IsAskedByName(access_)));
  if (daemon_.standby_alarm != nullptr && daemon_.standby_alarm->Raised().value_or(false)) {
    add("The database has no synchronous replica: if its server is lost, so are acknowledged "
        "reports and charges. See docs/postgresql.md#replicas.");
  }
  const absl::Time now = absl::Now();
  if (daemon_.certificates != nullptr) add(ExpiryAlarm(daemon_.certificates->expires(), now));
  if (access_ != nullptr) add(TokenAlarm(access_->policy()->tokens(), now));
  const auto location = LocationOf(daemon_.location);
  if (location.ok()) status.set_store(location->is_postgres() ? "postgresql" : "rocksdb");
  if (location.ok() && !location->is_postgres()) {
    if (const auto space = SpaceAt(location->address()); space.has_value()) {
      status.set_disk_free_bytes(space->available);
      add(DiskAlarm(space->available, space->capacity));
    }
  }
  if (lead_.has_value()) *status.mutable_fleet() = DescribeFleet();
  return status;
}

v1::FleetStatus StatusReport::DescribeFleet() const {
  v1::FleetStatus fleet;
  fleet.set_leader(lead_->address);
  fleet.set_epoch(static_cast<uint64_t>(lead_->epoch));
  fleet.set_leading_since_unix_seconds(absl::ToUnixSeconds(lead_->since));
  fleet.set_lease_seconds(static_cast<uint32_t>(absl::ToInt64Seconds(lead_->lease_length)));
  return fleet;
}

}  // namespace coppice::daemon
