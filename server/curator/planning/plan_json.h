// A plan as a document: what `coppice-lab plan --json` prints and report::PlanPage() takes.
//
// Threads    plain functions and values.

#ifndef COPPICE_SERVER_CURATOR_PLANNING_PLAN_JSON_H_
#define COPPICE_SERVER_CURATOR_PLANNING_PLAN_JSON_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "common/base/cancel_check.h"
#include "common/data/table.h"
#include "common/privacy/budget.h"
#include "common/schema/schema.h"
#include "common/tree/certificate.h"
#include "server/curator/estimation/plan.h"

namespace coppice::curator {

// One study that was asked about.
struct PlannedStudy {
  Budget epsilon;
  uint64_t devices = 0;
  MechanismCost cost;
  StudyForecast forecast;
  ReadersBound readers{};
};

// `schema` is that of the planner's public rows.
absl::StatusOr<PlannedStudy> PlanStudy(const Planner& planner, const Schema& schema,
                                       const Budget& epsilon, const MechanismCost& cost,
                                       uint64_t devices, const CancelCheck& cancel = {});

// What always answering one class, or the mean, is worth on the public rows: how often it is right,
// or the root of its mean squared error.
struct Baseline {
  bool numbers = false;
  std::string answer;
  double score = 0;
};
Baseline BaselineAmong(const Table& public_rows);

// How many rows the plan rests on. Those that stand for a schema are none.
size_t PublicRowsOf(const Planner& planner);

// Whether reports help, in a sentence.
std::string AdviceOn(const Planner& planner, absl::Span<const PlannedStudy> studies);

// `baseline` is unset where the public labels are not used. Of what it takes to reach an accuracy,
// and of public features, the caller adds what it computes: "takes", "public_features".
nlohmann::ordered_json PlanJson(const Planner& planner, absl::Span<const PlannedStudy> studies,
                                const std::optional<Baseline>& baseline);
// What batches of a relay promise towards the curator, for each epsilon: the member "relay".
nlohmann::ordered_json BatchesJson(absl::Span<const PlannedStudy> studies, uint64_t min_batch,
                                   uint32_t dishonest_millionths, uint64_t delta_atto);
// The member "public_features".
nlohmann::ordered_json WorthsJson(absl::Span<const FeatureWorth> worths);

}  // namespace coppice::curator

#endif  // COPPICE_SERVER_CURATOR_PLANNING_PLAN_JSON_H_
