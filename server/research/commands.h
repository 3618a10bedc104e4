// The commands of coppice-research. As in the lab, a printed accuracy carries no guarantee.
//
// Errors     CheckRunFlags(): InvalidArgument names flags that do not go together. Run...(): the
//            errors of reading, fitting and writing.

#ifndef COPPICE_SERVER_RESEARCH_COMMANDS_H_
#define COPPICE_SERVER_RESEARCH_COMMANDS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/command_line/command_line.h"
#include "server/lab/commands.h"

namespace coppice::research {

// coppice-research run: scores one method on the rows and splits of coppice-lab local.
struct RunFlags {
  lab::LocalFlags rows;  // only the flags for rows, repeats, threads and seed are used
  std::string method;
  std::string epsilon;           // empty: for methods that protect nothing
  std::vector<double> settings;  // empty: the method's default, or the paper's with `grid`
  bool grid = false;
  bool json = false;
};
void AddRunFlags(const Command& command, RunFlags& flags);
Status CheckRunFlags(const RunFlags& flags);
Status Run(const RunFlags& flags);

// coppice-research rademacher: what margins promise of boosted one-rules, beside what these score.
struct RademacherFlags {
  lab::LocalFlags rows;  // only the flags for rows, repeats and seed are used
  std::string epsilon = "1";
  bool json = false;
};
void AddRademacherFlags(const Command& command, RademacherFlags& flags);
Status CheckRademacherFlags(const RademacherFlags& flags);
Status MeasureRademacher(const RademacherFlags& flags);

// coppice-research methods: lists the methods and what each guarantees.
struct MethodsFlags {
  bool json = false;
};
void AddMethodsFlags(const Command& command, MethodsFlags& flags);
Status ListMethods(const MethodsFlags& flags);

}  // namespace coppice::research

#endif  // COPPICE_SERVER_RESEARCH_COMMANDS_H_
