#include "client/cli/terminal/study_settings.h"

#include <string>

#include "client/cli/terminal/describe.h"

namespace coppice::cli {
namespace {

struct Setting {
  void (*add_flag)(CLI::App& verb, v1::StudySettings& settings);
  void (*describe)(const v1::StudySettings& settings, Json& json);
};

// In the order in which help and output show them.
constexpr Setting kSettings[] = {
    {[](CLI::App& verb, v1::StudySettings& settings) {
       verb.add_flag_callback(
           "--require-submission-token",
           [&settings] { settings.set_require_submission_token(true); },
           "Count each submission token once (see `coppice study tokens`); devices without "
           "one get no ticket");
     },
     [](const v1::StudySettings& settings, Json& json) {
       if (settings.require_submission_token()) json["submission_tokens"] = "required";
     }},
    {[](CLI::App& verb, v1::StudySettings& settings) {
       verb.add_option_function<uint64_t>(
           "--min-reports",
           [&settings](const uint64_t& reports) { settings.set_min_reports(reports); },
           "Fewest accepted reports that a model is built from (default 1; 0: public rows "
           "alone will do)");
     },
     [](const v1::StudySettings& settings, Json& json) {
       json["min_reports"] = settings.min_reports();
     }},
    {[](CLI::App& verb, v1::StudySettings& settings) {
       verb.add_option_function<std::string>(
               "--expires",
               [&settings](const std::string& text) {
                 settings.set_expires_unix_seconds(*ParseTimeText(text));
               },
               "When collection ends by itself, such as 2030-01-31T12:00:00Z (default: never)")
           ->type_name("TIME")
           ->check([](const std::string& text) {
             return ParseTimeText(text).has_value() ? ""
                                                    : "wants a time such as 2030-01-31T12:00:00Z";
           });
     },
     [](const v1::StudySettings& settings, Json& json) {
       if (settings.expires_unix_seconds() == 0) return;
       json["expires"] = TimeText(settings.expires_unix_seconds());
     }},
    {[](CLI::App& verb, v1::StudySettings& settings) {
       verb.add_option_function<uint32_t>(
               "--retention-days",
               [&settings](const uint32_t& days) { settings.set_retention_days(days); },
               "Days after sealing until the study's sums, public rows and spent tickets are "
               "deleted; its models stay (default 0: never)")
           ->type_name("DAYS");
     },
     [](const v1::StudySettings& settings, Json& json) {
       if (settings.retention_days() != 0) json["retention_days"] = settings.retention_days();
     }},
};

}  // namespace

void AddSettingsFlags(CLI::App& verb, v1::StudySettings& settings) {
  for (const Setting& setting : kSettings) setting.add_flag(verb, settings);
}

void DescribeSettings(const v1::StudySettings& settings, Json& json) {
  for (const Setting& setting : kSettings) setting.describe(settings, json);
}

}  // namespace coppice::cli
