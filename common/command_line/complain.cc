#include "common/command_line/complain.h"

#include <iostream>
#include <string_view>

#include "common/base/text.h"
#include "common/command_line/command_line.h"

namespace coppice {

int Complain(const std::string& program, std::string_view problem) {
  const bool ended = EndsWith(problem, "?") || EndsWith(problem, ".");
  std::cerr << ErrorPrefix(program) << problem << (ended ? "" : ".") << " See `" << program
            << " --help`.\n";
  return kExitUsage;
}

}  // namespace coppice
