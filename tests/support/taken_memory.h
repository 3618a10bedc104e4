// Counts how often a piece of code asks C++ for memory. Replaces operator new in programs that link
// it.

#ifndef COPPICE_TESTS_SUPPORT_TAKEN_MEMORY_H_
#define COPPICE_TESTS_SUPPORT_TAKEN_MEMORY_H_

#include <cstdint>

#include "absl/functional/function_ref.h"

namespace coppice::testing {

// False under the thread sanitizer, where memory cannot be counted.
bool CountsMemory();

// Returns how often this thread asks operator new for memory while `work` runs; 0 where that cannot
// be counted.
uint64_t MemoryTakenBy(absl::FunctionRef<void()> work);

// Returns the most bytes that this thread had taken at a time while `work` ran, beyond what it had
// before; 0 where that cannot be counted. What one thread takes and another frees is not made out.
uint64_t PeakBytesOf(absl::FunctionRef<void()> work);

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SUPPORT_TAKEN_MEMORY_H_
