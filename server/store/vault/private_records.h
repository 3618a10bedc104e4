// Decides which records of the store are private, and which key seals each.
//
// docs/storage.md lists all records. Every kind of record that is not named here is stored plain.

#ifndef COPPICE_SERVER_STORE_VAULT_PRIVATE_RECORDS_H_
#define COPPICE_SERVER_STORE_VAULT_PRIVATE_RECORDS_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/types/span.h"

namespace coppice::vault {

// A unit is the set of records that one key seals and that become unreadable with that key:
//   dataset/ID  the rows of a dataset, chunk/ID/
//   study/ID    the joined features of a study, join/ID/
//   sealing/ID  the keys that open a relayed study's reports, sealing/ID/
//   daemon      the ticket key, the manifests' key, the audit log's salt and its pending
//               entries, and the records of datasets, jobs and evaluations, which outlive the rows
inline constexpr std::string_view kDaemonUnit = "daemon";

// Returns the unit of the record at `key`; none if the record is not private. A record that a
// repair put aside stays in the unit that it came from.
std::optional<std::string> UnitOf(std::string_view key);

// Returns the prefix of all records of `unit`, except those that a repair put aside. Deleting this
// prefix deletes the unit's key. Empty for kDaemonUnit, whose key stays.
std::string PrefixOfUnit(std::string_view unit);

// Whether deleting `prefix` may delete a whole unit.
bool MayHoldUnits(std::string_view prefix);

// Every private record starts with one of these, in byte order; other records may too.
absl::Span<const std::string_view> PrivatePrefixes();

// Returns the seal's label for the record at `key`, the same wherever a repair moves it.
std::string LabelOf(std::string_view key);

}  // namespace coppice::vault

#endif  // COPPICE_SERVER_STORE_VAULT_PRIVATE_RECORDS_H_
