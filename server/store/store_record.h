// Protobuf messages as values of a Store.
//
// Errors     DataLoss, naming the key, for a record that is missing or does not parse. Nothing is
//            repaired or skipped.

#ifndef COPPICE_SERVER_STORE_STORE_RECORD_H_
#define COPPICE_SERVER_STORE_STORE_RECORD_H_

#include <optional>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/store/store.h"

namespace coppice::storage {

inline Status CorruptRecord(std::string_view key, std::string_view why) {
  return DataLossError(StrCat("the stored record ", key, " ", why,
                              "; nothing was changed. Restore a copy of the data "
                              "directory"));
}

// `Record` must be a protobuf message.
template <typename Record>
StatusOr<Record> ParseRecord(std::string_view key, std::string_view bytes) {
  Record record;
  if (record.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return record;
  return CorruptRecord(key, "does not parse");
}

template <typename Record>
StatusOr<Record> ReadRecord(const Store& store, const std::string& key) {
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> bytes, store.Get(key));
  if (!bytes.has_value()) return CorruptRecord(key, "is missing");
  return ParseRecord<Record>(key, *bytes);
}

}  // namespace coppice::storage

#endif  // COPPICE_SERVER_STORE_STORE_RECORD_H_
