// Counts and times calls, by method.

#ifndef COPPICE_SERVER_SERVING_METRICS_CALL_METRICS_H_
#define COPPICE_SERVER_SERVING_METRICS_CALL_METRICS_H_

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace coppice::metrics {

// Counts methods that were not given as "other". Codes are gRPC's 17.
//
// Guarantee  Calls with a private duration are counted but not timed, calls that may end with
//            their job are not even counted, and neither are among the open streams; see
//            server/serving/access/method_table.h.
// Threads    safe to share.
class CallMetrics {
 public:
  // Registers its metrics in `registry`, which must outlive it. `methods` have the form
  // "coppice.v1.StudyService/GetOffer".
  CallMetrics(prometheus::Registry& registry, const std::vector<std::string>& methods);

  // Counts a call that was refused before it reached its method.
  void Refused(std::string_view method, std::string_view code);
  void Ended(std::string_view method, std::string_view code, double seconds);
  void StreamOpened(std::string_view method);
  void StreamClosed(std::string_view method);

 private:
  struct Method {
    std::string name;
    prometheus::Counter* ok = nullptr;         // null: this end is private
    prometheus::Histogram* seconds = nullptr;  // null: the duration is private
  };

  void AddMethod(const std::string& name);
  const Method& Find(std::string_view method) const;
  void Count(const Method& method, std::string_view code);

  prometheus::Family<prometheus::Counter>& calls_;
  prometheus::Family<prometheus::Histogram>& seconds_;
  prometheus::Gauge& streams_;
  std::map<std::string, Method, std::less<>> methods_;  // constant after construction
};

}  // namespace coppice::metrics

#endif  // COPPICE_SERVER_SERVING_METRICS_CALL_METRICS_H_
