// What a study's model cost and assumed: MakeCertificate().

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "common/wire/convert.h"
#include "server/curator/estimation/readers_bound.h"
#include "server/curator/partition/number_labels.h"
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

// Models of an open study show, beside later ones, which reports came between.
ReadersBound ReadersOf(const StudyDefinition& definition, uint64_t reports, StudyState state) {
  if (state == StudyState::kOpen) return {};
  double mass = 0;
  for (const auto& mechanism : definition.mechanisms) {
    mass = std::max(mass, mechanism->TwoSidedMass());
  }
  return BoundForReaders(*definition.terms->schema, definition.terms->epsilon, mass, reports);
}

}  // namespace

Certificate MakeCertificate(const StudyDefinition& definition, const EstimatorOptions& options,
                            uint64_t reports, StudyState state) {
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
          .readers = ReadersOf(definition, reports, state)};
}

}  // namespace coppice::curator
