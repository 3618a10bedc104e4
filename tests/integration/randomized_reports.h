// Reports of made-up rows for a study of the synthetic pair, randomized once.

#ifndef COPPICE_TESTS_INTEGRATION_RANDOMIZED_REPORTS_H_
#define COPPICE_TESTS_INTEGRATION_RANDOMIZED_REPORTS_H_

#include <cstddef>
#include <vector>

#include "client/device/grpc/connect.h"
#include "client/device/privatizer.h"
#include "common/privacy/openssl_random.h"
#include "tests/support/collector.h"

namespace coppice::testing {

// Makes one report per device.
inline std::vector<PrivateReport> RandomizedReports(const Collector& collector,
                                                    const FetchedOffer& offer, size_t devices) {
  std::vector<PrivateReport> reports;
  OpenSslRandom random;
  const Privatizer privatizer = *Privatizer::Create(offer.terms, offer.fingerprint, offer.trees);
  while (reports.size() < devices) {
    const std::vector<Ticket> tickets = *collector.FetchTickets(offer.terms.study, 1000);
    for (const Ticket& ticket : tickets) {
      const double x = static_cast<double>(reports.size() % 100) / 100;
      reports.push_back(*privatizer.Privatize(
          {{x, 1 - x}, static_cast<uint32_t>(reports.size() % 2)}, ticket, random));
    }
  }
  return reports;
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_INTEGRATION_RANDOMIZED_REPORTS_H_
