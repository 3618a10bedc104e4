// Delivers one frozen batch to the curator.

#ifndef COPPICE_SERVER_RELAY_DEALING_BATCH_DELIVERY_H_
#define COPPICE_SERVER_RELAY_DEALING_BATCH_DELIVERY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "common/base/status.h"
#include "common/terms/relay_promise.h"
#include "common/terms/signature.h"
#include "server/relay/dealing/curator_calls.h"
#include "server/relay/epoch/epoch.h"

namespace coppice::relay {

// Guarantee  What is sent depends only on the frozen reports, the deal's terms and the relay's key:
//            the same bytes at every attempt, and after every restart. Parts follow the order of
//            tickets, and are as large as the curator allows.
// Errors     those of the curator, and of Epoch::Read(), which cannot_read() tells apart. DataLoss:
//            the curator's answer makes no sense. The same call may be repeated after an error.
// Threads    one at a time.
class BatchDelivery {
 public:
  // The lowest limit that a curator's operator can set; kMaxReportsPerPart is the other limit.
  static constexpr uint64_t kMaxPartBytes = (uint64_t{1} << 20) - 4096;

  enum class Progress : uint8_t {
    kAsked,   // the curator has said how far the batch has come
    kMoves,   // the curator took a part: send the next one
    kStands,  // the curator took no report: wait
    kStored,  // the curator has all of it
    kBroken,  // the curator's copy is not what was signed, and it wants no more
  };

  // FailedPrecondition unless `key` is the one that the terms name.
  static StatusOr<BatchDelivery> Create(std::shared_ptr<const Epoch> epoch, const RelayTerms& terms,
                                        const Frozen& frozen, const SigningKey& key);

  // Makes one call. The first after a start asks how far the batch has come.
  StatusOr<Progress> SendNext(CuratorCalls& curator);

  // Whether the last call of SendNext() failed before it called the curator.
  bool cannot_read() const { return cannot_read_; }

  uint64_t reports() const { return reports_; }

 private:
  BatchDelivery(std::shared_ptr<const Epoch> epoch, v1::DeliverBatchRequest envelope,
                uint64_t reports)
      : epoch_(std::move(epoch)), envelope_(std::move(envelope)), reports_(reports) {}

  uint64_t ReportsPerPart() const;
  StatusOr<v1::DeliverBatchRequest> NextPart() const;
  StatusOr<Progress> Learn(const v1::DeliverBatchResponse& response);

  std::shared_ptr<const Epoch> epoch_;
  v1::DeliverBatchRequest envelope_;  // without reports
  uint64_t reports_;
  bool cannot_read_ = false;
  bool knows_position_ = false;
  uint64_t position_ = 0;  // of the next report to send
};

}  // namespace coppice::relay

#endif  // COPPICE_SERVER_RELAY_DEALING_BATCH_DELIVERY_H_
