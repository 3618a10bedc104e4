// The page that Prometheus reads: http://HOST:PORT/metrics, plain, for whoever reaches the port or,
// with a password, knows that.

#ifndef COPPICE_COMMON_SERVING_METRICS_PAGE_H_
#define COPPICE_COMMON_SERVING_METRICS_PAGE_H_

#include <prometheus/collectable.h>
#include <prometheus/exposer.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace coppice::metrics {

// Threads    a few of its own. The destructor waits for the pages that are being answered.
class MetricsPage {
 public:
  // Serves on `listen`, HOST:PORT; port 0 takes a free one. Unavailable if it cannot be had. With a
  // `password` the page is for those who show it (HTTP Basic, under any name).
  static absl::StatusOr<std::unique_ptr<MetricsPage>> Serve(
      const std::string& listen, std::vector<std::shared_ptr<prometheus::Collectable>> collectables,
      const std::string& password = "");

  int port() const { return exposer_->GetListeningPorts().at(0); }

 private:
  MetricsPage() = default;

  std::vector<std::shared_ptr<prometheus::Collectable>> collectables_;
  std::unique_ptr<prometheus::Exposer> exposer_;  // the first to go
};

// The first line of `path`, the file of --metrics-password-file; empty without one.
// FailedPrecondition for a file that everybody may read, InvalidArgument for a password that is
// short.
absl::StatusOr<std::string> LoadMetricsPassword(const std::string& path);

}  // namespace coppice::metrics

#endif  // COPPICE_COMMON_SERVING_METRICS_PAGE_H_
