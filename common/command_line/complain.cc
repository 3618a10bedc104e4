#include "common/command_line/complain.h"

#include <iostream>

#include "absl/strings/match.h"
#include "common/command_line/command_line.h"

namespace coppice {

int Complain(const std::string& program, absl::string_view problem) {
  const bool ended = absl::EndsWith(problem, "?") || absl::EndsWith(problem, ".");
  std::cerr << ErrorPrefix(program) << problem << (ended ? "" : ".") << " See `" << program
            << " --help`.\n";
  return kExitUsage;
}

}  // namespace coppice
