// A child process, its exit code and what it printed.

#ifndef COPPICE_TESTS_INTEGRATION_PROCESS_H_
#define COPPICE_TESTS_INTEGRATION_PROCESS_H_

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/temp_dir.h"

namespace coppice::testing {

inline std::string ReadWhole(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline std::string BinaryPath(const std::string& name) {
  const char* folder = std::getenv("COPPICE_BIN_DIR");
  return std::string(folder == nullptr ? "." : folder) + "/" + name;
}
inline std::string SourcePath(const std::string& name) {
  const char* folder = std::getenv("COPPICE_SOURCE_DIR");
  return std::string(folder == nullptr ? "." : folder) + "/" + name;
}

class Process {
 public:
  // Starts `argv` with stdout and stderr into files.
  explicit Process(const std::vector<std::string>& argv) {
    std::vector<char*> arguments;
    for (const std::string& argument : argv)
      arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    const std::string out = folder_.path() + "/out";
    const std::string err = folder_.path() + "/err";
    pid_ = fork();
    if (pid_ == 0) {
      dup2(open(out.c_str(), O_CREAT | O_WRONLY, 0600), STDOUT_FILENO);
      dup2(open(err.c_str(), O_CREAT | O_WRONLY, 0600), STDERR_FILENO);
      execv(arguments[0], arguments.data());
      _exit(127);
    }
  }
  ~Process() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      Wait();
    }
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // Does nothing once it was seen to end: kill(-1) would reach every process.
  void Signal(int signal) const {
    if (pid_ > 0) kill(pid_, signal);
  }
  pid_t pid() const { return pid_; }  // -1 once it has ended
  bool Running() {
    if (pid_ <= 0) return false;
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == 0) return true;
    Keep(status);
    return false;
  }
  // Waits and returns the exit code, or 128 + the signal that ended it.
  int Wait() {
    if (pid_ > 0) {
      int status = 0;
      waitpid(pid_, &status, 0);
      Keep(status);
    }
    return exit_code_;
  }

  std::string out() const { return ReadWhole(folder_.path() + "/out"); }
  std::string err() const { return ReadWhole(folder_.path() + "/err"); }

 private:
  void Keep(int status) {
    exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    pid_ = -1;
  }

  TempDir folder_;
  pid_t pid_ = -1;
  int exit_code_ = -1;
};

struct Outcome {
  int exit_code;
  std::string out, err;
};

inline Outcome RunProgram(const std::vector<std::string>& argv) {
  Process process(argv);
  const int exit_code = process.Wait();
  return {exit_code, process.out(), process.err()};
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_INTEGRATION_PROCESS_H_
