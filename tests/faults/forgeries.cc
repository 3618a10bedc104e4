#include "tests/faults/forgeries.h"

#include <utility>

#include "common/base/status.h"
#include "common/wire/manifest.h"
#include "tests/faults/key_history.h"

namespace coppice::testing {
namespace {

// A manifest that says what `real` says, signed by the stranger.
SignedManifest Strangers(const SignedManifest& real) {
  const SigningKey stranger = StrangersKey();
  Manifest manifest = *ReadManifest(real.bytes);
  manifest.key = KeyIdOf(stranger.public_key());
  std::string bytes = WriteManifest(manifest);
  const Signature signature = *stranger.Sign(kManifestDomain, bytes);
  return {.bytes = std::move(bytes),
          .signature = signature,
          .key = stranger.public_key(),
          .endorsements = real.endorsements};
}

// An endorsement of the stranger by `endorser`, in the name of `claimed`.
KeyEndorsement EndorseStranger(const SigningKey& endorser, const PublicKey& claimed, int64_t now) {
  KeyEndorsement step = *Endorse(endorser, StrangersKey().public_key(), now);
  step.endorser = KeyIdOf(claimed);
  return step;
}

}  // namespace

ForgedReport Forge(ReportForgery forgery, const PrivateReport& report, const Fingerprint& other,
                   const std::string& token) {
  ForgedReport forged{.fingerprint = report.fingerprint,
                      .report = report,
                      .refusal = curator::ReportOutcome::kBadTicket};
  switch (forgery) {
    case ReportForgery::kOtherStudy:
      forged.refusal = curator::ReportOutcome::kStaleFingerprint;
      break;
    case ReportForgery::kOtherTerms:
      forged.fingerprint = other;
      break;
    case ReportForgery::kAlteredMac:
      forged.report.ticket.mac[0] ^= 1;
      break;
    case ReportForgery::kTokenForMac:
      forged.report.ticket = *Ticket::FromBytes(token);
      break;
    case ReportForgery::kOtherPayload:
      forged.report.payload.push_back('\0');
      forged.refusal = curator::ReportOutcome::kBadPayload;
      break;
  }
  return forged;
}

BadTokens Make(TokenMistake mistake, const std::string& token, const Ticket& ticket) {
  switch (mistake) {
    case TokenMistake::kNone:
      return {.tokens = {}, .refusal = StatusCode::kInvalidArgument};
    case TokenMistake::kAltered: {
      std::string altered = token;
      altered.back() = static_cast<char>(altered.back() ^ 1);
      return {.tokens = {altered}, .refusal = StatusCode::kPermissionDenied};
    }
    case TokenMistake::kTicket:
      return {.tokens = {ticket.ToBytes()}, .refusal = StatusCode::kPermissionDenied};
    case TokenMistake::kTwice:
      return {.tokens = {token, token}, .tickets = 2, .refusal = StatusCode::kInvalidArgument};
    case TokenMistake::kUncalled:
      break;
  }
  return {.tokens = {token}, .refusal = StatusCode::kInvalidArgument};
}

SignedManifest Forge(ManifestForgery forgery, const SignedManifest& real, int64_t now) {
  SignedManifest forged = Strangers(real);
  switch (forgery) {
    case ManifestForgery::kStranger:
      break;
    case ManifestForgery::kEndorsesItself:
      forged.endorsements.push_back(EndorseStranger(StrangersKey(), real.key, now));
      break;
    case ManifestForgery::kStrangersChain: {
      const SigningKey other = KeyOfNumber(255);
      forged.endorsements = {EndorseStranger(other, other.public_key(), now)};
      break;
    }
    case ManifestForgery::kAlteredPromise: {
      Manifest manifest = *ReadManifest(real.bytes);
      manifest.min_reports = 0;
      forged = real;
      forged.bytes = WriteManifest(manifest);
      break;
    }
    case ManifestForgery::kAlteredEndorser:
      if (!forged.endorsements.empty()) forged.endorsements.back().signature[0] ^= 1;
      forged.endorsements.push_back(EndorseStranger(KeyOfNumber(255), real.key, now));
      break;
  }
  if (forged.endorsements.size() > kMaxEndorsements) {
    forged.endorsements.erase(forged.endorsements.begin());
  }
  return forged;
}

}  // namespace coppice::testing
