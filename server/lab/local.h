// coppice-lab local: what accuracy a local study would have, on files or on the synthetic pair.

#ifndef COPPICE_SERVER_LAB_LOCAL_H_
#define COPPICE_SERVER_LAB_LOCAL_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/lab/grid.h"
#include "server/lab/rows.h"

namespace CLI {
class App;
}

namespace coppice::lab {

// The flags as given; each value has passed its own check when Resolve...() sees it.
struct LocalFlags {
  std::string public_file, private_file, schema_file, test_file;
  std::string data_file;  // instead of public and private files: split at random
  size_t public_rows = 0, private_rows = 0;
  std::string synthetic;
  double holdout = 0.2;
  bool strict = false;

  std::string epsilon;
  std::string mechanism = "auto";
  std::string split_rule = "max_edge";
  std::string criterion = "gini";
  std::optional<uint32_t> trees;
  std::string estimator = "weighted";
  std::string evidence = "both";
  std::string public_labels = "as_given";
  bool public_shift = false;
  std::string attack;  // empty: all devices are honest
  double liars = 0.01;
  std::string aim = "leaves";
  uint32_t target = 1;
  // More than one value only with `grid`; none: the paper's with `grid`, one default without.
  std::vector<uint32_t> depths, min_leaves;
  std::vector<std::string> lambdas;
  uint32_t prune_min_depth = 1;

  bool grid = false;
  uint32_t repeats = 20;
  uint32_t threads = 2;
  uint64_t seed = 1;
  bool json = false;
};

// Declares the flags of `local` on `command`, each with its check.
void AddLocalFlags(CLI::App& command, LocalFlags& flags);

// Flags that do not go together; InvalidArgument names them.
absl::Status CheckLocalFlags(const LocalFlags& flags);

// Reads the files, or parses the synthetic pair. Notes on changed fields go to `warn`.
absl::StatusOr<RowSource> ResolveRows(const LocalFlags& flags,
                                      const std::function<void(const std::string&)>& warn);
absl::StatusOr<RunOptions> ResolveRun(const LocalFlags& flags);

// Everything: read, run, print to stdout; progress to stderr when it is a terminal.
absl::Status RunLocal(const LocalFlags& flags);

}  // namespace coppice::lab

#endif  // COPPICE_SERVER_LAB_LOCAL_H_
