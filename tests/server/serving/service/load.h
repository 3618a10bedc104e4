// A service that is too busy, and what it then tells a client.

#ifndef COPPICE_TESTS_SERVER_SERVING_SERVICE_LOAD_H_
#define COPPICE_TESTS_SERVER_SERVING_SERVICE_LOAD_H_

#include <grpcpp/client_context.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>

#include "server/serving/calls/worker_pool.h"

namespace coppice::testing {

// How many milliseconds an ended call was told to wait; empty if it was told nothing.
inline std::string PushbackOf(const grpc::ClientContext& context) {
  const auto found = context.GetServerTrailingMetadata().find("grpc-retry-pushback-ms");
  if (found == context.GetServerTrailingMetadata().end()) return "";
  return {found->second.data(), found->second.size()};
}

// While it lives, `pool`, which has `threads` threads, is full of work and finishes none.
class FullPool {
 public:
  explicit FullPool(service::WorkerPool& pool, size_t threads = 2) {
    const auto work = [gate = gate_] { gate->Wait(); };
    for (size_t i = 0; i < threads; ++i) EXPECT_TRUE(pool.Run(work).ok());
    gate_->Await(threads);  // from now on waiting work stays so
    while (pool.Run(work).ok()) {
    }
  }
  ~FullPool() { gate_->Open(); }
  FullPool(const FullPool&) = delete;
  FullPool& operator=(const FullPool&) = delete;

 private:
  class Gate {
   public:
    void Wait() {
      std::unique_lock lock(mutex_);
      ++waiting_;
      changed_.notify_all();
      changed_.wait(lock, [this] { return open_; });
    }
    void Await(size_t waiting) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return waiting_ >= waiting; });
    }
    void Open() {
      const std::lock_guard lock(mutex_);
      open_ = true;
      changed_.notify_all();
    }

   private:
    std::mutex mutex_;
    std::condition_variable changed_;
    size_t waiting_ = 0;
    bool open_ = false;
  };

  const std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SERVER_SERVING_SERVICE_LOAD_H_
