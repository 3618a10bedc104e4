// A small file system for a store, while a test runs. Mounting one needs root.

#ifndef COPPICE_TESTS_INTEGRATION_SMALL_DISK_H_
#define COPPICE_TESTS_INTEGRATION_SMALL_DISK_H_

#include <sys/mount.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>

namespace coppice::testing {

class SmallDisk {
 public:
  // `size` is in megabytes.
  SmallDisk(std::string path, int size) : path_(std::move(path)) {
    std::filesystem::create_directories(path_);
    const std::string options = "size=" + std::to_string(size) + "m";
    mounted_ = mount("tmpfs", path_.c_str(), "tmpfs", 0, options.c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_) umount2(path_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  bool mounted() const { return mounted_; }
  // Leaves less space than the store wants free. Fills nothing if no disk was mounted.
  void Fill() const {
    if (!mounted_) return;
    std::ofstream file(path_ + "/filler", std::ios::binary);
    const std::string block(1 << 16, 'x');
    while (file << block << std::flush) {
    }
  }
  void Free() const { std::filesystem::remove(path_ + "/filler"); }
  // Nobody can write to it any more, root neither.
  bool MakeReadOnly() const {
    return mounted_ && mount(nullptr, path_.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr) == 0;
  }

 private:
  std::string path_;
  bool mounted_ = false;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_INTEGRATION_SMALL_DISK_H_
