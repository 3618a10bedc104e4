#include "server/datasets/ledger/ledger_record.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/sha256.h"
#include "common/wire/proto/convert.h"
#include "coppice/v1/storage.pb.h"

namespace coppice::ledger {
namespace {

constexpr size_t kHashBytes = sizeof(Sha256Digest);

// The enums of the records have the same numbers as ours.
static_assert(static_cast<int>(EntryKind::kOpen) == v1::LEDGER_ENTRY_KIND_OPENED);
static_assert(static_cast<int>(EntryKind::kReserve) == v1::LEDGER_ENTRY_KIND_RESERVED);
static_assert(static_cast<int>(EntryKind::kSettle) == v1::LEDGER_ENTRY_KIND_SETTLED);
static_assert(static_cast<int>(EntryKind::kReturn) == v1::LEDGER_ENTRY_KIND_RETURNED);
static_assert(static_cast<int>(EntryKind::kWriteOff) == v1::LEDGER_ENTRY_KIND_WRITTEN_OFF);
static_assert(static_cast<int>(AccountKind::kTraining) == v1::ACCOUNT_KIND_TRAINING);
static_assert(static_cast<int>(AccountKind::kReserve) == v1::ACCOUNT_KIND_RESERVE);
static_assert(static_cast<int>(AccountKind::kBoth) == v1::ACCOUNT_KIND_BOTH);
static_assert(static_cast<int>(HoldReason::kUnconfirmed) == v1::LEDGER_HOLD_UNCONFIRMED);
static_assert(static_cast<int>(HoldReason::kClosed) == v1::LEDGER_HOLD_CLOSED);
static_assert(static_cast<int>(Neighbours::kAddOrRemoveRow) == v1::NEIGHBOURS_ADD_OR_REMOVE_ROW);
static_assert(static_cast<int>(Neighbours::kChangeLabel) == v1::NEIGHBOURS_CHANGE_LABEL);
static_assert(static_cast<int>(Composition::kBasic) == v1::COMPOSITION_BASIC);
static_assert(static_cast<int>(Composition::kZeroConcentrated) ==
              v1::COMPOSITION_ZERO_CONCENTRATED);

Status Corrupt(std::string_view key, std::string_view why) {
  return DataLossError(
      StrCat("ledger entry \"", key, "\" ", why,
             "; restore the newest sound copy of the data directory (docs/storage.md#backups)"));
}

std::string Bytes(const Sha256Digest& digest) { return {digest.begin(), digest.end()}; }

v1::Cost ToProto(const Cost& cost) {
  v1::Cost proto;
  proto.set_epsilon_nanos(cost.epsilon_nanos);
  proto.set_delta_atto(cost.delta_atto);
  proto.set_rho_pico(cost.rho_pico);
  return proto;
}

Cost ParseCost(const v1::Cost& cost) {
  return {.epsilon_nanos = cost.epsilon_nanos(),
          .delta_atto = cost.delta_atto(),
          .rho_pico = cost.rho_pico()};
}

v1::BudgetCap ToProto(const BudgetCap& cap) {
  v1::BudgetCap proto;
  proto.set_epsilon_nanos(cap.epsilon_nanos);
  proto.set_delta_atto(cap.delta_atto);
  proto.set_composition(static_cast<v1::Composition>(cap.composition));
  proto.set_neighbours(static_cast<v1::Neighbours>(cap.neighbours));
  proto.set_reserve_millionths(cap.reserve_millionths);
  return proto;
}

StatusOr<BudgetCap> CapOf(std::string_view key, const v1::LedgerRecord& record) {
  const v1::BudgetCap& cap = record.cap();
  const bool known = (cap.composition() == v1::COMPOSITION_BASIC ||
                      cap.composition() == v1::COMPOSITION_ZERO_CONCENTRATED) &&
                     (cap.neighbours() == v1::NEIGHBOURS_ADD_OR_REMOVE_ROW ||
                      cap.neighbours() == v1::NEIGHBOURS_CHANGE_LABEL);
  if (!known) return Corrupt(key, "has an unknown composition or neighbouring relation");
  return BudgetCap{.epsilon_nanos = cap.epsilon_nanos(),
                   .delta_atto = cap.delta_atto(),
                   .composition = static_cast<Composition>(cap.composition()),
                   .neighbours = static_cast<Neighbours>(cap.neighbours()),
                   .reserve_millionths = cap.reserve_millionths()};
}

StatusOr<v1::LedgerRecord> Parse(std::string_view key, std::string_view value) {
  if (value.size() < kHashBytes) return Corrupt(key, "is cut short");
  const std::string_view bytes = value.substr(kHashBytes);
  if (value.substr(0, kHashBytes) != Bytes(Sha256({bytes}))) {
    return Corrupt(key, "does not have its hash");
  }
  v1::LedgerRecord record;
  if (!record.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Corrupt(key, "does not parse");
  }
  return record;
}

// `value` holds `record`, and its hash has been checked.
LedgerEntry ToEntry(const v1::LedgerRecord& record, std::string_view value) {
  LedgerEntry entry{.sequence = record.sequence(),
                    .kind = static_cast<EntryKind>(record.kind()),
                    .unix_seconds = record.unix_seconds(),
                    .job = record.job(),
                    .account = record.account() == v1::ACCOUNT_KIND_UNSPECIFIED
                                   ? AccountKind::kTraining
                                   : static_cast<AccountKind>(record.account()),
                    .is_evaluation = record.is_evaluation(),
                    .cost = ParseCost(record.cost()),
                    .releases = ParseReleases(record.releases())};
  std::copy_n(value.begin(), kHashBytes, entry.hash.begin());
  return entry;
}

// `book` must be the book of record.dataset().
StatusOr<LedgerEntry> EntryOf(std::string_view key, std::string_view value,
                              const v1::LedgerRecord& record, const AccountBook& book) {
  if (record.sequence() != book.next_sequence() ||
      key != LedgerKey(book.dataset(), book.next_sequence())) {
    return Corrupt(key, StrCat("is not entry ", book.next_sequence(),
                               ", which comes next: one is missing or out of place"));
  }
  if (record.previous_hash() != Bytes(book.head())) {
    return Corrupt(key, "does not follow the entry before it");
  }
  if (record.kind() < v1::LEDGER_ENTRY_KIND_OPENED ||
      record.kind() > v1::LEDGER_ENTRY_KIND_WRITTEN_OFF) {
    return Corrupt(key, "is of an unknown kind");
  }
  if (!v1::AccountKind_IsValid(record.account())) return Corrupt(key, "is of an unknown account");
  return ToEntry(record, value);
}

}  // namespace

std::string LedgerKey(std::string_view dataset, uint64_t sequence) {
  return StrCat(kLedgerPrefix, dataset, "/", ZeroPadded(sequence, 16));
}

std::string EncodeEntry(const AccountBook& book, const LedgerEntry& entry) {
  v1::LedgerRecord record;
  record.set_dataset(book.dataset());
  record.set_sequence(book.next_sequence());
  record.set_previous_hash(Bytes(book.head()));
  record.set_kind(static_cast<v1::LedgerEntryKind>(entry.kind));
  record.set_unix_seconds(entry.unix_seconds);
  if (entry.kind == EntryKind::kOpen) *record.mutable_cap() = ToProto(book.cap());
  record.set_job(entry.job);
  if (entry.account != AccountKind::kTraining) {
    record.set_account(static_cast<v1::AccountKind>(entry.account));
  }
  record.set_is_evaluation(entry.is_evaluation);
  if (entry.cost != Cost()) *record.mutable_cost() = ToProto(entry.cost);
  for (const Release& release : entry.releases) *record.add_releases() = ToProto(release);
  const std::string bytes = record.SerializeAsString();
  return StrCat(Bytes(Sha256({bytes})), bytes);
}

StatusOr<LedgerEntry> DecodeEntry(std::string_view key, std::string_view value,
                                  const AccountBook& book) {
  COPPICE_ASSIGN_OR_RETURN(const v1::LedgerRecord record, Parse(key, value));
  return EntryOf(key, value, record, book);
}

Status LoadEntry(std::string_view key, std::string_view value, AccountBooks& books) {
  COPPICE_ASSIGN_OR_RETURN(const v1::LedgerRecord record, Parse(key, value));
  const auto it = books.find(record.dataset());
  AccountBook fresh(record.dataset(), BudgetCap());
  AccountBook& book = it != books.end() ? it->second : fresh;
  COPPICE_ASSIGN_OR_RETURN(LedgerEntry entry, EntryOf(key, value, record, book));
  if (it == books.end() && entry.kind == EntryKind::kOpen) {
    COPPICE_ASSIGN_OR_RETURN(const BudgetCap cap, CapOf(key, record));
    fresh = AccountBook(record.dataset(), cap);
  }
  const Status allowed = book.Check(entry);
  if (!allowed.ok()) return Corrupt(key, StrCat("cannot come here: ", allowed.message()));
  book.Append(std::move(entry));
  if (it == books.end()) books.emplace(record.dataset(), std::move(fresh));
  return OkStatus();
}

std::string HoldKey(std::string_view dataset) { return StrCat(kHoldPrefix, dataset, "/"); }

std::string EncodeHold(const LedgerHold& hold) {
  v1::HoldRecord record;
  record.set_hold(static_cast<v1::LedgerHold>(hold.reason));
  record.set_unix_seconds(hold.unix_seconds);
  if (hold.head != Sha256Digest{}) record.set_head(Bytes(hold.head));
  if (hold.lost.has_value()) *record.mutable_lost() = ToProto(*hold.lost);
  return record.SerializeAsString();
}

Status LoadHold(std::string_view key, std::string_view value, Holds& holds) {
  v1::HoldRecord record;
  if (!record.ParseFromArray(value.data(), static_cast<int>(value.size())) ||
      (!record.head().empty() && record.head().size() != kHashBytes) ||
      record.hold() < v1::LEDGER_HOLD_UNCONFIRMED || record.hold() > v1::LEDGER_HOLD_CLOSED) {
    return Corrupt(key, "does not parse");
  }
  LedgerHold hold{.reason = static_cast<HoldReason>(record.hold()),
                  .unix_seconds = record.unix_seconds()};
  std::copy(record.head().begin(), record.head().end(), hold.head.begin());
  if (record.has_lost()) hold.lost = ParseCost(record.lost());
  const std::string_view id = StripSuffix(StripPrefix(key, kHoldPrefix), "/");
  holds.emplace(id, hold);
  return OkStatus();
}

}  // namespace coppice::ledger
