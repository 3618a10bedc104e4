// The bytes of terms and forests, what they say, and their hashes.

#include <array>

#include "common/terms/merkle.h"
#include "common/wire/proto/convert.h"
#include "tests/vectors/cases/sample_studies.h"
#include "tests/vectors/vectors.h"

namespace coppice::vectors {
namespace {

Json FeatureJson(const Feature& feature) {
  Json json = {{"name", feature.name}};
  if (feature.type == FeatureType::kNumeric) {
    json.update({{"min", feature.min},
                 {"max", feature.max},
                 {"unit", feature.unit},
                 {"integer", feature.integer}});
  } else {
    json["values"] = feature.values;
  }
  json["public"] = feature.is_public;
  return json;
}

Json SchemaJson(const Schema& schema) {
  Json features = Json::array();
  for (const Feature& feature : schema.features()) features.push_back(FeatureJson(feature));
  Json json = {{"features", features}, {"label", schema.label()}, {"classes", schema.classes()}};
  if (const auto& target = schema.target()) {
    json["target"] = {{"min", target->min}, {"max", target->max}, {"unit", target->unit}};
  }
  return json;
}

Json TermsCase(const Terms& terms) {
  const std::string bytes = SerializeTerms(terms);
  Json values = {{"study", terms.study},
                 {"schema", SchemaJson(*terms.schema)},
                 {"trees", terms.trees},
                 {"epsilon_nanos", terms.epsilon.nanos()},
                 {"mechanism", MechanismName(terms.mechanism)},
                 {"forest_root", Hex(terms.forest_root)}};
  if (terms.rounding) {
    values["rounding"] = {{"low", terms.rounding->low}, {"high", terms.rounding->high}};
  }
  if (!terms.joined_by.empty()) values["joined_by"] = terms.joined_by;
  if (terms.window) {
    values["window"] = {{"reach", terms.window->reach}, {"half_width", terms.window->half_width}};
  }
  return {{"terms", Hex(bytes)}, {"fingerprint", ToHex(FingerprintOf(bytes))}, {"values", values}};
}

Json NodeJson(const Node& node) {
  static constexpr std::array kNames = {"leaf", "numeric", "category", "missing"};
  Json json = {{"kind", kNames.at(static_cast<size_t>(node.kind))}};
  if (node.kind == SplitKind::kLeaf) return json;
  json["feature"] = node.feature;
  if (node.kind == SplitKind::kMissing) return json;
  if (node.kind == SplitKind::kNumeric) json["threshold"] = node.threshold;
  if (node.kind == SplitKind::kCategory) json["category"] = static_cast<int>(node.threshold);
  json["missing_left"] = node.missing_left;
  return json;
}

Json TreeJson(const Tree& tree, const std::string& bytes, const std::string& path) {
  Json nodes = Json::array();
  for (const Node& node : tree.nodes()) nodes.push_back(NodeJson(node));
  return {{"tree", Hex(bytes)}, {"path", Hex(path)}, {"nodes", nodes}};
}

Json ForestCase(const SampleStudy& study) {
  const MerkleTree merkle = MakeMerkleTree(study.trees);
  Json trees = Json::array();
  for (size_t i = 0; i < study.trees.size(); ++i) {
    trees.push_back(TreeJson(study.forest[i], study.trees[i], merkle.paths[i]));
  }
  return {{"root", Hex(merkle.root)}, {"trees", trees}};
}

Json ProofCase(const std::string& leaf, uint32_t index, uint32_t count, const std::string& path,
               const Sha256Digest& root) {
  return {{"tree", Hex(leaf)}, {"index", index},
          {"count", count},    {"path", Hex(path)},
          {"root", Hex(root)}, {"holds", VerifyMerklePath(leaf, index, count, path, root)}};
}

// Each tree at its own place and at others, with paths that are too short, too long or changed.
void AddProofs(const SampleStudy& study, std::vector<Json>& proofs) {
  const auto count = static_cast<uint32_t>(study.trees.size());
  const MerkleTree merkle = MakeMerkleTree(study.trees);
  for (uint32_t i = 0; i < count; ++i) {
    const std::string& tree = study.trees[i];
    const std::string& path = merkle.paths[i];
    std::string changed = path.empty() ? std::string(kMerkleHashBytes, '\0') : path;
    changed.back() = static_cast<char>(changed.back() ^ 1);
    proofs.push_back(ProofCase(tree, i, count, path, merkle.root));
    proofs.push_back(ProofCase(tree, i + 1, count, path, merkle.root));
    proofs.push_back(ProofCase(tree, i, count + 1, path, merkle.root));
    proofs.push_back(ProofCase(tree, i, count, changed, merkle.root));
    proofs.push_back(ProofCase(tree, i, count, path + std::string(32, '\0'), merkle.root));
    proofs.push_back(ProofCase(tree, i, count, path.substr(0, path.size() / 2), merkle.root));
  }
}

}  // namespace

VectorFile MakeTermsVectors() {
  std::vector<Json> terms, forests, proofs;
  for (const SampleStudy& study : SampleStudies()) terms.push_back(TermsCase(study.terms));
  for (const uint32_t trees : {1, 2, 3, 5, 8}) {
    const SampleStudy study = SampleStudyOfTrees(trees);
    terms.push_back(TermsCase(study.terms));
    forests.push_back(ForestCase(study));
    AddProofs(study, proofs);
  }
  const Json header = {
      {"what",
       "Terms of studies with the values that they hold and their fingerprints; forests with their "
       "roots and each tree's path; and proofs that a tree is number `index` of `count`, good and "
       "bad"},
      {"read", "docs/protocol.md#terms-and-fingerprint, docs/protocol.md#trees"},
      {"units",
       "bytes: hexadecimal. terms, tree: serialized coppice.v1.Terms, Tree. epsilon_nanos: "
       "billionths of epsilon. nodes: in preorder"}};
  return {.name = "terms.json",
          .text = Render(header, {{"terms", terms}, {"forests", forests}, {"proofs", proofs}})};
}

}  // namespace coppice::vectors
