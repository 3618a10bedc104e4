// Runs a test so that no process that it starts outlives it, not even a server that left its
// parent, as pg_ctl's PostgreSQL does.
//
// Guarantee  When the test ends, is killed, or the process that called RunKept() is killed, each of
//            its descendants is killed. The caller waits for a keeper, to which the kernel gives
//            the test's orphans; the test runs in the keeper's child. Of caller and keeper, the one
//            that is left ends everything else. Only whoever kills both at once leaves something
//            behind.
// Threads    Call it before the process has started any.

#ifndef COPPICE_TESTS_SUPPORT_KEPT_TEST_H_
#define COPPICE_TESTS_SUPPORT_KEPT_TEST_H_

#include <functional>

namespace coppice::testing {

// If this variable is in the environment, the test's processes are kept already, so RunKept() calls
// the test in this process. A person sets it to run a test in a debugger.
inline constexpr char kKeptVariable[] = "COPPICE_TEST_KEPT";

// What happens to the test when the caller's own parent ends.
enum class Orphaned : bool { kGoesOn, kEnds };

// Runs `test` in another process, and returns how that ended, as waitpid() says it.
int RunKept(const std::function<int()>& test, Orphaned orphaned);

// Ends this process as another one ended: with its exit code, or by its signal.
[[noreturn]] void EndAs(int status);

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SUPPORT_KEPT_TEST_H_
