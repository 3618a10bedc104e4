#include "server/process/process.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <mutex>
#include <thread>

namespace coppice {
namespace {

// A library may start threads before main(). They do not block signals, and the kernel gives them
// those that the waiting thread is not waiting for at that moment.
TEST(StopSignalsTest, WaitsForASignalThatArrivesOnAnOlderThread) {
  std::mutex mutex;
  std::condition_variable changed;
  bool over = false;
  std::thread older([&] {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return over; });
  });
  const StopSignals signals;
  for (int i = 0; i < 20; ++i) {
    kill(getpid(), SIGHUP);
    EXPECT_EQ(signals.Wait(), "SIGHUP");
  }
  kill(getpid(), SIGTERM);
  EXPECT_EQ(signals.Wait(), "SIGTERM");
  {
    const std::lock_guard<std::mutex> lock(mutex);
    over = true;
  }
  changed.notify_all();
  older.join();
}

}  // namespace
}  // namespace coppice
