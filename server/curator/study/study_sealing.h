// Sealing of a study's reports, and the life of the keys that a relayed study's are sealed for.

#ifndef COPPICE_SERVER_CURATOR_STUDY_STUDY_SEALING_H_
#define COPPICE_SERVER_CURATOR_STUDY_STUDY_SEALING_H_

#include <cstdint>

#include "common/base/status.h"
#include "common/encrypt/report_seal.h"
#include "common/terms/relay_promise.h"
#include "server/curator/study/study.h"
#include "server/store/store.h"

namespace coppice::curator {

// The common properties of the study's sealed reports, whichever tree they are about.
seal::ReportSealing SealingOf(const StudyDefinition& definition);

// The most that payload and public values of one report take together, in any tree.
uint64_t ReportBytesOf(const StudyDefinition& definition);

// InvalidArgument, saying what to change, if the study's reports are too long to be sealed, or if
// the settings name a relay and the reports show more than their sealed payload.
Status CheckSealable(const StudyDefinition& definition);

// FailedPrecondition, worded for senders of reports, for a study that has a relay.
Status CheckTakesDirectReports(const Study& study);

// Adds the first key of a new relayed study to the batch that stores it; nothing without a relay.
Status AddFirstSealingKey(Study& study, int64_t now_unix_seconds, storage::StoreBatch& batch);

// Gives an open study its next sealing key, in one batch. Aborted unless `current` is its current
// key, so that a repeated call rotates once. FailedPrecondition for a study without a relay, for a
// sealed one, and as SealingKeys::Rotate(). Runs on the committer.
Status RotateSealingKey(storage::Store& store, Study& study, const SealingKeyName& current,
                        int64_t now_unix_seconds);

// Erases the secrets of a sealed study's keys, in one batch: from then on nobody can open its
// sealed reports. PurgeErased(), which every sweep calls, then removes them from the files. OK if
// they are already erased or there are none. FailedPrecondition while the study is open. Runs on
// the committer.
Status EraseSealingKeys(storage::Store& store, Study& study);

// Whether deleted records of the study must leave the store's files (keys/erasure.h).
bool MustBePurged(const Study& study);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_STUDY_STUDY_SEALING_H_
