// The store's keys of studies, as docs/storage.md lists them. Keys of models are in server/store/models.
//
// Every key of a study starts with its kind and "/ID/", and ids hold no slash. One prefix thus
// names all keys of a kind and study, and no study's prefix is the start of another's.

#ifndef COPPICE_SERVER_CURATOR_KEYS_STORE_KEYS_H_
#define COPPICE_SERVER_CURATOR_KEYS_STORE_KEYS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/terms/relay_promise.h"
#include "common/terms/sha256.h"
#include "server/curator/keys/join_id.h"

namespace coppice::curator {

inline constexpr absl::string_view kTicketKeyKey = "meta/ticket_key";
inline constexpr absl::string_view kManifestKeyKey = "meta/manifest_key";
inline constexpr absl::string_view kStudyPrefix = "study/";
inline constexpr absl::string_view kTombstonePrefix = "gone/";

inline std::string StudyKey(absl::string_view study) { return absl::StrCat("study/", study, "/"); }
inline std::string RowsKey(absl::string_view study) { return absl::StrCat("rows/", study, "/"); }
inline std::string CountsKey(absl::string_view study) { return absl::StrCat("count/", study, "/"); }
inline std::string TombstoneKey(absl::string_view study) {
  return absl::StrCat("gone/", study, "/");
}
inline std::string SumsPrefix(absl::string_view study) { return absl::StrCat("sums/", study, "/"); }
inline std::string SumsKey(absl::string_view study, uint32_t tree) {
  return absl::StrCat("sums/", study, "/", absl::Dec(tree, absl::kZeroPad4));
}
inline std::string SpentPrefix(absl::string_view study) {
  return absl::StrCat("spent/", study, "/");
}
// The record of the group counted after `accepted_before` reports. Keys without the suffix were
// written before format 3.
inline constexpr absl::string_view kSerialsSuffix = "/serials";
inline std::string SpentKey(absl::string_view study, uint64_t accepted_before) {
  return absl::StrCat("spent/", study, "/", absl::Dec(accepted_before, absl::kZeroPad16),
                      kSerialsSuffix);
}
// The reports of that group, where all features are public.
inline std::string LabelsPrefix(absl::string_view study) {
  return absl::StrCat("labels/", study, "/");
}
inline std::string LabelsKey(absl::string_view study, uint64_t accepted_before) {
  return absl::StrCat(LabelsPrefix(study), absl::Dec(accepted_before, absl::kZeroPad16));
}

// The features of an id, and the number of ids, where features are joined by ids. No id is written
// as "count".
inline std::string JoinPrefix(absl::string_view study) { return absl::StrCat("join/", study, "/"); }
inline std::string JoinKey(absl::string_view study, const JoinId& id) {
  return absl::StrCat(JoinPrefix(study), absl::BytesToHexString(AsBytes(id)));
}
inline std::string JoinCountKey(absl::string_view study) {
  return absl::StrCat(JoinPrefix(study), "count");
}

// The keys that a relayed study's reports are sealed for.
inline std::string SealingPrefix(absl::string_view study) {
  return absl::StrCat("sealing/", study, "/");
}
inline std::string SealingKeyKey(absl::string_view study, const SealingKeyName& name) {
  return absl::StrCat(
      SealingPrefix(study),
      absl::BytesToHexString({reinterpret_cast<const char*>(name.data()), name.size()}));
}
// Marks that records of PrefixesToPurge() were deleted and may still be in the store's files.
inline constexpr absl::string_view kErasedPrefix = "erased/";
inline std::string ErasedKey(absl::string_view study) {
  return absl::StrCat(kErasedPrefix, study, "/");
}

// The batches of a relayed study, and their reports that wait to be opened. One record holds the
// reports of one part, keyed by the position of its first in the batch.
inline std::string BatchPrefix(absl::string_view study) {
  return absl::StrCat("batch/", study, "/");
}
inline std::string BatchKey(absl::string_view study, const Sha256Digest& batch) {
  return absl::StrCat(
      BatchPrefix(study),
      absl::BytesToHexString({reinterpret_cast<const char*>(batch.data()), batch.size()}));
}
inline std::string SpoolPrefix(absl::string_view study) {
  return absl::StrCat("spool/", study, "/");
}
inline std::string BatchSpoolPrefix(absl::string_view study, const Sha256Digest& batch) {
  return absl::StrCat(
      SpoolPrefix(study),
      absl::BytesToHexString({reinterpret_cast<const char*>(batch.data()), batch.size()}), "/");
}
inline std::string SpoolKey(absl::string_view study, const Sha256Digest& batch,
                            uint64_t first_report) {
  return absl::StrCat(BatchSpoolPrefix(study, batch), absl::Dec(first_report, absl::kZeroPad8));
}

// The records that a study loses when its retention ends. No model can be built without them.
inline std::vector<std::string> PrefixesToRetire(absl::string_view study) {
  return {RowsKey(study),    SumsPrefix(study),    SpentPrefix(study), LabelsPrefix(study),
          JoinPrefix(study), SealingPrefix(study), SpoolPrefix(study)};
}
// The records that name people or open their reports: they are purged from the store's files too.
inline std::vector<std::string> PrefixesToPurge(absl::string_view study) {
  return {LabelsPrefix(study), JoinPrefix(study), SealingPrefix(study)};
}
// All records of the study.
inline std::vector<std::string> PrefixesToDelete(absl::string_view study) {
  std::vector<std::string> prefixes = PrefixesToRetire(study);
  prefixes.insert(prefixes.end(), {StudyKey(study), CountsKey(study), BatchPrefix(study)});
  return prefixes;
}

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_KEYS_STORE_KEYS_H_
