// How much memory a training job may take where the operator does not say.

#ifndef COPPICE_SERVER_DAEMON_OPERATION_TRAINING_MEMORY_H_
#define COPPICE_SERVER_DAEMON_OPERATION_TRAINING_MEMORY_H_

#include <cstdint>
#include <string>

namespace coppice::daemon {

// Returns half of the memory that this process may have, divided by `jobs`: the rest is for what
// else the daemon does, and for other owners' jobs.
uint64_t MemoryForTraining(uint32_t jobs);

// Returns the least of `bytes` and the limits of the control group that `membership`, the text of
// /proc/self/cgroup, names, and of those above it, in the file system at `root`.
uint64_t LimitOfControlGroup(uint64_t bytes, const std::string& membership,
                             const std::string& root);

}  // namespace coppice::daemon

#endif  // COPPICE_SERVER_DAEMON_OPERATION_TRAINING_MEMORY_H_
