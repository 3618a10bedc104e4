// The promises of shuffled reports, as commands read and print them; and, in the plan of a study,
// what a relay's batches would promise towards the curator.

#ifndef COPPICE_SERVER_LAB_BATCH_BOUND_H_
#define COPPICE_SERVER_LAB_BATCH_BOUND_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/base/status.h"
#include "common/command_line/command_line.h"
#include "common/ldp/local_mechanism.h"
#include "common/privacy/budget.h"
#include "common/schema/schema.h"
#include "server/curator/estimation/planning/plan.h"
#include "server/lab/commands.h"

namespace coppice::lab {

double DeltaNumber(uint64_t delta);

// Parses a local or central epsilon. InvalidArgument outside the range of the bound.
StatusOr<Budget> ParseShuffleEpsilon(const std::string& text);

// Returns the delta of a statement about `reports` reports that are dealt together, in units of
// 10^-18: `text`, or the default if it is empty. InvalidArgument names --delta unless it is above 0
// and at most 1 / (10 reports): with more, the promise may fail for somebody.
StatusOr<uint64_t> ShuffleDelta(const std::string& text, uint64_t reports);

void AddBatchFlags(const Command& command, PlanFlags& flags);
Status CheckBatchFlags(const PlanFlags& flags);
// InvalidArgument for public features: a batch hides no device that shows them.
Status CheckBatchSchema(const PlanFlags& flags, const Schema& schema);

// Returns the value of "relay" in the plan's JSON: the central epsilon of reports in the smallest
// batch, for each epsilon of the flags; and with --central-epsilon the largest epsilon of a report,
// for each mechanism. Leaves out mechanisms that cannot serve the forest. Null if the flags ask for
// no batches.
StatusOr<nlohmann::ordered_json> BatchJson(
    const PlanFlags& flags, const curator::Planner& planner,
    const std::vector<std::optional<MechanismKind>>& mechanisms);
std::string BatchText(const nlohmann::ordered_json& batches);

}  // namespace coppice::lab

#endif  // COPPICE_SERVER_LAB_BATCH_BOUND_H_
