// Tells a process from the children that it forks.

#ifndef COPPICE_CLIENT_DEVICE_PROCESS_MARK_H_
#define COPPICE_CLIENT_DEVICE_PROCESS_MARK_H_

#include "common/base/status.h"

namespace coppice {

// Guarantee  IsMine() is true in the process that made the mark, and in no child of any fork() or
//            clone() with memory of its own: the kernel wipes the mark's page there
//            (MADV_WIPEONFORK). Process ids would not do; they repeat, over time and over
//            namespaces. In WebAssembly, which has no fork(), it is always true.
// Errors     Make(): Unavailable.
// Threads    safe to share.
class ProcessMark {
 public:
  static StatusOr<ProcessMark> Make();
  ProcessMark(ProcessMark&& other) noexcept;
  ProcessMark& operator=(ProcessMark&&) = delete;
  ~ProcessMark();

  bool IsMine() const { return *page_ == kMine; }

 private:
  static constexpr unsigned char kMine = 1;

  explicit ProcessMark(unsigned char* page) : page_(page) {}

  unsigned char* page_;
};

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_PROCESS_MARK_H_
