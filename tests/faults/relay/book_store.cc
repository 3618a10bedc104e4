// Compares the curator's store with the book.

#include <algorithm>
#include <numeric>
#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"
#include "coppice/v1/storage.pb.h"
#include "coppice/v1/study.pb.h"
#include "tests/faults/books.h"
#include "tests/faults/relay/book.h"

namespace coppice::relay_faults {
namespace {

template <typename Message>
bool Parse(std::string_view bytes, Message& message) {
  return message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

uint64_t OutcomesOf(const v1::BatchRecord& record, v1::ReportOutcome outcome) {
  uint64_t reports = 0;
  for (const v1::ReportCount& count : record.counts()) {
    if (count.outcome() == outcome) reports += count.reports();
  }
  return reports;
}

bool HasCome(const v1::BatchRecord& record) {
  return record.state() == v1::BATCH_STATE_STORED || record.state() == v1::BATCH_STATE_COUNTED;
}

}  // namespace

void Book::CheckStore(const storage::Store& store) {
  records_.clear();
  expected_.clear();
  certain_.clear();
  std::set<std::string> epochs;
  store
      .Scan(StrCat("batch/", study_, "/"),
            [&](std::string_view, std::string_view value) {
              v1::BatchRecord record;
              const Batch* const batch = Parse(value, record) ? Find(record.header()) : nullptr;
              if (batch == nullptr) {
                Violation("the curator has a batch that nobody sent");
                return OkStatus();
              }
              if (!epochs.insert(batch->facts.epoch()).second) {
                Violation("the curator has two batches of a deal");
              }
              CheckRecord(*batch, record);
              records_[record.header()] = record;
              return OkStatus();
            })
      .IgnoreError();
  for (const auto& [header, batch] : batches_) {
    const auto record = records_.find(header);
    if (batch.stored && (record == records_.end() || !HasCome(record->second))) {
      Violation("a batch that was said to be stored is gone");
    }
    if (batch.received > 0 && record == records_.end()) Violation("a part of a batch is gone");
  }
  for (const auto& [header, record] : records_) CheckTaken(*Find(header), record);
  CheckSpool(store);
  CheckSums(store);
}

void Book::CheckRecord(const Batch& batch, const v1::BatchRecord& record) {
  if (record.state() == v1::BATCH_STATE_BROKEN) {
    if (!may_be_sealed_ || batch.stored) Violation("a batch is broken");
    return;
  }
  if (record.received() > batch.reports.size()) Violation("a batch has reports that nobody sent");
  if (record.received() < batch.received) Violation("a part that was acknowledged is gone");
  if (batch.counted && record.state() != v1::BATCH_STATE_COUNTED) {
    Violation("a batch that was counted is not any more");
  }
  const bool is_whole = record.received() == batch.facts.reports();
  if (HasCome(record) && !is_whole) Violation("a part of a batch passes for all of it");
  if (record.judged() > 0 && !HasCome(record)) Violation("a part of a batch is counted");
  if (record.state() == v1::BATCH_STATE_COUNTED && record.judged() != batch.facts.reports()) {
    Violation("a batch is counted, and some of its reports are not judged");
  }
}

// Every report of a batch that came whole counts once.
void Book::CheckTaken(const Batch& batch, const v1::BatchRecord& record) {
  if (!HasCome(record)) return;
  if (batch.facts.reports() < min_batch_ || batch.facts.min_batch() < min_batch_) {
    Violation(StrCat("the curator took a batch of ", batch.facts.reports()));
  }
  for (const Report& report : batch.reports) {
    const std::optional<size_t>& cell = cells_[report.bytes];
    if (!cell.has_value()) continue;
    expected_.emplace(report.ticket, *cell);
    if (record.state() == v1::BATCH_STATE_COUNTED) certain_.emplace(report.ticket, *cell);
  }
  if (record.state() != v1::BATCH_STATE_COUNTED) return;
  const uint64_t good = AcceptedOf(batch);
  const uint64_t accepted = OutcomesOf(record, v1::REPORT_OUTCOME_ACCEPTED);
  const uint64_t duplicate = OutcomesOf(record, v1::REPORT_OUTCOME_DUPLICATE);
  const uint64_t bad_seal = OutcomesOf(record, v1::REPORT_OUTCOME_BAD_SEAL);
  if (accepted + duplicate != good || good + bad_seal != batch.facts.reports()) {
    Violation(StrCat("a batch of ", batch.facts.reports(), " reports, of which ", good,
                     " are good, has ", accepted, " accepted, ", duplicate, " duplicates and ",
                     bad_seal, " that do not open"));
  }
  const bool is_repeated = std::any_of(records_.begin(), records_.end(), [&](const auto& other) {
    return other.first != batch.header && Find(other.first)->is_forged;
  });
  if (duplicate > 0 && !batch.is_forged && !is_repeated) Violation("a ticket is in two batches");
}

uint64_t Book::AcceptedOf(const Batch& batch) const {
  return static_cast<uint64_t>(
      std::count_if(batch.reports.begin(), batch.reports.end(),
                    [&](const Report& report) { return cells_.at(report.bytes).has_value(); }));
}

void Book::CheckSpool(const storage::Store& store) {
  uint64_t all = 0;
  store
      .Scan(StrCat("spool/", study_, "/"),
            [&](std::string_view, std::string_view value) {
              v1::SpoolRecord record;
              if (!Parse(value, record)) Violation("a record of the spool does not parse");
              all += record.tickets().size() / 32;
              return OkStatus();
            })
      .IgnoreError();
  uint64_t due = 0;
  for (const auto& [header, record] : records_) {
    if (record.state() == v1::BATCH_STATE_BROKEN) continue;
    due += record.received() - record.judged();
  }
  if (all != due) {
    Violation(StrCat("the spool has ", all, " reports, and ", due, " wait to be opened"));
  }
}

void Book::CheckSums(const storage::Store& store) {
  std::map<size_t, int64_t> most, least;
  for (const auto& [ticket, cell] : expected_) ++most[cell];
  for (const auto& [ticket, cell] : certain_) ++least[cell];
  int64_t all = 0;
  uint64_t in_sums = 0;
  store
      .Scan(StrCat("sums/", study_, "/"),
            [&](std::string_view, std::string_view value) {
              v1::SumsRecord record;
              if (!Parse(value, record)) Violation("sums do not parse");
              in_sums += record.reports();
              for (int i = 0; i < record.sums_size(); ++i) {
                const int64_t sum = record.sums(i);
                const auto cell = static_cast<size_t>(i);
                all += sum;
                if (sum <= most[cell] && sum >= least[cell]) continue;
                Violation(StrCat("cell ", cell, " has ", sum, " reports, and must have ",
                                 least[cell], " to ", most[cell]));
              }
              return OkStatus();
            })
      .IgnoreError();
  v1::CountsRecord counts;
  const auto bytes = store.Get(StrCat("count/", study_, "/"));
  if (bytes.ok() && bytes->has_value() && !Parse(**bytes, counts)) {
    Violation("the counts do not parse");
  }
  if (counts.accepted() != in_sums || static_cast<int64_t>(in_sums) != all) {
    Violation(StrCat(counts.accepted(), " reports are accepted, the sums say ", in_sums,
                     ", and hold ", all));
  }
  if (is_idle() && in_sums != expected_.size()) {
    Violation(StrCat(expected_.size(), " reports must count, and ", in_sums, " do"));
  }
}

void Book::CheckSpent(const storage::Store& store) {
  const auto books = testing::ReadBooks(store, study_);
  if (!books.ok()) return Violation(books.status().ToString());
  std::set<std::string> spent(books->spent.begin(), books->spent.end());
  if (spent.size() != books->spent.size()) Violation("a ticket was spent twice");
  std::set<std::string> due;
  for (const auto& [ticket, cell] : expected_) due.insert(ticket.substr(0, 16));
  if (spent != due) {
    Violation(StrCat(spent.size(), " tickets are spent, and ", due.size(), " count"));
  }
}

void Book::CheckModel(const ModelFacts& model) {
  // Before the study is sealed, a model may already rest on a part of a batch.
  const size_t least = model.of_sealed ? expected_.size() : certain_.size();
  if (model.reports < least || model.reports > expected_.size()) {
    Violation(StrCat("a model rests on ", model.reports, " reports of ", least, " to ",
                     expected_.size()));
  }
  std::optional<uint64_t> smallest;
  uint64_t counted = 0;
  for (const auto& [header, record] : records_) {
    const bool is_counted = record.state() == v1::BATCH_STATE_COUNTED;
    const uint64_t crowd = is_counted ? OutcomesOf(record, v1::REPORT_OUTCOME_ACCEPTED)
                                      : Find(header)->facts.reports();
    smallest = std::min(smallest.value_or(crowd), crowd);
    counted += is_counted ? 1 : 0;
  }
  if (model.batches == 0) return;  // the model promises nothing
  const uint64_t most = smallest.value_or(0) * (1'000'000 - dishonest_) / 1'000'000;
  if (model.batches != counted) Violation("a model says another number of batches");
  if (model.least_accepted > smallest.value_or(0) || model.honest_reports > most) {
    Violation(StrCat("a model vouches for ", model.honest_reports, " of ", model.least_accepted,
                     " reports, and the smallest batch has ", smallest.value_or(0)));
  }
  if (model.honest_reports == 0) Violation("a model promises something by no honest report");
}

}  // namespace coppice::relay_faults
