// The studies of one curator, on a Store.

#ifndef COPPICE_SERVER_CURATOR_STUDIES_STUDIES_H_
#define COPPICE_SERVER_CURATOR_STUDIES_STUDIES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "common/base/mutex.h"
#include "common/base/rate_limiter.h"
#include "common/base/status.h"
#include "server/curator/estimation/correction/smooth.h"
#include "server/curator/estimation/pooled/pooled_basis.h"
#include "server/curator/estimation/study_cache.h"
#include "server/curator/intake/intake.h"
#include "server/curator/keys/direct_keys.h"
#include "server/curator/keys/manifest_authority.h"
#include "server/curator/keys/ticket_authority.h"
#include "server/curator/spool/batch_spool.h"
#include "server/curator/spool/spool_room.h"
#include "server/curator/studies/catalog.h"
#include "server/curator/studies/models_with_lost_reports.h"
#include "server/curator/studies/study_calls.h"
#include "server/curator/studies/study_model.h"
#include "server/store/models/models.h"
#include "server/store/store.h"

namespace coppice::curator {

struct StudiesLimits {
  size_t queued_bytes = size_t{64} << 20;  // of reports waiting to be committed
  uint64_t reports_per_second = 0;         // per study, at least 1000; 0: no limit
  // Whether replies go out while the next reports are made durable. If not, one follows the other,
  // which a simulation needs to be repeatable.
  bool answer_beside_commits = true;
  SpoolLimits spool{};
};

// Answers StudyCalls (study_calls.h says what each call does) from a Store, and does what time
// brings. It leads each call through the catalog of studies, the intake that counts their reports,
// the spool of their relays' batches, and the keys that tickets and manifests are made with.
//
// Guarantee  As StudyCalls. A change of a study's life is durable before anybody hears of it.
// Errors     As StudyCalls.
// Threads    Safe to share. Whatever makes, removes or builds takes change_mutex_; whatever changes
//            one study's sums or life runs on the intake's committer, which takes no mutex of
//            this class. Take change_mutex_ first, then StudyBatches::receiving(), then wait for
//            the committer.
class Studies final : public StudyCalls {
 public:
  // Loads what `store` holds. DataLoss if a record does not parse or add up. `models` receives
  // built models, is signed from now on by this curator's key, and must outlive the studies. A
  // changed key signs the stored models anew, so load `models` after this. `clock` returns seconds
  // since 1970; it dates records and decides when a study's time is over.
  static StatusOr<std::unique_ptr<Studies>> Open(storage::Store& store, models::Models& models,
                                                 std::function<int64_t()> clock,
                                                 const SigningKeys& signing_keys = {},
                                                 const StudiesLimits& limits = {});

  using StudyCalls::Create;
  StatusOr<StudyInfo> Create(const StudySpec& spec, const CancelCheck& cancel) override;
  bool WasCreated(const StudySpec& spec) const override;
  std::optional<StudyInfo> FindInfo(std::string_view id) const override;
  using StudyCalls::Get;
  StatusOr<StudyInfo> Get(std::string_view id, Viewer viewer) override;
  StatusOr<ReportSteps> ReportsOverTime(std::string_view id) const override;
  std::vector<StudyInfo> List(const Page& page) const override;
  std::optional<std::string> OwnerOf(std::string_view id) const override;
  StatusOr<StudyInfo> Seal(std::string_view id) override;
  Status Delete(std::string_view id) override;
  StatusOr<StudyInfo> RotateSealingKey(std::string_view id, const SealingKeyName& current) override;
  StatusOr<uint64_t> AddJoinRows(std::string_view id, absl::Span<const JoinRow> rows) override;
  using StudyCalls::MakeOffer;
  StatusOr<Offer> MakeOffer(std::string_view id, uint32_t count,
                            absl::Span<const std::string> submission_tokens) override;
  CuratorKeys SigningKeysInUse() const override;
  StatusOr<KeyProof> ProveKeys(std::string_view challenge) const override;
  StatusOr<Notice> GetNotice(std::string_view id) override;
  StatusOr<std::vector<std::string>> IssueSubmissionTokens(uint32_t count) override;
  StatusOr<seal::OpenedRequest> OpenMessage(std::string_view key_id, std::string_view encapsulated,
                                            std::string_view ciphertext) override;
  void Submit(std::string_view id, std::string_view fingerprint_bytes, ReportBatch reports,
              SubmitDone done) override;
  StatusOr<BatchProgress> DeliverBatch(std::string_view id, const BatchPart& part) override;
  using StudyCalls::BuildModel;
  StatusOr<models::ModelInfo> BuildModel(std::string_view study_id, std::string_view model_id,
                                         const EstimatorOptions& asked,
                                         const CancelCheck& cancel) override;
  using StudyCalls::GetCounts;
  StatusOr<StudyCounts> GetCounts(std::string_view id, const CountsRequest& request,
                                  Viewer viewer) override;
  StatusOr<PublicSide> GetPublicSide(std::string_view id) override;
  uint64_t ReportsOfNoStudy() const override;
  size_t QueuedBytes() const override;
  uint64_t SpoolBytes() const override;

