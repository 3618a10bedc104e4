// TrainingHandlers::MeasureCurve(): accuracy by epsilon on a table that its caller declares public.

#include "server/trainers/curves/curve.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/cancel_check.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/pages/pages.h"
#include "common/privacy/budget.h"
#include "common/privacy/delta.h"
#include "common/table/table.h"
#include "common/wire/field_error.h"
#include "common/wire/proto/convert.h"
#include "server/datasets/ledger/accounting.h"
#include "server/datasets/row_block.h"
#include "server/serving/calls/progress_stream.h"
#include "server/serving/service/handlers.h"
#include "server/trainers/curves/mean.h"
#include "server/trainers/curves/measure.h"
#include "server/trainers/curves/training.h"

namespace coppice::service {
namespace {

constexpr size_t kMinCurveRows = 10;
constexpr size_t kMaxCurveRows = 20'000;
constexpr size_t kMaxCurveValues = 2'000'000;  // the same as for previews
constexpr int kMaxAlgorithms = 4;
constexpr int kMaxEpsilons = 8;
constexpr uint32_t kMaxRepeats = 20;
constexpr uint32_t kDefaultRepeats = 5;
constexpr double kHeldOut = 0.2;
// Previews wait behind a curve, and their deadline is five minutes.
constexpr absl::Duration kMaxMeasuring = absl::Minutes(4);

// What is measured if the request leaves it open.
constexpr char kDefaultAlgorithm[] = "auto";
constexpr uint64_t kDefaultEpsilonNanos[] = {100'000'000, 500'000'000, 1'000'000'000, 2'000'000'000,
                                             4'000'000'000};

// The checked parts of a request.
struct CurveRequest {
  std::vector<const trainers::Trainer*> algorithms;
  std::vector<Budget> budgets;  // ascending
  uint64_t delta_atto = 0;
  uint32_t repeats = 0;
};

StatusOr<std::vector<const trainers::Trainer*>> AlgorithmsOf(
    const central::Jobs& jobs, const v1::MeasureCurveRequest& request) {
  if (request.algorithms_size() > kMaxAlgorithms) {
    return FieldError("algorithms", StrCat("must be at most ", kMaxAlgorithms, ", are ",
                                           request.algorithms_size()));
  }
  std::vector<std::string> names(request.algorithms().begin(), request.algorithms().end());
  if (names.empty()) names.emplace_back(kDefaultAlgorithm);
  std::vector<const trainers::Trainer*> algorithms;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string field = ElementName("algorithms", i);
    COPPICE_ASSIGN_OR_RETURN(const trainers::Trainer* const algorithm,
                             jobs.FindAlgorithm(field, names[i]));
    if (std::find(algorithms.begin(), algorithms.end(), algorithm) != algorithms.end()) {
      return FieldError(field, StrCat(names[i], " is listed twice: name each once"));
    }
    if (request.delta_atto() > 0 && !algorithm->info().delta) {
      return FieldError("delta_atto",
                        StrCat("must be 0: ", names[i], " is pure epsilon-DP and takes no delta"));
    }
    algorithms.push_back(algorithm);
  }
  return algorithms;
}

StatusOr<std::vector<Budget>> BudgetsOf(const v1::MeasureCurveRequest& request) {
  const int count = request.epsilon_nanos_size();
  if (count > kMaxEpsilons) {
    return FieldError("epsilon_nanos",
                      StrCat("must have at most ", kMaxEpsilons, " values, has ", count));
  }
  std::vector<Budget> budgets;
  if (count == 0) {
    for (const uint64_t nanos : kDefaultEpsilonNanos) budgets.push_back(*Budget::FromNanos(nanos));
  }
  for (int i = 0; i < count; ++i) {
    const StatusOr<Budget> budget = Budget::FromNanos(request.epsilon_nanos(i));
    if (!budget.ok()) return InField(ElementName("epsilon_nanos", i), budget.status());
    budgets.push_back(*budget);
  }
  return curves::RisingBudgets(std::move(budgets));
}

StatusOr<CurveRequest> Check(const central::Jobs& jobs, const v1::MeasureCurveRequest& request) {
  CurveRequest checked;
  COPPICE_ASSIGN_OR_RETURN(checked.algorithms, AlgorithmsOf(jobs, request));
  COPPICE_ASSIGN_OR_RETURN(checked.budgets, BudgetsOf(request));
  if (request.delta_atto() >= kDeltaOne) {
    return FieldError("delta_atto", "must be below 1: at 1 nothing would be private");
  }
  if (request.repeats() > kMaxRepeats) {
    return FieldError("repeats",
                      StrCat("must be at most ", kMaxRepeats, ", is ", request.repeats()));
  }
  checked.delta_atto = request.delta_atto();
  checked.repeats = request.repeats() == 0 ? kDefaultRepeats : request.repeats();
  return checked;
}

StatusOr<std::shared_ptr<const Table>> TableOf(const v1::MeasureCurveRequest& request) {
  StatusOr<Schema> schema = ParseSchema(request.schema());
  if (!schema.ok()) return InField("schema", schema.status());
  COPPICE_ASSIGN_OR_RETURN(
      Table rows,
      central::ParseRows(request.rows(), std::make_shared<const Schema>(*std::move(schema))));
  const size_t count = rows.num_rows();
  if (count < kMinCurveRows || count > kMaxCurveRows) {
    return FieldError("rows", StrCat("must be ", kMinCurveRows, " to ", kMaxCurveRows, ", are ",
                                     count, ": send a sample of more"));
  }
  if (count * rows.schema().num_features() > kMaxCurveValues) {
    return FieldError("rows",
                      StrCat("must have at most ", kMaxCurveValues, " values: send fewer rows"));
  }
  for (size_t i = 0; !rows.schema().target() && i < count; ++i) {
    if (rows.label(i) == kUnlabelled) {
      return FieldError(ElementName("rows.labels", i),
                        "must be a class: the curve shows how often it is predicted");
    }
  }
  return std::make_shared<const Table>(std::move(rows));
}

void AddPoint(const std::string& algorithm, uint64_t epsilon_nanos,
              const curves::CurveScores& scores, v1::MeasureCurveResponse& response) {
  const curves::Mean mean = curves::MeanOf(scores.measure);
  v1::CurvePoint& point = *response.add_points();
  point.set_algorithm(algorithm);
  point.set_epsilon_nanos(epsilon_nanos);
  point.set_mean(mean.value);
  point.set_deviation(mean.deviation);
}

std::unique_ptr<v1::MeasureCurveResponse> ResultOf(const curves::Curve& curve,
                                                   const std::vector<Budget>& budgets,
                                                   uint32_t repeats) {
  auto response = std::make_unique<v1::MeasureCurveResponse>();
  response->set_progress(1);
  for (const curves::CurveSeries& series : curve.series) {
    for (size_t i = 0; i < series.points.size(); ++i) {
      AddPoint(series.algorithm, budgets[i].nanos(), series.points[i].scores, *response);
    }
    if (series.non_private) AddPoint(series.algorithm, 0, *series.non_private, *response);
  }
  response->set_repeats(repeats);
  response->set_page(report::CurvePage(curves::CurveJson(curve)));
  return response;
}

// Measures a curve on a lane's thread and reports progress to a stream.
class CurveWork {
 public:
  CurveWork(CurveRequest request, std::shared_ptr<ProgressStream> stream)
      : request_(std::move(request)), stream_(std::move(stream)) {}

