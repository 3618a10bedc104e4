#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/device/messages/message_reader.h"
#include "client/device/messages/messages.h"
#include "client/device/messages/parts.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/terms.h"

namespace coppice {
namespace {

constexpr int32_t kLeafOnWire = 1;  // coppice.v1.SPLIT_KIND_LEAF
constexpr int32_t kLastLeafKind = static_cast<int32_t>(LeafKind::kScores);

struct DerivedMessage {
  std::vector<uint32_t> features;
  std::vector<bool> minus;
};

struct ModelMessage {
  SchemaMessage schema;
  std::vector<PreorderTree> trees;
  std::vector<std::vector<LeafPrediction>> predictions;
  Certificate certificate;
  int32_t leaf_kind = 0;
  std::vector<DerivedMessage> derived;
  SharedNoise shared_noise;
  uint32_t version = 0;
  uint32_t min_reader = 0;
};

void ReadLeaf(MessageReader& reader, std::vector<LeafPrediction>& leaves) {
  LeafPrediction leaf;
  std::vector<double> means;
  std::vector<double> variances;
  const bool is_message = reader.ReadMessage([&](MessageReader& field) {
    if (field.field() == 1) field.Add(leaf.probabilities);
    if (field.field() == 2) field.Read(leaf.standard_error);
    if (field.field() == 3) field.Read(leaf.label);
    if (field.field() == 4) field.Read(leaf.source_node);
    if (field.field() == 5) field.Add(means);
    if (field.field() == 6) field.Add(variances);
    if (field.field() == 7) field.Read(leaf.term);
  });
  // Numbers that are not in pairs are left unpaired: refused where the model is made.
  const size_t pairs = std::max(means.size(), variances.size());
  means.resize(pairs, std::nan(""));
  variances.resize(pairs, std::nan(""));
  for (size_t i = 0; i < pairs; ++i) {
    leaf.noise.push_back({.mean = means[i], .variance = variances[i]});
  }
  if (is_message) leaves.push_back(std::move(leaf));
  if (leaves.size() > kMaxNodes) reader.Fail();
}

void AddTree(MessageReader& reader, std::vector<PreorderTree>& trees) {
  PreorderTree tree;
  if (reader.ReadMessage([&](MessageReader& field) { ReadTreeField(field, tree); })) {
    trees.push_back(std::move(tree));
  }
}

void AddPredictions(MessageReader& reader, std::vector<std::vector<LeafPrediction>>& predictions) {
  std::vector<LeafPrediction> leaves;
  const bool is_message = reader.ReadMessage([&](MessageReader& field) {
    if (field.field() == 1) ReadLeaf(field, leaves);
  });
  if (is_message) predictions.push_back(std::move(leaves));
}

void AddRelease(MessageReader& reader, std::vector<Release>& releases) {
  Release release{.what = {}, .mechanism = {}, .times = 0};
  const bool is_message = reader.ReadMessage([&](MessageReader& field) {
    if (field.field() == 1) field.ReadText(release.what);
    if (field.field() == 2) field.ReadText(release.mechanism);
    if (field.field() == 3) field.Read(release.epsilon_nanos);
    if (field.field() == 4) field.Read(release.times);
    if (field.field() == 5) field.ReadText(release.part);
    if (field.field() == 6) field.Read(release.delta_atto);
    if (field.field() == 7) field.Read(release.rho_pico);
  });
  if (is_message) releases.push_back(std::move(release));
}

void ReadReaders(MessageReader& field, ReadersBound& readers) {
  if (field.field() == 1) field.Read(readers.epsilon_nanos);
  if (field.field() == 2) field.Read(readers.delta_atto);
  if (field.field() == 3) field.Read(readers.honest_reports);
  if (field.field() == 4) field.Read(readers.dishonest_millionths);
}

void ReadRelay(MessageReader& field, RelayBound& relay) {
  if (field.field() == 1) field.Read(relay.epsilon_nanos);
  if (field.field() == 2) field.Read(relay.delta_atto);
  if (field.field() == 3) field.Read(relay.honest_reports);
  if (field.field() == 4) field.Read(relay.dishonest_millionths);
  if (field.field() == 5) field.Read(relay.batches);
  if (field.field() == 6) field.Read(relay.least_accepted);
  if (field.field() == 7) {
    std::string_view key;
    field.ReadBytes(key);
    relay.relay_key.assign(key.data(), key.size());
  }
}

void ReadCertificateField(MessageReader& field, Certificate& certificate) {
  if (field.field() == 1) field.Read(certificate.epsilon_nanos);
  if (field.field() == 2) field.ReadText(certificate.mechanism);
  if (field.field() == 3) field.ReadText(certificate.neighbouring);
  if (field.field() == 4) field.AddText(certificate.public_inputs);
  if (field.field() == 5) field.ReadText(certificate.estimator);
  if (field.field() == 6) field.Read(certificate.reports);
  if (field.field() == 7) field.Read(certificate.public_rows);
  if (field.field() == 8) field.ReadText(certificate.fingerprint);
  if (field.field() == 9) field.ReadText(certificate.code_version);
  if (field.field() == 10) AddRelease(field, certificate.releases);
  if (field.field() == 11) field.ReadText(certificate.diagnosis);
  if (field.field() == 12) field.Read(certificate.delta_atto);
  if (field.field() == 13) {
    field.ReadMessage([&](MessageReader& inner) { ReadReaders(inner, certificate.readers); });
  }
  if (field.field() == 14) {
    field.ReadMessage([&](MessageReader& inner) { ReadRelay(inner, certificate.relay); });
  }
}

void AddDerived(MessageReader& reader, std::vector<DerivedMessage>& derived) {
  DerivedMessage message;
  const bool is_message = reader.ReadMessage([&](MessageReader& field) {
    if (field.field() == 1) field.Add(message.features);
    if (field.field() == 2) field.Add(message.minus);
  });
  if (is_message) derived.push_back(std::move(message));
}

// A name that is not kept, but must be one.
void CheckText(MessageReader& field) {
  std::string text;
  field.ReadText(text);
}

// A signature that is not looked at, but must be a message.
void CheckSignature(MessageReader& reader) {
  reader.ReadMessage([](MessageReader& field) {
    std::vector<EndorsementMessage> endorsements;
    if (field.field() == 3) AddEndorsement(field, endorsements);
  });
}

void ReadModelField(MessageReader& field, ModelMessage& message) {
  if (field.field() == 1 || field.field() == 2 || field.field() == 9) CheckText(field);
  if (field.field() == 4) ReadSchemaMessage(field, message.schema);
  if (field.field() == 5) {
    field.ReadMessage([&](MessageReader& inner) {
      if (inner.field() == 1) AddTree(inner, message.trees);
    });
  }
  if (field.field() == 6) AddPredictions(field, message.predictions);
  if (field.field() == 7) {
    field.ReadMessage(
        [&](MessageReader& inner) { ReadCertificateField(inner, message.certificate); });
  }
  if (field.field() == 8) field.Read(message.leaf_kind);
  if (field.field() == 10) AddDerived(field, message.derived);
  if (field.field() == 11) {
    field.ReadMessage([&](MessageReader& inner) {
      if (inner.field() == 1) inner.Add(message.shared_noise.trees);
      if (inner.field() == 2) inner.Add(message.shared_noise.factor);
    });
  }
  if (field.field() == 12) field.Read(message.version);
  if (field.field() == 13) field.Read(message.min_reader);
  if (field.field() == 14) CheckSignature(field);
}

// Before any node is made, so that memory stays in proportion to the bytes.
Status CheckLeafCounts(const ModelMessage& message) {
  bool fits = message.predictions.size() == message.trees.size();
  for (size_t t = 0; fits && t < message.trees.size(); ++t) {
    const std::vector<int32_t>& kinds = message.trees[t].kinds;
    const size_t given = message.predictions[t].size();
    const auto leaves = static_cast<size_t>(std::count(kinds.begin(), kinds.end(), kLeafOnWire));
    fits = kinds.size() <= 2 * given && leaves == given;
  }
  if (fits) return OkStatus();
  return InvalidArgumentError("model: has not one leaf prediction for each leaf");
}

StatusOr<Forest> MakeForest(const std::vector<PreorderTree>& trees, const Schema& schema) {
  if (trees.empty() || trees.size() > kMaxTrees) {
    return InvalidArgumentError(
        StrCat("forest.trees: must be 1 to ", kMaxTrees, ", are ", trees.size()));
  }
  Forest forest;
  for (const PreorderTree& preorder : trees) {
    COPPICE_ASSIGN_OR_RETURN(Tree tree, MakeTree(preorder, schema));
    forest.push_back(std::move(tree));
  }
  return forest;
}

// A term without a sign is one without a feature: refused where the schema is extended.
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

}  // namespace

StatusOr<Model> ReadModel(std::string_view bytes) {
  ModelMessage message;
  MessageReader field(bytes);
  while (field.Next()) ReadModelField(field, message);
  if (field.failed()) return InvalidArgumentError("model: no such message");
  if (message.min_reader > kModelVersion) {
    return InvalidArgumentError(StrCat("model.min_reader: the model needs a reader of format ",
                                       message.min_reader, ", this one reads format ",
                                       kModelVersion, ": upgrade Coppice"));
  }
  if (message.leaf_kind < 0 || message.leaf_kind > kLastLeafKind) {
    return InvalidArgumentError("model.leaf_kind: is none that this version knows");
  }
  COPPICE_RETURN_IF_ERROR(CheckLeafCounts(message));
  COPPICE_ASSIGN_OR_RETURN(Schema schema, MakeSchema(std::move(message.schema)));
  std::vector<DerivedFeature> derived = MakeDerived(message.derived);
  COPPICE_ASSIGN_OR_RETURN(const Schema tree_schema, ExtendSchema(schema, derived));
  COPPICE_ASSIGN_OR_RETURN(Forest forest, MakeForest(message.trees, tree_schema));
  return Model::Create(std::move(schema), std::move(forest), std::move(message.predictions),
                       std::move(message.certificate), static_cast<LeafKind>(message.leaf_kind),
                       std::move(derived), std::move(message.shared_noise));
}

}  // namespace coppice
