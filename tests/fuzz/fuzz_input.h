// Shared by the fuzz targets: the entry point that libFuzzer and replay.cc call, and ways to take
// an input apart. A target fails by crashing, so Require() is its only assertion.

#ifndef COPPICE_TESTS_FUZZ_FUZZ_INPUT_H_
#define COPPICE_TESTS_FUZZ_FUZZ_INPUT_H_

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include "common/base/text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace coppice::testing {

inline std::string_view AsBytes(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Removes and returns the first byte of `input`; 0 if it is empty.
inline uint8_t TakeByte(std::string_view& input) {
  if (input.empty()) return 0;
  const auto byte = static_cast<uint8_t>(input.front());
  input.remove_prefix(1);
  return byte;
}

inline void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz target: %s\n", what);
  std::abort();
}

// A file in memory with these bytes, for parsers of files; removed with the object.
class FileOf {
 public:
  FileOf(std::string_view bytes, std::string_view extension)
      : path_(StrCat("/dev/shm/coppice-fuzz-", getpid(), extension)) {
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  ~FileOf() { unlink(path_.c_str()); }
  FileOf(const FileOf&) = delete;
  FileOf& operator=(const FileOf&) = delete;

  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_FUZZ_FUZZ_INPUT_H_
