#include "server/datasets/evaluations.h"

#include <algorithm>
#include <bit>

#include "common/base/status_macros.h"
#include "common/privacy/openssl_random.h"
#include "common/terms/sha256.h"
#include "common/wire/field_error.h"
#include "common/wire/proto/convert.h"
#include "coppice/v1/storage.pb.h"
#include "server/datasets/central_keys.h"
#include "server/datasets/job_record.h"
#include "server/datasets/write_outcome.h"
#include "server/store/store_record.h"

namespace coppice::central {
namespace {

constexpr int64_t kSecondsOfDay = 86400;

Status NoEvaluation(std::string_view id) {
  return NotFoundError(StrCat("there is no evaluation ", id));
}

std::string HashRequest(const EvaluationSpec& spec) {
  // Each part carries its size, which keeps one part from passing for the end of another.
  std::string text = "evaluation ";
  for (const std::string& part : {spec.model, spec.dataset, spec.by}) {
    StrAppend(&text, part.size(), " ", part, " ");
  }
  StrAppend(&text, spec.epsilon_nanos, " ", std::bit_cast<uint64_t>(spec.reach));
  const Sha256Digest digest = Sha256({text});
  return {digest.begin(), digest.end()};
}

v1::EvaluationSpec ToProto(const EvaluationSpec& spec) {
  v1::EvaluationSpec proto;
  proto.set_model(MakeName(kModels, spec.model));
  proto.set_dataset(MakeName(kDatasets, spec.dataset));
  proto.set_epsilon_nanos(spec.epsilon_nanos);
  proto.set_by(spec.by);
  proto.set_reach(spec.reach);
  return proto;
}

v1::Estimate ToProto(const trainers::Estimate& estimate) {
  v1::Estimate proto;
  proto.set_value(estimate.value);
  proto.set_low(estimate.interval.low);
  proto.set_high(estimate.interval.high);
  return proto;
}

v1::PrivateScores ToProto(const trainers::GroupScores& scores, bool classes) {
  v1::PrivateScores proto;
  proto.set_group(scores.group);
  proto.set_rows(scores.rows);
  if (classes) {
    *proto.mutable_accuracy() = ToProto(scores.accuracy);
    if (scores.auc.has_value()) *proto.mutable_auc() = ToProto(*scores.auc);
    for (const trainers::Estimate& recall : scores.recall) *proto.add_recall() = ToProto(recall);
  } else {
    *proto.mutable_mae() = ToProto(scores.mae);
    *proto.mutable_rmse() = ToProto(scores.rmse);
  }
  return proto;
}

Part PartOf(ledger::AccountKind account) {
  return account == ledger::AccountKind::kReserve ? Part::kReserve : Part::kTraining;
}

v1::Evaluation Failed(v1::Evaluation evaluation, std::string_view why) {
  evaluation.set_state(v1::EVALUATION_STATE_FAILED);
  evaluation.set_reason(std::string(why));
  return evaluation;
}

constexpr std::string_view kStaysSpent = "; its cost stays spent";
constexpr std::string_view kRefunded = "; nothing was drawn, and its cost is refunded";

}  // namespace

void AddScores(const trainers::EvaluationPlan& plan, const trainers::EvaluationSums& sums,
               v1::Evaluation& evaluation) {
  const trainers::PrivateScores scores = trainers::ScoresOf(plan, sums);
  const bool classes = plan.classes > 0;
  *evaluation.mutable_scores() = ToProto(scores.all, classes);
  for (const trainers::GroupScores& group : scores.groups) {
    *evaluation.add_groups() = ToProto(group, classes);
  }
  for (const std::vector<int64_t>& row : scores.confusion) {
    evaluation.add_confusion()->mutable_predicted()->Assign(row.begin(), row.end());
  }
}

StatusOr<std::unique_ptr<Evaluations>> Evaluations::Open(storage::Store& store,
                                                         ledger::Ledger& ledger, Datasets& datasets,
                                                         const models::Models& models,
                                                         std::function<int64_t()> clock) {
  std::unique_ptr<Evaluations> evaluations(
      new Evaluations(store, ledger, datasets, models, std::move(clock)));
  COPPICE_RETURN_IF_ERROR(evaluations->LoadAll());
  return evaluations;
}

Status Evaluations::LoadAll() {
  const MutexLock change(change_mutex_);
  std::vector<EntryPtr> running;
  COPPICE_RETURN_IF_ERROR(
      store_.Scan(kEvaluationPrefix, [&](std::string_view key, std::string_view bytes) {
        COPPICE_ASSIGN_OR_RETURN(Entry decoded, Decode(key, bytes));
        auto entry = std::make_shared<Entry>(std::move(decoded));
        if (entry->evaluation.state() == v1::EVALUATION_STATE_RUNNING) running.push_back(entry);
        Show(std::move(entry));
        return OkStatus();
      }));
  // They may have drawn noise, so they are not refunded.
  for (const EntryPtr& entry : running) {
    v1::Evaluation ended =
        Failed(entry->evaluation, StrCat("interrupted by a restart", kStaysSpent));
    COPPICE_RETURN_IF_ERROR(End(entry, std::move(ended), /*refunds=*/false));
  }
  return OkStatus();
}

std::string Evaluations::Encode(const Entry& entry) {
  v1::EvaluationRecord record;
  *record.mutable_evaluation() = entry.evaluation;
  record.set_request_id(entry.request_id);
  record.set_request_hash(entry.request_hash);
  return record.SerializeAsString();
}

StatusOr<Evaluations::Entry> Evaluations::Decode(std::string_view key, std::string_view bytes) {
  COPPICE_ASSIGN_OR_RETURN(v1::EvaluationRecord record,
                           storage::ParseRecord<v1::EvaluationRecord>(key, bytes));
  const v1::Evaluation& evaluation = record.evaluation();
  const StatusOr<std::string> id = ParseName(kEvaluations, evaluation.name());
  if (!id.ok() || key != EvaluationKey(*id) ||
      !ParseName(kDatasets, evaluation.spec().dataset()).ok()) {
    return storage::CorruptRecord(key, "has the evaluation of another key");
  }
  if (evaluation.state() < v1::EVALUATION_STATE_RUNNING ||
      evaluation.state() > v1::EVALUATION_STATE_FAILED) {
    return storage::CorruptRecord(key, "has an unknown state");
  }
  Entry entry{.id = *id, .request_id = record.request_id(), .request_hash = record.request_hash()};
  entry.evaluation = std::move(*record.mutable_evaluation());
  return entry;
}

StatusOr<ChargedEvaluation> ReadEvaluation(std::string_view key, std::string_view bytes) {
  COPPICE_ASSIGN_OR_RETURN(const Evaluations::Entry entry, Evaluations::Decode(key, bytes));
  COPPICE_ASSIGN_OR_RETURN(std::string dataset,
                           ParseName(kDatasets, entry.evaluation.spec().dataset()));
  return ChargedEvaluation{.id = entry.id,
                           .dataset = std::move(dataset),
                           .has_ended = entry.evaluation.state() != v1::EVALUATION_STATE_RUNNING};
}

StatusOr<Evaluations::Plan> Evaluations::MakePlan(const EvaluationSpec& spec) const {
  Plan plan;
  COPPICE_ASSIGN_OR_RETURN(plan.use, datasets_.Use(spec.dataset));
  COPPICE_ASSIGN_OR_RETURN(plan.model, models_.Get(spec.model));
  COPPICE_RETURN_IF_ERROR(trainers::CheckAnswers(*plan.model.model, *plan.use.schema));
  StatusOr<trainers::EvaluationPlan> planned =
      trainers::PlanEvaluation(*plan.use.schema, {.epsilon_nanos = spec.epsilon_nanos,
                                                  .neighbours = plan.use.cap.neighbours,
                                                  .by = spec.by,
                                                  .reach = spec.reach});
  if (!planned.ok()) return InField("spec", planned.status());
  plan.plan = *std::move(planned);
  for (Release& release : plan.plan.releases) StrAppend(&release.what, ", model ", spec.model);
  if (plan.use.cap.has_reserve()) plan.account = ledger::AccountKind::kReserve;
  return plan;
}

StatusOr<EvaluationPreview> Evaluations::Preview(const EvaluationSpec& spec, uint64_t rows) const {
  COPPICE_ASSIGN_OR_RETURN(Plan plan, MakePlan(spec));
  COPPICE_ASSIGN_OR_RETURN(ledger::Quote quote,
                           ledger_.Preview(spec.dataset, plan.plan.releases, plan.account));
  return EvaluationPreview{
      .cost = quote.cost,
      .account = plan.account,
      .releases = plan.plan.releases,
      .fits = std::move(quote.fits),
      .half_width = trainers::ExpectedHalfWidth(plan.plan, static_cast<double>(rows))};
}

// The order of charges tells what may have shaped a model. A model from elsewhere is dated by the
// day alone, so that everything up to the end of its day counts.
Status Evaluations::Mark(const Plan& plan, std::string_view dataset,
                         v1::Evaluation& evaluation) const {
  COPPICE_ASSIGN_OR_RETURN(const ledger::Account account, ledger_.Get(dataset));
  const StatusOr<std::string> job = ParseName(kJobs, plan.model.source);
  const auto made = std::find_if(account.entries.begin(), account.entries.end(),
                                 [&job](const ledger::LedgerEntry& entry) {
                                   return job.ok() && entry.job == *job && !entry.is_evaluation &&
                                          entry.kind == ledger::EntryKind::kReserve;
                                 });
  const bool is_ours = made != account.entries.end();
  const int64_t made_at = plan.model.created_unix_seconds;
  const int64_t end_of_day = made_at - made_at % kSecondsOfDay + kSecondsOfDay;
  const bool is_later = std::any_of(
      account.entries.begin(), account.entries.end(), [&](const ledger::LedgerEntry& entry) {
        if (entry.kind != ledger::EntryKind::kReserve && entry.kind != ledger::EntryKind::kWriteOff)
          return false;
        if (!ledger::Charges(entry.account, plan.account)) return false;
        return is_ours ? entry.sequence < made->sequence : entry.unix_seconds < end_of_day;
      });
  const bool is_trained_on = is_ours && ledger::Charges(made->account, plan.account);
  evaluation.set_trained_on_these_rows(is_trained_on);
  evaluation.set_after_earlier_results(is_later);
  return OkStatus();
}

StatusOr<v1::Evaluation> Evaluations::Evaluate(const EvaluationRequest& request) {
  COPPICE_RETURN_IF_ERROR(models::CheckRequestId(request.request_id));
  const std::string hash = HashRequest(request.spec);
  COPPICE_ASSIGN_OR_RETURN(const EntryPtr made, MadeBy(request, hash));
  if (made != nullptr) return ResultOf(made);
  COPPICE_ASSIGN_OR_RETURN(const Plan plan, MakePlan(request.spec));
  const std::string owner = OwnerOf(request.spec.dataset);
  {
    const MutexLock lock(mutex_);
    if (!busy_owners_.insert(owner).second) {
      return UnavailableError("another evaluation of this owner is under way; try again later");
    }
  }
  StatusOr<EntryPtr> begun = Begin(request, hash, plan);
  StatusOr<v1::Evaluation> result =
      begun.ok() ? Run(*begun, plan) : StatusOr<v1::Evaluation>(begun.status());
  const MutexLock lock(mutex_);
  busy_owners_.erase(owner);
  return result;
}

bool Evaluations::WasMade(const EvaluationRequest& request) const {
  const std::string owner = OwnerOf(request.spec.dataset);
  const MutexLock lock(mutex_);
  return by_request_.contains({owner, request.request_id});
}

StatusOr<v1::Evaluation> Evaluations::Get(std::string_view id) const {
  const MutexLock lock(mutex_);
  const auto it = entries_.find(id);
  if (it == entries_.end()) return NoEvaluation(id);
  return it->second->evaluation;
}

std::optional<std::string> Evaluations::DatasetOf(std::string_view id) const {
  const StatusOr<v1::Evaluation> evaluation = Get(id);
  if (!evaluation.ok()) return std::nullopt;
  return *ParseName(kDatasets, evaluation->spec().dataset());
}

StatusOr<Evaluations::EntryPtr> Evaluations::MadeBy(const EvaluationRequest& request,
                                                    std::string_view hash) const {
  const std::string owner = OwnerOf(request.spec.dataset);
  const MutexLock lock(mutex_);
  const auto it = by_request_.find({owner, request.request_id});
  if (it == by_request_.end()) return EntryPtr();
  if (it->second->request_hash == hash) return it->second;
  return AlreadyExistsError(StrCat("request_id: it made the evaluation ", it->second->id,
                                   " from another request; choose another"));
}

StatusOr<v1::Evaluation> Evaluations::ResultOf(const EntryPtr& entry) {
  COPPICE_RETURN_IF_ERROR(WriteIfUnwritten(entry));
  const MutexLock lock(mutex_);
  if (entry->is_running) {
    return UnavailableError(StrCat("evaluation ", entry->id, " is under way; ask again later"));
  }
  if (entry->evaluation.state() == v1::EVALUATION_STATE_DONE) return entry->evaluation;
  return FailedPreconditionError(StrCat("evaluation ", entry->id,
                                        " failed: ", entry->evaluation.reason(),
                                        "; another request_id begins another"));
}

Status Evaluations::WriteIfUnwritten(const EntryPtr& entry) {
  {
    // Who asks for what has long ended does not learn when other owners' results are written.
    const MutexLock lock(mutex_);
    if (!entry->unwritten_end.has_value()) return OkStatus();
  }
  const MutexLock change(change_mutex_);
  std::optional<v1::Evaluation> unwritten;
  bool refunds = false;
  {
    const MutexLock lock(mutex_);
    unwritten = entry->unwritten_end;
    refunds = entry->refunds;
  }
  return unwritten.has_value() ? End(entry, *std::move(unwritten), refunds) : OkStatus();
}

StatusOr<Evaluations::EntryPtr> Evaluations::Begin(const EvaluationRequest& request,
                                                   const std::string& hash, const Plan& plan) {
  const MutexLock change(change_mutex_);
  COPPICE_RETURN_IF_ERROR(ResolveUnresolvedCharge());
  COPPICE_ASSIGN_OR_RETURN(const EntryPtr meanwhile, MadeBy(request, hash));
  if (meanwhile != nullptr) {
    return UnavailableError(StrCat("evaluation ", meanwhile->id, " has just begun; ask again"));
  }
  if (stopping_) return UnavailableError("the daemon is stopping; try again later");
  COPPICE_ASSIGN_OR_RETURN(const std::string id, models::IdOrRandom("", request.may_draw));
  auto entry = std::make_shared<Entry>(
      Entry{.id = id, .request_id = request.request_id, .request_hash = hash, .is_running = true});
  v1::Evaluation& evaluation = entry->evaluation;
  evaluation.set_name(MakeName(kEvaluations, id));
  *evaluation.mutable_spec() = ToProto(request.spec);
  evaluation.set_state(v1::EVALUATION_STATE_RUNNING);
  evaluation.set_created_unix_seconds(clock_());
  evaluation.set_account(static_cast<v1::AccountKind>(plan.account));
  COPPICE_ASSIGN_OR_RETURN(const ledger::Cost cost, ledger::CostOf(plan.plan.releases));
  *evaluation.mutable_cost() = central::ToProto(cost);
  for (const Release& release : plan.plan.releases) {
    *evaluation.add_releases() = coppice::ToProto(release);
  }
  evaluation.set_submitter(request.submitter);
  COPPICE_RETURN_IF_ERROR(Mark(plan, request.spec.dataset, evaluation));
  // The record travels with the charge: a crash leaves both or neither.
  storage::StoreBatch batch;
  batch.Put(EvaluationKey(id), Encode(*entry));
  const Status charged =
      ledger_.Reserve(request.spec.dataset,
                      ledger::Charge{.job = id, .account = plan.account, .is_evaluation = true},
                      plan.plan.releases, std::move(batch));
  if (!charged.ok()) {
    if (WriteOutcomeUnknown(charged)) unresolved_charge_ = std::move(entry);
    return charged;
  }
  Show(entry);
  return entry;
}

StatusOr<v1::Evaluation> Evaluations::Run(const EntryPtr& entry, const Plan& plan) {
  const StatusOr<std::string> dataset = ParseName(kDatasets, entry->evaluation.spec().dataset());
  StatusOr<trainers::ExactSums> exact = [&]() -> StatusOr<trainers::ExactSums> {
    COPPICE_RETURN_IF_ERROR(dataset.status());
    COPPICE_ASSIGN_OR_RETURN(const std::shared_ptr<const RowBlocks> rows,
                             datasets_.ReadyRows(*dataset, PartOf(plan.account)));
    return trainers::CountFor(*rows, *plan.model.model, plan.plan, [this](size_t) {
      return stopping_ ? UnavailableError("the daemon stopped") : OkStatus();
    });
  }();
  v1::Evaluation ended = entry->evaluation;
  // Whether the rows were counted when the daemon stopped tells of their number, and a refund is
  // shown to all who may see the dataset: so there is none.
  const bool refunds = !exact.ok() && !stopping_;
  Status why = exact.status();
  if (exact.ok()) {
    OpenSslRandom random;
    trainers::PrivateReleaser releaser(random);
    StatusOr<trainers::EvaluationSums> sums = trainers::ReleaseOf(*exact, plan.plan, releaser);
    why = sums.status();
    if (sums.ok()) {
      ended.set_state(v1::EVALUATION_STATE_DONE);
      AddScores(plan.plan, *sums, ended);
    }
  }
  if (!why.ok()) ended = Failed(ended, StrCat(why.message(), refunds ? kRefunded : kStaysSpent));
  const MutexLock change(change_mutex_);
  const Status written = End(entry, ended, refunds);
  if (!written.ok()) return written;
  return why.ok() ? StatusOr<v1::Evaluation>(std::move(ended)) : why;
}

Status Evaluations::End(const EntryPtr& entry, v1::Evaluation ended, bool refunds) {
  Status written = WriteEnd(*entry, ended, refunds);
  if (refunds && !written.ok() && !WriteOutcomeUnknown(written)) {
    // A ledger on hold, for one, refuses refunds. The cost stays spent, which is the safe side.
    ended.set_reason(
        StrCat(ended.reason(), "; the ledger refuses the refund: ", written.message()));
    refunds = false;
    written = WriteEnd(*entry, ended, refunds);
  }
  const MutexLock lock(mutex_);
  entry->is_running = false;
  if (written.ok()) {
    entry->evaluation = std::move(ended);
    entry->unwritten_end.reset();
    return OkStatus();
  }
  entry->unwritten_end = std::move(ended);
  entry->refunds = refunds;
  return WriteOutcomeUnknown(written)
             ? UnavailableError(StrCat("the end of evaluation ", entry->id,
                                       " could not be written; ask again: ", written.message()))
             : written;
}

Status Evaluations::WriteEnd(const Entry& entry, const v1::Evaluation& ended, bool refunds) {
  COPPICE_ASSIGN_OR_RETURN(const std::string dataset, ParseName(kDatasets, ended.spec().dataset()));
  Entry record{.id = entry.id,
               .evaluation = ended,
               .request_id = entry.request_id,
               .request_hash = entry.request_hash};
  storage::StoreBatch batch;
  batch.Put(EvaluationKey(entry.id), Encode(record));
  std::vector<Release> releases;
  if (ended.state() == v1::EVALUATION_STATE_DONE) releases = ParseReleases(ended.releases());
  const Status written = refunds ? ledger_.Return(dataset, entry.id, std::move(batch))
                                 : ledger_.Settle(dataset, entry.id, releases, std::move(batch));
  if (!IsFailedPrecondition(written)) return written;
  // An earlier attempt may have reached the disk after all.
  const std::string key = EvaluationKey(entry.id);
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> bytes, store_.Get(key));
  if (!bytes.has_value()) return written;
  COPPICE_ASSIGN_OR_RETURN(const Entry stored, Decode(key, *bytes));
  return stored.evaluation.state() == ended.state() ? OkStatus() : written;
}

