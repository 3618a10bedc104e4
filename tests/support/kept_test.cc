#include "tests/support/kept_test.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

namespace coppice::testing {
namespace {

// What the kernel sends to the keeper when the caller ends.
constexpr int kCallerEnded = SIGUSR1;

// Orphans among the descendants of this process become its children, instead of the first
// process's.
void BecomeReaper() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

std::vector<pid_t> Children() {
  const std::string self = std::to_string(getpid());
  std::ifstream file("/proc/" + self + "/task/" + self + "/children");
  std::vector<pid_t> children;
  for (pid_t child = 0; file >> child;) children.push_back(child);
  return children;
}

// Kills every descendant of this process, a reaper: the children of a child that ends become its
// own before it can wait for the child, so that in the end all have been its children.
void EndDescendants() {
  do {
    for (const pid_t child : Children()) kill(child, SIGKILL);
  } while (waitpid(-1, nullptr, 0) > 0 || errno == EINTR);
}

// Waits until the test or the caller has ended. Returns the test's status; if it still runs, that
// of a process that was killed.
int WaitForTest(pid_t test, const sigset_t& awaited) {
  for (;;) {
    if (sigwaitinfo(&awaited, nullptr) == kCallerEnded) return SIGKILL;
    int status = 0;
    for (pid_t ended = 1; ended > 0;) {
      ended = waitpid(-1, &status, WNOHANG);
      if (ended == test) return status;
    }
  }
}

// The keeper. Signals of the terminal and of those who stop jobs are the test's: if it obeys, the
// keeper has still to end what it leaves behind.
[[noreturn]] void Keep(pid_t caller, const std::function<int()>& test) {
  sigset_t awaited, before;
  sigemptyset(&awaited);
  for (const int number : {SIGCHLD, kCallerEnded, SIGHUP, SIGINT, SIGQUIT, SIGTERM}) {
    sigaddset(&awaited, number);
  }
  sigprocmask(SIG_BLOCK, &awaited, &before);
  prctl(PR_SET_PDEATHSIG, kCallerEnded);
  if (getppid() != caller) _exit(EXIT_FAILURE);  // it ended before it could be told of
  BecomeReaper();
  const pid_t child = fork();
  if (child == 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    std::exit(test());
  }
  if (child < 0) {
    std::perror("fork");
    _exit(EXIT_FAILURE);
  }
  const int status = WaitForTest(child, awaited);
  EndDescendants();
  EndAs(status);
}

}  // namespace

int RunKept(const std::function<int()>& test, Orphaned orphaned) {
  if (std::getenv(kKeptVariable) != nullptr) std::exit(test());
  setenv(kKeptVariable, "1", /*overwrite=*/1);
  if (orphaned == Orphaned::kEnds) prctl(PR_SET_PDEATHSIG, SIGKILL);
  BecomeReaper();
  const pid_t caller = getpid();
  const pid_t keeper = fork();
  if (keeper == 0) Keep(caller, test);
  if (keeper < 0) {
    std::perror("fork");
    std::exit(EXIT_FAILURE);
  }
  // A terminal sends these to the test too, which may clean up.
  signal(SIGINT, SIG_IGN);
  signal(SIGQUIT, SIG_IGN);
  int status = 0;
  while (waitpid(keeper, &status, 0) < 0 && errno == EINTR) {
  }
  EndDescendants();  // none, unless the keeper was killed
  return status;
}

void EndAs(int status) {
  if (!WIFSIGNALED(status)) _exit(WEXITSTATUS(status));
  const rlimit no_core{};  // the process that it happened to wrote one
  setrlimit(RLIMIT_CORE, &no_core);
  const int number = WTERMSIG(status);
  signal(number, SIG_DFL);
  sigset_t unblocked;
  sigemptyset(&unblocked);
  sigaddset(&unblocked, number);
  sigprocmask(SIG_UNBLOCK, &unblocked, nullptr);
  raise(number);
  _exit(128 + number);
}

}  // namespace coppice::testing
