#include "tests/support/taken_memory.h"

#include <malloc.h>

#include <algorithm>
#include <cstdlib>
#include <new>

// The thread sanitizer has an operator new of its own, which nobody can replace.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define COPPICE_THREAD_SANITIZER
#endif
#elif defined(__SANITIZE_THREAD__)
#define COPPICE_THREAD_SANITIZER
#endif

namespace {

thread_local uint64_t requests = 0;
thread_local int64_t taken_bytes = 0;
thread_local int64_t most_bytes = 0;

// Returns null if there is no memory.
[[maybe_unused]] void* Take(std::size_t size,
                            std::size_t alignment = __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
  ++requests;
  // aligned_alloc() requires a multiple of the alignment; the result is never 0 bytes.
  void* const memory = std::aligned_alloc(alignment, (size + alignment) / alignment * alignment);
  taken_bytes += static_cast<int64_t>(malloc_usable_size(memory));
  most_bytes = std::max(most_bytes, taken_bytes);
  return memory;
}

[[maybe_unused]] void Free(void* memory) {
  taken_bytes -= static_cast<int64_t>(malloc_usable_size(memory));
  std::free(memory);
}

[[maybe_unused]] void* OrThrow(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

[[maybe_unused]] std::size_t Of(std::align_val_t alignment) {
  return static_cast<std::size_t>(alignment);
}

}  // namespace

#ifndef COPPICE_THREAD_SANITIZER

// Replaces every form: the address sanitizer has its own of each, and they match only each other.
void* operator new(std::size_t size) { return OrThrow(Take(size)); }
void* operator new[](std::size_t size) { return OrThrow(Take(size)); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return Take(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return Take(size); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return OrThrow(Take(size, Of(alignment)));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return OrThrow(Take(size, Of(alignment)));
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return Take(size, Of(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return Take(size, Of(alignment));
}

void operator delete(void* memory) noexcept { Free(memory); }
void operator delete[](void* memory) noexcept { Free(memory); }
void operator delete(void* memory, std::size_t) noexcept { Free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { Free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { Free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { Free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { Free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { Free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { Free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { Free(memory); }

#endif

namespace coppice::testing {

bool CountsMemory() {
#ifdef COPPICE_THREAD_SANITIZER
  return false;
#else
  return true;
#endif
}

uint64_t MemoryTakenBy(absl::FunctionRef<void()> work) {
  const uint64_t before = requests;
  work();
  return requests - before;
}

uint64_t PeakBytesOf(absl::FunctionRef<void()> work) {
  const int64_t before = taken_bytes;
  most_bytes = before;
  work();
  return static_cast<uint64_t>(most_bytes - before);
}

}  // namespace coppice::testing
