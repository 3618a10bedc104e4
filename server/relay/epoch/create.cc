#include <algorithm>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/relay/epoch/bytes.h"
#include "server/relay/epoch/deal.h"
#include "server/relay/epoch/epoch.h"
#include "server/relay/epoch/folder.h"
#include "server/relay/epoch/pool.h"

namespace coppice::relay {
namespace {

Status ValidateRules(const EpochRules& rules, uint64_t tickets) {
  if (rules.min_batch == 0) return InvalidArgumentError("min_batch: must be at least 1");
  if (tickets < rules.min_batch || tickets > kMaxEpochTickets) {
    return InvalidArgumentError(StrCat("tickets: must be from min_batch, ", rules.min_batch,
                                       ", to ", kMaxEpochTickets, "; there are ", tickets));
  }
  if (rules.freeze_at_unix_seconds < rules.deal_until_unix_seconds) {
    return InvalidArgumentError("freeze_at: must not be before deal_until");
  }
  if (rules.ciphertext_bytes == 0 || rules.ciphertext_bytes > kMaxCiphertextBytes) {
    return InvalidArgumentError(StrCat("ciphertext_bytes: must be from 1 to ", kMaxCiphertextBytes,
                                       "; it is ", rules.ciphertext_bytes));
  }
  return OkStatus();
}

// If a ticket came twice, one of two reports would be lost, which would reveal their order.
Status SortTickets(std::vector<Ticket>& tickets) {
  std::sort(tickets.begin(), tickets.end(), &IsBefore);
  if (std::adjacent_find(tickets.begin(), tickets.end()) == tickets.end()) return OkStatus();
  return InvalidArgumentError("tickets: one is there twice, so this pool is not dealt");
}

Status MakeFolder(const std::string& folder, const EpochSpec& spec, Disk& disk) {
  COPPICE_RETURN_IF_ERROR(disk.CreateFolder(folder));
  COPPICE_ASSIGN_OR_RETURN(const Sha256Digest terms, WriteContents(folder, spec, disk));
  const PoolShape shape{.slots = spec.tickets.size(),
                        .ciphertext_bytes = spec.rules.ciphertext_bytes,
                        .terms = terms};
  COPPICE_ASSIGN_OR_RETURN(const std::string pool, MakePoolFile(PoolPath(folder), shape, disk));
  COPPICE_RETURN_IF_ERROR(MakeDealFile(DealPath(folder), disk, pool));
  return disk.SyncFolder(folder);
}

// Makes the epoch under its final name, or not at all.
Status MakeEpoch(const std::string& folder, const EpochSpec& spec, Disk& disk) {
  const std::string unfinished = StrCat(folder, kUnfinishedSuffix);
  COPPICE_RETURN_IF_ERROR(RemoveContents(unfinished, disk));
  Status made = MakeFolder(unfinished, spec, disk);
  if (made.ok()) made = disk.RenameFolder(unfinished, folder);
  if (!made.ok()) RemoveContents(unfinished, disk).IgnoreError();
  return made;
}

}  // namespace

StatusOr<std::unique_ptr<Epoch>> Epoch::Create(const std::string& folder, EpochSpec spec,
                                               Disk& disk) {
  COPPICE_RETURN_IF_ERROR(ValidateRules(spec.rules, spec.tickets.size()));
  COPPICE_RETURN_IF_ERROR(SortTickets(spec.tickets));
  COPPICE_RETURN_IF_ERROR(MakeEpoch(folder, spec, disk));
  StatusOr<std::unique_ptr<Epoch>> epoch = Open(folder, disk);
  if (!epoch.ok()) Remove(folder, disk).IgnoreError();
  return epoch;
}

// Renames the folder first, in one step, so that nobody opens a half of it.
Status Epoch::Remove(const std::string& folder, Disk& disk) {
  const std::string erased = StrCat(folder, kErasedSuffix);
  Status renamed = disk.RenameFolder(folder, erased);
  if (IsAlreadyExists(renamed)) {
    COPPICE_RETURN_IF_ERROR(RemoveContents(erased, disk));
    renamed = disk.RenameFolder(folder, erased);
  }
  // An earlier attempt may have renamed it already.
  if (!renamed.ok() && !IsNotFound(renamed)) return renamed;
  COPPICE_RETURN_IF_ERROR(disk.SyncFolder(ParentOf(folder)));
  return RemoveContents(erased, disk);
}

StatusOr<std::vector<std::string>> Epoch::List(const std::string& parent, Disk& disk) {
  COPPICE_ASSIGN_OR_RETURN(const std::vector<std::string> names, disk.List(parent));
  // A power cut could undo a rename, and the epoch must be whole then: sync before removing.
  COPPICE_RETURN_IF_ERROR(disk.SyncFolder(parent));
  std::vector<std::string> epochs;
  for (const std::string& name : names) {
    const std::string folder = StrCat(parent, "/", name);
    if (EndsWith(name, kUnfinishedSuffix) || EndsWith(name, kErasedSuffix)) {
      COPPICE_RETURN_IF_ERROR(RemoveContents(folder, disk));
    } else {
      epochs.push_back(folder);
    }
  }
  return epochs;
}

}  // namespace coppice::relay
