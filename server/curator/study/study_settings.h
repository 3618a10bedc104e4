// The operator's settings of a study besides its terms and its partition.
//
// docs/contributing.md says how to add one. Requests, records and answers carry the settings whole,
// so nothing else names them.

#ifndef COPPICE_SERVER_CURATOR_STUDY_STUDY_SETTINGS_H_
#define COPPICE_SERVER_CURATOR_STUDY_STUDY_SETTINGS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/status.h"
#include "common/terms/manifest.h"
#include "common/terms/signature.h"

namespace coppice::v1 {
class StudySettings;
}

namespace coppice::curator {

// How a study takes reports from a relay, and the bound promised for it.
struct RelaySettings {
  PublicKey relay_key{};              // batches must carry its signature
  uint64_t min_batch = 0;             // least reports of a batch; at least kLeastMinBatch
  uint32_t dishonest_millionths = 0;  // the share of a batch assumed dishonest
  // Delta of the bound against the curator, in 1e-18; at least 1, at most 1 / (10 min_batch).
  uint64_t delta_atto = 0;

  bool operator==(const RelaySettings&) const = default;
};

struct StudySettings {
  uint64_t min_reports = 0;               // least accepted reports that a model is built from
  int64_t expires_unix_seconds = 0;       // when the study seals itself; 0: never
  uint32_t retention_days = 0;            // from sealing to the deletion of its sums; 0: never
  bool require_submission_token = false;  // tickets are given only for submission tokens
  // If set, reports come only through this relay.
  std::optional<RelaySettings> relay{};

  bool operator==(const StudySettings&) const = default;
};

v1::StudySettings ToProto(const StudySettings& settings);

// InvalidArgument for a value that no study can have and for a setting that this version does not
// know, so no study is made without something that was requested. What is unset is chosen by
// study_defaults.h.
StatusOr<StudySettings> ParseStudySettings(const v1::StudySettings& proto);

// Sets what devices are told of the settings, under the curator's signature.
void PromiseToDevices(const StudySettings& settings, Manifest& manifest);

// InvalidArgument unless a study made now would be open. A request that has already made its study
// is not checked again.
Status CheckSettings(const StudySettings& settings, int64_t now_unix_seconds);

// InvalidArgument if the relay would be the curator itself, from which it could hide nothing.
Status CheckAnotherParty(const StudySettings& settings, const PublicKey& curator);

// The settings' part of a request's stored hash. A setting that was added later must not show while
// it has its default, or earlier requests would no longer match.
std::string CanonicalText(const StudySettings& settings);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_STUDY_STUDY_SETTINGS_H_
