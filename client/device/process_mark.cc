#include "client/device/process_mark.h"

#include <utility>

#ifndef __wasm__
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "common/base/text.h"
#endif

namespace coppice {

ProcessMark::ProcessMark(ProcessMark&& other) noexcept
    : page_(std::exchange(other.page_, nullptr)) {}

#ifdef __wasm__

StatusOr<ProcessMark> ProcessMark::Make() {
  static unsigned char mine = kMine;
  return ProcessMark(&mine);
}

ProcessMark::~ProcessMark() = default;

#else

namespace {

size_t PageBytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

StatusOr<ProcessMark> ProcessMark::Make() {
  void* const page =
      mmap(nullptr, PageBytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED || madvise(page, PageBytes(), MADV_WIPEONFORK) != 0) {
    const int error = errno;
    if (page != MAP_FAILED) munmap(page, PageBytes());
    return UnavailableError(
        StrCat("cannot tell this process from its children: ", std::strerror(error)));
  }
  *static_cast<unsigned char*>(page) = kMine;
  return ProcessMark(static_cast<unsigned char*>(page));
}

ProcessMark::~ProcessMark() {
  if (page_ != nullptr) munmap(page_, PageBytes());
}

#endif

}  // namespace coppice
