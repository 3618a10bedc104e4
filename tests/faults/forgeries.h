// What no honest party sends: reports that a curator must refuse for a stated reason, requests for
// tickets that it must not give, and offers that a device must not believe.

#ifndef COPPICE_TESTS_FAULTS_FORGERIES_H_
#define COPPICE_TESTS_FAULTS_FORGERIES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "client/device/privatizer.h"
#include "common/base/status.h"
#include "common/terms/manifest.h"
#include "server/curator/studies/studies.h"

namespace coppice::testing {

// Forgeries of a device's report to its study; `other` is another study that exists.
enum class ReportForgery : uint8_t {
  kOtherStudy,    // replayed to the other study, unchanged
  kOtherTerms,    // likewise, with the other study's fingerprint
  kAlteredMac,    // the ticket's MAC is altered
  kTokenForMac,   // a submission token in the ticket's place
  kOtherPayload,  // with its own ticket, but another length
};
inline constexpr uint32_t kReportForgeries = 5;
constexpr bool IsToOther(ReportForgery forgery) {
  return forgery == ReportForgery::kOtherStudy || forgery == ReportForgery::kOtherTerms;
}
struct ForgedReport {
  Fingerprint fingerprint{};
  PrivateReport report;
  curator::ReportOutcome refusal;  // names what is wrong
};
ForgedReport Forge(ReportForgery forgery, const PrivateReport& report, const Fingerprint& other,
                   const std::string& token);

// Ways to ask for a ticket of a study that asks for tokens; kUncalled is for one that does not.
enum class TokenMistake : uint8_t {
  kNone,      // without a token
  kAltered,   // one bit of the token
  kTicket,    // a ticket in the token's place
  kTwice,     // the same token for two tickets
  kUncalled,  // a good token, for a study that asks for none
};
inline constexpr uint32_t kTokenMistakes = 5;
struct BadTokens {
  std::vector<std::string> tokens;
  uint32_t tickets = 1;
  StatusCode refusal;
};
BadTokens Make(TokenMistake mistake, const std::string& token, const Ticket& ticket);

// Forgeries of an offer's manifest; a device that already has a key must refuse each.
enum class ManifestForgery : uint8_t {
  kStranger,         // signed by a stranger
  kEndorsesItself,   // likewise, and endorsed by the stranger in the name of the real key
  kStrangersChain,   // likewise, endorsed by another stranger
  kAlteredPromise,   // fewer reports, under the real signature
  kAlteredEndorser,  // a stranger's, at the end of the real endorsements with a bit changed
};
inline constexpr uint32_t kManifestForgeries = 5;
SignedManifest Forge(ManifestForgery forgery, const SignedManifest& real, int64_t now);

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_FAULTS_FORGERIES_H_
