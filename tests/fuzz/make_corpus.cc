// Writes corpus files from what a daemon has stored: stop it, then run
//
//   fuzz_make_corpus DATA_DIR tests/fuzz/corpus
//
// Use a small study, dataset and models: a corpus is mutated, so short files are best.

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"
#include "coppice/v1/storage.pb.h"
#include "server/store/rocksdb/rocksdb_store.h"

namespace coppice {
namespace {

void Write(const std::string& folder, std::string_view name, const std::string& bytes) {
  std::filesystem::create_directories(folder);
  const std::string path = StrCat(folder, "/", StrReplaceAll(name, {{"/", "-"}}));
  std::ofstream(path, std::ios::binary) << bytes;
  std::printf("%s %zu bytes\n", path.c_str(), bytes.size());
}

// The bytes after their length in two bytes.
std::string Part(const std::string& bytes) {
  return StrCat(std::string(1, static_cast<char>(bytes.size() % 256)),
                std::string(1, static_cast<char>(bytes.size() / 256)), bytes);
}

std::string ValueOf(const storage::Store& store, const std::string& key) {
  const auto value = store.Get(key);
  return value.ok() && *value ? **value : "";
}

void WriteStudy(const storage::Store& store, const std::string& key, const std::string& value,
                const std::string& corpus) {
  v1::StudyRecord record;
  record.ParseFromString(value);
  Write(corpus + "/terms", key, Part(record.terms()) + record.trees(0));
  const std::string id = std::vector<std::string>(StrSplit(key, '/'))[1];
  Write(corpus + "/store_record", key,
        StrCat(std::string(1, '\0'), Part(value), Part(ValueOf(store, StrCat("count/", id, "/"))),
               ValueOf(store, StrCat("sums/", id, "/0000"))));
}

int Main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "Usage: fuzz_make_corpus DATA_DIR CORPUS_DIR\n");
    return 2;
  }
  const std::string corpus = argv[2];
  const auto store = storage::OpenRocksDbStore(argv[1]);
  if (!store.ok()) {
    std::fprintf(stderr, "fuzz_make_corpus: %s\n", store.status().ToString().c_str());
    return 1;
  }
  const std::map<std::string, char> kinds = {{"model", 1},   {"trained", 1}, {"ledger", 2},
                                             {"dataset", 3}, {"job", 4},     {"gone", 5}};
  const Status scanned =
      (*store)->Scan("", [&](std::string_view key_bytes, std::string_view value_bytes) {
        const std::string key(key_bytes);
        std::string value(value_bytes);
        const std::string kind = key.substr(0, key.find('/'));
        if (kind == "study") WriteStudy(**store, key, value, corpus);
        if (kind == "model" || kind == "trained") Write(corpus + "/model", key, value);
        if (kind == "ledger") value.erase(0, 32);  // its hash, which the target computes
        const auto number = kinds.find(kind);
        if (number != kinds.end()) {
          Write(corpus + "/store_record", key, StrCat(std::string(1, number->second), value));
        }
        return OkStatus();
      });
  return scanned.ok() ? 0 : 1;
}

}  // namespace
}  // namespace coppice

int main(int argc, char** argv) { return coppice::Main(argc, argv); }
