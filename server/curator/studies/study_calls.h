// What services and metrics ask of a curator's studies. Studies (studies.h) answers; tests put a
// fake in its place.

#ifndef COPPICE_SERVER_CURATOR_STUDIES_STUDY_CALLS_H_
#define COPPICE_SERVER_CURATOR_STUDIES_STUDY_CALLS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "common/base/cancel_check.h"
#include "common/base/page.h"
#include "common/base/status.h"
#include "common/encrypt/direct_message.h"
#include "common/terms/terms.h"
#include "common/wire/proto/packed_forest.h"
#include "server/curator/estimation/counts/estimator.h"
#include "server/curator/estimation/inspection/break_down.h"
#include "server/curator/intake/report_batch.h"
#include "server/curator/keys/manifest_authority.h"
#include "server/curator/spool/batch_receiver.h"
#include "server/curator/study/report_history.h"
#include "server/curator/study/study_info.h"
#include "server/store/models/models.h"

namespace coppice::curator {

// Who is about to see something. The operator runs the curator and has its store; anybody else may
// be a reader of models, to whom their certificates promise something (Certificate.readers). That
// promise rests on nobody having seen what follows from the sums before they were final.
enum class Viewer : uint8_t { kReader, kOperator };

// Selects the counts to break down (break_down.h).
struct CountsRequest {
  uint32_t tree = 0;
  NodeChoice choice{};
  double confidence = kDefaultConfidence;
};

struct StudyCounts {
  std::shared_ptr<const Terms> terms;
  std::shared_ptr<const Forest> forest;
  bool margins_only = false;  // LocalMechanism::margins_only()
  uint64_t reports = 0;       // accepted
  uint64_t tree_reports = 0;  // of these, in the selected tree
  BreakDown break_down{};
};

// The public part of a study that its forecast rests on.
struct PublicSide {
  std::shared_ptr<const Terms> terms;
  PartitionOptions partition;
  std::shared_ptr<const Forest> forest;  // the forest that models are estimated on
  std::shared_ptr<const Table> rows;
  std::optional<RelaySettings> relay{};
};

// The studies of one curator: their life cycle, their reports and their models, on a Store.
//
// A study moves one way: open (takes reports), sealed (takes none), built (its final model, built
// after sealing, exists). It seals itself when its time is over and stays sealed if the clock is
// set back. If it has a retention, its sums, public rows, joined rows and spent tickets are deleted
// that many days after sealing; its models stay, and so does its state, which keeps a report from
// counting twice. Deleting a study removes everything, including spent tickets and models, and its
// id is never used again.
//
// A study that is joined by ids takes the features of each id from the operator and a label from
// its device; it counts one report per id.
//
// received = accepted + duplicate + rejected by reason + failed + under way. Received is counted at
// intake, the others when reports are answered. Accepted and duplicate are stored with the sums;
// rejections with the next of these, at Sweep() and at Drain(), so a crash can lose rejections and
// nothing else. Failed counts reports of calls that failed as a whole since the process started.
//
// A study belongs to the policy entry that made it. The callers decide who may see it
// (server/serving/calls/resource_guard.h). Request ids are separate for each owner.
//
// What follows from the sums of a study before they are final (a model, counts, alarms) ends the
// promise to readers of its later models. A model, and counts for a reader, are noted in the study
// before they are shown, for good; alarms are shown to the operator alone until the sums are final.
//
// Guarantee  A report is answered "accepted" only when its ticket and the new sums are on disk, in
//            one atomic batch; a report with a spent ticket is answered "duplicate" and changes
//            nothing. Many reports share one batch (group commit).
// Errors     NotFound, AlreadyExists, FailedPrecondition, InvalidArgument as stated; otherwise what
//            the Store returns.
// Threads    safe to share.
class StudyCalls {
 public:
  virtual ~StudyCalls() = default;

