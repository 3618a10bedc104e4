// All that a relay does between its devices and the curator, without a network of its own: the
// daemon's service calls it for devices, and it calls the curator itself.

#ifndef COPPICE_SERVER_RELAY_DEALING_RELAY_H_
#define COPPICE_SERVER_RELAY_DEALING_RELAY_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "common/base/status.h"
#include "common/terms/signature.h"
#include "server/relay/dealing/curator_calls.h"
#include "server/relay/dealing/relay_options.h"
#include "server/relay/epoch/epoch.h"

namespace coppice::relay {

class RelayedStudy;

// Guarantee  A pool is complete before its first ticket is dealt, and is never refilled. A batch is
//            closed before its first byte is sent, and is sent in the order of its tickets: the
//            curator sees which ticket has which report, and nothing else. The answer about a
//            ticket without its claim is the same for every ticket.
// Errors     NotFound: no such study here. Unavailable: no deal is open, or the disk fails; try
//            again later. FailedPrecondition: `epoch` is not the open deal, or its time is over.
//            ResourceExhausted: no ticket of it is left. InvalidArgument: a malformed name.
// Threads    safe to share; each study has a thread of its own.
class Relay {
 public:
  // Resumes every deal in the data directory, and starts working. `key` signs. InvalidArgument: bad
  // options. Unavailable: another process uses the data directory, or the file system refuses.
  // FailedPrecondition: another key signed a deal. DataLoss: a deal's files are damaged.
  static StatusOr<std::unique_ptr<Relay>> Open(const RelayOptions& options, const SigningKey& key,
                                               std::shared_ptr<CuratorCalls> curator,
                                               const RelaySeams& seams = {});
  // Drains first.
  ~Relay();

  // Returns a serialized GetRelayTermsResponse, the same bytes for every device of a deal. `study`
  // is "studies/ID".
  StatusOr<std::shared_ptr<const std::string>> Terms(std::string_view study) const;

  // Returns the envelope of a TakeOfferResponse, of one length for all tickets of a deal. Calls
  // `admit` once there is certainly a deal to take from, before a ticket is dealt; if it fails,
  // returns its error and deals no ticket.
  using Admit = absl::FunctionRef<Status(const EpochId& epoch)>;
  StatusOr<std::string> TakeOffer(std::string_view study, std::string_view epoch, Admit admit);

  // `done` runs once, in this thread or in another, and must not block. It gets the outcome once
  // that is final, or Unavailable, after which the same bytes may be sent again.
  void Submit(std::string_view epoch, SealedReport report, SubmitDone done);

  // In the order of RelayOptions::studies.
  std::vector<StudyTotals> totals() const;
  // Reports of a deal that none of the studies knows.
  uint64_t unknown_epochs() const { return unknown_epochs_; }

  // OK if every study has an open deal, or has ended. Unavailable names the first study without a
  // deal, and the reason.
  Status Ready() const;

  // Stops dealing, ends calls to the curator, and returns once every received report is answered.
  // Terms() and Submit() answer until the object is destroyed.
  void Drain();

  // Without threads (RelaySeams): does what is due, with at most one call to the curator for each
  // due task, and returns when the next task is due.
  absl::Time Step();

 private:
  Relay(const SigningKey& key, std::shared_ptr<CuratorCalls> curator);

  StatusOr<RelayedStudy*> Find(std::string_view name) const;

  const SigningKey key_;
  const std::shared_ptr<CuratorCalls> curator_;
  std::unique_ptr<DiskFile> lock_;
  std::vector<std::unique_ptr<RelayedStudy>> studies_;
  std::atomic<uint64_t> unknown_epochs_ = 0;
};

}  // namespace coppice::relay

#endif  // COPPICE_SERVER_RELAY_DEALING_RELAY_H_
