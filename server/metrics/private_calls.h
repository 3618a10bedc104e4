// Which calls tell of private rows by how long they take, or by when they end.
//
// Guarantee  such durations are in no metric and no line of the log: how long a job trains, an
//            upload, a deletion or a backup takes, follows from how many rows there are and from
//            what noise was drawn. A job's owner sees its times; whoever else sees jobs end, by
//            day.

#ifndef COPPICE_SERVER_METRICS_PRIVATE_CALLS_H_
#define COPPICE_SERVER_METRICS_PRIVATE_CALLS_H_

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"

namespace coppice::metrics {

// `method` as in "coppice.v1.StudyService/GetOffer". By service, so that a new method of these
// services is not timed either.
inline bool HasPrivateDuration(absl::string_view method) {
  return absl::StartsWith(method, "coppice.v1.DatasetService/") ||
         absl::StartsWith(method, "coppice.v1.TrainingService/") ||
         absl::StartsWith(method, "coppice.v1.AdminService/");
}

// A call of this method that ends with this code, by gRPC's name, may end when its job does: a
// client cancels what it has no more use for, and may be faster than our OK.
inline bool HasPrivateEnd(absl::string_view method, absl::string_view code) {
  return method == "coppice.v1.TrainingService/WatchJob" && (code == "OK" || code == "CANCELLED");
}

}  // namespace coppice::metrics

#endif  // COPPICE_SERVER_METRICS_PRIVATE_CALLS_H_
