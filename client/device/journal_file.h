// The file that a journal is kept in.

#ifndef COPPICE_CLIENT_DEVICE_JOURNAL_FILE_H_
#define COPPICE_CLIENT_DEVICE_JOURNAL_FILE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "client/device/journal.h"
#include "client/device/journal_storage.h"
#include "common/base/status.h"

namespace coppice {

// Stores what a Journal writes.
//
// Guarantee  One opener at a time, in this process or another (flock). A write is durable when it
//            returns OK (fdatasync), and otherwise leaves the file as it was; where even that
//            fails, every later call is refused, so nothing is built on a half-written end. A file
//            gets its name when all of it is on the disk, so that none is found cut off. What a
//            replacement leaves out is overwritten on the disk, in this call or, after a crash, at
//            the next opening; the file system may have copies of its own (docs/device.md).
// Errors     Unavailable; ResourceExhausted when there is no room (disk, quota, size limit);
//            FailedPrecondition: somebody else changed, replaced or removed the file, or it has
//            several names.
// Threads    not safe to share.
class JournalFile final : public JournalStorage {
 public:
  // Makes a file of `first_bytes`, readable by its owner only, if there is none.
  static StatusOr<JournalFile> Open(const std::string& path, std::string_view first_bytes);
  JournalFile(JournalFile&& other) noexcept;
  JournalFile& operator=(JournalFile&&) = delete;
  ~JournalFile() override;

  uint64_t size() const { return size_; }
  // Reads all of it, and remembers its end.
  StatusOr<std::string> ReadAll() override;
  Status Write(const JournalWrite& write) override;
  // Cuts the file to its first `size` bytes, durably.
  Status Truncate(uint64_t size) override;

 private:
  // A folder, and the name in it.
  struct Place {
    int folder = -1;  // stays the same folder, whatever the working directory becomes
    std::string path;
    std::string name() const;
    std::string new_name() const;  // of a file that is to take the name
  };

  explicit JournalFile(Place place) : place_(std::move(place)) {}

  Status OpenExisting(int descriptor);
  Status CreateNew(std::string_view bytes);
  // Makes the file that is to take the name, locked, with these bytes on the disk; returns its
  // descriptor, and leaves nothing after an error.
  StatusOr<int> MakeNewFile(std::string_view bytes);
  void DropNewFile(int descriptor) const;
  // Removes a file that an earlier process left under the new name, after overwriting it.
  Status RemoveLeftOver();
  // Gives the new file the name. The old one has the new file's name then, or none.
  Status TakeName();
  Status SyncFolder() const;

  Status Append(std::string_view bytes);
  Status Replace(std::string_view bytes);

  Status CheckUsable() const;
  // Checks that the file is still where it was opened, with the size and the end that it was left.
  Status CheckUntouched() const;
  bool IsWhereItWas() const;
  bool HasOneName() const;
  bool EndsAsLeft() const;

  Place place_;
  int descriptor_ = -1;
  std::string end_ = {};  // what was appended last, or the last bytes of it
  uint64_t size_ = 0;
  bool broken_ = false;
};

}  // namespace coppice

#endif  // COPPICE_CLIENT_DEVICE_JOURNAL_FILE_H_
