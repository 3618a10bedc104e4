#include "server/curator/keys/direct_keys.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "common/base/status_macros.h"
#include "server/curator/keys/erasure.h"
#include "server/curator/keys/store_keys.h"
#include "server/store/store_record.h"

namespace coppice::curator {
namespace {

std::string RecordOf(const StoredSealingKey& key) { return DirectKeyKey(key.name); }

// A key opens messages for a period after the one in which devices are told of it.
bool IsOver(const StoredSealingKey& key, int64_t now_unix_seconds) {
  return now_unix_seconds >= key.created_unix_seconds + 2 * DirectKeys::kPeriodSeconds;
}

Status NoSuchKey() {
  return FailedPreconditionError(
      "key_id: this curator has no such key, or no longer: ask GetCuratorKeys for the current one "
      "and seal the reports again");
}

}  // namespace

class DirectKeys::Key {
 public:
  explicit Key(StoredSealingKey stored) : stored_(std::move(stored)) {}

  const StoredSealingKey& stored() const { return stored_; }

  StatusOr<seal::OpenedRequest> Open(std::string_view encapsulated, std::string_view ciphertext) {
    COPPICE_ASSIGN_OR_RETURN(std::unique_ptr<seal::RequestOpener> opener, TakeOpener());
    StatusOr<seal::OpenedRequest> opened = opener->Open(encapsulated, ciphertext);
    const MutexLock lock(mutex_);
    idle_.push_back(std::move(opener));
    return opened;
  }

 private:
  StatusOr<std::unique_ptr<seal::RequestOpener>> TakeOpener() {
    {
      const MutexLock lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<seal::RequestOpener> opener = std::move(idle_.back());
        idle_.pop_back();
        return opener;
      }
    }
    COPPICE_ASSIGN_OR_RETURN(seal::RequestOpener opener,
                             seal::RequestOpener::Create(stored_.aead, *stored_.secret));
    return std::make_unique<seal::RequestOpener>(std::move(opener));
  }

  const StoredSealingKey stored_;
  Mutex mutex_;
  std::vector<std::unique_ptr<seal::RequestOpener>> idle_ ABSL_GUARDED_BY(mutex_);
};

StatusOr<std::unique_ptr<DirectKeys>> DirectKeys::Open(storage::Store& store,
                                                       int64_t now_unix_seconds) {
  Keys keys;
  COPPICE_RETURN_IF_ERROR(
      store.Scan(kDirectKeyPrefix, [&](std::string_view record, std::string_view bytes) -> Status {
        COPPICE_ASSIGN_OR_RETURN(StoredSealingKey key, DecodeSealingKey(record, bytes));
        if (!key.secret.has_value()) return storage::CorruptRecord(record, "has no secret");
        keys.push_back(std::make_shared<Key>(std::move(key)));
        return OkStatus();
      }));
  std::sort(keys.begin(), keys.end(), [](const auto& a, const auto& b) {
    return a->stored().first_sequence < b->stored().first_sequence;
  });
  if (keys.empty()) COPPICE_RETURN_IF_ERROR(MakeFirst(store, now_unix_seconds, keys));
  auto opened = std::unique_ptr<DirectKeys>(new DirectKeys(store, std::move(keys)));
  COPPICE_RETURN_IF_ERROR(opened->Rotate(now_unix_seconds));
  return opened;
}

Status DirectKeys::MakeFirst(storage::Store& store, int64_t now_unix_seconds, Keys& keys) {
  COPPICE_ASSIGN_OR_RETURN(StoredSealingKey first, NewSealingKey(now_unix_seconds, 1));
  storage::StoreBatch batch;
  PutSealingKey(RecordOf(first), first, batch);
  COPPICE_RETURN_IF_ERROR(store.Apply(batch));
  keys.push_back(std::make_shared<Key>(std::move(first)));
  return OkStatus();
}

DirectKey DirectKeys::current() const {
  const MutexLock lock(mutex_);
  const StoredSealingKey& key = keys_.back()->stored();
  return {.suite = static_cast<uint16_t>(key.aead), .key = key.public_key};
}

std::shared_ptr<DirectKeys::Key> DirectKeys::Find(std::string_view key_id) const {
  const MutexLock lock(mutex_);
  for (const std::shared_ptr<Key>& key : keys_) {
    const seal::SealingKeyId& name = key->stored().name;
    if (std::equal(name.begin(), name.end(), key_id.begin(), key_id.end(),
                   [](uint8_t a, char b) { return a == static_cast<uint8_t>(b); })) {
      return key;
    }
  }
  return nullptr;
}

StatusOr<seal::OpenedRequest> DirectKeys::OpenMessage(std::string_view key_id,
                                                      std::string_view encapsulated,
                                                      std::string_view ciphertext) const {
  const std::shared_ptr<Key> key = Find(key_id);
  if (key == nullptr) return NoSuchKey();
  return key->Open(encapsulated, ciphertext);
}

Status DirectKeys::Rotate(int64_t now_unix_seconds) {
  Keys keys;
  {
    const MutexLock lock(mutex_);
    keys = keys_;
  }
  storage::StoreBatch batch;
  const StoredSealingKey& last = keys.back()->stored();
  if (now_unix_seconds >= last.created_unix_seconds + kPeriodSeconds) {
    COPPICE_ASSIGN_OR_RETURN(StoredSealingKey next,
                             NewSealingKey(now_unix_seconds, last.first_sequence + 1));
    PutSealingKey(RecordOf(next), next, batch);
    keys.push_back(std::make_shared<Key>(std::move(next)));
  }
  const auto first_kept = std::find_if(keys.begin(), keys.end() - 1, [&](const auto& key) {
    return !IsOver(key->stored(), now_unix_seconds);
  });
  for (auto key = keys.begin(); key != first_kept; ++key) {
    batch.Delete(RecordOf((*key)->stored()));
    NoteErased(kCuratorItself, batch);
  }
  if (batch.puts().empty()) return OkStatus();
  COPPICE_RETURN_IF_ERROR(store_.Apply(batch));
  keys.erase(keys.begin(), first_kept);
  const MutexLock lock(mutex_);
  keys_ = std::move(keys);
  return OkStatus();
}

}  // namespace coppice::curator
