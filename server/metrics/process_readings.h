// The process as a metric: when it began.
//
// Privacy    no more. The size of the store and what its disk has free tell exactly how many
//            private rows there are, to whoever knows all others; memory, processor time and open
//            files tell of the rows that a job trains on. An operator watches them on the host.

#ifndef COPPICE_SERVER_METRICS_PROCESS_READINGS_H_
#define COPPICE_SERVER_METRICS_PROCESS_READINGS_H_

#include "server/metrics/readings.h"

namespace coppice::metrics {

// By the name that Prometheus' own clients use. 0 where /proc does not tell.
void AddProcessReadings(Readings& readings);

}  // namespace coppice::metrics

#endif  // COPPICE_SERVER_METRICS_PROCESS_READINGS_H_
