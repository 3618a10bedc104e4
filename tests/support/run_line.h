// Runs a line of a shell, as a script would, whose first word is one of our programs.

#ifndef COPPICE_TESTS_SUPPORT_RUN_LINE_H_
#define COPPICE_TESTS_SUPPORT_RUN_LINE_H_

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace coppice::testing {

struct LineOutcome {
  int exit_code = -1;
  std::string out;
};

// `line` may redirect: "coppice-lab plan 2>&1".
inline LineOutcome RunLine(const std::string& line) {
  const char* folder = std::getenv("COPPICE_BIN_DIR");
  LineOutcome outcome;
  FILE* pipe = popen((std::string(folder ? folder : ".") + "/" + line).c_str(), "r");
  if (pipe == nullptr) return outcome;
  char buffer[4096];
  for (size_t n; (n = std::fread(buffer, 1, sizeof(buffer), pipe)) > 0;) {
    outcome.out.append(buffer, n);
  }
  const int status = pclose(pipe);
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SUPPORT_RUN_LINE_H_
