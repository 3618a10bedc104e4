// An epoch for tests: tickets, and reports that follow from them.

#ifndef COPPICE_TESTS_SERVER_RELAY_EPOCH_SAMPLE_EPOCH_H_
#define COPPICE_TESTS_SERVER_RELAY_EPOCH_SAMPLE_EPOCH_H_

#include <algorithm>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/terms/merkle.h"
#include "common/terms/sha256.h"
#include "server/relay/epoch/epoch.h"

namespace coppice::testing {

inline constexpr int64_t kDealUntil = 1'000'000;
inline constexpr int64_t kFreezeAt = 2'000'000;
inline constexpr uint64_t kCiphertextBytes = 40;
inline const absl::Time kDealing = absl::FromUnixSeconds(kDealUntil - 1);
inline const absl::Time kCollecting = absl::FromUnixSeconds(kFreezeAt - 1);
inline const absl::Time kOver = absl::FromUnixSeconds(kFreezeAt);

template <size_t kBytes>
std::array<uint8_t, kBytes> HashedBytes(const std::string& text) {
  const Sha256Digest digest = Sha256({text});
  std::array<uint8_t, kBytes> bytes;
  std::copy_n(digest.begin(), kBytes, bytes.begin());
  return bytes;
}

// They come in no order.
inline std::vector<Ticket> MakeTickets(uint64_t count) {
  std::vector<Ticket> tickets(count);
  for (uint64_t i = 0; i < count; ++i) {
    tickets[i].id = HashedBytes<kTicketIdBytes>(StrCat("id ", i));
    tickets[i].mac = HashedBytes<kTicketMacBytes>(StrCat("mac ", i));
  }
  return tickets;
}

inline relay::EpochSpec MakeSpec(uint64_t tickets, uint64_t min_batch) {
  return {.rules = {.epoch = HashedBytes<sizeof(EpochId)>("epoch"),
                    .min_batch = min_batch,
                    .deal_until_unix_seconds = kDealUntil,
                    .freeze_at_unix_seconds = kFreezeAt,
                    .ciphertext_bytes = kCiphertextBytes},
          .tickets = MakeTickets(tickets),
          .documents = "terms, manifest and forest"};
}

// What the ticket's device sealed; a different `version` is another device's report.
inline relay::SealedReport ReportFor(const std::string& ticket, const relay::Claim& claim,
                                     int version = 0) {
  const auto encapsulated = HashedBytes<32>(StrCat("enc ", version, ticket));
  std::string ciphertext;
  for (int part = 0; ciphertext.size() < kCiphertextBytes; ++part) {
    const auto some = HashedBytes<32>(StrCat("sealed ", version, part, ticket));
    ciphertext.append(some.begin(), some.end());
  }
  ciphertext.resize(kCiphertextBytes);
  return {.ticket = ticket,
          .claim = std::string(claim.begin(), claim.end()),
          .encapsulated = std::string(encapsulated.begin(), encapsulated.end()),
          .ciphertext = std::move(ciphertext)};
}
inline relay::SealedReport ReportFor(const relay::Dealt& dealt, int version = 0) {
  return ReportFor(dealt.ticket.ToBytes(), dealt.claim, version);
}

// Submits and returns the answer.
inline StatusOr<relay::SubmitOutcome> SubmitTo(relay::Epoch& epoch, relay::SealedReport report,
                                               absl::Time now = kCollecting) {
  std::promise<StatusOr<relay::SubmitOutcome>> answer;
  epoch.Submit(std::move(report), now, [&](StatusOr<relay::SubmitOutcome> outcome) {
    answer.set_value(std::move(outcome));
  });
  return answer.get_future().get();
}

// Deals all tickets that are left.
inline std::vector<relay::Dealt> DealAll(relay::Epoch& epoch) {
  std::vector<relay::Dealt> dealt;
  for (auto next = epoch.Deal(kDealing); next.ok(); next = epoch.Deal(kDealing)) {
    dealt.push_back(*next);
  }
  return dealt;
}

// Reports by ticket, from which BatchOf() and ColumnsOf() tell what must be frozen.
using Reports = std::map<std::string, relay::SealedReport>;

inline relay::Frozen BatchOf(const Reports& reports, uint64_t min_batch) {
  relay::Frozen batch{.dropped = reports.size() < min_batch, .reports = reports.size()};
  std::vector<std::string> leaves;
  for (const auto& [ticket, report] : reports) {
    leaves.push_back(StrCat(ticket, report.encapsulated, report.ciphertext));
  }
  if (!batch.dropped) batch.root = MakeMerkleTree(leaves).root;
  return batch;
}

inline relay::SealedColumns ColumnsOf(const Reports& reports) {
  relay::SealedColumns columns{.reports = reports.size()};
  for (const auto& [ticket, report] : reports) {
    columns.tickets += ticket;
    columns.encapsulated += report.encapsulated;
    columns.ciphertexts += report.ciphertext;
  }
  return columns;
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SERVER_RELAY_EPOCH_SAMPLE_EPOCH_H_
