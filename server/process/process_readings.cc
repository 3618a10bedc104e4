#include <unistd.h>

#include <cstdint>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>

#include "common/base/text.h"
#include "server/process/readings.h"

namespace coppice::metrics {
namespace {

// Returns field `number` of /proc/self/stat after the name, which may contain anything but ends at
// the last bracket; the state is field 0.
uint64_t StatField(size_t number) {
  std::ifstream file("/proc/self/stat");
  const std::string line{std::istreambuf_iterator<char>(file), {}};
  const size_t name_end = line.rfind(") ");
  if (name_end == std::string::npos) return 0;
  const std::vector<std::string> fields = StrSplit(line.substr(name_end + 2), ' ');
  uint64_t value = 0;
  return number < fields.size() && SimpleAtoi(fields[number], &value) ? value : 0;
}

// Returns seconds since 1970.
double StartTime() {
  constexpr size_t kStartTicks = 19;  // since the machine started
  timespec now{};
  timespec up{};
  clock_gettime(CLOCK_REALTIME, &now);
  clock_gettime(CLOCK_BOOTTIME, &up);
  return static_cast<double>(now.tv_sec - up.tv_sec) +
         static_cast<double>(StatField(kStartTicks)) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace

void AddProcessReadings(Readings& readings) {
  readings.AddGauge("process_start_time_seconds", "Start of the process, in seconds since 1970.",
                    [started = StartTime()] { return started; });
}

}  // namespace coppice::metrics
