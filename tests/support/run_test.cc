// How CTest runs every test: run_test COMMAND [ARGUMENT...]
//
// Nothing that COMMAND starts outlives it, nor CTest (kept_test.h). Its exit code is COMMAND's,
// except that a test may not skip itself (exit code 77) in continuous integration, where CI is in
// the environment: there, what a test needs is installed, and a skip would pass unnoticed.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "tests/support/kept_test.h"
#include "tests/support/missing_package.h"

namespace {

constexpr int kSkipped = 77;

}  // namespace

int main(int argc, char** argv) {
  using namespace coppice::testing;
  if (argc < 2) {
    std::cerr << "usage: " << argv[0] << " COMMAND [ARGUMENT...]\n";
    return 2;
  }
  const auto run_command = [argv] {
    execvp(argv[1], argv + 1);
    std::perror(argv[1]);
    return 127;
  };
  const int status = RunKept(run_command, Orphaned::kEnds);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kSkipped && InContinuousIntegration()) {
    std::cerr << "run_test: the test skipped itself, which it may not where CI is set; "
                 "tests/run.sh installs what it needs\n";
    return EXIT_FAILURE;
  }
  EndAs(status);
}
