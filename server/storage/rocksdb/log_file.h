// RocksDB's write-ahead log, as far as needed to tell a log that a crash cut short from a damaged
// one: RocksDB itself forgets, in both cases, whatever comes after the first record that is longer
// than what is left of the file.
//
// Format    blocks of 32 KiB; records of CRC-32C (masked, of type and payload), length (two bytes),
//           type and payload, all little-endian. A record does not cross a block. Zeros fill up.
// Source    https://github.com/facebook/rocksdb/wiki/Write-Ahead-Log-File-Format

#ifndef COPPICE_SERVER_STORAGE_ROCKSDB_LOG_FILE_H_
#define COPPICE_SERVER_STORAGE_ROCKSDB_LOG_FILE_H_

#include <string>

#include "absl/strings/string_view.h"

namespace coppice::storage {

// What is wrong with a log of these bytes, empty if nothing is: a record does not have its
// checksum, or one is cut short though sound bytes follow.
std::string DamageOfLog(absl::string_view bytes);

}  // namespace coppice::storage

#endif  // COPPICE_SERVER_STORAGE_ROCKSDB_LOG_FILE_H_
