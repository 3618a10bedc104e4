#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/table/table.h"
#include "server/lab/measure_epsilon/audit.h"

namespace coppice::lab {
namespace {

constexpr uint32_t kNo = 0, kYes = 1;
constexpr int kOtherRows = 3;

StatusOr<std::shared_ptr<const Schema>> OneNumber() {
  Feature feature;
  feature.name = "x";
  feature.max = 1;
  COPPICE_ASSIGN_OR_RETURN(Schema schema, Schema::Create({feature}, "label", {"no", "yes"}));
  return std::make_shared<const Schema>(std::move(schema));
}

// Makes three rows to the right of the only cut, and in one table a row more to its left: without
// that row the cut and "missing or not" score the same, with it the cut scores higher.
std::array<Table, 2> TablesOf(const std::shared_ptr<const Schema>& schema, Neighbours neighbours) {
  std::array<Table, 2> tables = {Table(schema), Table(schema)};
  for (Table& table : tables) {
    for (int i = 0; i < kOtherRows; ++i) table.Append({1.0}, kNo);
  }
  if (neighbours == Neighbours::kChangeLabel) tables[0].Append({0.0}, kNo);
  tables[1].Append({0.0}, kYes);
  return tables;
}

// Returns those of these settings that the algorithm has.
trainers::Settings SmallSettings(const trainers::AlgorithmInfo& info) {
  const trainers::Settings wanted = {{"trees", "1"},     {"depth", "1"},        {"cuts", "1"},
                                     {"vote", "pooled"}, {"features", "1"},     {"labelled", "1"},
                                     {"min_leaf", "0"},  {"second_trees", "1"}, {"rounds", "1"},
                                     {"kappa", "1"},     {"lines", "0"},        {"bins", "1"}};
  trainers::Settings settings;
  for (const trainers::Parameter& parameter : info.parameters) {
    const auto value = wanted.find(parameter.name);
    if (value != wanted.end()) settings.insert(*value);
  }
  return settings;
}

// Leaves out the weights that are the same sums of the same rows in both tables: their noise says
// nothing, and would split one outcome into many.
std::string Outcome(const Model& model, Neighbours neighbours) {
  std::string summary;
  for (size_t t = 0; t < model.forest().size(); ++t) {
    for (const Node& node : model.forest()[t].nodes()) {
      summary.push_back(static_cast<char>('a' + static_cast<int>(node.kind)));
    }
    for (const LeafPrediction& leaf : model.leaves()[t]) {
      const uint32_t first = neighbours == Neighbours::kChangeLabel ? kNo : kYes;
      for (uint32_t label = first; label <= kYes; ++label) {
        const double weight = std::clamp(leaf.probabilities[label], -1.0, 2.0);
        summary.push_back(static_cast<char>('1' + std::lround(weight)));
      }
    }
  }
  return summary;
}

}  // namespace

StatusOr<AuditSubject> SubjectOf(const trainers::Trainer& trainer, const Budget& epsilon) {
  const trainers::AlgorithmInfo& info = trainer.info();
  if (!info.is_private) {
    return InvalidArgumentError(StrCat(info.name, " is not private: there is nothing to audit"));
  }
  COPPICE_ASSIGN_OR_RETURN(const auto schema, OneNumber());
  const trainers::TrainOptions options{.epsilon = epsilon, .settings = SmallSettings(info)};
  COPPICE_RETURN_IF_ERROR(trainer.Plan(*schema, options).status());
  return AuditSubject{.name = info.name,
                      .inputs = 2,
                      .run = [&trainer, options, tables = TablesOf(schema, info.neighbours)](
                                 uint32_t input, PrivateRandom& random) -> StatusOr<std::string> {
                        COPPICE_ASSIGN_OR_RETURN(const Model model,
                                                 trainer.Train(tables[input], options, random,
                                                               [](double) { return OkStatus(); }));
                        return Outcome(model, trainer.info().neighbours);
                      }};
}

}  // namespace coppice::lab
