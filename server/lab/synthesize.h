// `coppice-lab synthesize`: the synthetic pair as files, to try the daemon and the command line on.

#ifndef COPPICE_SERVER_LAB_SYNTHESIZE_H_
#define COPPICE_SERVER_LAB_SYNTHESIZE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace CLI {
class App;
}

namespace coppice::lab {

struct SynthesizeFlags {
  std::string synthetic = "gamma=0.5,private=10000,public=50,test=2000";
  std::string output_dir;
  uint64_t seed = 1;
};

void AddSynthesizeFlags(CLI::App& command, SynthesizeFlags& flags);

// Writes public.csv, private.csv, test.csv and schema.json into the folder, which is made if need
// be. AlreadyExists if one of them is there.
absl::Status RunSynthesize(const SynthesizeFlags& flags);

}  // namespace coppice::lab

#endif  // COPPICE_SERVER_LAB_SYNTHESIZE_H_
