// Waiting for what another thread or process brings about.

#ifndef COPPICE_TESTS_SUPPORT_EVENTUALLY_H_
#define COPPICE_TESTS_SUPPORT_EVENTUALLY_H_

#include <chrono>
#include <thread>

namespace coppice::testing {

// True as soon as `holds` does; false after `patience`, which is far longer than a slow machine
// needs. Use it only where no clock or event of the test's own can take its place.
template <typename Holds>
bool Eventually(Holds holds, std::chrono::nanoseconds patience = std::chrono::minutes(10)) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SUPPORT_EVENTUALLY_H_
