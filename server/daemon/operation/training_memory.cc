#include "server/daemon/operation/training_memory.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "common/base/text.h"

namespace coppice::daemon {
namespace {

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

uint64_t LimitOfControlGroup(uint64_t bytes, const std::string& membership,
                             const std::string& root) {
  constexpr std::string_view kUnified = "0::";
  std::istringstream lines(membership);
  std::string line;
  while (std::getline(lines, line) && line.compare(0, kUnified.size(), kUnified) != 0) {
  }
  std::string group = line.substr(std::min(line.size(), kUnified.size()));
  while (true) {
    uint64_t limit = 0;
    const std::string text = ReadText(StrCat(root, group, "/memory.max"));
    if (SimpleAtoi(text.substr(0, text.find('\n')), &limit)) bytes = std::min(bytes, limit);
    if (group.empty()) return bytes;
    group.resize(std::min(group.rfind('/'), group.size() - 1));
  }
}

uint64_t MemoryForTraining(uint32_t jobs) {
  const auto machine =
      static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uint64_t ours =
      LimitOfControlGroup(machine, ReadText("/proc/self/cgroup"), "/sys/fs/cgroup");
  return ours / 2 / std::max(jobs, 1u);
}

}  // namespace coppice::daemon
