#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/synchronization/mutex.h"
#include "client/cli/studies/collect.h"
#include "client/device/relay/relayed_device.h"
#include "client/device/responder.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/privacy/openssl_random.h"

namespace coppice::cli {
namespace {

// Runs `call` for 0 to `count` - 1 on `threads` threads. After an error no further call begins;
// returns the first error.
Status RunAtOnce(size_t count, size_t threads, absl::FunctionRef<Status(size_t)> call) {
  std::atomic<size_t> next = 0;
  std::atomic<bool> failed = false;
  absl::Mutex mutex;
  Status first;
  const auto work = [&] {
    for (size_t i = next++; i < count && !failed; i = next++) {
      const Status status = call(i);
      if (status.ok()) continue;
      failed = true;
      absl::MutexLock lock(&mutex);
      first.Update(status);
    }
  };
  std::vector<std::thread> workers;
  for (size_t i = 0; i < std::min(threads, count); ++i) workers.emplace_back(work);
  for (std::thread& worker : workers) worker.join();
  return first;
}

}  // namespace

uint64_t RelayCounts::TotalLost() const {
  uint64_t total = 0;
  for (const auto& [reason, reports] : lost) total += reports;
  return total;
}

RelayGateway::RelayGateway(const RelayLink& relay, std::function<StatusOr<Deal>()> agree,
                           Journal& journal, const RelayGatewayOptions& options,
                           std::function<bool()> stop)
    : relay_(relay),
      agree_(std::move(agree)),
      journal_(journal),
      options_(options),
      stop_(std::move(stop)) {}

Status RelayGateway::CheckStop() const {
  return stop_() ? CancelledError("stopped on request") : OkStatus();
}

Status RelayGateway::TakeTickets(const Deal& deal,
                                 std::vector<std::optional<DealtTicket>>& dealt) const {
  return RunAtOnce(dealt.size(), options_.calls, [&](size_t i) -> Status {
    COPPICE_ASSIGN_OR_RETURN(const std::string envelope,
                             relay_.TakeOffer(deal.relay.study, deal.relay.epoch));
    COPPICE_ASSIGN_OR_RETURN(dealt[i], OpenEnvelope(deal, envelope));
    return OkStatus();
  });
}

Status RelayGateway::Send(absl::Span<const JournalEntry> entries, RelayCounts& counts) {
  std::vector<std::optional<SubmitOutcome>> outcomes(entries.size());
  const Status sent = RunAtOnce(entries.size(), options_.calls, [&](size_t i) -> Status {
    COPPICE_ASSIGN_OR_RETURN(outcomes[i], relay_.Submit(entries[i]));
    return OkStatus();
  });
  std::map<std::string, std::vector<std::string>> ended;  // subjects, by study
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!outcomes[i].has_value()) continue;
    const DeliveryResult result = ResultOf(*outcomes[i]);
    if (result.delivery == Delivery::kAccepted) {
      ++counts.stored;
    } else {
      ++counts.lost[result.reason];
    }
    ended[entries[i].report.study].push_back(entries[i].subject);
  }
  for (const auto& [study, subjects] : ended) {
    COPPICE_RETURN_IF_ERROR(journal_.MarkDelivered(study, subjects));
  }
  return sent;
}

Status RelayGateway::Resume(const std::string& study, const KeyId& relay, RelayCounts& counts) {
  COPPICE_ASSIGN_OR_RETURN(const std::vector<JournalEntry> waiting, journal_.Undelivered());
  std::vector<JournalEntry> for_this_relay;
  for (const JournalEntry& entry : waiting) {
    if (!study.empty() && entry.report.study != study) continue;
    if (entry.sealed.has_value() && entry.sealed->relay == relay) {
      for_this_relay.push_back(entry);
    } else {
      ++counts.of_others;
    }
  }
  const auto all = absl::MakeConstSpan(for_this_relay);
  for (size_t at = 0; at < all.size(); at += options_.batch) {
    COPPICE_RETURN_IF_ERROR(CheckStop());
    COPPICE_RETURN_IF_ERROR(Send(all.subspan(at, options_.batch), counts));
  }
  return OkStatus();
}

