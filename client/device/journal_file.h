// What a journal rests on: a file that grows by durable appends, and a mark that tells a process
// from the children that it forks.

#ifndef COPPICE_CLIENT_DEVICE_JOURNAL_FILE_H_
#define COPPICE_CLIENT_DEVICE_JOURNAL_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/status.h"

namespace coppice {

// Grows by whole appends that are on disk when they are acknowledged.
//
// Guarantee  One opener at a time, in this process or another (flock). Append() is durable when it
//            returns OK (fdatasync), and otherwise leaves the file as it was; where even that
//            fails, every later call is refused, so nothing is built on a half-written end.
// Errors     Unavailable; ResourceExhausted when there is no room (disk, quota, size limit);
//            FailedPrecondition: somebody else changed, replaced or removed the file.
// Threads    not safe to share.
class JournalFile {
 public:
  // Makes the file, readable by its owner only, if there is none.
  static StatusOr<JournalFile> Open(const std::string& path);
  JournalFile(JournalFile&& other) noexcept;
  JournalFile& operator=(JournalFile&&) = delete;
  ~JournalFile();

  uint64_t size() const { return size_; }
  // Reads all of it, and remembers its end.
  StatusOr<std::string> ReadAll();
  Status Append(std::string_view bytes);
  // Puts a file of these bytes in the place of this one, whole or not at all. The new file is
  // locked before it takes the name, so no other process ever finds the journal free.
  Status Replace(std::string_view bytes);
  // Cuts the file to its first `size` bytes, durably.
  Status Truncate(uint64_t size);
  // Makes the file's name durable.
  Status SyncDirectory() const;

 private:
  JournalFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}

  Status CheckUsable() const;
  // Checks that the file is still where it was opened, with the size and the end that it was left.
  Status CheckUntouched() const;
  bool IsWhereItWas() const;
  bool HasOneName() const;
  bool EndsAsLeft() const;
  // Writes, locks and names the new file; closes it after an error.
  Status PutInPlace(int descriptor, std::string_view bytes) const;

  std::string path_;
  int descriptor_;
  int folder_ = -1;       // holds the file, whatever the working directory becomes
  std::string end_ = {};  // what was appended last, or the last bytes of it
  uint64_t size_ = 0;
  bool broken_ = false;
};

// Tells a process from the children that it forks.
//
// Guarantee  IsMine() is true in the process that made the mark, and in no child of any fork() or
//            clone() with memory of its own: the kernel wipes the mark's page there
//            (MADV_WIPEONFORK). Process ids would not do; they repeat, over time and over
//            namespaces.
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

#endif  // COPPICE_CLIENT_DEVICE_JOURNAL_FILE_H_
