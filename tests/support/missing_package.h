// What a test does on a machine that lacks a package that it needs.

#ifndef COPPICE_TESTS_SUPPORT_MISSING_PACKAGE_H_
#define COPPICE_TESTS_SUPPORT_MISSING_PACKAGE_H_

#include <cstdlib>

namespace coppice::testing {

// In continuous integration everything is installed, and a skipped test would pass unnoticed.
inline bool InContinuousIntegration() {
  const char* const value = std::getenv("CI");
  return value != nullptr && *value != '\0';
}

}  // namespace coppice::testing

// Skips the test unless `installed`; in continuous integration it fails instead. `advice` says what
// is missing, and which list of packages has it. Needs <gtest/gtest.h>.
#define SKIP_UNLESS_INSTALLED(installed, advice)              \
  if (installed) {                                            \
  } else if (::coppice::testing::InContinuousIntegration()) { \
    FAIL() << (advice);                                       \
  } else /* NOLINT */                                         \
    GTEST_SKIP() << (advice)

#endif  // COPPICE_TESTS_SUPPORT_MISSING_PACKAGE_H_
