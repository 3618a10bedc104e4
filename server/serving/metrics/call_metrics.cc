#include "server/serving/metrics/call_metrics.h"

#include <string_view>

#include "server/serving/access/method_table.h"

namespace coppice::metrics {
namespace {

constexpr char kOther[] = "other";

// From a report in memory to a model over a large forest.
const prometheus::Histogram::BucketBoundaries kSeconds = {
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10};

}  // namespace

CallMetrics::CallMetrics(prometheus::Registry& registry, const std::vector<std::string>& methods)
    : calls_(prometheus::BuildCounter()
                 .Name("coppice_calls_total")
                 .Help("Calls that have ended, by method and status code; no WatchJob that ended "
                       "with its job or was cancelled.")
                 .Register(registry)),
      seconds_(prometheus::BuildHistogram()
                   .Name("coppice_call_seconds")
                   .Help("How long calls took that touch no private rows; a stream from its first "
                         "to its last message.")
                   .Register(registry)),
      streams_(prometheus::BuildGauge()
                   .Name("coppice_open_streams")
                   .Help("Streams that are open and touch no private rows.")
                   .Register(registry)
                   .Add({})) {
  for (const std::string& name : methods) AddMethod(name);
  AddMethod(kOther);
}

void CallMetrics::AddMethod(const std::string& name) {
  Method& method = methods_[name] = {.name = name};
  if (!access::HasPrivateEnd(name, "OK"))
    method.ok = &calls_.Add({{"method", name}, {"code", "OK"}});
  if (!access::HasPrivateDuration(name))
    method.seconds = &seconds_.Add({{"method", name}}, kSeconds);
}

void CallMetrics::StreamOpened(std::string_view method) {
  if (!access::HasPrivateDuration(method)) streams_.Increment();
}

void CallMetrics::StreamClosed(std::string_view method) {
  if (!access::HasPrivateDuration(method)) streams_.Decrement();
}

void CallMetrics::Refused(std::string_view method, std::string_view code) {
  Count(Find(method), code);
}

void CallMetrics::Ended(std::string_view method, std::string_view code, double seconds) {
  const Method& known = Find(method);
  if (known.seconds != nullptr) known.seconds->Observe(seconds);
  Count(known, code);
}

const CallMetrics::Method& CallMetrics::Find(std::string_view method) const {
  const auto found = methods_.find(method);
  return found == methods_.end() ? methods_.at(kOther) : found->second;
}

void CallMetrics::Count(const Method& method, std::string_view code) {
  if (code == "OK") {
    if (method.ok != nullptr) method.ok->Increment();
    return;
  }
  if (access::HasPrivateEnd(method.name, code)) return;
  // Rare enough to search the family each time.
  calls_.Add({{"method", method.name}, {"code", std::string(code)}}).Increment();
}

}  // namespace coppice::metrics
