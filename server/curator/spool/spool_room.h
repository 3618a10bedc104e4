// Limits the bytes that relays' batches take of the curator's disk.

#ifndef COPPICE_SERVER_CURATOR_SPOOL_SPOOL_ROOM_H_
#define COPPICE_SERVER_CURATOR_SPOOL_SPOOL_ROOM_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/terms/relay_promise.h"
#include "common/terms/signature.h"
#include "server/curator/study/study.h"

namespace coppice::curator {

// Limits for the sealed reports of batches that have begun and are not yet counted.
struct SpoolLimits {
  uint64_t bytes = uint64_t{64} << 30;            // of all relays together
  uint64_t bytes_per_relay = uint64_t{16} << 30;  // of one key, over all studies that name it
};

// Guarantee  A batch has room for all its reports from its first part until they are counted: a
//            batch that has begun can always be finished, and none waits for another that waits for
//            it. A relay is identified by the key that signs its batches, since it may have many
//            tokens, and its studies many owners. Lowering a limit stops no batch that has begun.
// Units      Bytes of tickets, keys and ciphertexts; the store's overhead per record is left out.
// Threads    safe to share.
class SpoolRoom {
 public:
  using AllStudies = std::function<std::vector<std::shared_ptr<Study>>()>;

  // Room held for a batch until the study knows of it.
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

  // Takes room for a new batch. ResourceExhausted names the setting of the curator that limits it.
  StatusOr<Place> Take(const Study& study, const BatchHeader& header);

  // The room that all batches have.
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