Status RelayGateway::AnswerBatch(const Policy& policy, const TableFile& file,
                                 absl::Span<const size_t> rows, RelayCounts& counts) {
  COPPICE_RETURN_IF_ERROR(CheckStop());
  COPPICE_ASSIGN_OR_RETURN(const Deal deal, agree_());
  COPPICE_RETURN_IF_ERROR(MakePrivatizer(deal, {}).status());
  COPPICE_ASSIGN_OR_RETURN(DealSealer sealer, DealSealer::Create(deal));
  const Responder responder(policy, journal_);
  std::vector<std::string> subjects;
  for (const size_t row : rows) subjects.push_back(SubjectOf(file, row));
  COPPICE_RETURN_IF_ERROR(responder.CheckSealedConsent(deal.terms, subjects));
  // No device may decline from here on.
  std::vector<std::optional<DealtTicket>> dealt(rows.size());
  const Status taken = TakeTickets(deal, dealt);
  TreesByIndex trees;
  std::vector<Invitation> invitations;
  std::vector<size_t> invited;  // positions in `rows`
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!dealt[i].has_value()) continue;
    trees.merge(dealt[i]->trees);
    invitations.push_back({std::move(subjects[i]), dealt[i]->ticket});
    invited.push_back(i);
  }
  counts.dealt += invitations.size();
  if (invitations.empty()) return taken;
  COPPICE_ASSIGN_OR_RETURN(const Privatizer privatizer, MakePrivatizer(deal, std::move(trees)));
  OpenSslRandom random;
  COPPICE_ASSIGN_OR_RETURN(
      const std::vector<JournalEntry> entries,
      responder.RespondSealed(
          privatizer, invitations, [&](size_t i) { return RowOf(file, rows[invited[i]]); },
          [&](size_t i, const PrivateReport& report) {
            return sealer.Seal(*dealt[invited[i]], report.payload);
          },
          random));
  COPPICE_RETURN_IF_ERROR(Send(entries, counts));
  return taken;
}

Status RelayGateway::AnswerRows(const std::string& study, const Policy& policy,
                                const TableFile& file, size_t rows,
                                const std::function<void(uint64_t)>& progress,
                                RelayCounts& counts) {
  std::vector<size_t> batch;
  for (size_t row = 0; row < rows; ++row) {
    COPPICE_ASSIGN_OR_RETURN(const auto answered, journal_.Find(SubjectOf(file, row), study));
    if (answered.has_value()) {
      ++counts.answered_before;
    } else {
      batch.push_back(row);
    }
    const bool last = row + 1 == rows;
    if (batch.size() < options_.batch && !last) continue;
    if (!batch.empty()) {
      COPPICE_RETURN_IF_ERROR(AnswerBatch(policy, file, batch, counts));
      batch.clear();
    }
    progress(row + 1);
  }
  return OkStatus();
}

Json DescribeRelayCounts(const RelayCounts& counts) {
  Json lost = Json::object();
  for (const auto& [reason, reports] : counts.lost) {
    lost[StrReplaceAll(reason, {{" ", "_"}, {",", ""}, {"'", ""}})] = reports;
  }
  return {{"dealt", counts.dealt},
          {"stored", counts.stored},
          {"lost", lost},
          {"of_others", counts.of_others}};
}

Status CloseWith(const Status& status, const RelayCounts& counts, const std::string& journal_file) {
  if (!status.ok()) {
    return Status(status.code(), StrCat(status.message(),
                                        "; what was randomized is in the journal: deliver it with "
                                        "`coppice collect resume --relay HOST:PORT --relay-key PIN "
                                        "--journal ",
                                        journal_file, "`"));
  }
  if (counts.TotalLost() == 0) return OkStatus();
  return FailedPreconditionError(
      StrCat(counts.TotalLost(),
             " reports are lost, as `lost` says, and their epsilon stays spent: a row is "
             "randomized once"));
}

}  // namespace coppice::cli
