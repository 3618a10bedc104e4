#include "server/curator/study/study_settings.h"

#include "absl/strings/str_cat.h"
#include "common/wire/field_error.h"
#include "coppice/v1/study.pb.h"

namespace coppice::curator {
namespace {

// A model of no report says only what the public rows say, so that must be asked for.
constexpr uint64_t kDefaultMinReports = 1;

}  // namespace

v1::StudySettings ToProto(const StudySettings& settings) {
  v1::StudySettings proto;
  proto.set_min_reports(settings.min_reports);
  proto.set_expires_unix_seconds(settings.expires_unix_seconds);
  proto.set_retention_days(settings.retention_days);
  proto.set_require_submission_token(settings.require_submission_token);
  return proto;
}

absl::StatusOr<StudySettings> FromProto(const v1::StudySettings& proto) {
  if (!proto.GetReflection()->GetUnknownFields(proto).empty()) {
    return FieldError("settings", "has a setting that this version does not know");
  }
  if (proto.expires_unix_seconds() < 0) {
    return FieldError("settings.expires_unix_seconds", "must be 0 or in the future");
  }
  return StudySettings{
      .min_reports = proto.has_min_reports() ? proto.min_reports() : kDefaultMinReports,
      .expires_unix_seconds = proto.expires_unix_seconds(),
      .retention_days = proto.retention_days(),
      .require_submission_token = proto.require_submission_token()};
}

absl::Status CheckSettings(const StudySettings& settings, int64_t now_unix_seconds) {
  if (settings.expires_unix_seconds == 0 || settings.expires_unix_seconds > now_unix_seconds) {
    return absl::OkStatus();
  }
  return FieldError("settings.expires_unix_seconds",
                    absl::StrCat("must be 0 or in the future, is ", settings.expires_unix_seconds,
                                 ", and now is ", now_unix_seconds));
}

std::string CanonicalText(const StudySettings& settings) {
  return absl::StrCat(settings.min_reports, " ", settings.expires_unix_seconds, " ",
                      settings.retention_days, settings.require_submission_token ? " tokens" : "");
}

}  // namespace coppice::curator
