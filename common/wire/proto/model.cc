#include "common/wire/model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/wire/field_error.h"
#include "common/wire/proto/convert.h"

namespace coppice {
namespace {

v1::LeafPrediction ToProto(const LeafPrediction& leaf) {
  v1::LeafPrediction proto;
  proto.mutable_probabilities()->Assign(leaf.probabilities.begin(), leaf.probabilities.end());
  proto.set_standard_error(leaf.standard_error);
  proto.set_label(leaf.label);
  proto.set_source_node(leaf.source_node);
  for (const OutputNoise& noise : leaf.noise) {
    proto.add_noise_mean(noise.mean);
    proto.add_noise_variance(noise.variance);
  }
  proto.set_term(leaf.term);
  return proto;
}

ReadersBound ParseReadersBound(const v1::ReadersBound& proto) {
  return {.epsilon_nanos = proto.epsilon_nanos(),
          .delta_atto = proto.delta_atto(),
          .honest_reports = proto.honest_reports(),
          .dishonest_millionths = proto.dishonest_millionths()};
}

RelayBound ParseRelayBound(const v1::RelayBound& proto) {
  return {.epsilon_nanos = proto.epsilon_nanos(),
          .delta_atto = proto.delta_atto(),
          .honest_reports = proto.honest_reports(),
          .dishonest_millionths = proto.dishonest_millionths(),
          .batches = proto.batches(),
          .least_accepted = proto.least_accepted(),
          .relay_key = proto.relay_key_id()};
}

}  // namespace

v1::Release ToProto(const Release& release) {
  v1::Release proto;
  proto.set_what(release.what);
  proto.set_mechanism(release.mechanism);
  proto.set_epsilon_nanos(release.epsilon_nanos);
  proto.set_delta_atto(release.delta_atto);
  proto.set_times(release.times);
  proto.set_part(release.part);
  proto.set_rho_pico(release.rho_pico);
  return proto;
}

std::vector<Release> ParseReleases(const google::protobuf::RepeatedPtrField<v1::Release>& protos) {
  std::vector<Release> releases;
  for (const v1::Release& proto : protos) {
    releases.push_back({.what = proto.what(),
                        .mechanism = proto.mechanism(),
                        .epsilon_nanos = proto.epsilon_nanos(),
                        .delta_atto = proto.delta_atto(),
                        .times = proto.times(),
                        .part = proto.part(),
                        .rho_pico = proto.rho_pico()});
  }
  return releases;
}

v1::ReadersBound ToProto(const ReadersBound& readers) {
  v1::ReadersBound proto;
  proto.set_epsilon_nanos(readers.epsilon_nanos);
  proto.set_delta_atto(readers.delta_atto);
  proto.set_honest_reports(readers.honest_reports);
  proto.set_dishonest_millionths(readers.dishonest_millionths);
  return proto;
}

v1::RelayBound ToProto(const RelayBound& relay) {
  v1::RelayBound proto;
  proto.set_epsilon_nanos(relay.epsilon_nanos);
  proto.set_delta_atto(relay.delta_atto);
  proto.set_honest_reports(relay.honest_reports);
  proto.set_dishonest_millionths(relay.dishonest_millionths);
  proto.set_batches(relay.batches);
  proto.set_least_accepted(relay.least_accepted);
  proto.set_relay_key_id(relay.relay_key);
  return proto;
}

Certificate ParseCertificate(const v1::Certificate& proto) {
  return {.epsilon_nanos = proto.epsilon_nanos(),
          .delta_atto = proto.delta_atto(),
          .releases = ParseReleases(proto.releases()),
          .mechanism = proto.mechanism(),
          .neighbouring = proto.neighbouring(),
          .public_inputs = {proto.public_inputs().begin(), proto.public_inputs().end()},
          .estimator = proto.estimator(),
          .reports = proto.reports(),
          .public_rows = proto.public_rows(),
          .public_rows_sha256 = proto.public_rows_sha256(),
          .fingerprint = proto.fingerprint(),
          .code_version = proto.code_version(),
          .diagnosis = proto.diagnosis(),
          .readers = ParseReadersBound(proto.readers()),
          .relay = ParseRelayBound(proto.relay())};
}

v1::Certificate ToProto(const Certificate& certificate) {
  v1::Certificate proto;
  proto.set_epsilon_nanos(certificate.epsilon_nanos);
  proto.set_delta_atto(certificate.delta_atto);
  proto.set_mechanism(certificate.mechanism);
  proto.set_neighbouring(certificate.neighbouring);
  proto.mutable_public_inputs()->Assign(certificate.public_inputs.begin(),
                                        certificate.public_inputs.end());
  proto.set_estimator(certificate.estimator);
  proto.set_reports(certificate.reports);
  proto.set_public_rows(certificate.public_rows);
  proto.set_public_rows_sha256(certificate.public_rows_sha256);
  proto.set_fingerprint(certificate.fingerprint);
  proto.set_code_version(certificate.code_version);
  proto.set_diagnosis(certificate.diagnosis);
  for (const Release& release : certificate.releases) *proto.add_releases() = ToProto(release);
  if (certificate.readers.epsilon_nanos > 0) {
    *proto.mutable_readers() = ToProto(certificate.readers);
  }
  if (certificate.relay.epsilon_nanos > 0) *proto.mutable_relay() = ToProto(certificate.relay);
  return proto;
}

v1::Model ToProto(const Model& model) {
  v1::Model proto;
  proto.set_version(kModelVersion);
  proto.set_min_reader(kModelMinReader);
  *proto.mutable_schema() = ToProto(model.schema());
  *proto.mutable_forest() = ToProto(model.forest());
  for (const std::vector<LeafPrediction>& leaves : model.leaves()) {
    v1::TreePredictions* tree = proto.add_predictions();
    for (const LeafPrediction& leaf : leaves) *tree->add_leaves() = ToProto(leaf);
  }
  *proto.mutable_certificate() = ToProto(model.certificate());
  for (const DerivedFeature& derived : model.derived()) {
    v1::DerivedFeature* const added = proto.add_derived();
    for (const DerivedTerm& term : derived) {
      added->add_features(term.feature);
      added->add_minus(term.minus);
    }
  }
  proto.set_leaf_kind(static_cast<v1::LeafKind>(model.leaf_kind()));
  const SharedNoise& shared = model.shared_noise();
  if (!shared.trees.empty()) {
    v1::SharedNoise& noise = *proto.mutable_shared_noise();
    noise.mutable_trees()->Assign(shared.trees.begin(), shared.trees.end());
    noise.mutable_factor()->Assign(shared.factor.begin(), shared.factor.end());
  }
  return proto;
}

Status CheckReadable(const v1::Model& proto) {
  return CheckReader(proto.version(), proto.min_reader(), proto.certificate().code_version());
}

StatusOr<Model> ParseModel(const v1::Model& proto) { return ReadModel(proto.SerializeAsString()); }

namespace {

v1::PathStep ToProto(const PathStep& step) {
  v1::PathStep proto;
  proto.set_condition(step.condition);
  proto.set_holds(step.holds);
  proto.set_node(step.node);
  proto.set_feature(step.split.feature);
  proto.set_missing_left(step.split.missing_left);
  proto.set_value(step.value);
  switch (step.split.kind) {
    case SplitKind::kNumeric:
      proto.set_kind(v1::SPLIT_KIND_NUMERIC);
      proto.set_threshold(step.split.threshold);
      break;
    case SplitKind::kCategory:
      proto.set_kind(v1::SPLIT_KIND_CATEGORY);
      proto.set_category(static_cast<uint32_t>(step.split.threshold));
      break;
    case SplitKind::kMissing:
      proto.set_kind(v1::SPLIT_KIND_MISSING);
      break;
    case SplitKind::kLeaf:
      break;  // no step
  }
  return proto;
}

}  // namespace

v1::Explanation ToProto(const Explanation& explanation, const Schema& tree_schema) {
  v1::Explanation proto;
  proto.set_unit(static_cast<v1::ContributionUnit>(explanation.unit));
  proto.set_base(explanation.base);
  for (const TreePath& path : explanation.trees) {
    v1::TreePath& added = *proto.add_trees();
    added.set_tree(path.tree);
    added.set_contribution(path.contribution);
    for (const PathStep& step : path.steps) *added.add_steps() = ToProto(step);
    added.set_leaf(path.leaf);
    *added.mutable_prediction() = ToProto(path.prediction);
  }
  proto.set_bias(explanation.bias);
  for (const FeatureContribution& of_feature : explanation.features) {
    v1::FeatureContribution& added = *proto.add_features();
    added.set_feature(of_feature.feature);
    added.set_name(tree_schema.features()[of_feature.feature].name);
    added.set_value(of_feature.value);
    added.set_contribution(of_feature.contribution);
  }
  return proto;
}

v1::Prediction ToProto(const Prediction& prediction) {
  v1::Prediction proto;
  proto.set_label(prediction.label);
  proto.mutable_probabilities()->Assign(prediction.probabilities.begin(),
                                        prediction.probabilities.end());
  proto.set_standard_error(prediction.standard_error);
  proto.set_confidence(Confidence(prediction));
  proto.set_value(prediction.value);
  proto.set_value_error(prediction.value_error);
  proto.set_low(prediction.low);
  proto.set_high(prediction.high);
  return proto;
}

}  // namespace coppice
