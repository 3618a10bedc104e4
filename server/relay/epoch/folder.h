// The folder of an epoch: what it was made with, and how it goes.

#ifndef COPPICE_SERVER_RELAY_EPOCH_FOLDER_H_
#define COPPICE_SERVER_RELAY_EPOCH_FOLDER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "server/relay/epoch/disk.h"
#include "server/relay/epoch/epoch.h"

namespace coppice::relay {

// Beside an epoch's folder: while it is made, and while it is erased.
inline constexpr absl::string_view kUnfinishedSuffix = ".new";
inline constexpr absl::string_view kErasedSuffix = ".gone";

inline std::string DealPath(const std::string& folder) { return absl::StrCat(folder, "/deal"); }
inline std::string PoolPath(const std::string& folder) { return absl::StrCat(folder, "/pool"); }
std::string ParentOf(const std::string& folder);

struct EpochContents {
  EpochRules rules;
  std::vector<Ticket> tickets;  // sorted
  Sha256Digest terms{};         // of the file of terms
};

// Writes terms and tickets into an empty folder, and syncs the files. `spec.tickets` must be
// sorted.
absl::StatusOr<Sha256Digest> WriteContents(const std::string& folder, const EpochSpec& spec,
                                           Disk& disk);
// NotFound, or DataLoss that names the file.
absl::StatusOr<EpochContents> ReadContents(const std::string& folder, Disk& disk);
absl::StatusOr<std::string> ReadEpochDocuments(const std::string& folder, Disk& disk);

// Overwrites the key of the deal, and removes the folder with all that it holds, if it is there.
absl::Status RemoveContents(const std::string& folder, Disk& disk);

}  // namespace coppice::relay

#endif  // COPPICE_SERVER_RELAY_EPOCH_FOLDER_H_
