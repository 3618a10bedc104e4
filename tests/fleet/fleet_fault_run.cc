// fleet_fault_run [--single] [--failover] and the flags of fault_run.h: faults over a fleet of real
// curators. COPPICE_BIN_DIR is where the programs are.

#include <gtest/gtest.h>

#include <csignal>

#include "tests/faults/fault_run.h"
#include "tests/fleet/world.h"

namespace coppice::fleet_faults {

void FleetCast::AddFlags(CLI::App& app) {
  app.add_flag("--single", single_, "one daemon without a balancer");
  app.add_flag("--failover", failover_, "a standby is promoted in each");
}

}  // namespace coppice::fleet_faults

int main(int argc, char** argv) {
  testing::InitGoogleTest();  // test helpers report failures through it
  std::signal(SIGTERM, [](int) { coppice::fleet_faults::Interrupt(); });
  std::signal(SIGINT, [](int) { coppice::fleet_faults::Interrupt(); });
  return coppice::faults::FaultRun<coppice::fleet_faults::FleetCast>::Main(
      argc, argv, "Runs schedules of faults over a fleet of curators.");
}
