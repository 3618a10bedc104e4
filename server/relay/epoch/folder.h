// The folder of an epoch: its contents, and their removal.

#ifndef COPPICE_SERVER_RELAY_EPOCH_FOLDER_H_
#define COPPICE_SERVER_RELAY_EPOCH_FOLDER_H_

#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/relay/epoch/disk.h"
#include "server/relay/epoch/epoch_types.h"

namespace coppice::relay {

// Suffixes of folders next to an epoch's: while it is made, and while it is erased.
inline constexpr std::string_view kUnfinishedSuffix = ".new";
inline constexpr std::string_view kErasedSuffix = ".gone";

inline std::string DealPath(const std::string& folder) { return StrCat(folder, "/deal"); }
inline std::string PoolPath(const std::string& folder) { return StrCat(folder, "/pool"); }
std::string ParentOf(const std::string& folder);

struct EpochContents {
  EpochRules rules;
  std::vector<Ticket> tickets;  // sorted
  Sha256Digest terms{};         // of the terms file
};

// Writes terms and tickets into an empty folder, and syncs the files. `spec.tickets` must be
// sorted.
StatusOr<Sha256Digest> WriteContents(const std::string& folder, const EpochSpec& spec, Disk& disk);
// NotFound, or DataLoss that names the file.
StatusOr<EpochContents> ReadContents(const std::string& folder, Disk& disk);
StatusOr<std::string> ReadEpochDocuments(const std::string& folder, Disk& disk);

// Overwrites the deal's key, and removes the folder with its contents, if it exists.
Status RemoveContents(const std::string& folder, Disk& disk);

}  // namespace coppice::relay

#endif  // COPPICE_SERVER_RELAY_EPOCH_FOLDER_H_