  StatusOr<std::unique_ptr<v1::MeasureCurveResponse>> Run(const v1::MeasureCurveRequest& request) {
    COPPICE_RETURN_IF_ERROR(CheckWanted());  // it may have waited long for the lane
    COPPICE_ASSIGN_OR_RETURN(const std::shared_ptr<const Table> rows, TableOf(request));
    const trainers::TrainOptions options{.epsilon = {}, .delta_atto = request_.delta_atto};
    for (const trainers::Trainer* algorithm : request_.algorithms) {
      COPPICE_RETURN_IF_ERROR(
          curves::CheckSeries(*algorithm, rows->schema(), request_.budgets, options));
    }
    COPPICE_ASSIGN_OR_RETURN(const curves::SplitSource splits, curves::HoldOut(rows, kHeldOut));
    curves::Curve curve{.label = rows->schema().label(),
                        .numbers = rows->schema().target().has_value(),
                        .rows = rows->num_rows(),
                        .test_rows = splits(0).test->num_rows(),
                        .delta = ledger::DeltaText(request_.delta_atto),
                        .majority_class = {},
                        .baseline = {},
                        .series = {}};
    for (const trainers::Trainer* algorithm : request_.algorithms) {
      COPPICE_RETURN_IF_ERROR(AddSeries(*algorithm, options, splits, curve));
    }
    return ResultOf(curve, request_.budgets, request_.repeats);
  }

