// How a relayed study's reports are sealed, and the life of the keys that they are sealed for.

#ifndef COPPICE_SERVER_CURATOR_STUDY_STUDY_SEALING_H_
#define COPPICE_SERVER_CURATOR_STUDY_STUDY_SEALING_H_

#include <cstdint>

#include "absl/status/status.h"
#include "common/seal/report_seal.h"
#include "common/study/relay_promise.h"
#include "server/curator/study/study.h"
#include "server/storage/store.h"

namespace coppice::curator {

// What all reports of the study have in common, whichever tree they are about.
seal::ReportSealing SealingOf(const StudyDefinition& definition);

// InvalidArgument, saying what to change, if the settings name a relay and the study cannot have
// one: its reports show something besides their sealed payload, or are too long to be sealed.
absl::Status CheckRelayable(const StudyDefinition& definition);

// FailedPrecondition, in words for whoever sends reports, for a study that has a relay.
absl::Status CheckTakesDirectReports(const Study& study);

// Adds the first key of a new relayed study to the batch that stores it; nothing for another study.
absl::Status AddFirstSealingKey(Study& study, int64_t now_unix_seconds, storage::StoreBatch& batch);

// Gives an open study its next sealing key, in one batch. Aborted unless `current` is the one that
// it has, so that a call that is repeated rotates once. FailedPrecondition for a study without a
// relay, once it is sealed, and as SealingKeys::Rotate(). Runs on the committer.
absl::Status RotateSealingKey(storage::Store& store, Study& study, const SealingKeyName& current,
                              int64_t now_unix_seconds);

// Erases the secrets of a sealed study's keys, in one batch: a report that is still sealed is
// opened by nobody from then on. PurgeErased(), which every sweep calls, then takes them out of
// the files. OK if they are erased already, or there are none. FailedPrecondition while the study
// is open. Runs on the committer.
absl::Status EraseSealingKeys(storage::Store& store, Study& study);

// Whether its records must leave the store's files when they are deleted (keys/erasure.h).
bool MustBePurged(const Study& study);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_STUDY_STUDY_SEALING_H_
