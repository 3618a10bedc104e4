// What a program tries on itself before it opens its port: whatever fails here would fail quietly
// later, with somebody's privacy or reports.
//
// It catches a source that stands still, repeats itself, or whose bits lean by 2 % or hang together
// with their neighbours. It does not tell good randomness from what an attacker made to look like
// it.
//
// Guarantee  a sound machine fails the random source with probability below 2^-60 a run (bounds of
//            Hoeffding and Chernoff, in the source), and the clock never.
// Threads    one at a time.

#ifndef COPPICE_COMMON_PROCESS_SELF_TEST_H_
#define COPPICE_COMMON_PROCESS_SELF_TEST_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/privacy/private_random.h"

namespace coppice {

// Unavailable unless the words of `random` differ and look uniform and independent.
absl::Status TestRandomSource(PrivateRandom& random);

// FailedPrecondition if `now` is before this program was built.
absl::Status TestClockIsAfterBuild(absl::Time now);

struct SelfTest {
  std::string name;
  std::function<absl::Status()> run;
};

// Runs all of `tests` and returns the failures, each with the test's name in front.
std::vector<absl::Status> RunSelfTests(const std::vector<SelfTest>& tests);

}  // namespace coppice

#endif  // COPPICE_COMMON_PROCESS_SELF_TEST_H_
