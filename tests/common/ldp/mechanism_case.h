// A mechanism, its epsilon and its domain, for tests that run on all mechanisms.

#ifndef COPPICE_TESTS_COMMON_LDP_MECHANISM_CASE_H_
#define COPPICE_TESTS_COMMON_LDP_MECHANISM_CASE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "common/base/text.h"
#include "common/ldp/local_mechanism.h"

namespace coppice::testing {

struct MechanismCase {
  MechanismKind kind;
  const char* epsilon;
  Domain domain;
};

inline std::string CaseName(const ::testing::TestParamInfo<MechanismCase>& test) {
  std::string name = StrCat(MechanismName(test.param.kind), "_", test.param.epsilon, "_",
                            test.param.domain.leaves, "x", test.param.domain.classes);
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_COMMON_LDP_MECHANISM_CASE_H_
