// Takes messages of callers in, on every transport: bounds what they take in memory, and keeps the
// parsing of large ones off the transport's threads.

#ifndef COPPICE_SERVER_SERVING_CALLS_MESSAGE_INTAKE_H_
#define COPPICE_SERVER_SERVING_CALLS_MESSAGE_INTAKE_H_

#include <cstddef>
#include <functional>
#include <string>

#include "common/base/status.h"
#include "server/process/byte_load.h"
#include "server/serving/calls/worker_pool.h"

namespace coppice::service {

// One for the process. A message is first looked over, which allocates nothing and says what it
// will take (common/wire/proto/message_walk.h), then admitted, then parsed.
//
// Guarantee  Large messages, before and after parsing, take at most `most_bytes` together, whoever
//            sends them. A message of up to ByteLoad::kSmall bytes is never made to wait for them.
// Errors     ResourceExhausted: a message takes more than `most_bytes` alone; or, with the time to
//            wait, too much is held, or waits on the lane.
// Threads    safe to share.
class MessageIntake {
 public:
  // Four messages of --max-message-bytes. At half of it, two uploads of 64 MiB would not be taken
  // at a time; at double, hostile messages would bring the daemon close to 1 GiB.
  static constexpr size_t kMostBytes = size_t{256} << 20;

  explicit MessageIntake(size_t most_bytes = kMostBytes) : most_(most_bytes), load_(most_bytes) {}

  // Runs `work`, which parses a message of this many bytes: here, or on the lane if it is large.
  // `owner` is the caller's name. Work that is refused is dropped.
  Status Run(size_t bytes, const std::string& owner, std::function<void()> work);

  // Call it once a message is looked over, and keep what it returns as long as the parsed message.
  StatusOr<calls::HeldBytes> Admit(size_t bytes);

  size_t held_bytes() const { return load_.bytes(); }

 private:
  static constexpr size_t kThreads = 2;
  static constexpr size_t kMaxWaiting = 64;

  const size_t most_;
  calls::ByteLoad load_;
  WorkerPool lane_{kThreads, kMaxWaiting};
};

}  // namespace coppice::service

#endif  // COPPICE_SERVER_SERVING_CALLS_MESSAGE_INTAKE_H_
