// A curator's ledger and audit log on a store, and a clock that a test sets.

#ifndef COPPICE_TESTS_SERVER_STORE_AUDIT_LOG_AUDIT_FIXTURE_H_
#define COPPICE_TESTS_SERVER_STORE_AUDIT_LOG_AUDIT_FIXTURE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/signature.h"
#include "common/wire/proto/audit_chain.h"
#include "common/wire/proto/model_signature.h"
#include "server/datasets/ledger/ledger.h"
#include "server/store/audit_log/audit_log.h"
#include "tests/server/datasets/ledger/ledger_fixture.h"
#include "tests/support/memory_store.h"
#include "tests/support/status_matchers.h"

namespace coppice::testing {

inline constexpr int64_t kDay = 86400;

inline SigningKey AuditKey() {
  SigningKey::Seed seed{};
  seed.fill(7);
  return *SigningKey::FromSeed(seed);
}

inline ModelSigner AuditSigner() {
  return [key = AuditKey()](std::string_view bytes) -> StatusOr<ModelSignature> {
    COPPICE_ASSIGN_OR_RETURN(const Signature signature, key.Sign(kAuditDomain, bytes));
    return ModelSignature{.signature = signature, .key = key.public_key()};
  };
}

// What a daemon opens, in the same order.
struct AuditedLedger {
  std::unique_ptr<audit::AuditLog> log;
  std::unique_ptr<audit::AuditedStore> store;
  std::unique_ptr<ledger::Ledger> ledger;
};

inline StatusOr<AuditedLedger> OpenAudited(storage::Store& store, const int64_t& now,
                                           uint32_t days_kept = 0) {
  AuditedLedger opened;
  COPPICE_ASSIGN_OR_RETURN(opened.log,
                           audit::AuditLog::Open(
                               store, [&now] { return now; }, audit::kDaemonActor, days_kept));
  COPPICE_RETURN_IF_ERROR(audit::CheckLog(store));
  opened.log->SignWith(AuditSigner());
  opened.store = std::make_unique<audit::AuditedStore>(store, *opened.log);
  COPPICE_ASSIGN_OR_RETURN(opened.ledger,
                           ledger::Ledger::Open(*opened.store, [&now] { return now; }));
  return opened;
}

// Reads all entries that are kept, following the chain from the seal to the signed head.
inline StatusOr<std::vector<v1::AuditEntry>> ReadAll(audit::AuditLog& log) {
  std::vector<v1::AuditEntry> entries;
  AuditChain chain;
  for (;;) {
    COPPICE_ASSIGN_OR_RETURN(
        const v1::ReadAuditLogResponse page,
        log.Read(entries.empty() ? 0 : entries.back().sequence() + 1, /*max_entries=*/3));
    if (entries.empty()) {
      COPPICE_ASSIGN_OR_RETURN(chain, AuditChain::After(page.sealed()));
    }
    for (const v1::AuditEntry& entry : page.entries()) {
      COPPICE_RETURN_IF_ERROR(chain.Follow(entry));
      entries.push_back(entry);
    }
    if (chain.entries() < page.head().entries() && !page.entries().empty()) continue;
    COPPICE_RETURN_IF_ERROR(chain.CheckEnd(page.head()));
    COPPICE_RETURN_IF_ERROR(CheckHeadSignature(page.head(), AuditKey().public_key(), 0));
    return entries;
  }
}

// "day actor action resource related outcome" of each entry.
inline std::vector<std::string> Lines(const std::vector<v1::AuditEntry>& entries) {
  std::vector<std::string> lines;
  for (const v1::AuditEntry& entry : entries) {
    lines.push_back(StrCat(entry.day(), " ", entry.actor(), " ", entry.action(), " ",
                           entry.resource(), " ", entry.related(), " ", entry.outcome()));
  }
  return lines;
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SERVER_STORE_AUDIT_LOG_AUDIT_FIXTURE_H_
