// Where this machine's processors spent their time, so that a measurement can say what its host
// took away.

#ifndef COPPICE_TESTS_BENCH_MACHINE_TIME_H_
#define COPPICE_TESTS_BENCH_MACHINE_TIME_H_

#include <unistd.h>

#include <fstream>
#include <string>

namespace coppice {

// Seconds of all processors together, since the machine started (Linux's /proc/stat).
struct MachineTime {
  double busy = 0;
  double idle = 0;
  double stolen = 0;  // they had work, and the host of the virtual machine let others run

  static MachineTime Now() {
    std::ifstream stat("/proc/stat");
    std::string cpu;
    double user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, softirq = 0, steal = 0;
    stat >> cpu >> user >> nice >> system >> idle >> wait >> irq >> softirq >> steal;
    const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
    return {.busy = (user + nice + system + irq + softirq) / ticks,
            .idle = (idle + wait) / ticks,
            .stolen = steal / ticks};
  }

  MachineTime Since(const MachineTime& start) const {
    return {.busy = busy - start.busy, .idle = idle - start.idle, .stolen = stolen - start.stolen};
  }
  double StolenShare() const {
    const double all = busy + idle + stolen;
    return all > 0 ? stolen / all : 0;
  }
};

}  // namespace coppice

#endif  // COPPICE_TESTS_BENCH_MACHINE_TIME_H_
