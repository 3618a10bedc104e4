#include "server/curator/study/study.h"

#include <algorithm>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/proto/convert.h"
#include "common/wire/proto/packed_forest.h"
#include "common/wire/terms.h"
#include "server/curator/keys/spent_tickets.h"
#include "server/curator/study/study_sealing.h"

namespace coppice::curator {
namespace {

Status CheckNumberOfSums(const StudyDefinition& definition) {
  uint64_t sums = 0;
  for (size_t t = 0; t < definition.form->num_trees(); ++t) sums += definition.form->SumSize(t);
  if (sums <= kMaxSums) return OkStatus();
  return InvalidArgumentError(StrCat(
      "the partition needs ", sums, " sums, the curator keeps at most ", kMaxSums,
      ": lower max_depth or trees",
      definition.partition.by_feature.empty() ? "" : ", or take a by_feature with fewer values"));
}

}  // namespace

StatusOr<StudyDefinition> DefinitionFromTerms(std::string terms_bytes, PackedForest packed,
                                              PartitionOptions partition) {
  StudyDefinition definition;
  definition.partition = std::move(partition);
  COPPICE_ASSIGN_OR_RETURN(Terms terms, ReadTerms(terms_bytes));
  definition.terms = std::make_shared<const Terms>(std::move(terms));
  definition.fingerprint = FingerprintOf(terms_bytes);
  definition.terms_bytes = std::make_shared<const std::string>(std::move(terms_bytes));
  COPPICE_ASSIGN_OR_RETURN(Forest forest, OpenForest(*definition.terms, packed));
  definition.forest = std::make_shared<const Forest>(std::move(forest));
  definition.packed_forest = std::make_shared<const PackedForest>(std::move(packed));
  COPPICE_ASSIGN_OR_RETURN(definition.form, StudyForm::Make(definition.terms, definition.forest,
                                                            definition.partition.by_feature));
  COPPICE_RETURN_IF_ERROR(CheckNumberOfSums(definition));
  return definition;
}

StudyProgress NoProgress(const StudyDefinition& definition) {
  StudyProgress progress;
  for (size_t t = 0; t < definition.form->num_trees(); ++t) {
    progress.sums.push_back(std::make_shared<const TreeSums>(
        TreeSums{.sums = std::vector<int64_t>(definition.form->SumSize(t)), .reports = 0}));
  }
  return progress;
}

Study::Study(StudyDefinition definition, StudyProgress progress)
    : definition_(std::move(definition)),
      life_(definition_.settings, std::move(progress.life)),
      sums_(definition_.form, definition_.settings.min_reports,
            {.sums = std::move(progress.sums), .counts = progress.counts}) {}

Status Study::CheckGivesTickets(size_t tickets, size_t tokens) const {
  const ReportOutcome admission = life_.Admission();
  if (admission != ReportOutcome::kAccepted) {
    const bool expired = admission == ReportOutcome::kStudyExpired;
    return FailedPreconditionError(StrCat("the study ", id(),
                                          expired ? " is sealed, its time is over" : " is sealed",
                                          ": it takes no more reports"));
  }
  if (form().report().ShowsId() && join_rows() == 0) {
    return FailedPreconditionError(
        StrCat("the study ", id(), " has no features of any ", definition_.terms->joined_by,
               " yet, so it would refuse every report: `coppice study join` adds them"));
  }
  const size_t wanted = definition_.settings.require_submission_token ? tickets : 0;
  if (tokens == wanted) return OkStatus();
  return InvalidArgumentError(StrCat("submission_tokens: the study ", id(),
                                     wanted == 0
                                         ? " asks for none, leave them out"
                                         : StrCat(" asks for one a ticket, so for ", wanted),
                                     "; there are ", tokens));
}

StudyInfo Study::Info() const {
  StudyInfo info{.id = id(),
                 .created_unix_seconds = definition_.created_unix_seconds,
                 .fingerprint = definition_.fingerprint,
                 .public_rows = definition_.public_rows,
                 .partition = definition_.partition,
                 .choice = definition_.choice,
                 .terms = definition_.terms,
                 .neighbouring = definition_.form->NeighboursInWords(),
                 .forest = definition_.forest};
  info.settings = definition_.settings;
  info.join_rows = join_rows();
  info.owner = definition_.owner;
  const StudyLife life = life_.Get();
  info.state = life.state;
  info.sealed_unix_seconds = life.sealed_unix_seconds;
  info.expired = life.expired;
  info.final_model = life.final_model;
  info.retired = life.retired;
  info.seen_early = life.seen_early;
  const StudySums::Snapshot progress = sums_.Read();
  info.outcomes = progress.counts.outcomes;
  info.failed = progress.counts.failed;
  for (const SharedSums& sums : progress.sums) info.in_sums += sums->reports;
  StudySums::Look look = sums_.last_look();
  info.alarms_at_last_look = std::move(look.alarms);
  info.last_look_was_final = look.was_final;
  info.relay = RelayInfo();
  info.received = sums_.received();  // read after the answered counts, so never below them
  return info;
}

std::optional<StudyRelayInfo> Study::RelayInfo() const {
  if (!definition_.settings.relay.has_value()) return std::nullopt;
  StudyRelayInfo info{.keys_erased = true, .batches = batches_.Summary(0)};
  const std::shared_ptr<const SealingKeys> keys = keys_.Get();
  if (keys == nullptr) return info;
  info.sealing_key = keys->current().name;
  info.earlier_keys = static_cast<uint32_t>(keys->size() - 1);
  info.keys_erased = keys->erased();
  return info;
}

Status Study::CheckNoneWaits() const {
  if (life_.Get().state == StudyState::kOpen) return OkStatus();
  const uint64_t waiting = batches_.waiting();
  if (waiting == 0) return OkStatus();
  return FailedPreconditionError(StrCat(waiting, " sealed reports of study ", id(),
                                        " wait to be opened: try again when they are counted"));
}

Manifest Study::MakeManifest() const {
  Manifest manifest{.study = id(),
                    .fingerprint = definition_.fingerprint,
                    .epsilon = definition_.terms->epsilon,
                    .mechanism = definition_.terms->mechanism,
                    .sequence = 1,
                    .issued_unix_seconds = std::max<int64_t>(0, definition_.created_unix_seconds),
                    .public_features = definition_.terms->num_public_features()};
  PromiseToDevices(definition_.settings, manifest);
  const std::shared_ptr<const SealingKeys> keys = keys_.Get();
  if (keys == nullptr) return manifest;
  const StoredSealingKey& key = keys->current();
  manifest.sequence = key.first_sequence;
  manifest.issued_unix_seconds = std::max<int64_t>(0, key.created_unix_seconds);
  manifest.sealing =
      ManifestSealing{.suite = static_cast<uint16_t>(key.aead),
                      .key = key.public_key,
                      .min_batch = definition_.settings.relay->min_batch,
                      .payload_bytes = static_cast<uint32_t>(SealingOf(definition_).payload_bytes)};
  return manifest;
}

bool Study::SumsAreFinal() const {
  // In this order: a sealed study takes no more batches.
  return life_.Get().state != StudyState::kOpen && batches_.waiting() == 0;
}

void Study::Advance(StudyLife life) {
  life_.Advance(std::move(life));
  const StudyLife now = life_.Get();
  if (now.state != StudyState::kOpen) {
    DropSpentOnceCounted();
    committer_.answered_ids = {};
  }
  if (!now.retired) return;
  sums_.Clear();
  keys_.Drop();
  SetJoinRows(0);
}

void Study::DropSpentOnceCounted() {
  if (life_.Get().state != StudyState::kOpen && !batches_.has_stored()) {
    committer_.spent = SpentTickets();
  }
}

}  // namespace coppice::curator
