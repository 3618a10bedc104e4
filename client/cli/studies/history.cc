#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "client/cli/studies/collect.h"
#include "common/base/text.h"
#include "common/terms/signature.h"
#include "common/terms/terms.h"

namespace coppice::cli {
namespace {

struct Totals {
  uint64_t nanos = 0;
  uint64_t reports = 0;
  uint64_t delivered = 0;
};

double Epsilon(uint64_t nanos) { return static_cast<double>(nanos) / Budget::kNanosPerEpsilon; }

template <typename Bytes>
std::string Hex(const Bytes& bytes) {
  return BytesToHexString(AsBytes(bytes));
}

// Leaves out the claim, with which anybody could answer in the device's place.
void AddSealed(const SealedAnswer& sealed, Json& row) {
  row["relay"] = Hex(sealed.relay);
  row["epoch"] = Hex(sealed.epoch);
  row["encapsulated"] = Hex(sealed.encapsulated);
  row["ciphertext"] = Hex(sealed.ciphertext);
}

}  // namespace

std::vector<Json> DescribeHistory(absl::Span<const JournalEntry> entries) {
  std::map<std::pair<std::string, std::string>, Totals> studies;
  for (const JournalEntry& entry : entries) {
    Totals& totals = studies[{entry.report.study, ToHex(entry.report.fingerprint)}];
    totals.nanos = entry.epsilon.nanos();
    ++totals.reports;
    totals.delivered += entry.delivered ? 1 : 0;
  }
  std::vector<Json> rows;
  for (const auto& [key, totals] : studies) {
    rows.push_back({{"study", key.first},
                    {"reports", totals.reports},
                    {"delivered", totals.delivered},
                    {"waiting", totals.reports - totals.delivered},
                    {"epsilon", Epsilon(totals.nanos)},
                    {"fingerprint", key.second}});
  }
  return rows;
}

std::vector<Json> DescribeAnswers(absl::Span<const JournalEntry> entries) {
  std::vector<Json> rows;
  for (const JournalEntry& entry : entries) {
    const PrivateReport& report = entry.report;
    rows.push_back({{"subject", entry.subject},
                    {"study", report.study},
                    {"curator", entry.curator.has_value() ? Json(ToPin(*entry.curator)) : Json()},
                    {"epsilon", Epsilon(entry.epsilon.nanos())},
                    {"delivered", entry.delivered},
                    {"fingerprint", ToHex(report.fingerprint)}});
    if (entry.delivered) continue;  // nothing else is left of it
    rows.back()["ticket"] = BytesToHexString(report.ticket.ToBytes());
    if (entry.sealed.has_value()) {
      AddSealed(*entry.sealed, rows.back());
    } else {
      rows.back()["payload"] = BytesToHexString(report.payload);
    }
    if (report.public_values.empty()) continue;
    rows.back()["public_values"] = BytesToHexString(report.public_values);
  }
  return rows;
}

Json DescribeSpending(absl::Span<const JournalEntry> entries,
                      const std::optional<Budget>& max_total) {
  std::map<std::string, uint64_t> spent;
  for (const JournalEntry& entry : entries) spent[entry.subject] += entry.epsilon.nanos();
  uint64_t most = 0;
  for (const auto& [subject, nanos] : spent) most = std::max(most, nanos);
  Json json = {{"subjects", spent.size()}, {"most_epsilon_spent", Epsilon(most)}};
  if (max_total.has_value()) {
    json["least_epsilon_left"] = Epsilon(max_total->nanos() - std::min(most, max_total->nanos()));
  }
  return json;
}

}  // namespace coppice::cli
