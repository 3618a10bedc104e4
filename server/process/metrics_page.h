// Serves the page for Prometheus: http://HOST:PORT/metrics, unencrypted, for every program that
// reaches the port or, if there is a password, knows it.

#ifndef COPPICE_SERVER_PROCESS_METRICS_PAGE_H_
#define COPPICE_SERVER_PROCESS_METRICS_PAGE_H_

#include <prometheus/collectable.h>
#include <prometheus/exposer.h>

#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace coppice::metrics {

// Guarantee  No page in somebody's browser reads this one: requests of other origins are refused,
//            and without a password those whose Host is a name with a dot, which may be another's
//            that was pointed to this machine (DNS rebinding). Prometheus reads it by an address,
//            by a name without a dot, by the machine's own name, or with the password.
// Threads    has a few of its own. The destructor waits until pending pages are answered.
class MetricsPage {
 public:
  // Serves on `listen`, HOST:PORT; port 0 takes a free one. Unavailable if the port cannot be had.
  // With a `password` only those who show it (HTTP Basic, any name) get the page.
  static StatusOr<std::unique_ptr<MetricsPage>> Serve(
      const std::string& listen, std::vector<std::shared_ptr<prometheus::Collectable>> collectables,
      const std::string& password = "");

  int port() const { return exposer_->GetListeningPorts().at(0); }

 private:
  MetricsPage() = default;

  std::vector<std::shared_ptr<prometheus::Collectable>> collectables_;
  std::unique_ptr<prometheus::Exposer> exposer_;  // destroyed first
};

// Reads the first line of `path`, the file of --metrics-password-file; empty if there is no path.
// FailedPrecondition for a file that everybody may read, InvalidArgument for a password that is too
// short.
StatusOr<std::string> LoadMetricsPassword(const std::string& path);

}  // namespace coppice::metrics

#endif  // COPPICE_SERVER_PROCESS_METRICS_PAGE_H_
