// The steps of a session one by one, for tests and benches that make reports themselves: to send
// them twice, late, or from many threads.

#ifndef COPPICE_TESTS_SUPPORT_COLLECTOR_H_
#define COPPICE_TESTS_SUPPORT_COLLECTOR_H_

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "client/device/direct_reports.h"
#include "client/device/grpc/grpc_carrier.h"
#include "client/device/offer.h"
#include "client/device/trust.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace coppice::testing {

// Trusts the first key that it sees, and remembers it as long as it lives.
//
// Errors     those of the transport, OpenOffer() and DirectReports.
// Threads    safe to share.
class Collector {
 public:
  static StatusOr<Collector> Create(const ConnectOptions& connect, const RetryOptions& retry,
                                    const OfferPolicy& policy = {}) {
    COPPICE_ASSIGN_OR_RETURN(GrpcCarrier carrier, GrpcCarrier::ToCurator(connect, retry));
    return Collector(std::make_unique<Parts>(std::move(carrier), policy));
  }

  // What a device gets: one ticket and its tree.
  StatusOr<Offer> FetchOffer(const std::string& study) const {
    return Fetch({.server = parts_->carrier.server(), .study = study});
  }
  // What a gateway gets: all trees.
  StatusOr<Offer> FetchForest(const std::string& study, uint32_t tickets) const {
    return Fetch({.server = parts_->carrier.server(),
                  .study = study,
                  .tickets = tickets,
                  .whole_forest = true});
  }
  // Further tickets for the terms and trees of FetchForest().
  StatusOr<std::vector<Ticket>> FetchTickets(const Privatizer& known, uint32_t tickets) const {
    COPPICE_ASSIGN_OR_RETURN(Offer offer, Fetch({.server = parts_->carrier.server(),
                                                 .study = known.terms().study,
                                                 .tickets = tickets,
                                                 .whole_forest = true,
                                                 .known = &known}));
    return std::move(offer.tickets);
  }

  // Sends reports of one study and fingerprint. One result per report, in order.
  StatusOr<std::vector<DeliveryResult>> Deliver(absl::Span<const PrivateReport> reports) const {
    std::vector<DeliveryResult> results;
    if (reports.empty()) return results;
    COPPICE_ASSIGN_OR_RETURN(const DirectSealing sealing, SealingOf(reports[0].study));
    std::vector<const PrivateReport*> waiting;
    for (const PrivateReport& report : reports) waiting.push_back(&report);
    absl::Span<const PrivateReport* const> left(waiting);
    while (!left.empty()) {
      const size_t size = ReportsPerCall(left, sealing.report_bytes, /*batch=*/1000);
      COPPICE_ASSIGN_OR_RETURN(
          const DirectReports call,
          DirectReports::Seal(sealing.key, sealing.report_bytes, left.first(size)));
      COPPICE_ASSIGN_OR_RETURN(
          const std::string response,
          parts_->carrier.Carry({"/coppice.v1.ReportService/SubmitReports", call.request()}));
      COPPICE_ASSIGN_OR_RETURN(std::vector<DeliveryResult> some, call.Open(response));
      std::move(some.begin(), some.end(), std::back_inserter(results));
      left.remove_prefix(size);
    }
    return results;
  }

 private:
  struct Parts {
    Parts(GrpcCarrier moved, const OfferPolicy& offers)
        : carrier(std::move(moved)), policy(offers) {}

    GrpcCarrier carrier;
    const OfferPolicy policy;
    std::mutex mutex;
    SeenManifests seen;
  };

  explicit Collector(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

  StatusOr<Offer> Fetch(const OfferQuestion& question) const {
    const std::lock_guard<std::mutex> lock(parts_->mutex);
    const Trust trust(parts_->policy, parts_->seen);
    COPPICE_ASSIGN_OR_RETURN(const std::string response,
                             parts_->carrier.Carry({"/coppice.v1.StudyService/GetOffer",
                                                    OfferRequest(question, {}, trust)}));
    COPPICE_ASSIGN_OR_RETURN(Offer offer, OpenOffer(response, question, trust,
                                                    DeviceClock::System().Now().unix_seconds));
    if (!parts_->seen.Knows(offer.manifest)) parts_->seen.Add(offer.manifest);
    return offer;
  }

  StatusOr<DirectSealing> SealingOf(const std::string& study) const {
    for (const bool fetched : {false, true}) {
      {
        const std::lock_guard<std::mutex> lock(parts_->mutex);
        const std::optional<SeenManifest> seen = parts_->seen.OfStudy(study);
        if (seen.has_value() && seen->manifest.direct.has_value()) return *seen->manifest.direct;
      }
      if (!fetched) COPPICE_RETURN_IF_ERROR(FetchOffer(study).status());
    }
    return FailedPreconditionError("the study takes no reports from devices themselves");
  }

  std::unique_ptr<Parts> parts_;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SUPPORT_COLLECTOR_H_
