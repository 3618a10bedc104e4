// Keeps the day of each policy entry's last use, and describes entries to operators.

#ifndef COPPICE_SERVER_SERVING_GATE_TOKEN_USE_H_
#define COPPICE_SERVER_SERVING_GATE_TOKEN_USE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/terms/sha256.h"
#include "coppice/v1/admin.pb.h"
#include "server/serving/access/access_policy.h"
#include "server/store/store.h"

namespace coppice::calls {

inline constexpr std::string_view kTokenUseKey = "meta/token_use";

// Called with the entries whose credentials an admitted call shows. It must not block.
using UseObserver = std::function<void(absl::Span<const Sha256Digest> entries, absl::Time now)>;

// Guarantee  Keeps the day and nothing finer. Once the policy no longer has an entry, the next
//            write drops it.
// Errors     Write(): what the Store returns; the next write includes the same data.
// Threads    safe to share. Note() never waits for the disk.
class TokenUse {
 public:
  // Reads the record of `store`, which must outlive it. Replaces a record that does not parse by an
  // empty one, since nothing depends on it.
  explicit TokenUse(storage::Store& store);

  // Returns whether this is the first use of any entry today; then Write() should follow.
  bool Note(absl::Span<const Sha256Digest> entries, absl::Time now);
  // Writes the days of the entries of `policy`.
  Status Write(const access::AccessPolicy& policy);

  // Describes the entries of `policy`, with the first bytes of their hashes and never a token.
  v1::ListTokensResponse Describe(const access::AccessPolicy& policy) const;

 private:
  std::string DayOf(const Sha256Digest& entry) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  v1::TokenEntry Describe(const access::PolicyEntry& entry, v1::TokenEntry::Kind kind) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  storage::Store& store_;
  Mutex write_mutex_;  // held during a write; taken before mutex_
  mutable Mutex mutex_;
  std::map<Sha256Digest, int64_t> days_ ABSL_GUARDED_BY(mutex_);  // in days since 1970, UTC
};

}  // namespace coppice::calls

#endif  // COPPICE_SERVER_SERVING_GATE_TOKEN_USE_H_
