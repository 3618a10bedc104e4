// One study's deals, one after the other: each pool is opened, dealt, collected, frozen, delivered
// and erased.

#ifndef COPPICE_SERVER_RELAY_DEALING_RELAYED_STUDY_H_
#define COPPICE_SERVER_RELAY_DEALING_RELAYED_STUDY_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/terms/signature.h"
#include "server/relay/dealing/batch_delivery.h"
#include "server/relay/dealing/curator_calls.h"
#include "server/relay/dealing/curator_trust.h"
#include "server/relay/dealing/deal_documents.h"
#include "server/relay/dealing/pool_builder.h"
#include "server/relay/dealing/relay.h"
#include "server/relay/dealing/relay_options.h"
#include "server/relay/epoch/epoch.h"

namespace coppice::relay {

// The time of the next attempt after failures: pauses double.
class GrowingPause {
 public:
  static constexpr absl::Duration kFirst = absl::Seconds(1);
  static constexpr absl::Duration kLongest = absl::Minutes(5);

  absl::Time next() const { return next_; }
  // `asked` is the additional time that the other side wants to be left alone.
  void Lengthen(absl::Time now, absl::Duration asked = absl::ZeroDuration());
  void Clear() { *this = GrowingPause(); }

 private:
  absl::Duration pause_ = kFirst;
  absl::Time next_ = absl::InfinitePast();
};

// Guarantee  At most one deal is open, and at most kMaxWaitingBatches wait for the curator. A lost
//            or erased deal never opens again. A batch that the curator does not have is erased
//            only if the curator keeps refusing it with the same message, says that it is broken,
//            or refuses it after the study's expiry.
// Errors     as Relay.
// Threads    the calls of devices are safe to share. Step() is for one thread: the study's own,
//            once it is started.
class RelayedStudy {
 public:
  static constexpr size_t kMaxWaitingBatches = 2;
  // This many refusals take more than an hour: a curator whose store has failed, or that moved to
  // another machine, also refuses for a while.
  static constexpr int kRefusalsForGood = 21;

  // The key, the curator and the folder's disk must outlive the study.
  static StatusOr<std::unique_ptr<RelayedStudy>> Open(const RelayOptions& options,
                                                      const std::string& study,
                                                      const SigningKey& key, CuratorCalls& curator,
                                                      const RelaySeams& seams);
  // Drains first.
  ~RelayedStudy();

  const std::string& id() const { return study_; }

  StatusOr<std::shared_ptr<const std::string>> Terms() const;
  StatusOr<std::string> TakeOffer(std::string_view epoch, Relay::Admit admit);
  // Returns false, and does nothing, if the epoch does not belong to this study.
  bool Submit(std::string_view epoch, SealedReport& report, SubmitDone& done);

  StudyTotals totals() const;
  Status Ready() const;

  // Starts a thread that calls Step().
  void Start();
  // From now on the study starts nothing, and logs no failed call.
  void BeginDrain();
  // Calls BeginDrain() and waits for running work. The curator's calls must be cancelled before.
  void Drain();

  // Does what is due now; returns when the next task is due.
  absl::Time Step();

 private:
  // What devices deal with. Epoch is safe to share, except for the calls that only Step() makes.
  struct Deal {
    std::shared_ptr<Epoch> epoch;
    std::shared_ptr<const DealDocuments> documents;
  };
  // An epoch that reports may come for. A null `epoch` is erased, or, if it `reopens`, will be
  // opened again soon or is set aside.
  struct KnownEpoch {
    EpochRules rules;
    std::shared_ptr<Epoch> epoch;
    bool reopens = false;
  };
  struct WaitingBatch {
    std::shared_ptr<Epoch> epoch;
    BatchDelivery delivery;
    int64_t expires_unix_seconds = 0;  // of the study; 0: never
    // The last answers, as long as they were the same FailedPrecondition.
    std::string refusal = {};
    int refusals = 0;
  };
  struct Counts {
    std::array<std::atomic<uint64_t>, 6> outcomes{};  // by SubmitOutcome
    std::atomic<uint64_t> dealt = 0, waiting = 0, delivered = 0, dropped = 0, refused = 0;
  };

