// Metrics whose values are kept elsewhere: read when they are asked for, and so never counted
// twice.

#ifndef COPPICE_COMMON_SERVING_READINGS_H_
#define COPPICE_COMMON_SERVING_READINGS_H_

#include <prometheus/client_metric.h>
#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace coppice::metrics {

// Of studies, and of datasets, that metrics name one by one.
inline constexpr size_t kMaxNamed = 500;

using Labels = std::vector<prometheus::ClientMetric::Label>;

struct Reading {
  Labels labels{};
  double value = 0;
};

// Each reader bounds what it adds: it returns one sample a set of labels.
//
// Threads    Add() before it is served; Collect() from any thread, as are the readers.
class Readings final : public prometheus::Collectable {
 public:
  using Reader = std::function<std::vector<Reading>()>;

  void AddGauges(std::string name, std::string help, Reader read) {
    sources_.push_back(
        {std::move(name), std::move(help), prometheus::MetricType::Gauge, std::move(read)});
  }
  // Of a sum that only grows while the process lives.
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

// When the process began, by the name that Prometheus' own clients use; 0 where /proc does not
// tell. No more: the size of the store and what its disk has free tell exactly how many private
// rows there are, to whoever knows all others; memory, processor time and open files tell of the
// rows that a job trains on. An operator watches them on the host.
void AddProcessReadings(Readings& readings);

}  // namespace coppice::metrics

#endif  // COPPICE_COMMON_SERVING_READINGS_H_
