#include "tests/support/taken_memory.h"

#include <cstdlib>
#include <new>

namespace {

thread_local uint64_t requests = 0;

void* Take(std::size_t size, std::size_t alignment) {
  ++requests;
  // A whole number of alignments, as aligned_alloc() wants it, and never none.
  const std::size_t whole = (size + alignment) / alignment * alignment;
  void* const memory = std::aligned_alloc(alignment, whole);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// The library's other forms rest on these.
void* operator new(std::size_t size) { return Take(size, __STDCPP_DEFAULT_NEW_ALIGNMENT__); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return Take(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t /*size*/, std::align_val_t /*alignment*/) noexcept {
  std::free(memory);
}

namespace coppice::testing {

uint64_t MemoryTakenBy(absl::FunctionRef<void()> work) {
  const uint64_t before = requests;
  work();
  return requests - before;
}

}  // namespace coppice::testing