 private:
  Status CheckWanted() const {
    if (!stream_->IsWanted()) return CancelledError("the caller is no longer waiting");
    if (absl::Now() < last_) return OkStatus();
    return DeadlineExceededError(
        StrCat("the curve would take more than ", absl::FormatDuration(kMaxMeasuring),
               ": ask for fewer rows, epsilons, algorithms or repeats, or run coppice-lab curve"));
  }

  void Tell(uint32_t finished) {
    const uint32_t all = static_cast<uint32_t>(request_.algorithms.size()) *
                         static_cast<uint32_t>(request_.budgets.size() + 1) * request_.repeats;
    auto response = std::make_unique<v1::MeasureCurveResponse>();
    response->set_progress(static_cast<double>(finished) / all);
    stream_->Tell(std::move(response));
  }

  Status AddSeries(const trainers::Trainer& algorithm, const trainers::TrainOptions& options,
                   const curves::SplitSource& splits, curves::Curve& curve) {
    const curves::Runs runs{.repeats = request_.repeats,
                            .cancel = CancelCheck([this] { return CheckWanted(); })};
    COPPICE_ASSIGN_OR_RETURN(
        curves::MeasuredSeries measured,
        curves::MeasureSeries(algorithm, request_.budgets, options, splits, runs,
                              [this](uint32_t finished) { Tell(done_ + finished); }));
    done_ += curves::RepetitionsOf(request_.budgets, runs);
    curve.baseline = std::move(measured.baseline);
    curve.majority_class = std::move(measured.majority_class);
    curve.series.push_back(std::move(measured.series));
    return OkStatus();
  }

  const CurveRequest request_;
  const std::shared_ptr<ProgressStream> stream_;
  const absl::Time last_ = absl::Now() + kMaxMeasuring;
  uint32_t done_ = 0;  // repetitions
};

}  // namespace

StatusOr<StreamHandlerPtr> TrainingHandlers::MeasureCurve(const Caller& /*caller*/,
                                                          const v1::MeasureCurveRequest& request,
                                                          StreamCall& call) {
  COPPICE_ASSIGN_OR_RETURN(CurveRequest checked, Check(jobs_, request));
  const auto stream = std::make_shared<ProgressStream>(call);
  const auto work = std::make_shared<CurveWork>(std::move(checked), stream);
  const auto rows = std::make_shared<const v1::MeasureCurveRequest>(request);
  COPPICE_RETURN_IF_ERROR(call.RunOnLane([work, rows, stream] {
    auto result = work->Run(*rows);
    if (result.ok()) {
      stream->End(OkStatus(), *std::move(result));
    } else {
      stream->End(result.status());
    }
  }));
  return stream;
}

}  // namespace coppice::service