  // Does what is due by the clock: seals studies whose time is over, retires those whose retention
  // is over, writes the rejections since the last sweep, and looks for alarms. Call it about every
  // second. Returns the first error; the next sweep retries what failed.
  //
  // It looks at a study's sums when its reports have grown by half since the last look, and once
  // more when they are final. That makes about fifty looks for a billion reports, and each is
  // equally likely to raise a false alarm.
  Status Sweep();

  // Checks that counts kept in different places agree (reconcile.h). Internal names the study and
  // the numbers that differ. Waits for a turn between two groups of reports.
  Status Reconcile();

  // Rejects new reports with Unavailable and waits for the queued ones. Idempotent.
  void Drain();

 private:
  Studies(storage::Store& store, models::Models& models, std::function<int64_t()> clock,
          TicketAuthority authority, std::unique_ptr<ManifestAuthority> manifests,
          std::unique_ptr<DirectKeys> direct_keys, const StudiesLimits& limits);
  Status Load();

  // Tells devices of a deleted study so: an id that was never used may be another curator's.
  SubmitDone CountUnknown(bool was_deleted, SubmitDone done);
  // Each message brings a report at least, so there need not be more of them than the limits of all
  // studies together allow reports.
  Status CheckMayOpen();
  // The manifest of the study as it is now; of one without a relay with the current direct key.
  Manifest ManifestOf(const Study& study) const;
  Status CheckTakesNow(const Study& study, size_t reports);
  // Seals a study whose time is over durably before anyone hears of it, so that setting the clock
  // back cannot reopen it.
  Status SealIfOver(Study& study);
  Status SealAs(Study& study, absl::FunctionRef<StudyLife()> next);
  // Runs on the committer. Writes nothing if the study has been deleted.
  Status StoreLife(Study& study, const StudyLife& next, storage::StoreBatch batch = {});
  // Skipped while a model is being built from these records; the next sweep retries.
  Status RetireUnlessBusy(Study& study);
  Status Retire(Study& study) ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_mutex_);
  Status Erase(Study& study);
  StatusOr<std::string> ChooseId(const StudySpec& spec) const;
  StatusOr<PublicBasis> BasisFor(const Study& study, const Table& public_rows,
                                 const EstimatorOptions& options, const CancelCheck& cancel);
  StatusOr<models::ModelInfo> MakeModel(Study& study, const std::string& wanted,
                                        const EstimatorOptions& options, const CancelCheck& cancel);

  storage::Store& store_;
  models::Models& models_;
  const std::function<int64_t()> clock_;
  const TicketAuthority authority_;
  const std::unique_ptr<ManifestAuthority> manifests_;
  const std::unique_ptr<DirectKeys> direct_keys_;
  const uint64_t reports_per_second_;  // 0: no limit
  RateLimiter report_limiter_;
  Catalog catalog_;
  // As loaded at the start, which stays right because ids of studies are never reused.
  ModelsWithLostReports lost_reports_;
  StudyCache<PooledBasis> bases_;
  StudyCache<SmoothEstimator> smooth_;
  // Held across Create(), Seal(), RotateSealingKey(), Delete() and BuildModel(), so that taking a
  // name and adding or removing a study's data is one step. The committer never takes it.
  Mutex change_mutex_;
  // Held across AddJoinRows(), so that what it read from the store still holds when it writes.
  Mutex join_mutex_;
  std::atomic<uint64_t> of_no_study_{0};
  Intake intake_;
  BatchSpool spool_;  // last: its threads end before what they use
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_STUDIES_STUDIES_H_
