// The contents of a sealed store and its key file, as somebody else may leave them. Input: the
// kind, then a key file, the state of the store, a wrapped key, or a sealed record.

#include <memory>
#include <string>
#include <string_view>

#include "server/store/vault/keyed_store.h"
#include "server/store/vault/vault_records.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/support/memory_store.h"

namespace {

using coppice::testing::Require;
using coppice::testing::TakeByte;

const coppice::vault::KeyFile& Keys() {
  static const auto* const keys =
      new coppice::vault::KeyFile(*coppice::vault::KeyFile::Parse(std::string(64, '7')));
  return *keys;
}

void ParseKeys(std::string_view text) {
  const auto keys = coppice::vault::KeyFile::Parse(text);
  if (keys.ok()) Require(keys->Find(keys->current().id) == &keys->current(), "a key is not found");
}

// Opens a store that is sealed under Keys(), except for one record.
void OpenWith(const std::string& key, std::string_view value) {
  auto disk = std::make_unique<coppice::testing::MemoryStore>();
  coppice::storage::StoreBatch batch;
  batch.Put("meta/format", "5");
  coppice::vault::PutVaultState({.master_id = Keys().current().id}, batch);
  batch.Put(key, std::string(value));
  (void)disk->Apply(batch);
  const auto store = coppice::vault::KeyedStore::Open(std::move(disk), {.keys = Keys()});
  if (!store.ok()) return;
  const auto record = (*store)->Get("chunk/d/0");
  // Nobody has the key, so nothing opens.
  Require(!record.ok() || !record->has_value(), "a record that nobody sealed opens");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input = coppice::testing::AsBytes(data, size);
  switch (TakeByte(input) % 4) {
    case 0:
      ParseKeys(input);
      break;
    case 1:
      OpenWith("meta/vault", input);
      break;
    case 2:
      OpenWith("vault/dataset/d", input);
      break;
    default:
      OpenWith("chunk/d/0", input);
  }
  return 0;
}
