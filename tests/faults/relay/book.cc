#include "tests/faults/relay/book.h"

#include <openssl/sha.h>

#include <algorithm>

#include "common/base/status.h"
#include "common/base/text.h"

namespace coppice::relay_faults {
namespace {

constexpr size_t kTicketBytes = 32;
constexpr size_t kKeyBytes = 32;

std::string Sha256Of(const std::string& bytes) {
  std::string hash(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(),
         reinterpret_cast<uint8_t*>(hash.data()));
  return hash;
}

std::string Short(const std::string& bytes) {
  return BytesToHexString(bytes.substr(0, std::min<size_t>(4, bytes.size())));
}

v1::BatchHeader ParseHeader(const std::string& bytes) {
  v1::BatchHeader header;
  header.ParseFromString(bytes);
  return header;
}

}  // namespace

std::string RootOf(absl::Span<const Report> reports) {
  if (reports.size() == 1) {
    return Sha256Of(StrCat(std::string(1, '\0'), reports[0].ticket, reports[0].bytes));
  }
  size_t left = 1;
  while (2 * left < reports.size()) left *= 2;
  return Sha256Of(StrCat(std::string(1, '\1'), RootOf(reports.subspan(0, left)),
                         RootOf(reports.subspan(left))));
}

void Book::DeviceSends(uint32_t device, const std::string& bytes) {
  const auto [answer, is_new] = answers_.try_emplace(device, bytes);
  if (!is_new && answer->second != bytes) {
    Violation(StrCat("device ", device, " has two answers"));
  }
}

void Book::SawDeal(const v1::RelayTerms& terms) {
  const auto [deal, is_new] = deals_.try_emplace(terms.epoch(), Deal{.terms = terms});
  if (!is_new && deal->second.terms.SerializeAsString() != terms.SerializeAsString()) {
    Violation("a deal has two sets of terms");
  }
  if (terms.min_batch() < min_batch_) Violation("a deal promises too small a batch");
}

void Book::Dealt(const std::string& epoch, const std::string& ticket) {
  Deal& deal = deals_[epoch];
  if (!deal.dealt.insert(ticket).second && !deal.is_void) Violation("a ticket was dealt twice");
  if (deal.is_copied) Violation("a copy of a deal deals");
}

void Book::ReachesRelay(const std::string& epoch, const Report& report) {
  deals_[epoch].sent[report.ticket].insert(report.bytes);
}

void Book::Answered(const std::string& epoch, const Report& report, bool has_claim,
                    v1::SubmitOutcome outcome) {
  Deal& deal = deals_[epoch];
  const auto stored = deal.stored.find(report.ticket);
  const bool other = stored != deal.stored.end() && stored->second != report.bytes;
  switch (outcome) {
    case v1::SUBMIT_OUTCOME_STORED:
      if (!has_claim) Violation("a report without a claim was stored");
      if (deal.is_copied) Violation("a copy of a deal takes a report");
      if (other && !deal.is_void) Violation("two reports of a ticket were stored");
      if (deal.was_sent && !deal.is_void) Violation("a report was stored after its batch was sent");
      deal.stored[report.ticket] = report.bytes;
      return;
    case v1::SUBMIT_OUTCOME_CONFLICT:
      if (!has_claim) Violation("who has no claim was told that a ticket has a report");
      if (deal.sent[report.ticket].size() < 2 && !deal.is_void) {
        Violation("a conflict with a report that nobody sent");
      }
      return;
    case v1::SUBMIT_OUTCOME_CLOSED:
      if (!IsOver(deal)) Violation("a deal was closed before its time");
      return;
    case v1::SUBMIT_OUTCOME_UNKNOWN:
      if (has_claim && !IsOver(deal)) Violation("the relay does not know a deal that is open");
      return;
    default:
      Violation(StrCat("a report was answered ", v1::SubmitOutcome_Name(outcome)));
  }
}

// Enough reports do not end a deal before its time: they would identify a late device.
bool Book::IsOver(const Deal& deal) const {
  return deal.is_void || relay_time_ >= deal.terms.freeze_at_unix_seconds() ||
         deal.stored.size() >= deal.terms.tickets();
}

void Book::ImagePutBack(bool of_files_alone) {
  for (auto& [epoch, deal] : deals_) {
    deal.is_void = true;
    deal.is_copied = of_files_alone;
  }
}

Batch* Book::Find(const std::string& header) {
  const auto found = batches_.find(header);
  return found == batches_.end() ? nullptr : &found->second;
}

void Book::Delivers(const v1::DeliverBatchRequest& request, bool is_forged) {
  Batch* batch = Find(request.header());
  if (batch == nullptr) {
    batch = &batches_[request.header()];
    *batch = {
        .header = request.header(), .facts = ParseHeader(request.header()), .is_forged = is_forged};
    if (!is_forged) CheckHeader(*batch);
  }
  AddPart(*batch, request);
}

void Book::CheckHeader(const Batch& batch) {
  const auto found = deals_.find(batch.facts.epoch());
  if (found == deals_.end()) return Violation("a batch of a deal that nobody saw is sent");
  Deal& deal = found->second;
  for (const auto& [header, other] : batches_) {
    if (&other == &batch || other.is_forged || deal.is_void) continue;
    if (other.facts.epoch() == batch.facts.epoch()) Violation("a deal has two batches");
  }
  deal.was_sent = true;
  if (!IsOver(deal)) Violation("a batch is sent before its deal is over");
  if (batch.facts.reports() < deal.terms.min_batch() || batch.facts.reports() < min_batch_) {
    Violation(StrCat("a batch of ", batch.facts.reports(), " reports is sent"));
  }
  if (batch.facts.min_batch() != deal.terms.min_batch()) {
    Violation("a batch says another least number than its devices were told");
  }
}

void Book::AddPart(Batch& batch, const v1::DeliverBatchRequest& request) {
  const size_t count = request.tickets().size() / kTicketBytes;
  if (count == 0) return;
  if (request.first_report() > batch.reports.size()) {
    if (!batch.is_forged) Violation("a part of a batch is left out");
    return;
  }
  const size_t ciphertext = request.ciphertexts().size() / count;
  for (size_t i = 0; i < count; ++i) {
    const Report report = {
        .ticket = request.tickets().substr(i * kTicketBytes, kTicketBytes),
        .bytes = StrCat(request.encapsulated().substr(i * kKeyBytes, kKeyBytes),
                        request.ciphertexts().substr(i * ciphertext, ciphertext))};
    const size_t at = request.first_report() + i;
    if (at < batch.reports.size()) {
      const Report& before = batch.reports[at];
      if (before.ticket == report.ticket && before.bytes == report.bytes) continue;
      return Violation("a part of a batch is sent again with other reports");
    }
    if (at > 0 && batch.reports[at - 1].ticket >= report.ticket && !batch.is_forged) {
      return Violation("a batch is not in the order of its tickets");
    }
    batch.reports.push_back(report);
  }
  if (batch.reports.size() == batch.facts.reports() && !batch.is_forged) CheckWhole(batch);
}

void Book::CheckWhole(const Batch& batch) {
  const Deal& deal = deals_[batch.facts.epoch()];
  if (RootOf(batch.reports) != batch.facts.root()) Violation("a batch has another root");
  std::map<std::string, std::string> reports;
  for (const Report& report : batch.reports) {
    reports[report.ticket] = report.bytes;
    const auto sent = deal.sent.find(report.ticket);
    if (sent == deal.sent.end() || !sent->second.contains(report.bytes)) {
      Violation("a batch has a report that nobody sent");
    }
  }
  if (deal.is_void) return;
  for (const auto& [ticket, bytes] : deal.stored) {
    const auto found = reports.find(ticket);
    if (found == reports.end()) return Violation("a report that was stored is in no batch");
    if (found->second != bytes) return Violation("a stored report was replaced");
  }
}

void Book::Acknowledged(const v1::DeliverBatchRequest& request,
                        const v1::DeliverBatchResponse& response) {
  Batch& batch = *Find(request.header());
  switch (response.state()) {
    case v1::BATCH_STATE_RECEIVING:
      if (batch.stored) Violation("a batch that was stored is received again");
      if (response.received() > batch.reports.size()) {
        Violation("the curator says that it has reports that nobody sent");
      }
      if (response.received() < batch.received) Violation("the curator has lost a part");
      batch.received = response.received();
      return;
    case v1::BATCH_STATE_STORED:
    case v1::BATCH_STATE_COUNTED:
      if (batch.reports.size() != batch.facts.reports()) {
        Violation("a batch that has not come is said to be stored");
      }
      batch.received = batch.facts.reports();
      batch.stored = true;
      batch.counted |= response.state() == v1::BATCH_STATE_COUNTED;
      return;
    case v1::BATCH_STATE_BROKEN:
      if (!batch.is_forged) Violation("the curator has broken a batch");
      return;
    default:
      Violation("an answer about a batch says nothing");
  }
}

void Book::Refused(const v1::DeliverBatchRequest& request, const Status& status, bool is_hindered) {
  const Batch& batch = *Find(request.header());
  if (batch.is_forged) return;
  const auto unexplained = [&] { Violation(StrCat("a batch is refused: ", status.ToString())); };
  switch (status.code()) {
    case StatusCode::kUnavailable:
    case StatusCode::kResourceExhausted:
    case StatusCode::kAborted:
      if (!is_hindered) unexplained();
      return;
    case StatusCode::kFailedPrecondition: {
      const bool has_rival = std::any_of(batches_.begin(), batches_.end(), [&](const auto& pair) {
        const Batch& other = pair.second;
        return &other != &batch && other.facts.epoch() == batch.facts.epoch() && HasBegun(other);
      });
      if (!may_be_sealed_ && !has_rival) unexplained();
      if (batch.stored) Violation("a batch that was stored is refused");
      return;
    }
    default:
      unexplained();
  }
}

bool Book::HasBegun(const Batch& batch) const {
  return batch.received > 0 || records_.contains(batch.header);
}

std::vector<const Batch*> Book::CompleteBatches() const {
  std::vector<const Batch*> complete;
  for (const auto& [header, batch] : batches_) {
    const bool is_whole = !batch.is_forged && batch.reports.size() == batch.facts.reports();
    if (is_whole) complete.push_back(&batch);
  }
  return complete;
}

uint64_t Book::stored_batches() const {
  return static_cast<uint64_t>(std::count_if(batches_.begin(), batches_.end(),
                                             [](const auto& pair) { return pair.second.stored; }));
}

std::vector<std::string> Book::SentDeals() const {
  std::vector<std::string> sent;
  for (const auto& [epoch, deal] : deals_) {
    if (deal.was_sent && !deal.is_void) sent.push_back(epoch);
  }
  return sent;
}

uint64_t Book::DealsWithoutBatch(int64_t relay_time) const {
  return static_cast<uint64_t>(std::count_if(deals_.begin(), deals_.end(), [&](const auto& pair) {
    const Deal& deal = pair.second;
    return !deal.is_void && !deal.was_sent && deal.terms.freeze_at_unix_seconds() <= relay_time;
  }));
}

int64_t Book::LastEnd() const {
  int64_t last = 0;
  for (const auto& [epoch, deal] : deals_) {
    last = std::max(last, deal.terms.freeze_at_unix_seconds());
  }
  return last;
}

void Book::CheckEnd() {
  for (const auto& [epoch, deal] : deals_) {
    if (deal.is_void || deal.stored.size() < deal.terms.min_batch()) continue;
    if (!deal.was_sent) {
      Violation(StrCat("deal ", Short(epoch), " had ", deal.stored.size(),
                       " reports, and was never sent"));
    }
  }
  for (const auto& [header, batch] : batches_) {
    const auto deal = deals_.find(batch.facts.epoch());
    if (batch.is_forged || batch.stored || may_be_sealed_) continue;
    if (deal != deals_.end() && deal->second.is_void) continue;
    Violation(
        StrCat("the batch of deal ", Short(batch.facts.epoch()), " never came to the curator"));
  }
}

}  // namespace coppice::relay_faults
