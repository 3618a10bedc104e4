// Does many independent pieces of work on several threads.

#ifndef COPPICE_COMMON_BASE_PARALLEL_H_
#define COPPICE_COMMON_BASE_PARALLEL_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/status.h"

namespace coppice {

// Calls work(0), ..., work(count - 1), each once, on up to `threads` threads, this one among them.
// After an error no further piece is begun; returns the error that came first.
inline Status RunInParallel(size_t count, uint32_t threads,
                            const std::function<Status(size_t)>& work) {
  std::atomic<size_t> next{0};
  std::mutex mutex;
  Status status;
  const auto run = [&] {
    for (size_t i = next++; i < count; i = next++) {
      Status done = work(i);
      if (done.ok()) continue;
      next = count;
      const std::lock_guard<std::mutex> lock(mutex);
      status.Update(std::move(done));
    }
  };
  std::vector<std::thread> others;
  for (size_t t = 1; t < std::min<size_t>(threads, count); ++t) others.emplace_back(run);
  run();
  for (std::thread& other : others) other.join();
  return status;
}

}  // namespace coppice

#endif  // COPPICE_COMMON_BASE_PARALLEL_H_
