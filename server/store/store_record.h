// Protobuf messages as values of a Store.
//
// Errors     DataLoss, naming the key, for a record that is missing or does not parse. Nothing is
//            repaired or skipped.

#ifndef COPPICE_SERVER_STORE_STORE_RECORD_H_
#define COPPICE_SERVER_STORE_STORE_RECORD_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/status_macros.h"
#include "server/store/store.h"

namespace coppice::storage {

inline absl::Status CorruptRecord(absl::string_view key, absl::string_view why) {
  return absl::DataLossError(absl::StrCat("the stored record ", key, " ", why,
                                          "; nothing was changed. Restore a copy of the data "
                                          "directory"));
}

// `Record` must be a protobuf message.
template <typename Record>
absl::StatusOr<Record> ParseRecord(absl::string_view key, absl::string_view bytes) {
  Record record;
  if (record.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return record;
  return CorruptRecord(key, "does not parse");
}

template <typename Record>
absl::StatusOr<Record> ReadRecord(const Store& store, const std::string& key) {
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> bytes, store.Get(key));
  if (!bytes.has_value()) return CorruptRecord(key, "is missing");
  return ParseRecord<Record>(key, *bytes);
}

}  // namespace coppice::storage

#endif  // COPPICE_SERVER_STORE_STORE_RECORD_H_
