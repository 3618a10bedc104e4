// Tests that a program runs on itself before it opens its port: a failure here would later cost
// somebody's privacy or reports without notice.
//
// The random source's test catches one that stands still, repeats itself, or whose bits are biased
// by 2 % or depend on their neighbours. It cannot tell good randomness from an attacker's
// imitation.
//
// Guarantee  a sound machine fails the random source's test with probability below 2^-60 per run
//            (bounds of Hoeffding and Chernoff, in the source), and the clock's never.
// Threads    not thread-safe.

#ifndef COPPICE_SERVER_PROCESS_SELF_TEST_H_
#define COPPICE_SERVER_PROCESS_SELF_TEST_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/base/status.h"
#include "common/privacy/private_random.h"

namespace coppice {

// Unavailable unless the words of `random` differ and look uniform and independent.
Status TestRandomSource(PrivateRandom& random);

// FailedPrecondition if `now` is before this program was built.
Status TestClockIsAfterBuild(absl::Time now);

struct SelfTest {
  std::string name;
  std::function<Status()> run;
};

// Runs all `tests` and returns the failures, each prefixed with the test's name.
std::vector<Status> RunSelfTests(const std::vector<SelfTest>& tests);

}  // namespace coppice

#endif  // COPPICE_SERVER_PROCESS_SELF_TEST_H_
