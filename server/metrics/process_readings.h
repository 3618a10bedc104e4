// The process and its folder, as metrics: memory, processor time, files, disk.

#ifndef COPPICE_SERVER_METRICS_PROCESS_READINGS_H_
#define COPPICE_SERVER_METRICS_PROCESS_READINGS_H_

#include <string>

#include "server/metrics/readings.h"

namespace coppice {

// Of this process, by the names that Prometheus' own clients use. 0 where /proc does not tell.
void AddProcessReadings(Readings& readings);

// The bytes of all files in `data_dir`, and what its disk has free.
void AddStoreReadings(const std::string& data_dir, Readings& readings);

}  // namespace coppice

#endif  // COPPICE_SERVER_METRICS_PROCESS_READINGS_H_
