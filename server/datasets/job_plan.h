// Turns a job's request into a plan: the algorithm, its options, every release that it would make,
// and the cost. The plan follows from the schema alone, never from a row.
//
// Errors     InvalidArgument names the field.

#ifndef COPPICE_SERVER_DATASETS_JOB_PLAN_H_
#define COPPICE_SERVER_DATASETS_JOB_PLAN_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/model/model.h"
#include "common/privacy/neighbours.h"
#include "common/schema/schema.h"
#include "server/datasets/job.h"
#include "server/datasets/ledger/accounting.h"
#include "server/datasets/public_rows.h"
#include "server/trainers/core/trainer.h"

namespace coppice::central {

class Datasets;

struct JobPlan {
  const trainers::Trainer* trainer = nullptr;
  trainers::TrainOptions options;
  std::vector<Release> releases;
  ledger::Cost cost;
  std::vector<std::string> warnings;
  uint64_t model_bytes = 0;   // the most that the model takes; 0: not known
  uint64_t bytes_of_row = 0;  // the most that training takes for a row; 0: not known
};

// Returns the algorithm of that name, unless it is not private. InvalidArgument names `field` and
// lists the offered algorithms.
StatusOr<const trainers::Trainer*> FindOffered(std::string_view field, std::string_view name,
                                               absl::Span<const trainers::Trainer* const> trainers);

// Returns the public rows that a job starts from: its own, or else those of its dataset, unless it
// wants none. InvalidArgument also if it brings some and wants none.
StatusOr<PublicRowsTable> PublicRowsFor(const JobSpec& spec, std::shared_ptr<const Schema> schema,
                                        const Datasets& datasets);

// `public_rows` are those that training starts from; null: none.
StatusOr<JobPlan> PlanJob(const JobSpec& spec, const Schema& schema, const ledger::BudgetCap& cap,
                          absl::Span<const trainers::Trainer* const> trainers,
                          PublicRowsTable public_rows = nullptr);

// InvalidArgument, with what to change, if the model may take more than the spec allows or, if it
// does not say, `most_bytes`. A spec cannot allow more than that.
Status CheckModelBytes(const JobSpec& spec, const Schema& schema, const JobPlan& plan,
                       uint64_t most_bytes);

// FailedPrecondition, with both figures, if training on so many rows may take more memory than
// `most_bytes`; 0: no limit. The number of rows is private, so only the owner may see the answer.
Status CheckMemory(const JobSpec& spec, const JobPlan& plan, uint64_t rows, uint64_t most_bytes);

// OK if `model`, trained by that plan, may be released: it has the dataset's schema, and its
// certificate costs what was planned. Internal otherwise.
Status CheckResult(const Model& model, const Schema& schema, absl::Span<const Release> planned);

}  // namespace coppice::central

#endif  // COPPICE_SERVER_DATASETS_JOB_PLAN_H_
