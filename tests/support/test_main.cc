// The main() of every test program. The tests of a folder are one program; CTest runs it by files:
//
//   server_curator_tests --file=intake_test    the tests that this file defines
//   server_curator_tests [GoogleTest's flags]  all tests, or those that a filter names
//
// A file that defines no test fails, so that a renamed one does not pass unnoticed.
//
// The servers that tests start end with the program, also if it is killed (kept_test.h). The tests
// run in a grandchild of the process that was started; in a debugger, set COPPICE_TEST_KEPT=1 to
// have them in the process itself.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <string>

#include "tests/support/kept_test.h"

namespace {

constexpr char kFileFlag[] = "--file=";

// Returns the tests that `file` defines, as GoogleTest's filter: Suite.Name:Suite.Name...
std::string TestsOf(const std::string& file) {
  std::string filter;
  const ::testing::UnitTest& all = *::testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const ::testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const ::testing::TestInfo& test = *suite.GetTestInfo(j);
      if (std::filesystem::path(test.file()).stem() != file) continue;
      filter.append(suite.name()).append(".").append(test.name()).append(":");
    }
  }
  return filter;
}

int RunTests(int argc, char** argv) {
  ::testing::InitGoogleMock(&argc, argv);
  if (argc == 1) return RUN_ALL_TESTS();
  const std::string argument = argv[1];
  if (argc > 2 || !argument.starts_with(kFileFlag) || GTEST_FLAG_GET(filter) != "*") {
    std::cerr << "usage: " << argv[0] << " [--file=NAME_test] [GoogleTest's flags], one of --file "
              << "and --gtest_filter at most\n";
    return 2;
  }
  const std::string file = argument.substr(sizeof(kFileFlag) - 1);
  const std::string tests = TestsOf(file);
  if (tests.empty()) {
    std::cerr << argv[0] << ": no test is defined in " << file << ".cc\n";
    return 2;
  }
  GTEST_FLAG_SET(filter, tests);
  return RUN_ALL_TESTS();
}

}  // namespace

int main(int argc, char** argv) {
  using coppice::testing::Orphaned;
  coppice::testing::EndAs(
      coppice::testing::RunKept([=] { return RunTests(argc, argv); }, Orphaned::kGoesOn));
}
