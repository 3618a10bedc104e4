#include "server/store/audit_log/ledger_links.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/sha256.h"
#include "coppice/v1/storage.pb.h"
#include "server/store/store_record.h"

namespace coppice::audit {
namespace {

// The same as in server/datasets/ledger/ledger_record.h; audit_log_test fails if they differ.
constexpr std::string_view kLedgerPrefix = "ledger/";
constexpr std::string_view kHoldPrefix = "hold/";
constexpr size_t kHashBytes = 32;

constexpr std::string_view kHoldAction = "ledger/hold";
constexpr std::string_view kCloseAction = "ledger/close";
constexpr std::string_view kConfirmAction = "ledger/confirm";
constexpr std::string_view kWriteOffAction = "ledger/write-off";
constexpr std::string_view kDatasets = "datasets/";

std::string LinkTo(std::string_view salt, std::string_view kind, std::string_view id,
                   std::string_view bytes) {
  const Sha256Digest digest = Sha256({salt, kind, id, std::string_view("\0", 1), bytes});
  return {digest.begin(), digest.end()};
}

std::string EntryLink(std::string_view salt, std::string_view dataset, std::string_view value) {
  return LinkTo(salt, "entry/", dataset, value.substr(0, kHashBytes));
}

std::string HoldLink(std::string_view salt, std::string_view dataset, std::string_view value) {
  return LinkTo(salt, "hold/", dataset, value);
}

std::string DatasetInKey(std::string_view key) {
  const std::vector<std::string_view> parts = StrSplit(key, '/');
  return parts.size() < 2 ? "" : std::string(parts[1]);
}

bool IsClosed(std::string_view hold) {
  v1::HoldRecord record;
  return record.ParseFromArray(hold.data(), static_cast<int>(hold.size())) &&
         record.hold() == v1::LEDGER_HOLD_CLOSED;
}

std::string_view ActionOf(const v1::LedgerRecord& record) {
  switch (record.kind()) {
    case v1::LEDGER_ENTRY_KIND_OPENED:
      return "ledger/open";
    case v1::LEDGER_ENTRY_KIND_RESERVED:
      return "ledger/charge";
    case v1::LEDGER_ENTRY_KIND_SETTLED:
      return record.releases().empty() ? "ledger/end" : "ledger/release";
    case v1::LEDGER_ENTRY_KIND_RETURNED:
      return "ledger/refund";
    case v1::LEDGER_ENTRY_KIND_WRITTEN_OFF:
      return kWriteOffAction;
    default:
      return "ledger/unknown";
  }
}

AuditEvent NewEvent(std::string_view actor, std::string_view action, std::string_view dataset) {
  AuditEvent event;
  event.entry.set_actor(std::string(actor));
  event.entry.set_action(std::string(action));
  event.entry.set_resource(StrCat(kDatasets, dataset));
  event.entry.set_outcome("OK");
  return event;
}

StatusOr<AuditEvent> EntryEvent(std::string_view key, std::string_view value, std::string_view salt,
                                std::string_view actor) {
  if (value.size() < kHashBytes) return storage::CorruptRecord(key, "has no hash");
  COPPICE_ASSIGN_OR_RETURN(const v1::LedgerRecord record,
                           storage::ParseRecord<v1::LedgerRecord>(key, value.substr(kHashBytes)));
  AuditEvent event = NewEvent(actor, ActionOf(record), record.dataset());
  if (!record.job().empty()) {
    event.entry.set_related(
        StrCat(record.is_evaluation() ? "evaluations/" : "jobs/", record.job()));
  }
  event.entry.set_ledger_link(EntryLink(salt, record.dataset(), value));
  // The final cost of a job's releases may follow from private rows; its charge does not.
  const bool is_end = record.kind() == v1::LEDGER_ENTRY_KIND_SETTLED;
  event.by_day = is_end || record.kind() == v1::LEDGER_ENTRY_KIND_RETURNED;
  if (record.kind() == v1::LEDGER_ENTRY_KIND_OPENED) {
    event.entry.set_epsilon_nanos(record.cap().epsilon_nanos());
    event.entry.set_delta_atto(record.cap().delta_atto());
  } else if (!is_end) {
    event.entry.set_epsilon_nanos(record.cost().epsilon_nanos());
    event.entry.set_delta_atto(record.cost().delta_atto());
  }
  return event;
}

std::vector<std::string> Sorted(std::vector<std::string> links) {
  std::sort(links.begin(), links.end());
  return links;
}

std::string EntryKeyOf(std::string_view dataset, uint64_t sequence) {
  return StrCat(kLedgerPrefix, dataset, "/", ZeroPadded(sequence, 16));
}

// Compares one ledger with what the log says of it.
class LedgerComparison {
 public:
  LedgerComparison(const std::string& dataset, std::vector<LedgerMismatch>& found)
      : dataset_(dataset), found_(found) {}

  void Run(const LinkedLedger& ledger, const LoggedLedger& logged) {
    if (ledger.hold != logged.hold) {
      Add(StrCat(kHoldPrefix, dataset_, "/"),
          logged.hold.empty()   ? "is a hold that is not in the audit log"
          : ledger.hold.empty() ? "is missing: according to the audit log this hold has not ended"
                                : "differs from the hold in the audit log");
    }
    const bool may_be_cut = ledger.is_closed && ledger.hold == logged.hold;
    const uint64_t old = logged.baseline.entries();
    if (old > ledger.entries.size()) {
      if (!may_be_cut) AddMissing(ledger.entries.size());
    } else if (old > 0 && ledger.entries[old - 1] != logged.baseline.link()) {
      Add(EntryKeyOf(dataset_, old - 1), "differs from the entry in the audit log");
    }
    CompareEntries(ledger, logged, may_be_cut);
  }

