// Key files, and a store that has some of everything private.

#ifndef COPPICE_TESTS_SERVER_STORE_VAULT_VAULT_FIXTURE_H_
#define COPPICE_TESTS_SERVER_STORE_VAULT_VAULT_FIXTURE_H_

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/base/text.h"
#include "server/curator/keys/store_keys.h"
#include "server/datasets/central_keys.h"
#include "server/store/store.h"
#include "server/store/store_format.h"
#include "server/store/vault/key_file.h"
#include "server/store/vault/keyed_store.h"
#include "tests/server/store/put.h"
#include "tests/support/status_matchers.h"

namespace coppice::testing {

inline std::string KeyLine(char digit) { return std::string(64, digit) + "\n"; }

// A key file with these keys, each of one repeated digit.
inline vault::KeyFile KeysOf(const std::string& digits) {
  std::string text;
  for (const char digit : digits) StrAppend(&text, KeyLine(digit));
  return *vault::KeyFile::Parse(text);
}

inline constexpr char kSecret[] = "planted-private-value-5b21";
inline constexpr char kPublic[] = "planted-public-value-9d07";

// Private records and their values.
inline std::map<std::string, std::string> PrivateRecords() {
  curator::JoinId id{};
  std::map<std::string, std::string> records;
  for (const std::string& key :
       {central::ChunkKey("a", 0), central::ChunkKey("a", 1), central::ChunkKey("b", 0),
        central::DatasetKey("a"), central::DatasetKey("b"), central::JobKey("j"),
        curator::JoinKey("s", id), curator::JoinCountKey("s"), curator::SealingKeyKey("s", {}),
        std::string(curator::kTicketKeyKey), std::string(curator::kManifestKeyKey),
        StrCat("quarantine/", curator::kTicketKeyKey),
        StrCat("quarantine/", central::ChunkKey("c", 7))}) {
    records[key] = StrCat(kSecret, " of ", key);
  }
  return records;
}
inline std::map<std::string, std::string> PublicRecords() {
  std::map<std::string, std::string> records;
  for (const std::string& key :
       {curator::StudyKey("s"), curator::SumsKey("s", 0), curator::CountsKey("s"),
        curator::SpentKey("s", 0), curator::LabelsKey("s", 0), std::string("ledger/a/0"),
        std::string("model/s/m"), std::string("meta/restored"), std::string("quarantine/job"),
        StrCat("quarantine/", curator::SumsKey("s", 1))}) {
    records[key] = StrCat(kPublic, " of ", key);
  }
  return records;
}

inline Status PutAll(storage::Store& store, const std::map<std::string, std::string>& records) {
  storage::StoreBatch batch;
  for (const auto& [key, value] : records) batch.Put(key, value);
  return store.Apply(batch);
}

// A plain store of this version's format with all of them.
inline Status FillPlain(storage::Store& store) {
  Status status = storage::OpenFormat(store);
  if (status.ok()) status = PutAll(store, PrivateRecords());
  if (status.ok()) status = PutAll(store, PublicRecords());
  return status;
}

// Expects that `store` gives back all of them, one by one and by scanning.
inline void ExpectAllReadable(const storage::Store& store) {
  std::map<std::string, std::string> expected = PrivateRecords();
  expected.merge(PublicRecords());
  std::map<std::string, std::string> scanned;
  EXPECT_OK(store.Scan("", [&](std::string_view key, std::string_view value) {
    scanned[std::string(key)] = std::string(value);
    return OkStatus();
  }));
  for (const auto& [key, value] : expected) {
    const auto got = store.Get(key);
    EXPECT_OK(got);
    EXPECT_TRUE(got.ok() && *got == value) << key;
    EXPECT_EQ(scanned[key], value) << key;
  }
}

// How many of the values on `disk` hold `text`.
inline size_t ValuesWith(const storage::Store& disk, const std::string& text) {
  size_t values = 0;
  EXPECT_OK(disk.Scan("", [&](std::string_view, std::string_view value) {
    values += StrContains(value, text) ? 1 : 0;
    return OkStatus();
  }));
  return values;
}

// Stands for a disk that outlives the store opened on it.
class DiskRef final : public storage::Store {
 public:
  explicit DiskRef(storage::Store& disk) : disk_(disk) {}

  StatusOr<std::optional<std::string>> Get(std::string_view key) const override {
    return disk_.Get(key);
  }
  Status Apply(const storage::StoreBatch& batch) override { return disk_.Apply(batch); }
  Status Scan(std::string_view prefix,
              absl::FunctionRef<Status(std::string_view key, std::string_view value)> visit)
      const override {
    return disk_.Scan(prefix, visit);
  }
  Status Purge(std::string_view prefix) override { return disk_.Purge(prefix); }

 private:
  storage::Store& disk_;
};

// Opens `disk` as the daemon does, with keys of these digits.
inline StatusOr<vault::KeyedStore> OpenKeyed(storage::Store& disk, const std::string& digits,
                                             vault::StepCallback tell = {}) {
  return vault::KeyedStore::Open(std::make_unique<DiskRef>(disk),
                                 {.keys = KeysOf(digits), .tell = std::move(tell)});
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_SERVER_STORE_VAULT_VAULT_FIXTURE_H_
