// All that a relay does between its devices and the curator, without a network of its own: the
// service of the daemon calls it for devices, and it calls the curator by itself.

#ifndef COPPICE_SERVER_RELAY_DEALING_RELAY_H_
#define COPPICE_SERVER_RELAY_DEALING_RELAY_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "common/study/signature.h"
#include "server/relay/dealing/curator_calls.h"
#include "server/relay/dealing/relay_options.h"
#include "server/relay/epoch/epoch.h"

namespace coppice::relay {

class RelayedStudy;

// Guarantee  A pool is complete before its first ticket is dealt, and never refilled. A batch is
//            closed before its first byte is sent, and sent in the order of its tickets: what the
//            curator sees is a function of which ticket has which report, and of nothing else.
//            What is answered about a ticket without its claim is the same for every ticket.
// Errors     NotFound: no such study here. Unavailable: no deal is open, or the disk fails; try
//            again later. FailedPrecondition: `epoch` is not the deal that is open, or its time is
//            over. ResourceExhausted: no ticket of it is left. InvalidArgument: a name.
// Threads    safe to share; a thread for each study of its own.
class Relay {
 public:
  // Takes up every deal that the data directory holds, and begins its work. `key` signs.
  // InvalidArgument: options. Unavailable: another process has the data directory, or the file
  // system refuses. FailedPrecondition: a deal was signed by another key. DataLoss: a deal's files
  // are damaged.
  static absl::StatusOr<std::unique_ptr<Relay>> Open(const RelayOptions& options,
                                                     const SigningKey& key,
                                                     std::shared_ptr<CuratorCalls> curator,
                                                     const RelaySeams& seams = {});
  // Drains first.
  ~Relay();

  // A serialized GetRelayTermsResponse, the same bytes for every device of a deal. `study` is
  // "studies/ID".
  absl::StatusOr<std::shared_ptr<const std::string>> Terms(absl::string_view study) const;

  // The envelope of a TakeOfferResponse: one length for all tickets of a deal. `admit` is called
  // once it is certain that there is a deal to take from, before a ticket is dealt; if it fails,
  // its error is returned and none is.
  using Admit = absl::FunctionRef<absl::Status(const EpochId& epoch)>;
  absl::StatusOr<std::string> TakeOffer(absl::string_view study, absl::string_view epoch,
                                        Admit admit);

  // `done` runs once, in this thread or in another, and must not block: with the outcome once it
  // holds for good, or with Unavailable, after which the same bytes may be sent again.
  void Submit(absl::string_view epoch, SealedReport report, SubmitDone done);

  // In the order of RelayOptions::studies.
  std::vector<StudyTotals> totals() const;
  // Reports of a deal that none of the studies has.
  uint64_t unknown_epochs() const { return unknown_epochs_; }

  // OK if every study has a deal that is open, or has come to its end. Unavailable, naming the
  // first that has none and why.
  absl::Status Ready() const;

  // Deals no more, ends calls to the curator, and returns when every report that came is answered.
  // Terms() and Submit() answer until the object goes.
  void Drain();

  // Without threads (RelaySeams): does what is due, at most one call to the curator for each thing
  // that is, and returns when the next is.
  absl::Time Step();

 private:
  Relay(const SigningKey& key, std::shared_ptr<CuratorCalls> curator);

  absl::StatusOr<RelayedStudy*> Find(absl::string_view name) const;

  const SigningKey key_;
  const std::shared_ptr<CuratorCalls> curator_;
  std::unique_ptr<DiskFile> lock_;
  std::vector<std::unique_ptr<RelayedStudy>> studies_;
  std::atomic<uint64_t> unknown_epochs_ = 0;
};

}  // namespace coppice::relay

#endif  // COPPICE_SERVER_RELAY_DEALING_RELAY_H_
