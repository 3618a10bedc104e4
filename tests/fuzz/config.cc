// The daemon's configuration file.

#include <array>
#include <iostream>

#include "server/daemon/config/flags.h"
#include "tests/fuzz/fuzz_input.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::cerr.setstate(std::ios::failbit);  // silences complaints
  std::cout.setstate(std::ios::failbit);
  const coppice::testing::FileOf file(coppice::testing::AsBytes(data, size), ".toml");
  const std::array<const char*, 3> arguments = {"coppiced", "--config", file.path().c_str()};
  coppice::daemon::DaemonFlags flags;
  (void)coppice::daemon::ParseFlags(static_cast<int>(arguments.size()), arguments.data(), flags);
  return 0;
}
