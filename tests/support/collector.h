// Fetches offers and delivers reports without a journal: for tests and benchmarks that make reports
// of their own. Devices have a session (client/device/session.h).

#ifndef COPPICE_TESTS_SUPPORT_COLLECTOR_H_
#define COPPICE_TESTS_SUPPORT_COLLECTOR_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "client/device/direct_reports.h"
#include "client/device/grpc/grpc_carrier.h"
#include "client/device/offer.h"
#include "client/device/trust.h"
#include "common/base/status_macros.h"

namespace coppice {

struct FetchedOffer {
  Terms terms;
  Fingerprint fingerprint{};
  std::vector<Ticket> tickets;
  TreesByIndex trees;
};

// Errors     those of GrpcCarrier, OpenOffer() and DirectReports.
// Threads    safe to share.
class Collector {
 public:
  static StatusOr<Collector> Create(const ConnectOptions& connect, const RetryOptions& retry) {
    COPPICE_ASSIGN_OR_RETURN(GrpcCarrier carrier, GrpcCarrier::ToCurator(connect, retry));
    return Collector(std::move(carrier));
  }

  // One ticket, and the tree that it answers in.
  StatusOr<FetchedOffer> FetchOffer(const std::string& study) const {
    return Fetch({.server = carrier_->server(), .study = study}, {});
  }
  // Tickets, and all trees.
  StatusOr<FetchedOffer> FetchForest(const std::string& study, uint32_t tickets,
                                     absl::Span<const std::string> tokens = {}) const {
    return Fetch(
        {.server = carrier_->server(), .study = study, .tickets = tickets, .whole_forest = true},
        tokens);
  }
  StatusOr<std::vector<Ticket>> FetchTickets(const std::string& study, uint32_t tickets) const {
    COPPICE_ASSIGN_OR_RETURN(FetchedOffer offer, FetchForest(study, tickets));
    return std::move(offer.tickets);
  }

  // Sealed for the curator's current key; in as many calls as it takes.
  StatusOr<std::vector<DeliveryResult>> Deliver(absl::Span<const PrivateReport> reports) const {
    std::vector<const PrivateReport*> left;
    for (const PrivateReport& report : reports) left.push_back(&report);
    std::vector<DeliveryResult> results;
    COPPICE_ASSIGN_OR_RETURN(const DirectKey key, CuratorsKey());
    for (auto rest = absl::MakeConstSpan(left); !rest.empty();) {
      COPPICE_ASSIGN_OR_RETURN(const uint32_t bytes, ReportBytesOf(rest[0]->study));
      const auto together = rest.subspan(0, ReportsPerCall(rest, bytes, /*batch=*/1000));
      rest.remove_prefix(together.size());
      COPPICE_ASSIGN_OR_RETURN(const DirectReports call, DirectReports::Seal(key, bytes, together));
      COPPICE_ASSIGN_OR_RETURN(
          const std::string response,
          carrier_->Carry({"/coppice.v1.ReportService/SubmitReports", call.request()}));
      COPPICE_ASSIGN_OR_RETURN(const std::vector<DeliveryResult> opened, call.Open(response));
      results.insert(results.end(), opened.begin(), opened.end());
    }
    return results;
  }

  // What each report of the study is padded to, by its manifest.
  StatusOr<uint32_t> ReportBytesOf(const std::string& study) const {
    {
      const std::lock_guard lock(memory_->mutex);
      const auto seen = memory_->seen.OfStudy(study);
      if (seen.has_value()) return seen->manifest.direct->report_bytes;
    }
    COPPICE_RETURN_IF_ERROR(FetchForest(study, 1).status());
    return ReportBytesOf(study);
  }

  // What SubmitReports would be sent with these reports, which must go together.
  StatusOr<DirectReports> Seal(absl::Span<const PrivateReport* const> reports) const {
    COPPICE_ASSIGN_OR_RETURN(const DirectKey key, CuratorsKey());
    COPPICE_ASSIGN_OR_RETURN(const uint32_t bytes, ReportBytesOf(reports[0]->study));
    return DirectReports::Seal(key, bytes, reports);
  }

 private:
  struct Memory {
    std::mutex mutex;
    SeenManifests seen;
  };

  explicit Collector(GrpcCarrier carrier)
      : carrier_(std::make_shared<GrpcCarrier>(std::move(carrier))) {}

  StatusOr<FetchedOffer> Fetch(const OfferQuestion& question,
                               absl::Span<const std::string> tokens) const {
    const std::lock_guard lock(memory_->mutex);
    const OfferPolicy policy;
    const Trust trust(policy, memory_->seen);
    COPPICE_ASSIGN_OR_RETURN(const std::string response,
                             carrier_->Carry({"/coppice.v1.StudyService/GetOffer",
                                              OfferRequest(question, tokens, trust)}));
    COPPICE_ASSIGN_OR_RETURN(Offer offer, OpenOffer(response, question, trust,
                                                    DeviceClock::System().Now().unix_seconds));
    memory_->seen.Add(offer.manifest);
    return FetchedOffer{offer.privatizer->terms(), offer.privatizer->fingerprint(),
                        std::move(offer.tickets), offer.privatizer->trees()};
  }

  StatusOr<DirectKey> CuratorsKey() const {
    const std::string challenge(kChallengeBytes, 'c');
    COPPICE_ASSIGN_OR_RETURN(
        const std::string response,
        carrier_->Carry({"/coppice.v1.StudyService/GetCuratorKeys", ProofRequest(challenge)}));
    COPPICE_ASSIGN_OR_RETURN(const CuratorProof proof, OpenProof(response, challenge));
    return proof.direct;
  }

  std::shared_ptr<GrpcCarrier> carrier_;
  std::shared_ptr<Memory> memory_ = std::make_shared<Memory>();
};

}  // namespace coppice

#endif  // COPPICE_TESTS_SUPPORT_COLLECTOR_H_
