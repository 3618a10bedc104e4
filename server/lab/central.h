// coppice-lab central: what accuracy a central trainer reaches on files, at which epsilon.
//
// Guarantee  none for the printed accuracies: a score on private rows is itself a release. Each
//            model is as private as the daemon's, from the same code and the same random source.

#ifndef COPPICE_SERVER_LAB_CENTRAL_H_
#define COPPICE_SERVER_LAB_CENTRAL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace CLI {
class App;
}

namespace coppice::lab {

struct CentralFlags {
  std::string data_file, schema_file, test_file;
  std::string algorithm;
  std::string epsilon;
  std::string delta = "0";
  std::vector<std::string> settings;  // "name=value"
  double holdout = 0.1;
  bool strict = false;
  bool unlabelled = false;
  uint32_t repeats = 1;
  uint32_t threads = 1;
  uint64_t seed = 0;
  bool votes = false;
  bool json = false;
};

void AddCentralFlags(CLI::App& command, CentralFlags& flags);

// Trains and scores `repeats` times, and prints one JSON object or the same as lines.
absl::Status RunCentral(const CentralFlags& flags);

}  // namespace coppice::lab

#endif  // COPPICE_SERVER_LAB_CENTRAL_H_
