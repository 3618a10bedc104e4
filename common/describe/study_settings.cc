#include "common/describe/study_settings.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "absl/strings/numbers.h"
#include "common/base/time_text.h"
#include "common/describe/text.h"
#include "common/terms/signature.h"
#include "coppice/v1/study.pb.h"

namespace coppice {
namespace {

template <typename Number>
Status ParseCount(const std::string& text, Number& number) {
  if (absl::SimpleAtoi(text, &number)) return OkStatus();
  return InvalidArgumentError("needs a whole number that is not negative");
}

constexpr StudySetting kSettings[] = {
    {.name = "require_submission_token",
     .takes = "",
     .help = "Require submission tokens (see `coppice study tokens`), each of which counts once; "
             "devices without one get no ticket",
     .set =
         [](const std::string&, v1::StudySettings& settings) {
           settings.set_require_submission_token(true);
           return OkStatus();
         },
     .describe =
         [](const v1::StudySettings& settings, Description& json) {
           if (settings.require_submission_token()) json["submission_tokens"] = "required";
         }},
    {.name = "min_reports",
     .takes = "N",
     .help = "Fewest accepted reports that a model is built from; with 0, public rows alone are "
             "enough (default: the curator's choice)",
     .set =
         [](const std::string& text, v1::StudySettings& settings) {
           uint64_t reports = 0;
           const Status status = ParseCount(text, reports);
           if (status.ok()) settings.set_min_reports(reports);
           return status;
         },
     .describe = [](const v1::StudySettings& settings,
                    Description& json) { json["min_reports"] = settings.min_reports(); }},
    {.name = "expires",
     .takes = "TIME",
     .help = "When collection ends automatically, such as 2030-01-31T12:00:00Z (default: never)",
     .set =
         [](const std::string& text, v1::StudySettings& settings) {
           const std::optional<int64_t> seconds = ParseTimeText(text);
           if (!seconds.has_value()) {
             return InvalidArgumentError("needs a time such as 2030-01-31T12:00:00Z");
           }
           settings.set_expires_unix_seconds(*seconds);
           return OkStatus();
         },
     .describe =
         [](const v1::StudySettings& settings, Description& json) {
           if (settings.expires_unix_seconds() == 0) return;
           json["expires"] = TimeText(settings.expires_unix_seconds());
         }},
    {.name = "retention_days",
     .takes = "DAYS",
     .help = "Days after sealing until the study's sums, public rows and spent tickets are "
             "deleted; its models stay (default: never)",
     .set =
         [](const std::string& text, v1::StudySettings& settings) {
           uint32_t days = 0;
           const Status status = ParseCount(text, days);
           if (status.ok()) settings.set_retention_days(days);
           return status;
         },
     .describe =
         [](const v1::StudySettings& settings, Description& json) {
           if (settings.retention_days() != 0) json["retention_days"] = settings.retention_days();
         }},
};

void DescribeRelay(const v1::StudySettings& settings, Description& json) {
  if (!settings.has_relay()) return;
  const v1::RelaySettings& relay = settings.relay();
  PublicKey key{};
  if (relay.relay_key().size() == key.size()) {
    std::copy(relay.relay_key().begin(), relay.relay_key().end(), key.begin());
    json["relay_key"] = ToPin(key);
  }
  json["min_batch"] = relay.min_batch();
  json["dishonest"] = relay.dishonest_millionths() / 1e6;
  json["relay_delta"] = DeltaNumber(relay.delta_atto());
}

}  // namespace

absl::Span<const StudySetting> StudySettingTable() { return kSettings; }

const StudySetting* FindStudySetting(std::string_view name) {
  for (const StudySetting& setting : kSettings) {
    if (setting.name == name) return &setting;
  }
  return nullptr;
}

void DescribeSettings(const v1::StudySettings& settings, Description& json) {
  for (const StudySetting& setting : kSettings) setting.describe(settings, json);
  DescribeRelay(settings, json);
}

}  // namespace coppice
