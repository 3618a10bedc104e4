#include "server/curator/estimation/planning/plan_json.h"

#include "absl/strings/str_format.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/evaluation/class_evaluation.h"
#include "common/evaluation/number_evaluation.h"
#include "common/ldp/local_mechanism.h"
#include "server/curator/estimation/inspection/readers_bound.h"

namespace coppice::curator {
namespace {

using Json = nlohmann::ordered_json;

Json IntervalJson(const Interval& interval) {
  return {{"low", interval.low}, {"mean", interval.mean}, {"high", interval.high}};
}

Json StudyJson(const PlannedStudy& study, bool with_accuracy, bool numbers) {
  Json json = {{"epsilon", study.epsilon.epsilon()},
               {"devices", study.devices},
               {"mechanism", std::string(MechanismName(study.cost.kind))},
               {"payload_bytes", study.cost.payload_bytes},
               {"equivalent_rows", study.forecast.equivalent_rows}};
  // 0 means not computed.
  if (study.forecast.influence > 0) json["influence"] = study.forecast.influence;
  if (with_accuracy) {
    if (numbers) {
      json["rmse"] = IntervalJson(study.forecast.rmse);
    } else {
      json["accuracy"] = IntervalJson(study.forecast.accuracy);
    }
    json["gain"] = study.forecast.gain.mean;
    json["gain_interval"] = {study.forecast.gain.low, study.forecast.gain.high};
  }
  if (study.readers.epsilon_nanos > 0) {
    json["readers_epsilon"] = static_cast<double>(study.readers.epsilon_nanos) / 1e9;
    json["readers_delta"] = static_cast<double>(study.readers.delta_atto) / 1e18;
  }
  return json;
}

}  // namespace

StatusOr<PlannedStudy> PlanStudy(const Planner& planner, const Schema& schema,
                                 const Budget& epsilon, const MechanismCost& cost, uint64_t devices,
                                 const CancelCheck& cancel) {
  COPPICE_ASSIGN_OR_RETURN(const StudyForecast forecast,
                           planner.Forecast(static_cast<double>(devices), cost, cancel));
  return PlannedStudy{.epsilon = epsilon,
                      .devices = devices,
                      .cost = cost,
                      .forecast = forecast,
                      .readers = BoundForReaders(schema, epsilon, cost.two_sided_mass, devices)};
}

Baseline BaselineAmong(const Table& public_rows) {
  const Schema& schema = public_rows.schema();
  if (schema.target()) {
    const MeanAnswer mean = MeanAnswerFor(public_rows.targets());
    return {.numbers = true, .answer = absl::StrFormat("%.4g", mean.value), .score = mean.rmse};
  }
  const Majority majority = MajorityOf(public_rows.labels(), schema.num_classes());
  return {.numbers = false, .answer = schema.classes()[majority.label], .score = majority.share};
}

size_t PublicRowsOf(const Planner& planner) {
  return planner.partition().from_schema ? 0 : planner.public_rows();
}

std::string AdviceOn(const Planner& planner, absl::Span<const PlannedStudy> studies) {
  std::vector<double> gains;
  for (const PlannedStudy& study : studies) gains.push_back(study.forecast.gain.mean);
  const std::optional<double> rmse =
      planner.predicts_numbers() ? std::optional<double>(planner.public_only().mean) : std::nullopt;
  return Advice(gains, planner.partition(), rmse);
}

Json PlanJson(const Planner& planner, absl::Span<const PlannedStudy> studies,
              const std::optional<Baseline>& baseline) {
  Json plan = {{"public_rows", PublicRowsOf(planner)},
               {"trees", planner.forest().size()},
               {"effective_cells", planner.effective_cells()},
               {"advice", AdviceOn(planner, studies)}};
  if (baseline && baseline->numbers) {
    plan["public_only_rmse"] = IntervalJson(planner.public_only());
    plan["mean_rmse"] = baseline->score;
  } else if (baseline) {
    plan["public_only"] = IntervalJson(planner.public_only());
    plan["majority"] = baseline->score;
    plan["majority_class"] = baseline->answer;
  }
  plan["studies"] = Json::array();
  for (const PlannedStudy& study : studies) {
    plan["studies"].push_back(StudyJson(study, baseline.has_value(), planner.predicts_numbers()));
  }
  return plan;
}

Json WorthsJson(absl::Span<const FeatureWorth> worths) {
  Json json = Json::array();
  for (const FeatureWorth& worth : worths) {
    json.push_back(
        {{"name", worth.name}, {"gain", worth.gain}, {"equivalent_rows", worth.equivalent_rows}});
  }
  return json;
}

nlohmann::ordered_json BatchesJson(absl::Span<const PlannedStudy> studies, uint64_t min_batch,
                                   uint32_t dishonest_millionths, uint64_t delta_atto) {
  Json rows = Json::array();
  uint64_t honest = 0;
  for (const PlannedStudy& study : studies) {
    if (study.devices != studies.front().devices) continue;
    const BatchBound bound = BoundForBatches(study.epsilon, study.cost.two_sided_mass, min_batch,
                                             dishonest_millionths, delta_atto);
    const bool promised = bound.epsilon_nanos > 0;
    honest = bound.honest_reports;
    rows.push_back({{"epsilon", study.epsilon.epsilon()},
                    {"mechanism", std::string(MechanismName(study.cost.kind))},
                    {"batch_epsilon", promised ? static_cast<double>(bound.epsilon_nanos) / 1e9
                                               : study.epsilon.epsilon()}});
  }
  return {{"min_batch", min_batch},
          {"honest_reports", honest},
          {"delta", static_cast<double>(delta_atto) / 1e18},
          {"studies", std::move(rows)}};
}

}  // namespace coppice::curator
