// Which records of the store are private, and whose key seals each.
//
// docs/storage.md lists all records. A kind of record that is not named here is stored as it is.

#ifndef COPPICE_SERVER_VAULT_PRIVATE_RECORDS_H_
#define COPPICE_SERVER_VAULT_PRIVATE_RECORDS_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace coppice::vault {

// A unit is what one key seals, and what is gone with it:
//   dataset/ID  the rows of a dataset, chunk/ID/
//   study/ID    the joined features of a study, join/ID/
//   sealing/ID  the keys that open a relayed study's reports, sealing/ID/
//   daemon      the ticket key, the manifests' key, the salt of the audit log and what waits to be
//               entered in it, and the records of datasets and jobs, which outlive the rows
inline constexpr absl::string_view kDaemonUnit = "daemon";

// The unit of the record at `key`; none if it is not private. A record that a repair put aside
// belongs to the unit that it came from.
std::optional<std::string> UnitOf(absl::string_view key);

// What all records of `unit` start with, but for those put aside: when all of that is deleted, the
// key is. Empty for kDaemonUnit, whose key stays.
std::string PrefixOfUnit(absl::string_view unit);

// Whether deleting `prefix` may delete all of a unit.
bool MayHoldUnits(absl::string_view prefix);

// Every private record starts with one of these, which are in byte order; other records may too.
absl::Span<const absl::string_view> PrivatePrefixes();

// Says what the record at `key` is, for the seal. The same wherever a repair puts it.
std::string LabelOf(absl::string_view key);

}  // namespace coppice::vault

#endif  // COPPICE_SERVER_VAULT_PRIVATE_RECORDS_H_
