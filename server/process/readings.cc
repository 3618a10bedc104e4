#include "server/process/readings.h"

namespace coppice::metrics {

std::vector<prometheus::MetricFamily> Readings::Collect() const {
  std::vector<prometheus::MetricFamily> families;
  for (const Source& source : sources_) {
    prometheus::MetricFamily& family = families.emplace_back();
    family.name = source.name;
    family.help = source.help;
    family.type = source.type;
    for (Reading& reading : source.read()) {
      prometheus::ClientMetric& metric = family.metric.emplace_back();
      metric.label = std::move(reading.labels);
      metric.counter.value = reading.value;  // the serializer uses the one for the type
      metric.gauge.value = reading.value;
    }
  }
  return families;
}

}  // namespace coppice::metrics
