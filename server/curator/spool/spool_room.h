// How many bytes relays' batches may take of the curator's disk.

#ifndef COPPICE_SERVER_CURATOR_SPOOL_SPOOL_ROOM_H_
#define COPPICE_SERVER_CURATOR_SPOOL_SPOOL_ROOM_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "common/base/mutex.h"
#include "common/study/relay_promise.h"
#include "common/study/signature.h"
#include "server/curator/study/study.h"

namespace coppice::curator {

// Limits the sealed reports of batches that have begun and are not counted yet.
struct SpoolLimits {
  uint64_t bytes = uint64_t{64} << 30;            // of all relays
  uint64_t bytes_per_relay = uint64_t{16} << 30;  // of one key, over all studies that name it
};

// Guarantee  a batch has room for all of its reports from its first part until they are counted, so
//            one that has begun can always be finished, and none waits for another that waits for
//            it. A relay is told from others by the key that signs its batches: it may have many
//            tokens, and its studies many owners. What began before a limit was lowered goes on.
// Units      tickets, keys and ciphertexts; what the store adds to each record is left out.
// Threads    safe to share.
class SpoolRoom {
 public:
  using AllStudies = std::function<std::vector<std::shared_ptr<Study>>()>;

  // Room that a batch has until the study knows of it.
  class Place {
   public:
    Place(SpoolRoom& room, const PublicKey& relay, uint64_t bytes)
        : room_(&room), relay_(relay), bytes_(bytes) {}
    Place(Place&& other) noexcept
        : room_(std::exchange(other.room_, nullptr)), relay_(other.relay_), bytes_(other.bytes_) {}
    Place& operator=(Place&&) = delete;
    ~Place() {
      if (room_ != nullptr) room_->GiveBack(relay_, bytes_);
    }

   private:
    SpoolRoom* room_;
    PublicKey relay_;
    uint64_t bytes_;
  };

  SpoolRoom(const SpoolLimits& limits, AllStudies all_studies)
      : limits_(limits), all_studies_(std::move(all_studies)) {}

  // For a batch that begins. ResourceExhausted, saying which setting of the curator limits it.
  absl::StatusOr<Place> Take(const Study& study, const BatchHeader& header);

  // What all batches have room for.
  uint64_t BytesTaken() const;

 private:
  void GiveBack(const PublicKey& relay, uint64_t bytes);

  const SpoolLimits limits_;
  const AllStudies all_studies_;
  mutable Mutex mutex_;
  absl::flat_hash_map<PublicKey, uint64_t> beginning_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_SPOOL_SPOOL_ROOM_H_
