// Encodes and decodes ledger entries and holds. docs/storage.md has the format.
//
// The key of an entry is ledger/DATASET/NNNNNNNNNNNNNNNN, with the entry's place in decimal. Its
// value is the SHA-256 of the rest, then a serialized LedgerRecord with the dataset, the place and
// the hash of the previous entry: the hash covers exactly the stored bytes. A hold is a HoldRecord
// under hold/DATASET/.
//
// Errors     DataLoss names the key of anything else.

#ifndef COPPICE_SERVER_DATASETS_LEDGER_LEDGER_RECORD_H_
#define COPPICE_SERVER_DATASETS_LEDGER_LEDGER_RECORD_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/datasets/ledger/account_book.h"
#include "server/store/store.h"

namespace coppice::ledger {

inline constexpr std::string_view kLedgerPrefix = "ledger/";
std::string LedgerKey(std::string_view dataset, uint64_t sequence);

// Encodes `entry` as the next of `book`. The record does not contain its own hash.
std::string EncodeEntry(const AccountBook& book, const LedgerEntry& entry);

// Adds the entry stored as (key, value) to the book of its dataset, and makes the book if needed.
// Verifies everything: place, hash, chain, and that the entry may come next.
using AccountBooks = StringMap<AccountBook>;
Status LoadEntry(std::string_view key, std::string_view value, AccountBooks& books);

inline constexpr std::string_view kHoldPrefix = "hold/";
std::string HoldKey(std::string_view dataset);
std::string EncodeHold(const LedgerHold& hold);

using Holds = StringMap<LedgerHold>;  // by dataset
Status LoadHold(std::string_view key, std::string_view value, Holds& holds);

// Decodes `value` as the next entry of `book`, without checking whether the book allows it.
StatusOr<LedgerEntry> DecodeEntry(std::string_view key, std::string_view value,
                                  const AccountBook& book);

}  // namespace coppice::ledger

#endif  // COPPICE_SERVER_DATASETS_LEDGER_LEDGER_RECORD_H_
