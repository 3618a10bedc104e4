// Runs the command line in this process: keeps its output and its exit code.

#ifndef COPPICE_TESTS_CLIENT_CLI_RUN_COPPICE_H_
#define COPPICE_TESTS_CLIENT_CLI_RUN_COPPICE_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "client/cli/commands.h"

namespace coppice::testing {

struct Outcome {
  int code;
  std::string out, err;
};

inline Outcome RunCoppice(const std::vector<std::string>& arguments) {
  std::vector<const char*> argv = {"coppice"};
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  const int code = cli::RunCommandLine(static_cast<int>(argv.size()), argv.data());
  return {code, ::testing::internal::GetCapturedStdout(), ::testing::internal::GetCapturedStderr()};
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_CLIENT_CLI_RUN_COPPICE_H_
