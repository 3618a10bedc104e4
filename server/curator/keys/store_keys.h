// The store's keys of studies, as docs/storage.md lists them. Keys of models are in
// server/store/models.
//
// Every key of a study starts with its kind and "/ID/", and ids hold no slash. One prefix thus
// names all keys of a kind and study, and no study's prefix is the start of another's.

#ifndef COPPICE_SERVER_CURATOR_KEYS_STORE_KEYS_H_
#define COPPICE_SERVER_CURATOR_KEYS_STORE_KEYS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/text.h"
#include "common/terms/relay_promise.h"
#include "common/terms/sha256.h"
#include "server/curator/keys/join_id.h"

namespace coppice::curator {

inline constexpr std::string_view kTicketKeyKey = "meta/ticket_key";
inline constexpr std::string_view kManifestKeyKey = "meta/manifest_key";
// The curator's direct keys, by their ids in hexadecimal.
inline constexpr std::string_view kDirectKeyPrefix = "meta/direct_key/";
inline std::string DirectKeyKey(const SealingKeyName& name) {
  return StrCat(kDirectKeyPrefix, BytesToHexString(AsBytes(name)));
}
inline constexpr std::string_view kStudyPrefix = "study/";
inline constexpr std::string_view kTombstonePrefix = "gone/";

inline std::string StudyKey(std::string_view study) { return StrCat("study/", study, "/"); }
inline std::string RowsKey(std::string_view study) { return StrCat("rows/", study, "/"); }
inline std::string CountsKey(std::string_view study) { return StrCat("count/", study, "/"); }
inline std::string TombstoneKey(std::string_view study) { return StrCat("gone/", study, "/"); }
inline std::string SumsPrefix(std::string_view study) { return StrCat("sums/", study, "/"); }
inline std::string SumsKey(std::string_view study, uint32_t tree) {
  return StrCat("sums/", study, "/", ZeroPadded(tree, 4));
}
inline std::string SpentPrefix(std::string_view study) { return StrCat("spent/", study, "/"); }
// The record of the group counted after `accepted_before` reports.
inline std::string SpentKey(std::string_view study, uint64_t accepted_before) {
  return StrCat("spent/", study, "/", ZeroPadded(accepted_before, 16));
}
// The reports of that group, where all features are public.
inline std::string LabelsPrefix(std::string_view study) { return StrCat("labels/", study, "/"); }
inline std::string LabelsKey(std::string_view study, uint64_t accepted_before) {
  return StrCat(LabelsPrefix(study), ZeroPadded(accepted_before, 16));
}

// The features of an id, and the number of ids, where features are joined by ids. No id is written
// as "count".
inline std::string JoinPrefix(std::string_view study) { return StrCat("join/", study, "/"); }
inline std::string JoinKey(std::string_view study, const JoinId& id) {
  return StrCat(JoinPrefix(study), BytesToHexString(AsBytes(id)));
}
inline std::string JoinCountKey(std::string_view study) {
  return StrCat(JoinPrefix(study), "count");
}

// The keys that a relayed study's reports are sealed for.
inline std::string SealingPrefix(std::string_view study) { return StrCat("sealing/", study, "/"); }
inline std::string SealingKeyKey(std::string_view study, const SealingKeyName& name) {
  return StrCat(SealingPrefix(study), BytesToHexString(AsBytes(name)));
}
// Stands in for the study where an erased record is the curator's own. Ids are never empty.
inline constexpr std::string_view kCuratorItself = "";
// Marks that records of PrefixesToPurge() were deleted and may still be in the store's files.
inline constexpr std::string_view kErasedPrefix = "erased/";
inline std::string ErasedKey(std::string_view study) { return StrCat(kErasedPrefix, study, "/"); }

// The batches of a relayed study, and their reports that wait to be opened. One record holds the
// reports of one part, keyed by the position of its first in the batch.
inline std::string BatchPrefix(std::string_view study) { return StrCat("batch/", study, "/"); }
inline std::string BatchKey(std::string_view study, const Sha256Digest& batch) {
  return StrCat(BatchPrefix(study), BytesToHexString(AsBytes(batch)));
}
inline std::string SpoolPrefix(std::string_view study) { return StrCat("spool/", study, "/"); }
inline std::string BatchSpoolPrefix(std::string_view study, const Sha256Digest& batch) {
  return StrCat(SpoolPrefix(study), BytesToHexString(AsBytes(batch)), "/");
}
inline std::string SpoolKey(std::string_view study, const Sha256Digest& batch,
                            uint64_t first_report) {
  return StrCat(BatchSpoolPrefix(study, batch), ZeroPadded(first_report, 8));
}

// The records that a study loses when its retention ends. No model can be built without them.
inline std::vector<std::string> PrefixesToRetire(std::string_view study) {
  return {RowsKey(study),    SumsPrefix(study),    SpentPrefix(study), LabelsPrefix(study),
          JoinPrefix(study), SealingPrefix(study), SpoolPrefix(study)};
}
// The records that name people or open their reports: they are purged from the store's files too.
inline std::vector<std::string> PrefixesToPurge(std::string_view study) {
  if (study == kCuratorItself) return {std::string(kDirectKeyPrefix)};
  return {LabelsPrefix(study), JoinPrefix(study), SealingPrefix(study)};
}
// All records of the study.
inline std::vector<std::string> PrefixesToDelete(std::string_view study) {
  std::vector<std::string> prefixes = PrefixesToRetire(study);
  prefixes.insert(prefixes.end(), {StudyKey(study), CountsKey(study), BatchPrefix(study)});
  return prefixes;
}

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_KEYS_STORE_KEYS_H_
