#include "server/curator/study/study_settings.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/relay_promise.h"
#include "common/wire/field_error.h"
#include "common/wire/proto/manifest.h"
#include "coppice/v1/study.pb.h"
#include "server/curator/estimation/planning/study_defaults.h"

namespace coppice::curator {
namespace {

constexpr uint32_t kMillionths = 1'000'000;
constexpr uint64_t kAttoOne = 1'000'000'000'000'000'000;

template <typename Message>
bool HasUnknownFields(const Message& proto) {
  return !proto.GetReflection()->GetUnknownFields(proto).empty();
}

v1::RelaySettings ToProto(const RelaySettings& relay) {
  v1::RelaySettings proto;
  proto.set_relay_key(std::string(AsBytes(relay.relay_key)));
  proto.set_min_batch(relay.min_batch);
  proto.set_dishonest_millionths(relay.dishonest_millionths);
  proto.set_delta_atto(relay.delta_atto);
  return proto;
}

StatusOr<RelaySettings> ParseRelaySettings(const v1::RelaySettings& proto) {
  if (HasUnknownFields(proto)) {
    return FieldError("settings.relay", "has a setting that this version does not know");
  }
  StatusOr<PublicKey> key = ParsePublicKeyBytes(proto.relay_key());
  if (!key.ok()) return InField("settings.relay.relay_key", key.status());
  if (proto.min_batch() < kLeastMinBatch || proto.min_batch() > kMaxEpochTickets) {
    return FieldError(
        "settings.relay.min_batch",
        StrCat("must be ", kLeastMinBatch, " to ", kMaxEpochTickets, ", is ", proto.min_batch()));
  }
  if (proto.dishonest_millionths() >= kMillionths) {
    return FieldError("settings.relay.dishonest_millionths",
                      StrCat("must be below ", kMillionths, ": at least one report of a ",
                             "batch must be honest"));
  }
  const uint64_t most = kAttoOne / 10 / proto.min_batch();
  if (proto.delta_atto() > most) {
    return FieldError("settings.relay.delta_atto",
                      StrCat("must be at most ", most, ", a tenth of one in min_batch, is ",
                             proto.delta_atto(), ": the promise may fail for somebody"));
  }
  return RelaySettings{
      .relay_key = *key,
      .min_batch = proto.min_batch(),
      .dishonest_millionths = proto.has_dishonest_millionths() ? proto.dishonest_millionths()
                                                               : kDefaultDishonestMillionths,
      .delta_atto =
          proto.delta_atto() == 0 ? std::min(kDefaultRelayDeltaAtto, most) : proto.delta_atto()};
}

// A token fixes its ticket, so the curator that gave the token would know whose the report is.
Status CheckNoTokens(const v1::StudySettings& proto) {
  if (!proto.require_submission_token()) return OkStatus();
  return FieldError("settings.require_submission_token",
                    "must not be set where reports come through a relay: a token would tell the "
                    "curator whose report it is. The relay admits devices itself");
}

}  // namespace

v1::StudySettings ToProto(const StudySettings& settings) {
  v1::StudySettings proto;
  proto.set_min_reports(settings.min_reports);
  proto.set_expires_unix_seconds(settings.expires_unix_seconds);
  proto.set_retention_days(settings.retention_days);
  proto.set_require_submission_token(settings.require_submission_token);
  if (settings.relay.has_value()) *proto.mutable_relay() = ToProto(*settings.relay);
  return proto;
}

StatusOr<StudySettings> ParseStudySettings(const v1::StudySettings& proto) {
  if (HasUnknownFields(proto)) {
    return FieldError("settings", "has a setting that this version does not know");
  }
  if (proto.expires_unix_seconds() < 0) {
    return FieldError("settings.expires_unix_seconds", "must be 0 or in the future");
  }
  StudySettings settings{
      .min_reports = proto.has_min_reports() ? proto.min_reports() : kDefaultMinReports,
      .expires_unix_seconds = proto.expires_unix_seconds(),
      .retention_days = proto.retention_days(),
      .require_submission_token = proto.require_submission_token()};
  if (!proto.has_relay()) return settings;
  COPPICE_RETURN_IF_ERROR(CheckNoTokens(proto));
  COPPICE_ASSIGN_OR_RETURN(settings.relay, ParseRelaySettings(proto.relay()));
  return settings;
}

void PromiseToDevices(const StudySettings& settings, Manifest& manifest) {
  manifest.expires_unix_seconds = settings.expires_unix_seconds;
  manifest.min_reports = settings.min_reports;
}

Status CheckSettings(const StudySettings& settings, int64_t now_unix_seconds) {
  if (settings.expires_unix_seconds == 0 || settings.expires_unix_seconds > now_unix_seconds) {
    return OkStatus();
  }
  return FieldError("settings.expires_unix_seconds",
                    StrCat("must be 0 or in the future, is ", settings.expires_unix_seconds,
                           ", and now is ", now_unix_seconds));
}

Status CheckAnotherParty(const StudySettings& settings, const PublicKey& curator) {
  if (!settings.relay.has_value() || settings.relay->relay_key != curator) return OkStatus();
  return FieldError("settings.relay.relay_key",
                    "is this curator's own: a relay is another party, with a key of its own "
                    "(`coppice-relay keygen` prints it)");
}

std::string CanonicalText(const StudySettings& settings) {
  std::string text =
      StrCat(settings.min_reports, " ", settings.expires_unix_seconds, " ", settings.retention_days,
             settings.require_submission_token ? " tokens" : "");
  if (settings.relay.has_value()) {
    const RelaySettings& relay = *settings.relay;
    StrAppend(&text, " relay ", BytesToHexString(AsBytes(relay.relay_key)), " ", relay.min_batch,
              " ", relay.dishonest_millionths, " ", relay.delta_atto);
  }
  return text;
}

}  // namespace coppice::curator