  // Calls `cancel` while the partition grows, and creates nothing if that stops it.
  // ResourceExhausted if the owner has as many studies as allowed.
  virtual StatusOr<StudyInfo> Create(const StudySpec& spec, const CancelCheck& cancel) = 0;
  StatusOr<StudyInfo> Create(const StudySpec& spec) { return Create(spec, CancelCheck()); }
  // Whether the request made a study before, so that Create() would make none.
  virtual bool WasCreated(const StudySpec& spec) const = 0;
  // The study as List() shows it; none if there is no such study.
  virtual std::optional<StudyInfo> FindInfo(std::string_view id) const = 0;
  // Includes the alarms, and so costs as much as an estimate. Leaves them out below the study's
  // minimum of reports, since they tell of the mean label as a model would, while sealed reports of
  // a sealed study wait, and for a reader while the study is open. Seals a study whose time is
  // over.
  virtual StatusOr<StudyInfo> Get(std::string_view id, Viewer viewer) = 0;
  StatusOr<StudyInfo> Get(std::string_view id) { return Get(id, Viewer::kOperator); }
  // The study's reports over time, since it was loaded or made. Costs no estimate.
  virtual StatusOr<ReportSteps> ReportsOverTime(std::string_view id) const = 0;
  virtual std::vector<StudyInfo> List(const Page& page) const = 0;
  // Nothing if there is no such study.
  virtual std::optional<std::string> OwnerOf(std::string_view id) const = 0;
  virtual StatusOr<StudyInfo> Seal(std::string_view id) = 0;
  // FailedPrecondition while an endpoint serves a model of the study (models.h).
  virtual Status Delete(std::string_view id) = 0;

  // Gives an open relayed study its next sealing key, which later manifests name. Repeating the
  // call gives no further key (study_sealing.h).
  virtual StatusOr<StudyInfo> RotateSealingKey(std::string_view id,
                                               const SealingKeyName& current) = 0;

  // Adds features of ids to an open study that is joined by ids (StudySpec::joined_by), all of the
  // call or none, and returns how many ids it has. Skips ids that are there with the same features,
  // so a call may be repeated. FailedPrecondition if the study is sealed or not joined by ids;
  // InvalidArgument as CheckJoinRows(), and for an id that already has other features
  // (join_rows.h).
  virtual StatusOr<uint64_t> AddJoinRows(std::string_view id, absl::Span<const JoinRow> rows) = 0;

  // What a device needs: the terms and the trees as bytes, and tickets.
  struct Offer {
    std::shared_ptr<const std::string> terms_bytes;
    Fingerprint fingerprint{};
    std::shared_ptr<const PackedForest> forest;
    std::vector<Ticket> tickets;
    std::shared_ptr<const SignedManifest> manifest{};
    bool relayed = false;  // the tickets are only for the study's relay
    std::string owner{};   // of the study
  };
  static constexpr uint32_t kMaxTicketsPerOffer = 1000;
  // Issues `count` fresh tickets, 1 to kMaxTicketsPerOffer. If the study requires submission
  // tokens, each token gives its one, unchanging ticket instead (ticket_authority.h).
  // FailedPrecondition if the study is sealed, which this does if its time is over, and before the
  // first AddJoinRows() of a study that is joined by ids. InvalidArgument unless there are `count`
  // tokens, or none if the study requires none; else as IssueFor().
  virtual StatusOr<Offer> MakeOffer(std::string_view id, uint32_t count,
                                    absl::Span<const std::string> submission_tokens) = 0;
  StatusOr<Offer> MakeOffer(std::string_view id, uint32_t count) {
    return MakeOffer(id, count, {});
  }

  // Issues `count` fresh submission tokens, 1 to kMaxTokensPerCall, valid for every study that
  // requires them.
  static constexpr uint32_t kMaxTokensPerCall = 10'000;
  virtual StatusOr<std::vector<std::string>> IssueSubmissionTokens(uint32_t count) = 0;

  // The keys that sign the manifests.
  virtual CuratorKeys SigningKeysInUse() const = 0;
  // The direct key that devices seal reports for, with the signature (ProvenBytes()) that proves it
  // to the party that drew `challenge`; an empty one gets none.
  struct KeyProof {
    DirectKey direct;
    std::optional<Signature> signature{};
  };
  virtual StatusOr<KeyProof> ProveKeys(std::string_view challenge) const = 0;

