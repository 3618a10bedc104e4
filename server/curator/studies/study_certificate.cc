// What a study's model cost and assumed: MakeCertificate() and SetPromises().

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/ldp/local_mechanism.h"
#include "common/terms/signature.h"
#include "server/curator/estimation/inspection/readers_bound.h"
#include "server/curator/studies/study_model.h"

namespace coppice::curator {
namespace {

std::string PartitionSource(const StudyDefinition& definition) {
  if (definition.partition.from_schema) return "the partition, made from the schema alone";
  return StrCat("the ", definition.public_rows, " public rows, and the partition grown from them");
}

std::vector<std::string> PublicInputs(const StudyDefinition& definition, bool seen_early) {
  std::vector<std::string> inputs = {"the schema: bounds, vocabularies and classes",
                                     PartitionSource(definition), "the number of reports"};
  if (const std::optional<NumberRange>& range = definition.terms->rounding) {
    const std::optional<LeafCentres>& centres = definition.forest->front().centres();
    inputs.push_back(
        centres.has_value()
            ? StrCat("the centres of the leaves that numbers are rounded around, within ",
                     centres->half_range, " of them")
            : StrCat("the range that numbers are rounded within: ", range->low, " to ",
                     range->high));
  }
  if (const std::optional<Window>& window = definition.terms->window) {
    inputs.push_back(StrCat("the window that numbers are hidden in: reach ", window->reach,
                            ", half width ", window->half_width));
  }
  const std::string in_clear = definition.form->InClearInWords();
  if (!in_clear.empty()) {
    inputs.push_back(in_clear);
  } else if (seen_early) {
    inputs.emplace_back(
        "a model or counts that were shown, or may have been, before the last report had come: "
        "nothing more than the ε of a report is promised to readers of models");
  }
  const std::string uncovered = UncoveredColumns(*definition.terms->schema);
  if (!uncovered.empty()) inputs.push_back(uncovered);
  return inputs;
}

// The mass of the study's trees or of the model's, whichever is larger: pruning changes the number
// of leaves.
StatusOr<double> LargestMass(const StudyDefinition& definition, const Forest& forest) {
  const Terms& terms = *definition.terms;
  std::vector<uint32_t> leaves;
  for (const Tree& tree : forest) leaves.push_back(tree.num_leaves());
  COPPICE_ASSIGN_OR_RETURN(double mass, LargestTwoSidedMass(terms.mechanism, terms.epsilon, leaves,
                                                            terms.schema->num_outputs()));
  for (uint32_t tree = 0; tree < definition.form->num_trees(); ++tree) {
    mass = std::max(mass, definition.form->mechanism(tree).TwoSidedMass());
  }
  return mass;
}

// What the promise to readers rests on; SetPromises() adds what it comes to. Models of an open
// study make none: beside later models they show which reports came between. So do models and
// counts that were shown while it was open, beside the model of all reports. Nor is there one where
// public features tell reports apart.
ReadersBound ReadersFacts(const ReportForm& report, const SumsState& sums) {
  if (!sums.are_final || sums.seen_early || report.ShowsSomething()) return {};
  return {.dishonest_millionths = kDefaultDishonestMillionths};
}

// The same of the promise towards the curator.
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
                            uint64_t reports, const SumsState& sums, const BatchSummary& batches) {
  const std::string mechanism(MechanismName(definition.terms->mechanism));
  const uint64_t epsilon_nanos = definition.terms->epsilon.nanos();
  return {.epsilon_nanos = epsilon_nanos,
          .releases = {{.what = definition.form->ReleaseInWords(),
                        .mechanism = mechanism,
                        .epsilon_nanos = epsilon_nanos,
                        .times = 1,
                        .part = ""}},
          .mechanism = mechanism,
          .neighbouring = definition.form->NeighboursInWords(),
          .public_inputs = PublicInputs(definition, sums.are_final && sums.seen_early),
          .estimator = options.ToString(),
          .reports = reports,
          .public_rows = definition.public_rows,
          .fingerprint = ToHex(definition.fingerprint),
          .code_version = COPPICE_VERSION,
          .diagnosis = "",
          .readers = ReadersFacts(definition.form->report(), sums),
          .relay = RelayFacts(definition, batches)};
}

void SetPromises(const StudyDefinition& definition, const Forest& forest,
                 Certificate& certificate) {
  const Terms& terms = *definition.terms;
  const StatusOr<double> mass = LargestMass(definition, forest);
  if (certificate.readers.dishonest_millionths > 0) {
    certificate.readers =
        mass.ok() ? BoundForReaders(*terms.schema, terms.epsilon, *mass, certificate.reports)
                  : ReadersBound();
  }
  RelayBound& relay = certificate.relay;
  if (relay.batches == 0) return;
  const BatchBound bound = mass.ok() ? BoundForBatches(terms.epsilon, *mass, relay.least_accepted,
                                                       relay.dishonest_millionths, relay.delta_atto)
                                     : BatchBound();
  if (bound.epsilon_nanos == 0) {
    relay = {};
    return;
  }
  relay.epsilon_nanos = bound.epsilon_nanos;
  relay.honest_reports = bound.honest_reports;
}

}  // namespace coppice::curator
