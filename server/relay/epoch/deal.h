// The secret order in which an epoch deals its tickets, and the claims of those who got one.

#ifndef COPPICE_SERVER_RELAY_EPOCH_DEAL_H_
#define COPPICE_SERVER_RELAY_EPOCH_DEAL_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "server/relay/epoch/disk.h"
#include "server/relay/epoch/epoch_types.h"

namespace coppice::relay {

// Writes a fresh key of the private generator into a new file at `path`, and syncs it. `pool` is
// the identity of the file whose tickets it deals.
Status MakeDealFile(const std::string& path, Disk& disk, std::string_view pool = "");

// Overwrites the key and removes its file, if it exists: after that nobody can tell who got which
// ticket. File systems that write elsewhere (snapshots, flash) may keep the old bytes.
Status EraseDealFile(const std::string& path, Disk& disk);

// Guarantee  Slots come in an order that is a pseudorandom function of the key, each once, even
//            across crashes: a place is dealt only after the file says that it may be gone. Key,
//            order and claims are wiped from memory on destruction.
// Errors     Open(): NotFound; DataLoss that names the file, also if it belongs to another file
//            than `pool`: a copy would deal the same tickets again; Internal: OpenSSL fails. After
//            a failed write or sync, which health() reports, DealSlot() always returns that error.
// Threads    safe to share.
// Source     the order: slots sorted by AES-256 of their number; a claim: the first 16 bytes of
//            HMAC-SHA256 of the ticket. Each has its own key, HMAC-SHA256 of a name under the
//            file's key.
class Dealer {
 public:
  static StatusOr<std::unique_ptr<Dealer>> Open(const std::string& path, uint64_t slots, Disk& disk,
                                                std::string_view pool = "");
  ~Dealer();

  // ResourceExhausted: all tickets are dealt.
  StatusOr<uint32_t> DealSlot();
  StatusOr<Claim> ClaimOf(std::string_view ticket) const;
  uint64_t dealt() const;
  Status health() const;

 private:
  struct Key;

  Dealer(std::unique_ptr<DiskFile> file, std::unique_ptr<Key> claims, std::vector<uint32_t> order);

  static StatusOr<std::vector<uint32_t>> OrderOf(const Key& key, uint64_t slots);
  Status ReadMarks(const std::string& path);
  Status Mark(uint64_t place) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::unique_ptr<DiskFile> file_;
  const std::unique_ptr<Key> claims_;
  std::vector<uint32_t> order_;

  mutable Mutex mutex_;
  uint64_t next_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t marked_ ABSL_GUARDED_BY(mutex_) = 0;  // places before it may be dealt
  uint64_t sequence_ ABSL_GUARDED_BY(mutex_) = 0;
  Status failed_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace coppice::relay

#endif  // COPPICE_SERVER_RELAY_EPOCH_DEAL_H_
