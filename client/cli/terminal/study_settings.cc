#include "client/cli/terminal/study_settings.h"

#include <string>

#include "client/cli/terminal/relay_flags.h"
#include "common/base/time_text.h"

namespace coppice::cli {
namespace {

struct Setting {
  void (*add_flag)(const Command& command, v1::StudySettings& settings);
  void (*describe)(const v1::StudySettings& settings, Json& json);
};

// In the order in which help and output show them.
constexpr Setting kSettings[] = {
    {[](const Command& command, v1::StudySettings& settings) {
       command.AddSwitch(
           "--require-submission-token",
           [&settings] { settings.set_require_submission_token(true); },
           "Count each submission token once (see `coppice study tokens`); devices without "
           "one get no ticket");
     },
     [](const v1::StudySettings& settings, Json& json) {
       if (settings.require_submission_token()) json["submission_tokens"] = "required";
     }},
    {[](const Command& command, v1::StudySettings& settings) {
       command.AddTaken<uint64_t>(
           "--min-reports",
           [&settings](const uint64_t& reports) { settings.set_min_reports(reports); },
           "Fewest accepted reports that a model is built from (default 1; 0: public rows "
           "alone will do)");
     },
     [](const v1::StudySettings& settings, Json& json) {
       json["min_reports"] = settings.min_reports();
     }},
    {[](const Command& command, v1::StudySettings& settings) {
       command
           .AddTaken<std::string>(
               "--expires",
               [&settings](const std::string& text) {
                 settings.set_expires_unix_seconds(*ParseTimeText(text));
               },
               "When collection ends by itself, such as 2030-01-31T12:00:00Z (default: never)")
           .Takes("TIME")
           .Check([](const std::string& text) {
             return ParseTimeText(text).has_value() ? ""
                                                    : "wants a time such as 2030-01-31T12:00:00Z";
           });
     },
     [](const v1::StudySettings& settings, Json& json) {
       if (settings.expires_unix_seconds() == 0) return;
       json["expires"] = TimeText(settings.expires_unix_seconds());
     }},
    {[](const Command& command, v1::StudySettings& settings) {
       command
           .AddTaken<uint32_t>(
               "--retention-days",
               [&settings](const uint32_t& days) { settings.set_retention_days(days); },
               "Days after sealing until the study's sums, public rows and spent tickets are "
               "deleted; its models stay (default 0: never)")
           .Takes("DAYS");
     },
     [](const v1::StudySettings& settings, Json& json) {
       if (settings.retention_days() != 0) json["retention_days"] = settings.retention_days();
     }},
};

}  // namespace

void AddSettingsFlags(const Command& command, v1::StudySettings& settings) {
  for (const Setting& setting : kSettings) setting.add_flag(command, settings);
}

void DescribeSettings(const v1::StudySettings& settings, Json& json) {
  for (const Setting& setting : kSettings) setting.describe(settings, json);
  DescribeRelay(settings, json);
}

}  // namespace coppice::cli
