// An allocator that puts large tables on huge pages, where the system gives them to who asks.
//
// Why        a table that is looked up at random misses the processor's table of pages at each
//            look-up: with pages of 4 KiB, walking to the entry takes longer than reading it.
// Errors     none of its own: without huge pages the memory is ordinary.

#ifndef COPPICE_SERVER_CURATOR_HUGE_PAGES_H_
#define COPPICE_SERVER_CURATOR_HUGE_PAGES_H_

#include <sys/mman.h>

#include <cstddef>
#include <new>

namespace coppice {

template <typename T>
struct HugePageAllocator {
  using value_type = T;

  HugePageAllocator() = default;
  template <typename U>
  HugePageAllocator(const HugePageAllocator<U>& /*other*/) {}  // NOLINT: as allocators convert

  T* allocate(size_t count) {
    const size_t bytes = count * sizeof(T);
    void* memory = ::operator new(bytes, AlignmentOf(bytes));
    if (bytes >= kHugePage) madvise(memory, bytes, MADV_HUGEPAGE);
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t count) {
    ::operator delete(memory, AlignmentOf(count * sizeof(T)));
  }

  bool operator==(const HugePageAllocator& /*other*/) const { return true; }

 private:
  static constexpr size_t kHugePage = size_t{2} << 20;
  static std::align_val_t AlignmentOf(size_t bytes) {
    return std::align_val_t{bytes >= kHugePage ? kHugePage : alignof(std::max_align_t)};
  }
};

}  // namespace coppice

#endif  // COPPICE_SERVER_CURATOR_HUGE_PAGES_H_
