// The keys of datasets and jobs, as docs/storage.md lists them. Ids contain no slash, so "KIND/ID/"
// is the prefix of exactly one dataset's or job's keys.

#ifndef COPPICE_SERVER_DATASETS_CENTRAL_KEYS_H_
#define COPPICE_SERVER_DATASETS_CENTRAL_KEYS_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/text.h"

namespace coppice::central {

inline constexpr std::string_view kDatasetPrefix = "dataset/";
inline constexpr std::string_view kJobPrefix = "job/";
inline constexpr std::string_view kEvaluationPrefix = "evaluation/";

inline std::string DatasetKey(std::string_view dataset) {
  return StrCat(kDatasetPrefix, dataset, "/");
}
inline std::string ChunkPrefix(std::string_view dataset) { return StrCat("chunk/", dataset, "/"); }
// The rows of a dataset are in two parts, which are stored apart, so that what reads one of them
// sees nothing of the other. A dataset without a reserve has all of its rows in the first.
enum class Part : uint8_t { kTraining, kReserve };
inline std::string ChunkKey(std::string_view dataset, uint64_t chunk, Part part = Part::kTraining) {
  return StrCat(ChunkPrefix(dataset), part == Part::kReserve ? "reserve-" : "",
                ZeroPadded(chunk, 8));
}
// Beside the rows, so that what seals, deletes and purges those does the same to public ones.
inline std::string PublicRowsKey(std::string_view dataset) {
  return StrCat(ChunkPrefix(dataset), "public");
}
// Beside the rows for the same reason: whoever may read these may read a job's checkpoints. The
// start is checkpoint 0.
inline std::string CheckpointsPrefix(std::string_view dataset) {
  return StrCat(ChunkPrefix(dataset), "job/");
}
inline std::string CheckpointPrefix(std::string_view dataset, std::string_view job) {
  return StrCat(CheckpointsPrefix(dataset), job, "/");
}
inline std::string CheckpointKey(std::string_view dataset, std::string_view job,
                                 uint64_t checkpoint) {
  return StrCat(CheckpointPrefix(dataset, job), ZeroPadded(checkpoint, 8));
}
// Whether it is such a key, of any job.
inline bool IsCheckpointKey(std::string_view key) {
  if (!ConsumePrefix(&key, "chunk/")) return false;
  return StartsWith(key.substr(std::min(key.find('/'), key.size())), "/job/");
}
inline std::string JobKey(std::string_view job) { return StrCat(kJobPrefix, job, "/"); }
inline std::string EvaluationKey(std::string_view evaluation) {
  return StrCat(kEvaluationPrefix, evaluation, "/");
}

}  // namespace coppice::central

#endif  // COPPICE_SERVER_DATASETS_CENTRAL_KEYS_H_
