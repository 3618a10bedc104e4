// Whole trainers as releases on tiny tables: what an observer of the model sees, as text. Kept
// small, since the walk follows every branch: unless set otherwise, one tree of one level and one
// public cut per feature.

#ifndef COPPICE_TESTS_PRIVACY_TRAINER_RELEASES_H_
#define COPPICE_TESTS_PRIVACY_TRAINER_RELEASES_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/privacy/budget.h"
#include "common/table/table.h"
#include "server/trainers/core/trainer.h"
#include "server/trainers/registry.h"
#include "tests/privacy/enumeration.h"
#include "tests/privacy/tiny_tables.h"
#include "tests/support/schemas.h"

namespace coppice::testing {

// Maps a tiny row to a row of a schema; in some schemas one value is missing.
struct TinySchema {
  std::shared_ptr<const Schema> schema;
  std::vector<Row> values;  // the row for x = 0, 1, 2

  Table ToTable(const TinyTable& tiny) const {
    Table table(schema);
    for (const TinyRow& row : tiny) table.Append(values[row.x], row.y);
    return table;
  }
};

inline TinySchema OneNumber(uint32_t classes = 2) {
  std::vector<std::string> names = {"no", "yes", "perhaps"};
  names.resize(classes);
  return {std::make_shared<const Schema>(*Schema::Create({Numeric("x", 0, 1)}, "label", names)),
          {{0}, {1}, {kMissingValue}}};
}

inline TinySchema TwoNumbers() {
  return {std::make_shared<const Schema>(
              *Schema::Create({Numeric("x", 0, 1), Numeric("z", 0, 1)}, "label", {"no", "yes"})),
          {{0, 0}, {1, 0}, {1, 1}}};
}

// Has nothing to split: a trainer can only learn which class is more frequent.
inline TinySchema Nothing(uint32_t classes = 2) {
  std::vector<std::string> names = {"no", "yes", "perhaps"};
  names.resize(classes);
  return {std::make_shared<const Schema>(*Schema::Create({Numeric("x", 7, 7)}, "label", names)),
          {{7}, {7}, {kMissingValue}}};
}

inline std::string TreeText(const Tree& tree) {
  std::string text;
  for (const Node& node : tree.nodes()) {
    StrAppend(&text, static_cast<int>(node.kind), ":", node.feature, "<", node.threshold, " ");
  }
  return text;
}

// All of a model that depends on rows, as text.
inline std::string ModelText(const Model& model) {
  std::string text;
  for (size_t t = 0; t < model.forest().size(); ++t) {
    StrAppend(&text, TreeText(model.forest()[t]));
    for (const LeafPrediction& leaf : model.leaves()[t]) {
      for (const double weight : leaf.probabilities) StrAppend(&text, weight, ",");
    }
  }
  return text;
}

inline TinyRelease WalkTrainer(const char* algorithm, TinySchema schema,
                               const trainers::Settings& more, uint64_t delta_atto = 0) {
  trainers::Settings settings = more;
  const std::pair<const char*, const char*> small[] = {
      {"trees", "1"}, {"depth", "1"}, {"cuts", "1"}, {"vote", "pooled"}};
  const trainers::Trainer* const trainer = *trainers::FindTrainer(algorithm);
  for (const trainers::Parameter& parameter : trainer->info().parameters) {
    for (const auto& [name, value] : small) {
      if (parameter.name == name) settings.emplace(name, value);
    }
  }
  return [trainer, schema = std::move(schema), settings, delta_atto](
             const TinyTable& tiny, const Budget& epsilon,
             PrivateRandom& random) -> StatusOr<std::string> {
    const StatusOr<Model> model = trainer->Train(
        schema.ToTable(tiny), {.epsilon = epsilon, .delta_atto = delta_atto, .settings = settings},
        random, [](double) { return OkStatus(); });
    if (!model.ok()) return model.status();
    return ModelText(*model);
  };
}

}  // namespace coppice::testing

#endif  // COPPICE_TESTS_PRIVACY_TRAINER_RELEASES_H_
