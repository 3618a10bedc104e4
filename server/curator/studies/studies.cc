#include "server/curator/studies/studies.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "common/base/mutex.h"
#include "common/base/rate_limiter.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/encrypt/direct_message.h"
#include "common/wire/proto/convert.h"
#include "server/curator/estimation/pooled/pooled_basis.h"
#include "server/curator/intake/intake.h"
#include "server/curator/intake/submission.h"
#include "server/curator/keys/direct_keys.h"
#include "server/curator/keys/erasure.h"
#include "server/curator/keys/sealing_keys.h"
#include "server/curator/keys/store_keys.h"
#include "server/curator/keys/ticket_authority.h"
#include "server/curator/spool/batch_spool.h"
#include "server/curator/studies/catalog.h"
#include "server/curator/studies/models_with_lost_reports.h"
#include "server/curator/studies/reconcile.h"
#include "server/curator/studies/study_model.h"
#include "server/curator/studies/study_request.h"
#include "server/curator/study/join_rows.h"
#include "server/curator/study/study_life.h"
#include "server/curator/study/study_record.h"
#include "server/curator/study/study_sealing.h"
#include "server/curator/study/study_settings.h"
#include "server/store/models/ids.h"
#include "server/store/store_format.h"

namespace coppice::curator {
namespace {

// The limiter's bucket that all studies share. No study has this id.
constexpr std::string_view kAllStudies = "";

// Refuses reports in a message of another length than a device of this study sends with as many: it
// could be told apart on the way. Reports of other terms are stale, and were padded by those.
Status CheckPadding(const Study& study, std::string_view fingerprint_bytes,
                    const ReportBatch& reports) {
  const Fingerprint& ours = study.definition().fingerprint;
  const bool is_stale = fingerprint_bytes != AsBytes(ours);
  if (is_stale || !reports.message_bytes().has_value()) return OkStatus();
  const auto report_bytes = static_cast<uint32_t>(ReportBytesOf(study.definition()));
  const uint64_t padded = seal::DirectPlaintextBytes(study.id(), report_bytes, reports.size());
  if (*reports.message_bytes() == padded) return OkStatus();
  return InvalidArgumentError(StrCat("a message of ", reports.size(), " reports of study ",
                                     study.id(), " is padded to ", padded, " bytes, and has ",
                                     *reports.message_bytes()));
}

}  // namespace

Studies::Studies(storage::Store& store, models::Models& models, std::function<int64_t()> clock,
                 TicketAuthority authority, std::unique_ptr<ManifestAuthority> manifests,
                 std::unique_ptr<DirectKeys> direct_keys, const StudiesLimits& limits)
    : store_(store),
      models_(models),
      clock_(std::move(clock)),
      authority_(std::move(authority)),
      manifests_(std::move(manifests)),
      direct_keys_(std::move(direct_keys)),
      reports_per_second_(limits.reports_per_second),
      report_limiter_({.rate = static_cast<double>(limits.reports_per_second),
                       .burst = static_cast<double>(limits.reports_per_second)},
                      [this] { return absl::FromUnixSeconds(clock_()); }),
      intake_(store, {.queued_bytes = limits.queued_bytes,
                      .answer_beside_commits = limits.answer_beside_commits}),
      spool_(store, intake_, authority_, limits.spool, [this] { return catalog_.All(); }) {}

StatusOr<std::unique_ptr<Studies>> Studies::Open(storage::Store& store, models::Models& models,
                                                 std::function<int64_t()> clock,
                                                 const SigningKeys& signing_keys,
                                                 const StudiesLimits& limits) {
  COPPICE_RETURN_IF_ERROR(storage::OpenFormat(store));
  COPPICE_ASSIGN_OR_RETURN(TicketAuthority authority, TicketAuthority::Open(store));
  const auto sign_anew = std::bind_front(models::Models::SignAnew, std::ref(store));
  COPPICE_ASSIGN_OR_RETURN(std::unique_ptr<ManifestAuthority> manifests,
                           ManifestAuthority::Open(store, signing_keys, clock(), sign_anew));
  COPPICE_ASSIGN_OR_RETURN(std::unique_ptr<DirectKeys> direct_keys,
                           DirectKeys::Open(store, clock()));
  models.SignWith(manifests->SignerOfModels());
  std::unique_ptr<Studies> studies(new Studies(store, models, std::move(clock),
                                               std::move(authority), std::move(manifests),
                                               std::move(direct_keys), limits));
  COPPICE_RETURN_IF_ERROR(studies->Load());
  return studies;
}

Status Studies::Load() {
  COPPICE_RETURN_IF_ERROR(catalog_.Load(store_));
  spool_.Resume(catalog_.All());
  return lost_reports_.Load(store_);
}

StatusOr<StudyInfo> Studies::Create(const StudySpec& spec, const CancelCheck& cancel) {
  COPPICE_RETURN_IF_ERROR(ValidateRequest(spec));
  const std::string hash = HashRequest(spec);
  const MutexLock lock(change_mutex_);
  COPPICE_RETURN_IF_ERROR(cancel());  // the wait for the lock may have been long
  const StudyOrigin origin{.owner = spec.owner, .request_id = spec.request_id};
  COPPICE_ASSIGN_OR_RETURN(std::shared_ptr<Study> study, catalog_.MadeBy(origin, hash));
  if (study != nullptr) return study->Info();
  COPPICE_RETURN_IF_ERROR(catalog_.CheckQuota(spec.owner, spec.most_owned));
  COPPICE_RETURN_IF_ERROR(CheckSettings(spec.settings, clock_()));
  COPPICE_RETURN_IF_ERROR(CheckAnotherParty(spec.settings, manifests_->keys().key));
  COPPICE_ASSIGN_OR_RETURN(const std::string id, ChooseId(spec));
  COPPICE_ASSIGN_OR_RETURN(StudyDefinition definition,
                           MakeStudyDefinition(spec, id, clock_(), cancel));
  StudyProgress progress = NoProgress(definition);
  storage::StoreBatch batch = FirstRecordsOf(definition, progress, *spec.public_rows);
  study = std::make_shared<Study>(std::move(definition), std::move(progress));
  COPPICE_RETURN_IF_ERROR(AddFirstSealingKey(*study, clock_(), batch));
  COPPICE_RETURN_IF_ERROR(store_.Apply(batch));
  catalog_.Add(study);
  return study->Info();
}

bool Studies::WasCreated(const StudySpec& spec) const {
  return catalog_.HasRequest({.owner = spec.owner, .request_id = spec.request_id});
}

std::optional<StudyInfo> Studies::FindInfo(std::string_view id) const {
  const std::shared_ptr<Study> study = catalog_.Find(id);
  if (study == nullptr) return std::nullopt;
  return study->Info();
}

StatusOr<StudyInfo> Studies::Get(std::string_view id, Viewer viewer) {
  COPPICE_ASSIGN_OR_RETURN(const std::shared_ptr<Study> study, catalog_.Get(id));
  COPPICE_RETURN_IF_ERROR(SealIfOver(*study));
  // Read before the outcomes: if no report of the batches waits, the outcomes include all.
  BatchSummary batches = study->batches().Summary(kNewestBatches);
  StudyInfo info = study->Info();
  const bool shows_alarms =
      viewer == Viewer::kOperator ? study->CheckNoneWaits().ok() : study->SumsAreFinal();
  if (shows_alarms) info.alarms = study->sums().Alarms();
  if (info.relay) info.relay->batches = std::move(batches);
  return info;
}

StatusOr<ReportSteps> Studies::ReportsOverTime(std::string_view id) const {
  COPPICE_ASSIGN_OR_RETURN(const std::shared_ptr<Study> study, catalog_.Get(id));
  return study->sums().ReportsOverTime(clock_());
}

std::vector<StudyInfo> Studies::List(const Page& page) const { return catalog_.List(page); }

std::optional<std::string> Studies::OwnerOf(std::string_view id) const {
  const std::shared_ptr<Study> study = catalog_.Find(id);
  if (study == nullptr) return std::nullopt;
  return study->definition().owner;
}

StatusOr<StudyInfo> Studies::Seal(std::string_view id) {
  const MutexLock lock(change_mutex_);
  COPPICE_ASSIGN_OR_RETURN(const std::shared_ptr<Study> study, catalog_.Get(id));
  COPPICE_RETURN_IF_ERROR(SealIfOver(*study));
  if (study->life().Admission() == ReportOutcome::kAccepted) {
    COPPICE_RETURN_IF_ERROR(SealAs(*study, [&] { return Sealed(study->life().Get(), clock_()); }));
  }
  return study->Info();
}

Status Studies::Delete(std::string_view id) {
  const MutexLock lock(change_mutex_);
  COPPICE_ASSIGN_OR_RETURN(const std::shared_ptr<Study> study, catalog_.Get(id));
  COPPICE_ASSIGN_OR_RETURN(const models::ModelClaim removal,
                           models_.ClaimRemovalOf(MakeName(kStudies, study->id())));
  return spool_.Delete(*study, [&] { return Erase(*study); });
}

StatusOr<StudyInfo> Studies::RotateSealingKey(std::string_view id, const SealingKeyName& current) {
  const MutexLock lock(change_mutex_);
  COPPICE_ASSIGN_OR_RETURN(const std::shared_ptr<Study> study, catalog_.Get(id));
  COPPICE_RETURN_IF_ERROR(SealIfOver(*study));
  COPPICE_RETURN_IF_ERROR(intake_.RunOnCommitter(
      [&] { return curator::RotateSealingKey(store_, *study, current, clock_()); }));
  return study->Info();
}

StatusOr<uint64_t> Studies::AddJoinRows(std::string_view id, absl::Span<const JoinRow> rows) {
  COPPICE_ASSIGN_OR_RETURN(const std::shared_ptr<Study> study, catalog_.Get(id));
  COPPICE_RETURN_IF_ERROR(CheckJoinRows(study->definition(), rows));
  COPPICE_RETURN_IF_ERROR(SealIfOver(*study));
  // Reads before its turn on the committer, so that reports wait only for the write.
  const MutexLock lock(join_mutex_);
  storage::StoreBatch batch;
  COPPICE_ASSIGN_OR_RETURN(const uint64_t count, PutJoinRows(store_, *study, rows, batch));
  COPPICE_RETURN_IF_ERROR(
      intake_.RunOnCommitter([&] { return StoreJoinRows(store_, *study, batch, count); }));
  return count;
}

StatusOr<StudyCalls::Offer> Studies::MakeOffer(std::string_view id, uint32_t count,
                                               absl::Span<const std::string> submission_tokens) {
  COPPICE_RETURN_IF_ERROR(CheckCount("tickets", count, kMaxTicketsPerOffer));
  COPPICE_ASSIGN_OR_RETURN(const std::shared_ptr<Study> study, catalog_.Get(id));
  COPPICE_RETURN_IF_ERROR(SealIfOver(*study));
  COPPICE_RETURN_IF_ERROR(study->CheckGivesTickets(count, submission_tokens.size()));
  const StudyDefinition& definition = study->definition();
  COPPICE_ASSIGN_OR_RETURN(std::vector<Ticket> tickets,
                           definition.settings.require_submission_token
                               ? authority_.IssueFor(definition.fingerprint, submission_tokens)
                               : authority_.Issue(definition.fingerprint, count));
  COPPICE_ASSIGN_OR_RETURN(std::shared_ptr<const SignedManifest> manifest,
                           manifests_->Sign(ManifestOf(*study)));
  return Offer{.terms_bytes = definition.terms_bytes,
               .fingerprint = definition.fingerprint,
               .forest = definition.packed_forest,
               .tickets = std::move(tickets),
               .manifest = std::move(manifest),
               .relayed = definition.settings.relay.has_value(),
               .owner = definition.owner};
}

CuratorKeys Studies::SigningKeysInUse() const { return manifests_->keys(); }

StatusOr<StudyCalls::KeyProof> Studies::ProveKeys(std::string_view challenge) const {
  KeyProof proof{.direct = direct_keys_->current()};
  if (challenge.empty()) return proof;
  COPPICE_ASSIGN_OR_RETURN(proof.signature, manifests_->Prove(challenge, proof.direct));
  return proof;
}

StatusOr<StudyCalls::Notice> Studies::GetNotice(std::string_view id) {
  const std::shared_ptr<Study> study = catalog_.Find(id);
  if (study == nullptr && !catalog_.WasDeleted(id)) return catalog_.Get(id).status();
  Notice notice;
  Closing closing{.study = std::string(id), .reason = ClosingReason::kDeleted};
  if (study != nullptr) {
    COPPICE_RETURN_IF_ERROR(SealIfOver(*study));
    COPPICE_ASSIGN_OR_RETURN(notice.manifest, manifests_->Sign(ManifestOf(*study)));
    if (study->life().Admission() == ReportOutcome::kAccepted) return notice;
    closing.reason = ClosingReason::kSealed;
  }
  COPPICE_ASSIGN_OR_RETURN(notice.closing, manifests_->Sign(std::move(closing)));
  return notice;
}

StatusOr<std::vector<std::string>> Studies::IssueSubmissionTokens(uint32_t count) {
  COPPICE_RETURN_IF_ERROR(CheckCount("count", count, kMaxTokensPerCall));
  return authority_.IssueTokens(count);
}

StatusOr<seal::OpenedRequest> Studies::OpenMessage(std::string_view key_id,
                                                   std::string_view encapsulated,
                                                   std::string_view ciphertext) {
  COPPICE_RETURN_IF_ERROR(CheckMayOpen());
  return direct_keys_->OpenMessage(key_id, encapsulated, ciphertext);
}

void Studies::Submit(std::string_view id, std::string_view fingerprint_bytes, ReportBatch reports,
                     SubmitDone done) {
  const int64_t now = clock_();
  std::shared_ptr<Study> study = catalog_.Find(id);
  if (study == nullptr) done = CountUnknown(catalog_.WasDeleted(id), std::move(done));
  Submission batch;
  if (study != nullptr) {
    batch.refused = CheckTakesNow(*study, reports.size());
    batch.refused.Update(CheckPadding(*study, fingerprint_bytes, reports));
  }
  if (batch.refused.ok()) {
    batch = JudgeReports(std::move(study), fingerprint_bytes, std::move(reports), authority_,
                         store_, now);
  }
  batch.done = std::move(done);
  intake_.Submit(std::move(batch));
}

StatusOr<BatchProgress> Studies::DeliverBatch(std::string_view id, const BatchPart& part) {
  COPPICE_ASSIGN_OR_RETURN(const std::shared_ptr<Study> study, catalog_.Get(id));
  COPPICE_RETURN_IF_ERROR(OfStore(SealIfOver(*study)));
  return spool_.Receive(study, part, clock_());
}

StatusOr<models::ModelInfo> Studies::BuildModel(std::string_view study_id,
                                                std::string_view model_id,
                                                const EstimatorOptions& asked,
                                                const CancelCheck& cancel) {
  COPPICE_ASSIGN_OR_RETURN(const std::shared_ptr<Study> study, catalog_.Get(study_id));
  COPPICE_ASSIGN_OR_RETURN(const EstimatorOptions options, OptionsFor(*study, asked));
  COPPICE_RETURN_IF_ERROR(models::CheckNewId("model_id", model_id));
  const MutexLock lock(change_mutex_);
  COPPICE_RETURN_IF_ERROR(cancel());
  const StatusOr<models::ModelSummary> existing = models_.Describe(model_id);
  if (existing.ok()) {
    COPPICE_RETURN_IF_ERROR(CheckSameModel(*existing, study_id, options));
    return models_.Get(model_id);
  }
  // The study may have been deleted while this call waited for the lock.
  if (study->life().Admission() == ReportOutcome::kUnknownStudy)
    return catalog_.Get(study_id).status();
  COPPICE_RETURN_IF_ERROR(SealIfOver(*study));
  COPPICE_RETURN_IF_ERROR(CheckGivesModel(*study));
  return MakeModel(*study, std::string(model_id), options, cancel);
}

StatusOr<StudyCounts> Studies::GetCounts(std::string_view id, const CountsRequest& request,
                                         Viewer viewer) {
  COPPICE_ASSIGN_OR_RETURN(const std::shared_ptr<Study> study, catalog_.Get(id));
  COPPICE_RETURN_IF_ERROR(SealIfOver(*study));
  COPPICE_RETURN_IF_ERROR(study->CheckNoneWaits());
  const bool is_early = viewer == Viewer::kReader && !study->SumsAreFinal();
  COPPICE_ASSIGN_OR_RETURN(StudyCounts counts, CountStudy(store_, *study, request));
  if (!is_early || study->life().Get().seen_early) return counts;
  // Noted once the request is known to be good, and read anew: a study sealed instead is final.
  COPPICE_RETURN_IF_ERROR(intake_.RunOnCommitter([&] {
    return study->SumsAreFinal() ? OkStatus() : StoreLife(*study, SeenEarly(study->life().Get()));
  }));
  COPPICE_RETURN_IF_ERROR(study->CheckNoneWaits());
  return CountStudy(store_, *study, request);
}

StatusOr<PublicSide> Studies::GetPublicSide(std::string_view id) {
  COPPICE_ASSIGN_OR_RETURN(const std::shared_ptr<Study> study, catalog_.Get(id));
  return LoadPublicSide(store_, *study);
}

Status Studies::Sweep() {
  Status status;
  for (const std::shared_ptr<Study>& study : catalog_.All()) {
    status.Update(SealIfOver(*study));
    study->sums().LookForAlarms(study->SumsAreFinal());
    status.Update(spool_.EraseKeysOnceCounted(*study));
    if (study->life().IsDueToRetire(clock_())) status.Update(RetireUnlessBusy(*study));
  }
  status.Update(intake_.RunOnCommitter([this] { return catalog_.StoreCounts(store_); }));
  status.Update(direct_keys_->Rotate(clock_()));
  status.Update(PurgeErased(store_));
  status.Update(spool_.TakeError());
  return status;
}

Status Studies::Reconcile() {
  COPPICE_RETURN_IF_ERROR(ReconcileModels(
      models_, lost_reports_, [this](const std::string& id) { return ReportsOf(catalog_, id); }));
  return intake_.RunOnCommitter([this] { return ReconcileStudies(store_, catalog_, intake_); });
}

uint64_t Studies::ReportsOfNoStudy() const { return of_no_study_.load(); }

size_t Studies::QueuedBytes() const { return intake_.QueuedBytes(); }

uint64_t Studies::SpoolBytes() const { return spool_.BytesTaken(); }

void Studies::Drain() {
  spool_.Stop();
  intake_.Drain();
  // A failure loses rejections only; nothing retries after this.
  intake_.RunOnCommitter([this] { return catalog_.StoreCounts(store_); }).IgnoreError();
}

SubmitDone Studies::CountUnknown(bool was_deleted, SubmitDone done) {
  return
      [this, was_deleted, done = std::move(done)](StatusOr<std::vector<ReportOutcome>> outcomes) {
        if (outcomes.ok()) of_no_study_ += outcomes->size();
        if (outcomes.ok() && was_deleted) {
          std::fill(outcomes->begin(), outcomes->end(), ReportOutcome::kStudyDeleted);
        }
        done(std::move(outcomes));
      };
}

Status Studies::CheckMayOpen() {
  const auto rate = static_cast<double>(reports_per_second_ * std::max<size_t>(1, catalog_.size()));
  if (reports_per_second_ == 0 ||
      report_limiter_.Take(kAllStudies, 1, {.rate = rate, .burst = rate}) <= absl::ZeroDuration()) {
    return OkStatus();
  }
  return ResourceExhaustedError(
      "more messages in a second than there may be reports of all studies");
}

Manifest Studies::ManifestOf(const Study& study) const {
  Manifest manifest = study.MakeManifest();
  if (manifest.sealing.has_value()) return manifest;
  manifest.direct =
      DirectSealing{.key = direct_keys_->current(),
                    .report_bytes = static_cast<uint32_t>(ReportBytesOf(study.definition()))};
  return manifest;
}

Status Studies::CheckTakesNow(const Study& study, size_t reports) {
  COPPICE_RETURN_IF_ERROR(CheckTakesDirectReports(study));
  if (reports_per_second_ == 0 ||
      report_limiter_.Take(study.id(), static_cast<double>(reports)) <= absl::ZeroDuration()) {
    return OkStatus();
  }
  return ResourceExhaustedError(
      StrCat("more than ", reports_per_second_, " reports of this study in a second"));
}

Status Studies::SealIfOver(Study& study) {
  if (study.life().Admission() != ReportOutcome::kAccepted || !study.life().IsOver(clock_())) {
    return OkStatus();
  }
  return SealAs(study, [&] { return study.life().OnceOver(); });
}

Status Studies::SealAs(Study& study, absl::FunctionRef<StudyLife()> next) {
  return spool_.Seal(
      study, [&](storage::StoreBatch batch) { return StoreLife(study, next(), std::move(batch)); });
}

Status Studies::StoreLife(Study& study, const StudyLife& next, storage::StoreBatch batch) {
  if (study.life().Admission() == ReportOutcome::kUnknownStudy)
    return catalog_.Get(study.id()).status();
  if (next != study.life().Get())
    batch.Put(StudyKey(study.id()), EncodeStudy(study.definition(), next));
  if (!batch.puts().empty()) COPPICE_RETURN_IF_ERROR(store_.Apply(batch));
  study.Advance(next);
  return OkStatus();
}

Status Studies::RetireUnlessBusy(Study& study) {
  if (!change_mutex_.TryLock()) return OkStatus();
  const Status retired = Retire(study);
  change_mutex_.Unlock();
  return retired;
}

Status Studies::Retire(Study& study) {
  COPPICE_RETURN_IF_ERROR(spool_.Retire(study, [&](storage::StoreBatch batch) {
    for (const std::string& prefix : PrefixesToRetire(study.id())) batch.DeletePrefix(prefix);
    if (MustBePurged(study)) NoteErased(study.id(), batch);
    return StoreLife(study, Retired(study.life().Get()), std::move(batch));
  }));
  bases_.Forget(study.id());
  smooth_.Forget(study.id());
  return OkStatus();
}

Status Studies::Erase(Study& study) {
  const std::string& id = study.id();
  COPPICE_RETURN_IF_ERROR(store_.Apply(RemovalOf(study, clock_())));
  study.life().MarkDeleted();
  catalog_.Remove(study);
  models_.RemoveOf(MakeName(kStudies, id));
  bases_.Forget(id);
  smooth_.Forget(id);
  manifests_->Forget(id);
  return OkStatus();
}

StatusOr<std::string> Studies::ChooseId(const StudySpec& spec) const {
  if (!spec.id.empty()) COPPICE_RETURN_IF_ERROR(catalog_.CheckUnused(spec.id));
  return models::IdOrRandom(spec.id, spec.may_draw);
}

StatusOr<PublicBasis> Studies::BasisFor(const Study& study, const Table& public_rows,
                                        const EstimatorOptions& options,
                                        const CancelCheck& cancel) {
  PublicBasis basis;
  const StudyForm& form = study.form();
  // Classes are boosted from both.
  if (options.kind == EstimatorKind::kPooled ||
      (options.kind == EstimatorKind::kSmooth && form.KeepsReports() && !form.AnswersNumbers())) {
    COPPICE_ASSIGN_OR_RETURN(basis.pooled, bases_.Get(study.id(), [&]() -> StatusOr<PooledBasis> {
      COPPICE_ASSIGN_OR_RETURN(const Table cut, form.CutToRange(public_rows));
      return PooledBasis::Create(*form.model_forest(), cut);
    }));
  }
  if (options.kind == EstimatorKind::kSmooth) {
    COPPICE_ASSIGN_OR_RETURN(basis.smooth, smooth_.Get(study.id(), [&] {
      return SmoothEstimator::Create(*form.model_forest(), study.definition().partition,
                                     public_rows, form.terms().rounding, cancel);
    }));
  }
  return basis;
}

StatusOr<models::ModelInfo> Studies::MakeModel(Study& study, const std::string& wanted,
                                               const EstimatorOptions& options,
                                               const CancelCheck& cancel) {
  COPPICE_ASSIGN_OR_RETURN(std::string id, models::IdOrRandom(wanted));
  COPPICE_ASSIGN_OR_RETURN(const models::ModelClaim claim, models_.Claim(id));
  COPPICE_ASSIGN_OR_RETURN(const Table rows, LoadRows(store_, study));
  const StudyLife life =
      study.life().Get();  // read before the sums: if it is sealed, they are final
  COPPICE_RETURN_IF_ERROR(study.CheckNoneWaits());
  COPPICE_RETURN_IF_ERROR(cancel());
  COPPICE_ASSIGN_OR_RETURN(const PublicBasis basis, BasisFor(study, rows, options, cancel));
  COPPICE_ASSIGN_OR_RETURN(Model model, EstimateModel(store_, study, rows, basis, options, cancel));
  COPPICE_RETURN_IF_ERROR(cancel());
  models::ModelInfo info{.id = std::move(id),
                         .source = MakeName(kStudies, study.id()),
                         .created_unix_seconds = clock_(),
                         .model = std::make_shared<const Model>(std::move(model))};
  COPPICE_RETURN_IF_ERROR(models_.Sign(info));
  COPPICE_RETURN_IF_ERROR(CheckModelBytes(info, options.most_bytes));
  const auto next = [&] {
    // Even if the study is sealed by now: its final model waits for this one.
    if (life.state == StudyState::kOpen) return SeenEarly(study.life().Get());
    return options.where ? study.life().Get() : Built(study.life().Get(), info.id);
  };
  storage::StoreBatch batch;
  models::ModelSummary summary = models::Models::Put(info, batch);
  COPPICE_RETURN_IF_ERROR(
      intake_.RunOnCommitter([&] { return StoreLife(study, next(), std::move(batch)); }));
  models_.Publish(std::move(summary), info);
  return info;
}

}  // namespace coppice::curator
