#include "server/curator/study/study_sealing.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/curator/keys/sealing_keys.h"

namespace coppice::curator {
namespace {

std::string TextOf(const SealingKeyName& name) { return BytesToHexString(AsBytes(name)); }

Status CheckRotates(const Study& study) {
  if (!study.definition().settings.relay.has_value()) {
    return FailedPreconditionError(StrCat(
        "study ", study.id(), " has no relay: its reports are not sealed, and there is no key"));
  }
  if (study.life().Admission() == ReportOutcome::kAccepted) return OkStatus();
  return FailedPreconditionError(
      StrCat("the study ", study.id(), " is sealed or deleted: it gets no other sealing key"));
}

Status CheckDirectlySealable(const StudyDefinition& definition) {
  const uint64_t longest = ReportBytesOf(definition);
  if (longest <= kMaxDirectReportBytes) return OkStatus();
  return InvalidArgumentError(StrCat(
      "a report of this study may take ", longest, " bytes, and a sealed message has room for ",
      kMaxDirectReportBytes, ": lower max_depth, or take a mechanism with shorter reports"));
}

}  // namespace

seal::ReportSealing SealingOf(const StudyDefinition& definition) {
  return {.fingerprint = definition.fingerprint,
          .payload_bytes = definition.form->MaxPayloadBytes()};
}

uint64_t ReportBytesOf(const StudyDefinition& definition) {
  return definition.form->MaxReportBytes();
}

Status CheckSealable(const StudyDefinition& definition) {
  if (!definition.settings.relay.has_value()) return CheckDirectlySealable(definition);
  const ReportForm& report = definition.form->report();
  if (report.ShowsId()) {
    return InvalidArgumentError(
        "settings.relay: an id in each report would tell devices apart; leave joined_by or the "
        "relay out");
  }
  if (report.ShowsSomething()) {
    return InvalidArgumentError(
        "settings.relay: public features would tell devices apart; declare none public, or leave "
        "the relay out");
  }
  const size_t longest = SealingOf(definition).payload_bytes;
  if (longest <= kMaxSealedPayloadBytes) return OkStatus();
  return InvalidArgumentError(
      StrCat("settings.relay: a report of this study may take ", longest,
             " bytes, and a sealed one at most ", kMaxSealedPayloadBytes,
             ": lower max_depth, or take a mechanism with shorter reports"));
}

Status CheckTakesDirectReports(const Study& study) {
  if (!study.definition().settings.relay.has_value()) return OkStatus();
  return FailedPreconditionError(
      StrCat("the study ", study.id(),
             " takes reports from its relay alone: answer it through the relay"));
}

Status AddFirstSealingKey(Study& study, int64_t now_unix_seconds, storage::StoreBatch& batch) {
  if (!study.definition().settings.relay.has_value()) return OkStatus();
  COPPICE_ASSIGN_OR_RETURN(SealingKeys keys,
                           SealingKeys::Make(study.id(), now_unix_seconds, batch));
  study.keys().Set(std::move(keys));
  return OkStatus();
}

Status RotateSealingKey(storage::Store& store, Study& study, const SealingKeyName& current,
                        int64_t now_unix_seconds) {
  COPPICE_RETURN_IF_ERROR(CheckRotates(study));
  const std::shared_ptr<const SealingKeys> keys = study.keys().Get();
  if (keys->current().name != current) {
    return AbortedError(
        StrCat("sealing_key_id: the study ", study.id(), " has the sealing key ",
               TextOf(keys->current().name), " and not ", TextOf(current),
               ": it was rotated meanwhile; look at the study before you rotate it again"));
  }
  storage::StoreBatch batch;
  COPPICE_ASSIGN_OR_RETURN(SealingKeys rotated, keys->Rotate(study.id(), now_unix_seconds, batch));
  COPPICE_RETURN_IF_ERROR(store.Apply(batch));
  study.keys().Set(std::move(rotated));
  return OkStatus();
}

bool MustBePurged(const Study& study) {
  return study.keys().Get() != nullptr || study.form().KeepsReports();
}

Status EraseSealingKeys(storage::Store& store, Study& study) {
  const std::shared_ptr<const SealingKeys> keys = study.keys().Get();
  if (keys == nullptr || keys->erased()) return OkStatus();
  if (study.life().Admission() == ReportOutcome::kAccepted) {
    return FailedPreconditionError(
        StrCat("the study ", study.id(), " is open: seal it before its keys are erased"));
  }
  storage::StoreBatch batch;
  SealingKeys erased = keys->Erase(study.id(), batch);
  COPPICE_RETURN_IF_ERROR(store.Apply(batch));
  study.keys().Set(std::move(erased));
  return OkStatus();
}

}  // namespace coppice::curator