  // What the curator still says about a study: the manifest while there is a study, and once it
  // takes no more reports, or is deleted, a statement of that. NotFound if it never was.
  struct Notice {
    std::shared_ptr<const SignedManifest> manifest{};
    std::optional<SignedClosing> closing{};
  };
  virtual StatusOr<Notice> GetNotice(std::string_view id) = 0;

  // Opens a message that a device sealed for a direct key (direct_keys.h). ResourceExhausted if
  // more messages come per second than could bring a report each that the studies take. Costs as
  // much as some hundred reports: not for a transport's own thread.
  virtual StatusOr<seal::OpenedRequest> OpenMessage(std::string_view key_id,
                                                    std::string_view encapsulated,
                                                    std::string_view ciphertext) = 0;

  // Judges each report separately and calls `done` once, with one outcome per report in the same
  // order, after everything accepted is durable. `done` runs on another thread or on any thread
  // inside Submit(), so the caller must hold no lock that a `done` takes. The batches of a study
  // are counted in the order of submission. After an error (the store failed) none may be assumed
  // counted, and the caller retries the same bytes. ResourceExhausted if too much is queued or too
  // many reports come per second. FailedPrecondition for a study that takes reports only from its
  // relay. InvalidArgument for reports whose message is not as long as those of the study's devices
  // are: by its length it could be told apart.
  virtual void Submit(std::string_view id, std::string_view fingerprint_bytes, ReportBatch reports,
                      SubmitDone done) = 0;

  // Stores the next part of a batch of the study's relay (batch_receiver.h). A complete batch is
  // opened and counted in the background, even after the study is sealed.
  virtual StatusOr<BatchProgress> DeliverBatch(std::string_view id, const BatchPart& part) = 0;

  // Builds a model. That is post-processing: it may be repeated, and while the study is open too.
  // The first model of all reports of a sealed study is its final one; the model and that fact are
  // stored in one step. FailedPrecondition while sealed reports of a sealed study wait, and below
  // the study's minimum of reports (of those with the value that `options` may name). Builds
  // nothing if `cancel` stops it.
  virtual StatusOr<models::ModelInfo> BuildModel(std::string_view study, std::string_view model_id,
                                                 const EstimatorOptions& options,
                                                 const CancelCheck& cancel) = 0;
  StatusOr<models::ModelInfo> BuildModel(std::string_view study, std::string_view model_id,
                                         const EstimatorOptions& options) {
    return BuildModel(study, model_id, options, CancelCheck());
  }

  // Breaks the reports of one tree down by its nodes. Like a model it is post-processing and may be
  // repeated. FailedPrecondition as BuildModel() while sealed reports wait, below the study's
  // minimum of reports, after its sums were deleted, and while no report has answered in the tree.
  // InvalidArgument for a tree that does not exist, and as BreakDownTree(). While the study is
  // open, counts for a reader end the promise to readers of its models.
  virtual StatusOr<StudyCounts> GetCounts(std::string_view id, const CountsRequest& request,
                                          Viewer viewer) = 0;
  StatusOr<StudyCounts> GetCounts(std::string_view id, const CountsRequest& request) {
    return GetCounts(id, request, Viewer::kOperator);
  }

  // FailedPrecondition if the study has no public rows: it was made from its schema alone, or its
  // retention is over.
  virtual StatusOr<PublicSide> GetPublicSide(std::string_view id) = 0;

  // The number of reports since the process started that named no study. Excludes reports of a
  // study that was deleted while they waited.
  virtual uint64_t ReportsOfNoStudy() const = 0;

  // The memory of queued reports and of those being stored.
  virtual size_t QueuedBytes() const = 0;
  // The bytes that relays' batches take of StudiesLimits::spool.
  virtual uint64_t SpoolBytes() const = 0;
};

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_STUDIES_STUDY_CALLS_H_
