// Says what a study's model cost and assumed: MakeCertificate() and SetRelayBound().

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/ldp/local_mechanism.h"
#include "common/study/signature.h"
#include "server/curator/estimation/readers_bound.h"
#include "server/curator/studies/study_model.h"

namespace coppice::curator {
namespace {

std::string PartitionSource(const StudyDefinition& definition) {
  if (definition.partition.from_schema) return "the partition, made from the schema alone";
  return absl::StrCat("the ", definition.public_rows,
                      " public rows, and the partition grown from them");
}

std::string PublicFeatureNames(const Schema& schema) {
  return absl::StrJoin(schema.public_features(), ", ", [&](std::string* out, uint32_t feature) {
    absl::StrAppend(out, schema.features()[feature].name);
  });
}

std::string Neighbours(const Terms& terms) {
  const Schema& schema = *terms.schema;
  if (schema.public_features().empty())
    return "any value of one device's row for any other (local)";
  if (!terms.joined_by.empty()) {
    return absl::StrCat("any label of one device for any other, its ", terms.joined_by,
                        " and the features that the curator joins by it as they are: ",
                        PublicFeatureNames(schema), " (local)");
  }
  return absl::StrCat(
      schema.all_public() ? "any label of one device for any other"
                          : "any label and private features of one device for any others",
      ", its public features as they are: ", PublicFeatureNames(schema), " (local)");
}

std::vector<std::string> PublicInputs(const StudyDefinition& definition) {
  std::vector<std::string> inputs = {"the schema: bounds, vocabularies and classes",
                                     PartitionSource(definition), "the number of reports"};
  if (const std::optional<NumberRange>& range = definition.terms->rounding) {
    inputs.push_back(absl::StrCat("the range that numbers are rounded within: ", range->low, " to ",
                                  range->high));
  }
  if (definition.terms->shows_values()) {
    inputs.push_back(definition.terms->joined_by.empty()
                         ? "what reports show in the clear: the values of the public features"
                         : absl::StrCat("what reports show in the clear, the id ",
                                        definition.terms->joined_by,
                                        ", and the features that the curator had of it"));
  }
  return inputs;
}

double LargestMass(const StudyDefinition& definition) {
  double mass = 0;
  for (const auto& mechanism : definition.mechanisms) {
    mass = std::max(mass, mechanism->TwoSidedMass());
  }
  return mass;
}

// Two models of an open study together show which reports came in between, so there is no bound.
ReadersBound ReadersOf(const StudyDefinition& definition, uint64_t reports, StudyState state) {
  if (state == StudyState::kOpen) return {};
  return BoundForReaders(*definition.terms->schema, definition.terms->epsilon,
                         LargestMass(definition), reports);
}

// The inputs of the relay's bound; SetRelayBound() adds its value.
RelayBound RelayFacts(const StudyDefinition& definition, const BatchSummary& batches) {
  const std::optional<RelaySettings>& relay = definition.settings.relay;
  if (!relay.has_value() || batches.counted == 0) return {};
  const KeyId key = KeyIdOf(relay->relay_key);
  const uint64_t least = batches.smallest_crowd.value_or(0);
  return {.delta_atto = std::min(relay->delta_atto, LargestBatchDelta(least)),
          .dishonest_millionths = relay->dishonest_millionths,
          .batches = batches.counted,
          .least_accepted = least,
          .relay_key = std::string(key.begin(), key.end())};
}

}  // namespace

Certificate MakeCertificate(const StudyDefinition& definition, const EstimatorOptions& options,
                            uint64_t reports, StudyState state, const BatchSummary& batches) {
  const std::string mechanism(MechanismName(definition.terms->mechanism));
  const uint64_t epsilon_nanos = definition.terms->epsilon.nanos();
  return {.epsilon_nanos = epsilon_nanos,
          .releases = {{.what = definition.terms->schema->all_public()
                                    ? "a device's one report: its label"
                                    : "a device's one report: its leaf and label in one tree",
                        .mechanism = mechanism,
                        .epsilon_nanos = epsilon_nanos,
                        .times = 1,
                        .part = ""}},
          .mechanism = mechanism,
          .neighbouring = Neighbours(*definition.terms),
          .public_inputs = PublicInputs(definition),
          .estimator = options.ToString(),
          .reports = reports,
          .public_rows = definition.public_rows,
          .fingerprint = ToHex(definition.fingerprint),
          .code_version = COPPICE_VERSION,
          .diagnosis = "",
          .readers = ReadersOf(definition, reports, state),
          .relay = RelayFacts(definition, batches)};
}

void SetRelayBound(const StudyDefinition& definition, const Forest& forest,
                   Certificate& certificate) {
  RelayBound& relay = certificate.relay;
  if (relay.batches == 0) return;
  const Terms& terms = *definition.terms;
  std::vector<uint32_t> leaves;
  for (const Tree& tree : forest) leaves.push_back(tree.num_leaves());
  const absl::StatusOr<double> mass =
      LargestTwoSidedMass(terms.mechanism, terms.epsilon, leaves, terms.schema->num_outputs());
  const BatchBound bound =
      mass.ok()
          ? BoundForBatches(terms.epsilon, std::max(*mass, LargestMass(definition)),
                            relay.least_accepted, relay.dishonest_millionths, relay.delta_atto)
          : BatchBound();
  if (bound.epsilon_nanos == 0) {
    relay = {};
    return;
  }
  relay.epsilon_nanos = bound.epsilon_nanos;
  relay.honest_reports = bound.honest_reports;
}

}  // namespace coppice::curator
