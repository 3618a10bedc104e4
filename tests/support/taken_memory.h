// How often a piece of code asks C++ for memory. A program that links this has its operator new
// replaced.

#ifndef COPPICE_TESTS_SUPPORT_TAKEN_MEMORY_H_
#define COPPICE_TESTS_SUPPORT_TAKEN_MEMORY_H_

#include <cstdint>

#include "absl/functional/function_ref.h"

namespace coppice::testing {

// Whether memory can be counted at all: not under the thread sanitizer.
bool CountsMemory();

// How often this thread asks operator new for memory while `work` runs; 0 where that cannot be
// counted.
uint64_t MemoryTakenBy(absl::FunctionRef<void()> work);

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SUPPORT_TAKEN_MEMORY_H_
