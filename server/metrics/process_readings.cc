#include "server/metrics/process_readings.h"

#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace coppice {
namespace {

// Field `number` of /proc/self/stat after the name, which may hold anything but ends at the last
// bracket; the state is field 0.
uint64_t StatField(size_t number) {
  std::ifstream file("/proc/self/stat");
  const std::string line{std::istreambuf_iterator<char>(file), {}};
  const size_t name_end = line.rfind(") ");
  if (name_end == std::string::npos) return 0;
  const std::vector<std::string> fields = absl::StrSplit(line.substr(name_end + 2), ' ');
  uint64_t value = 0;
  return number < fields.size() && absl::SimpleAtoi(fields[number], &value) ? value : 0;
}

double ResidentBytes() {
  constexpr size_t kResidentPages = 21;
  return static_cast<double>(StatField(kResidentPages)) *
         static_cast<double>(sysconf(_SC_PAGESIZE));
}

// In seconds since 1970.
double StartTime() {
  constexpr size_t kStartTicks = 19;  // since the machine started
  timespec now{};
  timespec up{};
  clock_gettime(CLOCK_REALTIME, &now);
  clock_gettime(CLOCK_BOOTTIME, &up);
  return static_cast<double>(now.tv_sec - up.tv_sec) +
         static_cast<double>(StatField(kStartTicks)) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

std::vector<Reading> ProcessorSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return {{.value = seconds(usage.ru_utime) + seconds(usage.ru_stime)}};
}

double OpenFiles() {
  std::error_code error;
  const std::filesystem::directory_iterator files("/proc/self/fd", error);
  return error ? 0 : static_cast<double>(std::distance(begin(files), end(files)));
}

// Files come and go while the store works: what is gone counts nothing.
double BytesIn(const std::string& folder) {
  uint64_t bytes = 0;
  std::error_code error;
  std::filesystem::recursive_directory_iterator files(folder, error);
  for (; !error && files != end(files); files.increment(error)) {
    std::error_code gone;
    const uint64_t size = files->is_regular_file(gone) ? files->file_size(gone) : 0;
    if (!gone) bytes += size;
  }
  return static_cast<double>(bytes);
}

double FreeBytes(const std::string& folder) {
  std::error_code error;
  const std::filesystem::space_info space = std::filesystem::space(folder, error);
  return error ? 0 : static_cast<double>(space.available);
}

}  // namespace

void AddProcessReadings(Readings& readings) {
  readings.AddGauge("process_resident_memory_bytes", "Resident memory.", ResidentBytes);
  readings.AddGauge("process_start_time_seconds", "Start of the process, in seconds since 1970.",
                    [started = StartTime()] { return started; });
  readings.AddCounters("process_cpu_seconds_total", "Processor time, of all threads.",
                       ProcessorSeconds);
  readings.AddGauge("process_open_fds", "Open files and connections.", OpenFiles);
}

void AddStoreReadings(const std::string& data_dir, Readings& readings) {
  readings.AddGauge("coppice_store_bytes", "Size of all files in the data directory.",
                    [data_dir] { return BytesIn(data_dir); });
  readings.AddGauge("coppice_store_free_bytes", "Free space on the disk of the data directory.",
                    [data_dir] { return FreeBytes(data_dir); });
}

}  // namespace coppice
