#include "common/encrypt/direct_message.h"

#include <algorithm>
#include <optional>

#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/crypto/crypto.h"
#include "common/terms/envelope.h"

namespace coppice::seal {
namespace {

constexpr std::string_view kRequestInfo("coppice.v1.direct_reports\0", 26);
constexpr std::string_view kOutcomesLabel = "coppice.v1.direct_outcomes";

constexpr uint64_t kPaddingStep = 64;
// What a serialized SealedReports message holds besides the study's id and its reports: tag, size
// and "studies/" before the id; tag, size and 32 bytes of the fingerprint.
constexpr uint64_t kStudyFieldBytes = 10;
constexpr uint64_t kFingerprintFieldBytes = 34;
// What each report adds to its payload and public values: its own tag and size, 34 bytes for the
// ticket's field, and the tags and sizes of the other two. Sizes up to 2^21 take 3 bytes.
constexpr uint64_t kReportFieldBytes = 4 + 34 + 4 + 4;

std::string RequestInfo(const SealingKeyId& key) { return StrCat(kRequestInfo, AsBytes(key)); }

// Replaces an envelope by its content; false if it is none.
bool TakeContent(std::string& plaintext) {
  const std::optional<std::string_view> content = OpenEnvelope(plaintext);
  if (!content.has_value() || plaintext.size() % kPaddingStep != 0) return false;
  plaintext.resize(kEnvelopeHeadBytes + content->size());
  plaintext.erase(0, kEnvelopeHeadBytes);
  return true;
}

}  // namespace

uint64_t DirectPlaintextBytes(std::string_view study, uint32_t report_bytes, uint64_t reports) {
  const uint64_t bytes = kEnvelopeHeadBytes + kStudyFieldBytes + study.size() +
                         kFingerprintFieldBytes + reports * (kReportFieldBytes + report_bytes);
  return (bytes + kPaddingStep - 1) / kPaddingStep * kPaddingStep;
}

size_t MaxDirectReports(std::string_view study, uint32_t report_bytes) {
  const uint64_t head = DirectPlaintextBytes(study, report_bytes, 0);
  const uint64_t fitting =
      (kMaxDirectPlaintextBytes - head - kPaddingStep) / (kReportFieldBytes + report_bytes);
  return static_cast<size_t>(std::min<uint64_t>(kMaxDirectReports, fitting));
}

StatusOr<SealedRequest> SealRequest(Aead aead, const SealingPublicKey& curator,
                                    std::string_view content, size_t plaintext_bytes) {
  if (content.size() + kEnvelopeHeadBytes > plaintext_bytes ||
      plaintext_bytes > kMaxDirectPlaintextBytes) {
    return InvalidArgumentError(StrCat("a message of ", content.size(), " bytes does not fit the ",
                                       plaintext_bytes,
                                       " bytes that its study allows: send fewer reports at once"));
  }
  SealedRequest request{.key = SealingKeyIdOf(aead, curator)};
  COPPICE_ASSIGN_OR_RETURN(Sender sender, Sender::Create(aead, curator, RequestInfo(request.key)));
  std::string plaintext = MakeEnvelope(content, plaintext_bytes);
  StatusOr<SealedMessage> sealed = sender.Seal(/*aad=*/"", plaintext, &request.secret);
  crypto::Wipe(plaintext.data(), plaintext.size());
  if (!sealed.ok()) return sealed.status();
  request.message = *std::move(sealed);
  return request;
}

StatusOr<RequestOpener> RequestOpener::Create(Aead aead, const SealingKey& key) {
  const std::string info = RequestInfo(SealingKeyIdOf(aead, key.public_key()));
  COPPICE_ASSIGN_OR_RETURN(Recipient recipient, Recipient::Create(aead, key, info));
  return RequestOpener(aead, std::move(recipient));
}

StatusOr<OpenedRequest> RequestOpener::Open(std::string_view encapsulated,
                                            std::string_view ciphertext) {
  OpenedRequest opened{.aead = aead_, .encapsulated = std::string(encapsulated)};
  COPPICE_ASSIGN_OR_RETURN(opened.content,
                           recipient_.Open(encapsulated, /*aad=*/"", ciphertext, &opened.secret));
  opened.plaintext_bytes = opened.content.size();
  if (TakeContent(opened.content)) return opened;
  return InvalidArgumentError("ciphertext: opens, but is not padded as docs/protocol.md says");
}

StatusOr<std::string> SealOutcomes(const OpenedRequest& request, std::string_view outcomes) {
  return SealAnswer(request.aead, request.secret, request.encapsulated, kOutcomesLabel, outcomes);
}

StatusOr<std::string> OpenOutcomes(Aead aead, const SealedRequest& request,
                                   std::string_view answer) {
  return OpenAnswer(aead, request.secret, AsBytes(request.message.encapsulated), kOutcomesLabel,
                    answer);
}

}  // namespace coppice::seal
