// Metrics whose values are kept elsewhere: they are read when they are asked for, so nothing is
// counted twice.

#ifndef COPPICE_SERVER_PROCESS_READINGS_H_
#define COPPICE_SERVER_PROCESS_READINGS_H_

#include <prometheus/client_metric.h>
#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace coppice::metrics {

// Maximum number of studies, and of datasets, that metrics name one by one.
inline constexpr size_t kMaxNamed = 500;

using Labels = std::vector<prometheus::ClientMetric::Label>;

struct Reading {
  Labels labels{};
  double value = 0;
};

// A reader must bound what it adds: it returns one sample per set of labels.
//
// Threads    call Add...() before it is served; Collect() and the readers run on any thread.
class Readings final : public prometheus::Collectable {
 public:
  using Reader = std::function<std::vector<Reading>()>;

  void AddGauges(std::string name, std::string help, Reader read) {
    sources_.push_back(
        {std::move(name), std::move(help), prometheus::MetricType::Gauge, std::move(read)});
  }
  // For sums that only grow while the process lives.
  void AddCounters(std::string name, std::string help, Reader read) {
    sources_.push_back(
        {std::move(name), std::move(help), prometheus::MetricType::Counter, std::move(read)});
  }
  void AddGauge(std::string name, std::string help, std::function<double()> read) {
    AddGauges(std::move(name), std::move(help),
              [read = std::move(read)] { return std::vector<Reading>{{.value = read()}}; });
  }

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  struct Source {
    std::string name;
    std::string help;
    prometheus::MetricType type;
    Reader read;
  };

  std::vector<Source> sources_;
};

// Adds the process's start time, under the name that Prometheus' own clients use; 0 if /proc does
// not tell. Nothing more: store size and free disk reveal the exact number of private rows to
// somebody who knows all others; memory, processor time and open files reveal the rows that a job
// trains on. An operator watches these on the host.
void AddProcessReadings(Readings& readings);

}  // namespace coppice::metrics

#endif  // COPPICE_SERVER_PROCESS_READINGS_H_
