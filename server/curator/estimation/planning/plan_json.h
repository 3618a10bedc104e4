// Writes a plan as the document that `coppice-lab plan --json` prints and report::PlanPage() reads.
//
// Threads    plain functions and values.

#ifndef COPPICE_SERVER_CURATOR_ESTIMATION_PLANNING_PLAN_JSON_H_
#define COPPICE_SERVER_CURATOR_ESTIMATION_PLANNING_PLAN_JSON_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/types/span.h"
#include "common/base/cancel_check.h"
#include "common/base/status.h"
#include "common/model/certificate.h"
#include "common/privacy/budget.h"
#include "common/schema/schema.h"
#include "common/table/table.h"
#include "server/curator/estimation/planning/plan.h"

namespace coppice::curator {

// One study that the plan covers.
struct PlannedStudy {
  Budget epsilon;
  uint64_t devices = 0;
  MechanismCost cost;
  StudyForecast forecast;
  ReadersBound readers{};
};

// `schema` must be that of the planner's public rows.
StatusOr<PlannedStudy> PlanStudy(const Planner& planner, const Schema& schema,
                                 const Budget& epsilon, const MechanismCost& cost, uint64_t devices,
                                 const CancelCheck& cancel = {});

// The score on the public rows of always answering one class (how often it is right) or the mean
// (the root mean squared error).
struct Baseline {
  bool numbers = false;
  std::string answer;
  double score = 0;
};
Baseline BaselineAmong(const Table& public_rows);

// The number of public rows behind the plan; 0 if the rows only stand for a schema.
size_t PublicRowsOf(const Planner& planner);

// Says in one sentence whether reports help.
std::string AdviceOn(const Planner& planner, absl::Span<const PlannedStudy> studies);

// `baseline` is unset if the public labels are not used. The caller adds the members "takes" (what
// an accuracy takes) and "public_features" if it computes them.
nlohmann::ordered_json PlanJson(const Planner& planner, absl::Span<const PlannedStudy> studies,
                                const std::optional<Baseline>& baseline);
// The member "relay": what batches of a relay promise against the curator, by epsilon.
nlohmann::ordered_json BatchesJson(absl::Span<const PlannedStudy> studies, uint64_t min_batch,
                                   uint32_t dishonest_millionths, uint64_t delta_atto);
// The member "public_features".
nlohmann::ordered_json WorthsJson(absl::Span<const FeatureWorth> worths);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_ESTIMATION_PLANNING_PLAN_JSON_H_
