#include "common/wire/model.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/schema/derived.h"
#include "common/wire/field_error.h"
#include "common/wire/messages.h"
#include "common/wire/terms.h"

namespace coppice {
namespace {

constexpr uint8_t kLeafOnWire = 1;  // coppice.v1.SPLIT_KIND_LEAF
constexpr int32_t kLastLeafKind = static_cast<int32_t>(LeafKind::kScores);

// Checked before anything is built: a node takes a byte in the message and a hundred in memory, a
// leaf's prediction takes more in the message. So memory is proportional to the message.
Status CheckLeafCounts(const ModelMessage& message) {
  const std::vector<TreeMessage>& trees = message.forest.trees;
  if (message.predictions.size() != trees.size()) {
    return FieldError(
        "model", StrCat("a model of ", trees.size(), " trees needs as many lists of leaves, not ",
                        message.predictions.size()));
  }
  for (size_t t = 0; t < trees.size(); ++t) {
    const std::vector<uint8_t>& kinds = trees[t].kinds;
    const auto leaves = static_cast<size_t>(std::count(kinds.begin(), kinds.end(), kLeafOnWire));
    const size_t given = message.predictions[t].leaves.size();
    if (kinds.size() <= 2 * given && leaves == given) continue;
    return FieldError("model",
                      StrCat("tree ", t, ": needs ", leaves, " leaf predictions, not ", given));
  }
  return OkStatus();
}

// Numbers without a partner become NaN, which Model::Create() refuses.
std::vector<OutputNoise> MakeNoise(const LeafMessage& message) {
  std::vector<OutputNoise> noise(std::max(message.noise_mean.size(), message.noise_variance.size()),
                                 {.mean = std::nan(""), .variance = std::nan("")});
  for (size_t i = 0; i < message.noise_mean.size(); ++i) noise[i].mean = message.noise_mean[i];
  for (size_t i = 0; i < message.noise_variance.size(); ++i) {
    noise[i].variance = message.noise_variance[i];
  }
  return noise;
}

// Frees each tree's message when its leaves are made.
std::vector<std::vector<LeafPrediction>> MakeLeaves(std::vector<LeavesMessage> messages) {
  std::vector<std::vector<LeafPrediction>> leaves;
  leaves.reserve(messages.size());
  for (LeavesMessage& message : messages) {
    std::vector<LeafPrediction>& of_tree = leaves.emplace_back();
    of_tree.reserve(message.leaves.size());
    for (LeafMessage& leaf : message.leaves) {
      leaf.leaf.noise = MakeNoise(leaf);
      of_tree.push_back(std::move(leaf.leaf));
    }
    message.leaves = {};
  }
  return leaves;
}

// A term without a sign gets no feature, which is refused when the schema is extended.
std::vector<DerivedFeature> MakeDerived(const std::vector<DerivedMessage>& messages) {
  std::vector<DerivedFeature> derived;
  for (const DerivedMessage& message : messages) {
    DerivedFeature& added = derived.emplace_back();
    if (message.features.size() != message.minus.size()) continue;
    for (size_t i = 0; i < message.features.size(); ++i) {
      added.push_back({.feature = message.features[i], .minus = message.minus[i]});
    }
  }
  return derived;
}

// "0.2.0, which made it", or words if the file contains something that a user should not read.
std::string WriterOf(std::string_view version) {
  const bool is_version = !version.empty() && version.size() <= 16 &&
                          version.find_first_not_of("0123456789.") == std::string_view::npos;
  return is_version ? StrCat(version, ", which made it") : "the version that made it";
}

}  // namespace

Status CheckReader(uint32_t version, uint32_t min_reader, std::string_view writer) {
  if (version == 0) {
    return FieldError("model.version",
                      "is missing: every program that writes models says its format, so this one "
                      "was changed; get the model from the curator anew");
  }
  if (min_reader <= kModelVersion) return OkStatus();
  return FieldError("model.min_reader",
                    StrCat("the model is in format ", version, " and needs a reader of format ",
                           min_reader, ", this program reads format ", kModelVersion,
                           ": upgrade Coppice to ", WriterOf(writer), ", or later"));
}

StatusOr<Model> ReadModel(std::string_view bytes) {
  StatusOr<ModelMessage> read = ReadFields<ModelMessage>(bytes);
  if (!read.ok()) return InField("model", read.status());
  ModelMessage& message = *read;
  COPPICE_RETURN_IF_ERROR(
      CheckReader(message.version, message.min_reader, message.certificate.code_version));
  if (message.leaf_kind < 0 || message.leaf_kind > kLastLeafKind) {
    return FieldError("model.leaf_kind", "is none that this version knows");
  }
  COPPICE_RETURN_IF_ERROR(CheckLeafCounts(message));
  COPPICE_ASSIGN_OR_RETURN(Schema schema, MakeSchema(std::move(message.schema)));
  std::vector<DerivedFeature> derived = MakeDerived(message.derived);
  const StatusOr<Schema> tree_schema = ExtendSchema(schema, derived);
  if (!tree_schema.ok()) return InField("model.derived", tree_schema.status());
  // Before the trees: a leaf takes less than its message, and the nodes find room in what is freed.
  std::vector<std::vector<LeafPrediction>> leaves = MakeLeaves(std::move(message.predictions));
  COPPICE_ASSIGN_OR_RETURN(Forest forest, MakeForest(std::move(message.forest), *tree_schema));
  StatusOr<Model> model =
      Model::Create(std::move(schema), std::move(forest), std::move(leaves),
                    std::move(message.certificate), static_cast<LeafKind>(message.leaf_kind),
                    std::move(derived), std::move(message.shared_noise));
  if (!model.ok()) return InField("model", model.status());
  return model;
}

}  // namespace coppice