  RelayedStudy(const RelayOptions& options, std::string study, const SigningKey& key,
               CuratorCalls& curator, const RelaySeams& seams, CuratorTrust trust);

  std::string EpochsFolder() const;
  std::string FolderOf(const EpochId& epoch) const;
  Status Restore();
  Status RestoreEpoch(const std::string& folder);
  // Renames the folder of a deal that can no longer be opened, so that no start opens it.
  Status SetAside(const std::string& folder, const Status& why);
  void KnowDamaged(const std::string& folder);
  void Run();

  // Makes `epoch` the deal that devices take part in from now on.
  void BeginDeal(std::shared_ptr<Epoch> epoch, std::shared_ptr<const DealDocuments> documents)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Know(std::shared_ptr<Epoch> epoch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  KnownEpoch* Find(std::string_view epoch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::shared_ptr<const Deal> OpenDeal() const;
  StatusOr<std::shared_ptr<const Deal>> DealFor(std::string_view epoch) const;
  Status NoDeal() const;
  void CountAnswer(const StatusOr<SubmitOutcome>& outcome);

  // The parts of Step(), in relayed_study_steps.cc. Each returns when it is due again.
  absl::Time StepReopening(absl::Time now);
  absl::Time StepDeal(absl::Time now);
  absl::Time StepDelivery(absl::Time now);
  absl::Time StepOpening(absl::Time now);

  bool CloseIfFailed();
  Status ReopenDeal();
  Status Freeze(absl::Time now, const Deal& deal);
  void FinishDelivery(BatchDelivery::Progress progress);
  absl::Time DeliveryFailed(absl::Time now, const Status& error);
  absl::Time ReadingFailed(absl::Time now, const Status& error);
  static bool IsRefusedForGood(WaitingBatch& batch, const Status& error);
  void DropFirstWaiting();
  // Logs that a deal ended with fewer reports than its smallest batch.
  void SayTooSmall(uint64_t min_batch);
  // Removes it from the disk and answers kClosed for it from now on.
  void Erase(const std::shared_ptr<Epoch>& epoch);
  Status Collect(absl::Time now);
  Status RemoveUnopened();
  Status CheckRoom() const;
  Status OpenPool(absl::Time now);
  StatusOr<absl::Time> FreezeAt(int64_t expires, absl::Time now) const;
  StatusOr<RelayTerms> PromiseFor(const TicketPool& pool, absl::Time now) const;
  absl::Time OpeningFailed(absl::Time now, const Status& error);

  bool IsDraining() const;
  // Logs the text, unless it repeats the last one.
  void Say(RelayEvent::Severity severity, std::string text);

  const RelayOptions options_;
  const std::string study_;
  const SigningKey& key_;
  CuratorCalls& curator_;
  const RelaySeams seams_;
  Counts counts_;

  // Only Step() uses these.
  CuratorTrust trust_;
  std::optional<PoolBuilder> builder_;
  bool refused_ = false;  // the study itself takes no more deals
  // The folder of a pool that failed to open: nobody was dealt a ticket of it.
  std::string unopened_;
  GrowingPause reopening_, freezing_, delivering_, opening_;
  // The documents of a deal whose disk has failed, until it is opened again.
  std::shared_ptr<const DealDocuments> closed_;
  std::shared_ptr<const Deal> closing_;  // until nobody else holds it
  std::deque<WaitingBatch> waiting_;     // oldest first
  std::string last_said_;

  mutable Mutex mutex_;
  CondVar changed_;
  std::shared_ptr<const Deal> deal_ ABSL_GUARDED_BY(mutex_);
  std::deque<KnownEpoch> known_ ABSL_GUARDED_BY(mutex_);  // oldest first
  std::string why_no_deal_ ABSL_GUARDED_BY(mutex_) = "the curator was not asked yet";
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  uint64_t in_flight_ ABSL_GUARDED_BY(mutex_) = 0;

  std::thread thread_;
};

}  // namespace coppice::relay

#endif  // COPPICE_SERVER_RELAY_DEALING_RELAYED_STUDY_H_
