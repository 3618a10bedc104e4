#include "common/export/model_parts.h"

#include <algorithm>
#include <string_view>

#include "common/base/text.h"

namespace coppice::formats {
namespace {

Json FeatureJson(const Feature& feature) {
  Json json = {{"name", feature.name}};
  if (feature.type == FeatureType::kCategorical) {
    json["type"] = "categorical";
    json["values"] = feature.values;
  } else {
    json["type"] = "numeric";
    json["min"] = feature.min;
    json["max"] = feature.max;
    if (feature.integer) json["integer"] = true;
    if (!feature.unit.empty()) json["unit"] = feature.unit;
  }
  return json;
}

Json ReleaseJson(const Release& release) {
  Json json = {{"what", release.what},
               {"mechanism", release.mechanism},
               {"epsilon_nanos", release.epsilon_nanos},
               {"delta_atto", release.delta_atto},
               {"times", release.times}};
  if (!release.part.empty()) json["part"] = release.part;
  if (release.rho_pico > 0) json["rho_pico"] = release.rho_pico;
  return json;
}

}  // namespace

Json SchemaJson(const Schema& schema) {
  Json json = {{"label", schema.label()}};
  if (schema.target()) {
    json["target"] = {{"min", schema.target()->min}, {"max", schema.target()->max}};
    if (!schema.target()->unit.empty()) json["target"]["unit"] = schema.target()->unit;
  } else {
    json["classes"] = schema.classes();
  }
  json["features"] = Json::array();
  for (const Feature& feature : schema.features()) {
    json["features"].push_back(FeatureJson(feature));
  }
  return json;
}

Json CertificateJson(const Certificate& certificate) {
  Json json = {{"epsilon", static_cast<double>(certificate.epsilon_nanos) / 1e9},
               {"delta", static_cast<double>(certificate.delta_atto) / 1e18},
               {"epsilon_nanos", certificate.epsilon_nanos},
               {"delta_atto", certificate.delta_atto},
               {"mechanism", certificate.mechanism},
               {"neighbouring", certificate.neighbouring},
               {"estimator", certificate.estimator},
               {"public_inputs", certificate.public_inputs},
               {"reports", certificate.reports},
               {"public_rows", certificate.public_rows},
               {"fingerprint", certificate.fingerprint},
               {"code_version", certificate.code_version},
               {"diagnosis", certificate.diagnosis}};
  if (!certificate.public_rows_sha256.empty()) {
    json["public_rows_sha256"] = certificate.public_rows_sha256;
  }
  json["releases"] = Json::array();
  for (const Release& release : certificate.releases) {
    json["releases"].push_back(ReleaseJson(release));
  }
  const ReadersBound& readers = certificate.readers;
  if (readers.epsilon_nanos > 0) {
    json["readers"] = {{"epsilon_nanos", readers.epsilon_nanos},
                       {"delta_atto", readers.delta_atto},
                       {"honest_reports", readers.honest_reports},
                       {"dishonest_millionths", readers.dishonest_millionths}};
  }
  const RelayBound& relay = certificate.relay;
  if (relay.epsilon_nanos > 0) {
    json["relay"] = {{"epsilon_nanos", relay.epsilon_nanos},
                     {"delta_atto", relay.delta_atto},
                     {"honest_reports", relay.honest_reports},
                     {"dishonest_millionths", relay.dishonest_millionths},
                     {"batches", relay.batches},
                     {"least_accepted", relay.least_accepted},
                     {"relay_key_id", BytesToHexString(relay.relay_key)}};
  }
  return json;
}

std::string ToLine(const Json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

std::string_view NameOf(LeafKind kind) {
  switch (kind) {
    case LeafKind::kProbabilities:
      return "probabilities";
    case LeafKind::kAdditive:
      return "additive";
    case LeafKind::kWeights:
      return "weights";
    case LeafKind::kScores:
      return "scores";
  }
  return "";
}

bool SplitsDerived(const Model& model) {
  const size_t own = model.schema().num_features();
  return std::any_of(model.forest().begin(), model.forest().end(), [own](const Tree& tree) {
    return std::any_of(tree.nodes().begin(), tree.nodes().end(), [own](const Node& node) {
      return node.kind != SplitKind::kLeaf && node.feature >= own;
    });
  });
}

}  // namespace coppice::formats
