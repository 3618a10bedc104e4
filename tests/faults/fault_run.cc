// fault_run [--beside] and the flags of fault_run.h: faults over the curator and its store.

#include "tests/faults/fault_run.h"

#include "tests/faults/world.h"

namespace coppice::testing {

void CuratorCast::AddFlags(CLI::App& app) {
  app.add_flag("--beside", beside_,
               "answers go out beside commits, so that a run is not the same again");
}

}  // namespace coppice::testing

int main(int argc, char** argv) {
  return coppice::faults::FaultRun<coppice::testing::CuratorCast>::Main(
      argc, argv, "Runs schedules of faults over the curator and its store.");
}