Status Evaluations::ResolveUnresolvedCharge() {
  if (unresolved_charge_ == nullptr) return OkStatus();
  const EntryPtr entry = unresolved_charge_;
  COPPICE_ASSIGN_OR_RETURN(const std::optional<std::string> bytes,
                           store_.Get(EvaluationKey(entry->id)));
  if (bytes.has_value()) {
    // The charge was stored with the record, so this makes none; it makes the ledger find it.
    const v1::Evaluation& evaluation = entry->evaluation;
    COPPICE_ASSIGN_OR_RETURN(const std::string dataset,
                             ParseName(kDatasets, evaluation.spec().dataset()));
    const Status charged = ledger_.Reserve(
        dataset,
        ledger::Charge{.job = entry->id,
                       .account = static_cast<ledger::AccountKind>(evaluation.account()),
                       .is_evaluation = true},
        ParseReleases(evaluation.releases()), {});
    if (!IsAlreadyExists(charged)) return charged;
    Show(entry);
    COPPICE_RETURN_IF_ERROR(
        End(entry, Failed(evaluation, StrCat("its charge could not be confirmed", kRefunded)),
            /*refunds=*/true));
  }
  unresolved_charge_ = nullptr;
  return OkStatus();
}

void Evaluations::Show(EntryPtr entry) {
  const std::string owner = OwnerOf(*ParseName(kDatasets, entry->evaluation.spec().dataset()));
  const MutexLock lock(mutex_);
  by_request_[{owner, entry->request_id}] = entry;
  entries_[entry->id] = std::move(entry);
}

}  // namespace coppice::central
