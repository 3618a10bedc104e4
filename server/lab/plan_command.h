// `coppice-lab plan`: what accuracy to expect of a study, from public rows alone, before anyone is
// asked for a report.
//
// Prints a table over epsilon and the number of devices, draws it on request (through gnuplot,
// which must be installed then), and answers what epsilon or how many devices an accuracy takes.
// Source     server/curator/estimation/plan.h.

#ifndef COPPICE_SERVER_LAB_PLAN_COMMAND_H_
#define COPPICE_SERVER_LAB_PLAN_COMMAND_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace CLI {
class App;
}

namespace coppice::lab {

struct PlanFlags {
  std::string public_file, schema_file;
  std::string public_labels = "as_given";
  std::vector<std::string> epsilons = {"0.25", "0.5", "1", "2", "4", "8"};
  std::vector<uint64_t> devices = {1'000, 10'000, 100'000, 1'000'000};
  std::string mechanism = "auto";  // or "all"
  size_t max_payload = 0;
  double accuracy = 0;  // wanted; 0: not asked
  std::string plot_file;
  uint64_t seed = 1;
  bool strict = false;
  bool json = false;
};

void AddPlanFlags(CLI::App& command, PlanFlags& flags);
// Flags that do not go together; InvalidArgument names them.
absl::Status CheckPlanFlags(const PlanFlags& flags);
absl::Status RunPlan(const PlanFlags& flags);

}  // namespace coppice::lab

#endif  // COPPICE_SERVER_LAB_PLAN_COMMAND_H_
