// A page of memory with none after it: reading or writing past its end crashes in every build.

#ifndef COPPICE_TESTS_SUPPORT_GUARDED_PAGE_H_
#define COPPICE_TESTS_SUPPORT_GUARDED_PAGE_H_

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <string_view>

namespace coppice::testing {

class GuardedPage {
 public:
  GuardedPage()
      : size_(static_cast<size_t>(sysconf(_SC_PAGESIZE))),
        pages_(
            mmap(nullptr, 2 * size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (pages_ == MAP_FAILED || mprotect(end(), size_, PROT_NONE) != 0) {
      ADD_FAILURE() << "no guarded page";
    }
  }
  ~GuardedPage() { munmap(pages_, 2 * size_); }
  GuardedPage(const GuardedPage&) = delete;
  GuardedPage& operator=(const GuardedPage&) = delete;

  size_t size() const { return size_; }
  unsigned char* end() const { return static_cast<unsigned char*>(pages_) + size_; }

  // Returns a copy of `text` that ends where the page does.
  std::string_view Copy(std::string_view text) {
    char* const begin = reinterpret_cast<char*>(end()) - text.size();
    std::memcpy(begin, text.data(), text.size());
    return {begin, text.size()};
  }

 private:
  size_t size_;
  void* pages_;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SUPPORT_GUARDED_PAGE_H_
