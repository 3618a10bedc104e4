// Messages of reports, sealed as a device seals them and opened as the curator opens them, for
// tests that speak the wire themselves.

#ifndef COPPICE_TESTS_SUPPORT_SEALED_REPORTS_H_
#define COPPICE_TESTS_SUPPORT_SEALED_REPORTS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/text.h"
#include "common/encrypt/direct_message.h"
#include "common/terms/manifest.h"
#include "coppice/v1/report.pb.h"
#include "coppice/v1/study.pb.h"

namespace coppice::testing {

inline DirectKey DirectKeyOf(const seal::SealingKey& key) {
  return {.suite = static_cast<uint16_t>(seal::Aead::kAes128Gcm), .key = key.public_key()};
}

// What a report is padded to, by the bytes of its study's manifest.
inline uint32_t ReportBytesOf(const std::string& manifest) {
  v1::Manifest content;
  return content.ParseFromString(manifest) ? content.report_bytes() : 0;
}

// The key that a curator's GetCuratorKeys tells of; its proof is not looked at.
inline DirectKey DirectKeyOf(const v1::GetCuratorKeysResponse& response) {
  DirectKey key{.suite = static_cast<uint16_t>(response.direct_suite())};
  std::copy(response.direct_key().begin(), response.direct_key().end(), key.key.begin());
  return key;
}

// One message, by somebody who may seal anything: `content` need not be valid.
class SealedReportsCall {
 public:
  // Pads as the study's devices do, by the `report_bytes` of its manifest. 0, for curators that do
  // not look: to the next step of lengths.
  SealedReportsCall(const DirectKey& key, const v1::SealedReports& content,
                    uint32_t report_bytes = 0)
      : SealedReportsCall(
            key, content.SerializeAsString(),
            report_bytes == 0
                ? 0
                : seal::DirectPlaintextBytes(StripPrefix(content.study(), "studies/"), report_bytes,
                                             static_cast<uint64_t>(content.reports_size()))) {}
  SealedReportsCall(const DirectKey& key, const std::string& content, uint64_t bytes = 0)
      : aead_(static_cast<seal::Aead>(key.suite)),
        sealed_(*seal::SealRequest(aead_, key.key, content,
                                   bytes > 0 ? bytes : (content.size() + 4 + 63) / 64 * 64)) {}

  // As a SubmitReportsRequest or a StreamReportsRequest.
  template <typename Request = v1::SubmitReportsRequest>
  Request request() const {
    Request request;
    request.set_key_id(std::string(sealed_.key.begin(), sealed_.key.end()));
    request.set_encapsulated(
        std::string(sealed_.message.encapsulated.begin(), sealed_.message.encapsulated.end()));
    request.set_ciphertext(sealed_.message.ciphertext);
    return request;
  }

  // How many of the reports the curator counted, by its answer; 0 if it is not the curator's.
  template <typename Response>
  size_t Accepted(const Response& response) const {
    const std::vector<int> outcomes = Outcomes(response).value_or(std::vector<int>());
    return static_cast<size_t>(
        std::count(outcomes.begin(), outcomes.end(), v1::REPORT_OUTCOME_ACCEPTED));
  }

  // The outcomes' numbers; nothing if the answer is not the curator's to this message.
  template <typename Response>
  std::optional<std::vector<int>> Outcomes(const Response& response) const {
    const StatusOr<std::string> opened =
        seal::OpenOutcomes(aead_, sealed_, response.sealed_outcomes());
    if (!opened.ok()) return std::nullopt;
    return std::vector<int>(opened->begin(), opened->end());
  }

 private:
  seal::Aead aead_;
  seal::SealedRequest sealed_;
};

// The curator's end: opens messages for one key, and seals outcomes for their senders.
class SealedReportsEnd {
 public:
  explicit SealedReportsEnd(const seal::SealingKey& key)
      : opener_(*seal::RequestOpener::Create(seal::Aead::kAes128Gcm, key)) {}

  // Nothing if it does not open.
  template <typename Request>
  std::optional<v1::SealedReports> Open(const Request& request) {
    StatusOr<seal::OpenedRequest> opened =
        opener_.Open(request.encapsulated(), request.ciphertext());
    v1::SealedReports content;
    if (!opened.ok() || !content.ParseFromString(opened->content)) return std::nullopt;
    opened_ = *std::move(opened);
    return content;
  }
  // For the sender of the message that was opened last.
  std::string Seal(const std::vector<int>& outcomes) const {
    return *seal::SealOutcomes(opened_, std::string(outcomes.begin(), outcomes.end()));
  }

 private:
  seal::RequestOpener opener_;
  seal::OpenedRequest opened_;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SUPPORT_SEALED_REPORTS_H_
