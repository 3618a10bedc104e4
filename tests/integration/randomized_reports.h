// Reports of made-up rows for a study of the synthetic pair, randomized once.

#ifndef COPPICE_TESTS_INTEGRATION_RANDOMIZED_REPORTS_H_
#define COPPICE_TESTS_INTEGRATION_RANDOMIZED_REPORTS_H_

#include <cstddef>
#include <vector>

#include "client/device/privatizer.h"
#include "common/privacy/openssl_random.h"
#include "tests/support/collector.h"

namespace coppice::testing {

// Makes one report per device. `offer` must be that of Collector::FetchForest().
inline std::vector<PrivateReport> RandomizedReports(const Collector& collector, const Offer& offer,
                                                    size_t devices) {
  std::vector<PrivateReport> reports;
  OpenSslRandom random;
  while (reports.size() < devices) {
    const std::vector<Ticket> tickets = *collector.FetchTickets(*offer.privatizer, 1000);
    for (const Ticket& ticket : tickets) {
      const double x = static_cast<double>(reports.size() % 100) / 100;
      reports.push_back(*offer.privatizer->Privatize(
          {{x, 1 - x}, static_cast<uint32_t>(reports.size() % 2)}, ticket, random));
    }
  }
  return reports;
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_INTEGRATION_RANDOMIZED_REPORTS_H_
