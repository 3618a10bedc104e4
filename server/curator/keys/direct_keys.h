// The curator's direct keys: what devices seal their messages for, whatever the study.

#ifndef COPPICE_SERVER_CURATOR_KEYS_DIRECT_KEYS_H_
#define COPPICE_SERVER_CURATOR_KEYS_DIRECT_KEYS_H_

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/encrypt/direct_message.h"
#include "common/terms/manifest.h"
#include "server/curator/keys/sealing_key_record.h"
#include "server/store/store.h"

namespace coppice::curator {

// One key for all studies: a key for each would name the study to whoever a device shows it. It has
// a label of its own and is never a relay's. Time replaces it. The key before it opens what was
// under way for as long again, and is then erased: a copy of the store or of a recorded line opens
// only what was sealed during the last two periods.
//
// Guarantee  There is a current key. A message is opened by the key that it names or not at all.
// Errors     Open(): DataLoss if a record does not parse; otherwise what the Store returns.
//            OpenMessage(): FailedPrecondition if there is no such key (any more); otherwise as
//            RequestOpener. Neither says anything of a message's content.
// Threads    safe to share.
class DirectKeys {
 public:
  static constexpr int64_t kPeriodSeconds = 7 * 24 * 60 * 60;

  // Loads the keys, or makes the first. `store` must outlive them.
  static StatusOr<std::unique_ptr<DirectKeys>> Open(storage::Store& store,
                                                    int64_t now_unix_seconds);

  // The public half of the current key.
  DirectKey current() const;

  StatusOr<seal::OpenedRequest> OpenMessage(std::string_view key_id, std::string_view encapsulated,
                                            std::string_view ciphertext) const;

  // Replaces the current key when its period is over, and erases those whose time is. A clock that
  // was set back replaces and erases nothing.
  Status Rotate(int64_t now_unix_seconds);

 private:
  // A key with its openers, which are made as they are needed: one is used by one thread at a time.
  class Key;
  using Keys = std::vector<std::shared_ptr<Key>>;

  DirectKeys(storage::Store& store, Keys keys) : store_(store), keys_(std::move(keys)) {}

  std::shared_ptr<Key> Find(std::string_view key_id) const;
  static Status MakeFirst(storage::Store& store, int64_t now_unix_seconds, Keys& keys);

  storage::Store& store_;
  mutable Mutex mutex_;
  Keys keys_ ABSL_GUARDED_BY(mutex_);  // oldest first; never empty
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_KEYS_DIRECT_KEYS_H_
