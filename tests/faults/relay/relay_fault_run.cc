// relay_fault_run with the flags of fault_run.h: faults over relay, devices and curator.

#include "tests/faults/fault_run.h"
#include "tests/faults/relay/world.h"

int main(int argc, char** argv) {
  return coppice::faults::FaultRun<coppice::relay_faults::RelayCast>::Main(
      argc, argv, "Runs schedules of faults over relay, devices and curator.");
}
