// The keys of datasets and jobs, as docs/storage.md lists them. Ids contain no slash, so "KIND/ID/"
// is the prefix of exactly one dataset's or job's keys.

#ifndef COPPICE_SERVER_DATASETS_CENTRAL_KEYS_H_
#define COPPICE_SERVER_DATASETS_CENTRAL_KEYS_H_

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace coppice::central {

inline constexpr absl::string_view kDatasetPrefix = "dataset/";
inline constexpr absl::string_view kJobPrefix = "job/";

inline std::string DatasetKey(absl::string_view dataset) {
  return absl::StrCat(kDatasetPrefix, dataset, "/");
}
inline std::string ChunkPrefix(absl::string_view dataset) {
  return absl::StrCat("chunk/", dataset, "/");
}
inline std::string ChunkKey(absl::string_view dataset, uint64_t chunk) {
  return absl::StrCat(ChunkPrefix(dataset), absl::Dec(chunk, absl::kZeroPad8));
}
inline std::string JobKey(absl::string_view job) { return absl::StrCat(kJobPrefix, job, "/"); }

}  // namespace coppice::central

#endif  // COPPICE_SERVER_DATASETS_CENTRAL_KEYS_H_