 private:
  void CompareEntries(const LinkedLedger& ledger, const LoggedLedger& logged, bool may_be_cut) {
    const std::vector<std::string> links = Sorted(logged.links);
    const std::vector<std::string> there = Sorted(ledger.entries);
    for (uint64_t i = logged.baseline.entries(); i < ledger.entries.size(); ++i) {
      if (std::binary_search(links.begin(), links.end(), ledger.entries[i])) continue;
      Add(EntryKeyOf(dataset_, i), "is an entry that is not in the audit log");
    }
    for (const std::string& link : logged.links) {
      if (may_be_cut || std::binary_search(there.begin(), there.end(), link)) continue;
      return AddMissing(ledger.entries.size());
    }
  }

  void AddMissing(uint64_t sequence) {
    Add(EntryKeyOf(dataset_, sequence),
        "is missing: the audit log has an entry that the ledger does not have");
  }
  void Add(std::string key, std::string what) {
    found_.push_back({.dataset = dataset_, .key = std::move(key), .what = std::move(what)});
  }

  const std::string& dataset_;
  std::vector<LedgerMismatch>& found_;
};

}  // namespace

StatusOr<LinkedLedgers> ReadLedgers(const storage::Store& store, std::string_view salt) {
  LinkedLedgers ledgers;
  COPPICE_RETURN_IF_ERROR(
      store.Scan(kLedgerPrefix, [&](std::string_view key, std::string_view value) {
        const std::string dataset = DatasetInKey(key);
        ledgers[dataset].entries.push_back(EntryLink(salt, dataset, value));
        return OkStatus();
      }));
  COPPICE_RETURN_IF_ERROR(
      store.Scan(kHoldPrefix, [&](std::string_view key, std::string_view value) {
        const std::string dataset = DatasetInKey(key);
        ledgers[dataset].hold = HoldLink(salt, dataset, value);
        ledgers[dataset].is_closed = IsClosed(value);
        return OkStatus();
      }));
  return ledgers;
}

StatusOr<std::vector<AuditEvent>> LedgerEvents(const storage::StoreBatch& batch,
                                               std::string_view salt, std::string_view actor) {
  std::vector<AuditEvent> events;
  std::set<std::string> written_off;
  for (const auto& [key, value] : batch.puts()) {
    if (StartsWith(key, kLedgerPrefix)) {
      COPPICE_ASSIGN_OR_RETURN(AuditEvent event, EntryEvent(key, value, salt, actor));
      if (event.entry.action() == kWriteOffAction) written_off.insert(DatasetInKey(key));
      events.push_back(std::move(event));
    } else if (StartsWith(key, kHoldPrefix)) {
      const std::string dataset = DatasetInKey(key);
      AuditEvent event = NewEvent(actor, IsClosed(value) ? kCloseAction : kHoldAction, dataset);
      event.entry.set_ledger_link(HoldLink(salt, dataset, value));
      events.push_back(std::move(event));
    }
  }
  for (const std::string& key : batch.deleted_keys()) {
    if (!StartsWith(key, kHoldPrefix) || written_off.contains(DatasetInKey(key))) continue;
    events.push_back(NewEvent(actor, kConfirmAction, DatasetInKey(key)));
  }
  for (const std::string& prefix : batch.deleted_prefixes()) {
    for (const std::string_view ours : {kLedgerPrefix, kHoldPrefix}) {
      if (!StartsWith(prefix, ours) && !StartsWith(ours, prefix)) continue;
      return InternalError("ledgers are not removed by their prefix");
    }
  }
  return events;
}

LoggedLedgers LedgersFromBaselines(const Baselines& baselines) {
  LoggedLedgers logged;
  for (const auto& [dataset, baseline] : baselines) {
    logged[dataset] = {.baseline = baseline, .hold = baseline.hold_link()};
  }
  return logged;
}

bool TellsOfLedger(const v1::AuditEntry& entry) { return StartsWith(entry.action(), "ledger/"); }

void AddLogEntry(const v1::AuditEntry& entry, LoggedLedgers& logged) {
  if (!TellsOfLedger(entry)) return;
  LoggedLedger& ledger = logged[std::string(StripPrefix(entry.resource(), kDatasets))];
  if (entry.action() == kHoldAction || entry.action() == kCloseAction) {
    ledger.hold = entry.ledger_link();
  } else if (entry.action() == kConfirmAction) {
    ledger.hold.clear();
  } else {
    ledger.links.push_back(entry.ledger_link());
    if (entry.action() == kWriteOffAction) ledger.hold.clear();
  }
}

Baselines BaselinesOf(const LinkedLedgers& ledgers) {
  Baselines baselines;
  for (const auto& [dataset, ledger] : ledgers) {
    v1::AuditBaselineRecord& baseline = baselines[dataset];
    baseline.set_entries(ledger.entries.size());
    if (!ledger.entries.empty()) baseline.set_link(ledger.entries.back());
    baseline.set_hold_link(ledger.hold);
  }
  return baselines;
}

std::vector<LedgerMismatch> Compare(const LinkedLedgers& ledgers, const LoggedLedgers& logged) {
  std::set<std::string> datasets;
  for (const auto& [dataset, ledger] : ledgers) datasets.insert(dataset);
  for (const auto& [dataset, ledger] : logged) datasets.insert(dataset);
  std::vector<LedgerMismatch> found;
  for (const std::string& dataset : datasets) {
    const auto ledger = ledgers.find(dataset);
    const auto of_log = logged.find(dataset);
    LedgerComparison(dataset, found)
        .Run(ledger == ledgers.end() ? LinkedLedger() : ledger->second,
             of_log == logged.end() ? LoggedLedger() : of_log->second);
  }
  return found;
}

}  // namespace coppice::audit
