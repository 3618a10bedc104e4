// On which day each entry of the policy was used last, and what an operator is told of entries.

#ifndef COPPICE_SERVER_CALLS_TOKEN_USE_H_
#define COPPICE_SERVER_CALLS_TOKEN_USE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "common/base/mutex.h"
#include "common/study/sha256.h"
#include "coppice/v1/admin.pb.h"
#include "server/access/access_policy.h"
#include "server/storage/store.h"

namespace coppice::calls {

inline constexpr absl::string_view kTokenUseKey = "meta/token_use";

// Told of the entries whose credentials a call that is let through shows. It must not wait.
using UseObserver = std::function<void(absl::Span<const Sha256Digest> entries, absl::Time now)>;

// Guarantee  a day and nothing finer is kept. What is written of an entry goes when the policy has
//            it no more.
// Errors     Write(): what the Store returns; the next write holds it too.
// Threads    safe to share. Note() waits for no disk.
class TokenUse {
 public:
  // Reads what `store`, which must outlive it, has. A record that does not parse is begun anew: it
  // holds nothing that anything rests on.
  explicit TokenUse(storage::Store& store);

  // Whether it is the first use of any of these on this day: then it should be written.
  bool Note(absl::Span<const Sha256Digest> entries, absl::Time now);
  // Writes what is known of the entries of `policy`.
  absl::Status Write(const access::AccessPolicy& policy);

  // The entries of `policy`, with the first bytes of their hashes and never a token.
  v1::ListTokensResponse Describe(const access::AccessPolicy& policy) const;

 private:
  std::string DayOf(const Sha256Digest& entry) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  v1::TokenEntry Describe(const access::PolicyEntry& entry, v1::TokenEntry::Kind kind) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  storage::Store& store_;
  Mutex write_mutex_;  // held through a write; taken before mutex_
  mutable Mutex mutex_;
  std::map<Sha256Digest, int64_t> days_ ABSL_GUARDED_BY(mutex_);  // since 1970, UTC
};

}  // namespace coppice::calls

#endif  // COPPICE_SERVER_CALLS_TOKEN_USE_H_
