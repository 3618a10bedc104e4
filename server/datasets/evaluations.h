// Evaluations: they turn a model, a dataset and a part of the budget into figures of how good the
// model is on rows that nobody may look at.

#ifndef COPPICE_SERVER_DATASETS_EVALUATIONS_H_
#define COPPICE_SERVER_DATASETS_EVALUATIONS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/base/text.h"
#include "common/model/certificate.h"
#include "coppice/v1/training.pb.h"
#include "server/datasets/datasets.h"
#include "server/datasets/ledger/ledger.h"
#include "server/store/models/models.h"
#include "server/store/store.h"
#include "server/trainers/evaluation/private_evaluation.h"

namespace coppice::central {

struct EvaluationSpec {
  std::string model;
  std::string dataset;
  uint64_t epsilon_nanos = 0;
  std::string by{};  // as in trainers::EvaluationOptions
  double reach = 0;
};

struct EvaluationRequest {
  std::string request_id;  // chosen by the caller; repeating it returns the evaluation it made
  EvaluationSpec spec;
  std::string submitter{};  // the caller's name in the policy; empty without a policy
  models::DrawnIdCheck may_draw{};
};

// Adds the scores that follow from the sums. Post-processing.
void AddScores(const trainers::EvaluationPlan& plan, const trainers::EvaluationSums& sums,
               v1::Evaluation& evaluation);

// What a stored evaluation has to do with the ledger.
struct ChargedEvaluation {
  std::string id;
  std::string dataset;
  bool has_ended = false;
};
// Reads a record. DataLoss names the key.
StatusOr<ChargedEvaluation> ReadEvaluation(std::string_view key, std::string_view bytes);

struct EvaluationPreview {
  ledger::Cost cost;
  ledger::AccountKind account = ledger::AccountKind::kTraining;
  std::vector<Release> releases;
  Status fits;
  double half_width = 0;  // that is to be expected on as many rows as the caller guesses
};

// Charges evaluations, makes them, and keeps their results.
//
// With a reserve, an evaluation reads its rows alone and is charged to its account; without one it
// reads all rows, on the dataset's one account. It is charged before a row is read and before noise
// is drawn. What is known of a result, which says too much or may: that the model was trained on
// these very rows, or was made after something had been released of them. Both follow from the
// ledger, never from a row.
//
// An owner has one evaluation at a time, so that what others wait for tells nothing of one owner's
// rows but the use of the store and of processors.
//
// Guarantee  an evaluation's charge and its record become durable together, and so do its end, its
//            releases in the ledger, and its result: the ledger never shows less than what was
//            released, and no result is seen that is not on disk. Noise is drawn once for a charge.
//            One that could not read its rows is refunded, unless the daemon stopped or the ledger
//            is on hold.
// Errors     those of Ledger, Datasets and Models, and InvalidArgument for a spec that the schema
//            does not suit. Unavailable while the same request, or another of its owner, is under
//            way, and if a result could not be written: the same request again writes it.
//            FailedPrecondition, with the reason, for a request whose evaluation failed.
// Threads    safe to share.
class Evaluations {
 public:
  // Loads the evaluations in `store`, and ends those that were running. `clock` returns seconds
  // since 1970 and only dates records. All arguments must outlive the evaluations, and `models`
  // must be loaded.
  static StatusOr<std::unique_ptr<Evaluations>> Open(storage::Store& store, ledger::Ledger& ledger,
                                                     Datasets& datasets,
                                                     const models::Models& models,
                                                     std::function<int64_t()> clock);

  // Spends nothing and reads no row. `rows` is the caller's guess.
  StatusOr<EvaluationPreview> Preview(const EvaluationSpec& spec, uint64_t rows) const;

  // Charges, evaluates, and returns the result.
  StatusOr<v1::Evaluation> Evaluate(const EvaluationRequest& request);
  // Whether the request made an evaluation before, so that Evaluate() would make none.
  bool WasMade(const EvaluationRequest& request) const;

  StatusOr<v1::Evaluation> Get(std::string_view id) const;
  // The dataset of an evaluation; none if there is no such evaluation.
  std::optional<std::string> DatasetOf(std::string_view id) const;

  // Ends those that are reading rows.
  void Drain() { stopping_ = true; }

 private:
  struct Entry {
    std::string id;
    v1::Evaluation evaluation{};
    std::string request_id;
    std::string request_hash;
    bool is_running = false;  // in this process
    // The end, which could not be written and must not be drawn again, and whether it is a refund.
    std::optional<v1::Evaluation> unwritten_end{};
    bool refunds = false;
  };
  using EntryPtr = std::shared_ptr<Entry>;

  // What an evaluation reads, and what it will release of it.
  struct Plan {
    DatasetUse use;
    models::ModelInfo model;
    trainers::EvaluationPlan plan;
    ledger::AccountKind account = ledger::AccountKind::kTraining;
  };

  Evaluations(storage::Store& store, ledger::Ledger& ledger, Datasets& datasets,
              const models::Models& models, std::function<int64_t()> clock)
      : store_(store),
        ledger_(ledger),
        datasets_(datasets),
        models_(models),
        clock_(std::move(clock)) {}

  Status LoadAll();
  static std::string Encode(const Entry& entry);
  friend StatusOr<ChargedEvaluation> ReadEvaluation(std::string_view key, std::string_view bytes);
  static StatusOr<Entry> Decode(std::string_view key, std::string_view bytes);

  StatusOr<Plan> MakePlan(const EvaluationSpec& spec) const;
  // Sets what is known beforehand of a result that the plan's model gets.
  Status Mark(const Plan& plan, std::string_view dataset, v1::Evaluation& evaluation) const;

  std::string OwnerOf(std::string_view dataset) const {
    return datasets_.OwnerOf(dataset).value_or("");
  }
  // The evaluation that the request made, null if it made none. AlreadyExists if another request
  // with its id made one.
  StatusOr<EntryPtr> MadeBy(const EvaluationRequest& request, std::string_view hash) const;
  // The result of an evaluation that a request made before.
  StatusOr<v1::Evaluation> ResultOf(const EntryPtr& entry);
  Status WriteIfUnwritten(const EntryPtr& entry);
  StatusOr<EntryPtr> Begin(const EvaluationRequest& request, const std::string& hash,
                           const Plan& plan);
  StatusOr<v1::Evaluation> Run(const EntryPtr& entry, const Plan& plan);
  // Writes the end, and shows it. If that fails, it is kept.
  Status End(const EntryPtr& entry, v1::Evaluation ended, bool refunds)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_mutex_);
  Status WriteEnd(const Entry& entry, const v1::Evaluation& ended, bool refunds)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_mutex_);
  // A failed charge may turn up in the store once the store works again; nothing was drawn for it.
  Status ResolveUnresolvedCharge() ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_mutex_);
  void Show(EntryPtr entry);

  storage::Store& store_;
  ledger::Ledger& ledger_;
  Datasets& datasets_;
  const models::Models& models_;
  const std::function<int64_t()> clock_;
  std::atomic<bool> stopping_{false};

  // Held through every write; taken before mutex_.
  Mutex change_mutex_;
  EntryPtr unresolved_charge_ ABSL_GUARDED_BY(change_mutex_);

  mutable Mutex mutex_;
  StringMap<EntryPtr> entries_ ABSL_GUARDED_BY(mutex_);  // and what they point to
  // By owner and request id.
  std::map<std::pair<std::string, std::string>, EntryPtr> by_request_ ABSL_GUARDED_BY(mutex_);
  StringSet busy_owners_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace coppice::central

#endif  // COPPICE_SERVER_DATASETS_EVALUATIONS_H_
