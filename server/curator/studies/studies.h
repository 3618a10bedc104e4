// The studies of one curator: their life cycle, their reports and their models, on a Store.
//
// States     open (takes reports) -> sealed (takes none) -> built (its final model, one that was
//            built after sealing, is there). One way. A study seals itself when its time is over,
//            and stays sealed if the clock is set back afterwards. Deleting removes everything of a
//            study, its spent tickets and models too, and its id is never used again.
// Retention  of days after sealing, if it has one: then sums, public rows and spent tickets are
//            deleted. What keeps a report from counting twice, the state, stays, as do the models.
// Guarantee  a report is answered "accepted" only when its ticket and the new sums are on disk, in
//            one atomic batch; a ticket that was spent is answered "duplicate" and changes
//            nothing. Many reports share one batch (group commit).
// Counts     received = accepted + duplicate + rejected by reason + failed + under way, where
//            received is counted where reports are taken in, and the others where they are
//            answered. Accepted and duplicate are kept with the sums; rejections are written beside
//            the next of these, at Sweep() and Drain(), so that a crash may forget rejections and
//            nothing else. Failed: their call failed as a whole, since the process started.
// Alarms     Sweep() looks at a study's sums when its reports have grown by half since the last
//            look, and once more when it is sealed: so a study of a billion reports is looked at
//            some fifty times, and no look is more likely to raise a false alarm than another.
// Errors     NotFound, AlreadyExists, FailedPrecondition, InvalidArgument as stated; what the Store
//            returns otherwise.
// Threads    safe to share.

#ifndef COPPICE_SERVER_CURATOR_STUDIES_STUDIES_H_
#define COPPICE_SERVER_CURATOR_STUDIES_STUDIES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/base/cancel_check.h"
#include "common/base/page.h"
#include "common/study/terms.h"
#include "common/wire/packed_forest.h"
#include "server/curator/estimation/estimator.h"
#include "server/curator/intake/report_batch.h"
#include "server/curator/keys/manifest_authority.h"
#include "server/curator/study/study_info.h"
#include "server/models/models.h"
#include "server/storage/store.h"

namespace coppice::curator {

struct StudiesLimits {
  size_t queued_bytes = size_t{64} << 20;  // of reports that wait to be committed
  uint64_t reports_per_second = 0;         // of one study, at least 1000; 0: no limit
  // Answers go out while the next reports are made durable. Without, one thing follows the other,
  // as a simulation wants it that is to run the same way again.
  bool answer_beside_commits = true;
};

class Studies {
 public:
  // Loads what `store` holds. DataLoss if a record does not parse or add up. `models` take
  // what is built, and must outlive the studies. `clock` returns seconds since 1970: it dates
  // records, and says when a study's time is over.
  static absl::StatusOr<std::unique_ptr<Studies>> Open(storage::Store& store,
                                                       models::Models& models,
                                                       std::function<int64_t()> clock,
                                                       const SigningKeys& signing_keys = {},
                                                       const StudiesLimits& limits = {});
  virtual ~Studies() = default;

  // Nothing is created if `cancel` stops it, which it asks while the partition grows.
  virtual absl::StatusOr<StudyInfo> Create(const StudySpec& spec, const CancelCheck& cancel) = 0;
  absl::StatusOr<StudyInfo> Create(const StudySpec& spec) { return Create(spec, CancelCheck()); }
  // With its alarms, so at the cost of an estimate. None below the study's minimum of reports: they
  // tell of the mean label, as a model would.
  virtual absl::StatusOr<StudyInfo> Get(absl::string_view id) const = 0;
  virtual std::vector<StudyInfo> List(const Page& page) const = 0;
  virtual absl::StatusOr<StudyInfo> Seal(absl::string_view id) = 0;
  // FailedPrecondition while an endpoint serves a model of it (models.h).
  virtual absl::Status Delete(absl::string_view id) = 0;

  // What devices need: the terms and the trees as bytes, and `count` fresh tickets (1 to
  // kMaxTicketsPerOffer). FailedPrecondition once the study is sealed. Where the study asks for
  // submission tokens, the tickets are theirs, one each and always the same (ticket_authority.h):
  // InvalidArgument if there are not `count`, or some where none are asked for; else as IssueFor().
  struct Offered {
    std::shared_ptr<const std::string> terms_bytes;
    Fingerprint fingerprint{};
    std::shared_ptr<const PackedForest> forest;
    std::vector<Ticket> tickets;
    std::shared_ptr<const SignedManifest> manifest{};
  };
  static constexpr uint32_t kMaxTicketsPerOffer = 1000;
  virtual absl::StatusOr<Offered> MakeOffer(
      absl::string_view id, uint32_t count,
      absl::Span<const std::string> submission_tokens) const = 0;
  absl::StatusOr<Offered> MakeOffer(absl::string_view id, uint32_t count) const {
    return MakeOffer(id, count, {});
  }

  // 1 to kMaxTokensPerCall fresh submission tokens, for every study that asks for some.
  static constexpr uint32_t kMaxTokensPerCall = 10'000;
  virtual absl::StatusOr<std::vector<std::string>> IssueSubmissionTokens(uint32_t count) const = 0;

  // What signs the manifests.
  virtual CuratorKeys SigningKeysInUse() const = 0;
  // Its signature of a challenge, under kCuratorDomain.
  virtual absl::StatusOr<Signature> ProveKey(absl::string_view challenge) const = 0;

  // Judges each report by itself and calls `done` once, with one outcome a report in the same
  // order, after everything accepted is durable: on another thread, or on whichever is in Submit()
  // just then. So whoever submits holds no lock that a `done` takes. Batches of one study are
  // counted in the order they were submitted. An error (the store failed) means that nothing is
  // known to be counted: the caller retries the same bytes. ResourceExhausted if too much is
  // queued, or too many come in a second.
  virtual void Submit(absl::string_view id, absl::string_view fingerprint_bytes,
                      ReportBatch reports, SubmitDone done) = 0;

  // Building is post-processing and may be repeated, also while the study is open. The first model
  // of a sealed study is its final one, and stored in one step with that. FailedPrecondition below
  // the study's minimum of reports. Nothing is built if `cancel` stops it.
  virtual absl::StatusOr<models::ModelInfo> BuildModel(absl::string_view study,
                                                       absl::string_view model_id,
                                                       const EstimatorOptions& options,
                                                       const CancelCheck& cancel) = 0;
  absl::StatusOr<models::ModelInfo> BuildModel(absl::string_view study, absl::string_view model_id,
                                               const EstimatorOptions& options) {
    return BuildModel(study, model_id, options, CancelCheck());
  }

  // Does what time alone brings about: seals studies whose time is over, retires those whose
  // retention is, writes the rejections that were counted since the last time, and looks for
  // alarms. To be called every second or so. The first error; what failed is tried again the next
  // time.
  virtual absl::Status Sweep() = 0;

  // Whether what was counted at different places agrees. Internal names the study and the numbers
  // that do not. Waits for a turn between two groups of reports.
  virtual absl::Status Reconcile() const = 0;

  // Reports that were answered "unknown study", since the process started. Of a study that was
  // deleted while they waited they are not: those were the study's.
  virtual uint64_t ReportsOfNoStudy() const = 0;

  // Memory of the reports that are queued or being stored.
  virtual size_t QueuedBytes() const = 0;

  // Refuses new reports with Unavailable and waits until what is queued is done. Idempotent.
  virtual void Drain() = 0;
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_STUDIES_STUDIES_H_
