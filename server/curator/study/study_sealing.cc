#include "server/curator/study/study_sealing.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/status_macros.h"
#include "server/curator/keys/sealing_keys.h"
#include "server/curator/study/label_record.h"

namespace coppice::curator {
namespace {

std::string TextOf(const SealingKeyName& name) {
  return absl::BytesToHexString({reinterpret_cast<const char*>(name.data()), name.size()});
}

absl::Status CheckRotates(const Study& study) {
  if (!study.definition().settings.relay.has_value()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "study ", study.id(), " has no relay: its reports are not sealed, and there is no key"));
  }
  if (study.AdmissionOutcome() == ReportOutcome::kAccepted) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the study ", study.id(), " is sealed or deleted: it gets no other sealing key"));
}

}  // namespace

seal::ReportSealing SealingOf(const StudyDefinition& definition) {
  size_t longest = 0;
  for (const auto& mechanism : definition.mechanisms) {
    longest = std::max(longest, mechanism->max_payload_bytes());
  }
  return {.fingerprint = definition.fingerprint, .payload_bytes = longest};
}

absl::Status CheckRelayable(const StudyDefinition& definition) {
  if (!definition.settings.relay.has_value()) return absl::OkStatus();
  const Terms& terms = *definition.terms;
  if (terms.num_public_features() > 0) {
    return absl::InvalidArgumentError(
        "settings.relay: public features would tell devices apart; declare none public, or leave "
        "the relay out");
  }
  if (!terms.joined_by.empty()) {
    return absl::InvalidArgumentError(
        "settings.relay: an id in each report would tell devices apart; leave joined_by or the "
        "relay out");
  }
  const size_t longest = SealingOf(definition).payload_bytes;
  if (longest <= kMaxSealedPayloadBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("settings.relay: a report of this study may take ", longest,
                   " bytes, and a sealed one at most ", kMaxSealedPayloadBytes,
                   ": lower max_depth, or take a mechanism with shorter reports"));
}

absl::Status CheckTakesDirectReports(const Study& study) {
  if (!study.definition().settings.relay.has_value()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the study ", study.id(),
                   " takes reports from its relay alone: answer it through the relay"));
}

absl::Status AddFirstSealingKey(Study& study, int64_t now_unix_seconds,
                                storage::StoreBatch& batch) {
  if (!study.definition().settings.relay.has_value()) return absl::OkStatus();
  COPPICE_ASSIGN_OR_RETURN(SealingKeys keys,
                           SealingKeys::Make(study.id(), now_unix_seconds, batch));
  study.SetSealingKeys(std::move(keys));
  return absl::OkStatus();
}

absl::Status RotateSealingKey(storage::Store& store, Study& study, const SealingKeyName& current,
                              int64_t now_unix_seconds) {
  COPPICE_RETURN_IF_ERROR(CheckRotates(study));
  const std::shared_ptr<const SealingKeys> keys = study.sealing_keys();
  if (keys->current().name != current) {
    return absl::AbortedError(
        absl::StrCat("sealing_key_id: the study ", study.id(), " has the sealing key ",
                     TextOf(keys->current().name), " and not ", TextOf(current),
                     ": it was rotated meanwhile; look at the study before you rotate it again"));
  }
  storage::StoreBatch batch;
  COPPICE_ASSIGN_OR_RETURN(SealingKeys rotated, keys->Rotate(study.id(), now_unix_seconds, batch));
  COPPICE_RETURN_IF_ERROR(store.Apply(batch));
  study.SetSealingKeys(std::move(rotated));
  return absl::OkStatus();
}

bool MustBePurged(const Study& study) {
  return study.sealing_keys() != nullptr || KeepsLabels(study.definition());
}

absl::Status EraseSealingKeys(storage::Store& store, Study& study) {
  const std::shared_ptr<const SealingKeys> keys = study.sealing_keys();
  if (keys == nullptr || keys->erased()) return absl::OkStatus();
  if (study.AdmissionOutcome() == ReportOutcome::kAccepted) {
    return absl::FailedPreconditionError(
        absl::StrCat("the study ", study.id(), " is open: seal it before its keys are erased"));
  }
  storage::StoreBatch batch;
  SealingKeys erased = keys->Erase(study.id(), batch);
  COPPICE_RETURN_IF_ERROR(store.Apply(batch));
  study.SetSealingKeys(std::move(erased));
  return absl::OkStatus();
}

}  // namespace coppice::curator
