// Replaces libFuzzer where there is none: calls the target with each file of the folders named.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_input.h"

namespace {

namespace fs = std::filesystem;

std::string ReadFile(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

// Runs prefixes too, as files may be torn or short.
void RunPrefixes(const std::string& input) {
  const size_t step = std::max<size_t>(1, input.size() / 64);
  for (size_t size = 0; size <= input.size(); size += step) {
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), size);
  }
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
}

}  // namespace

int main(int argc, char** argv) {
  size_t files = 0;
  for (int i = 1; i < argc; ++i) {
    for (const fs::directory_entry& entry : fs::directory_iterator(argv[i])) {
      RunPrefixes(ReadFile(entry.path()));
      ++files;
    }
  }
  std::printf("%zu files\n", files);
  return files == 0 ? 1 : 0;
}
