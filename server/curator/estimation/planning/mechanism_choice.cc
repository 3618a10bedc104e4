#include "server/curator/estimation/planning/mechanism_choice.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/strings/str_format.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/curator/estimation/counts/estimator.h"

namespace coppice::curator {
namespace {

// A mechanism with at most this much more noise than the best may win by its size; the accuracy
// does not show the difference, since an estimate's error grows with the root of the noise, and
// only in the part that reports decide.
constexpr double kSlack = 1.4;

struct TreeCost {
  double margin_noise = 0;
  size_t payload_bytes = 0;
  double margin_influence = 0;
  double two_sided_mass = 0;
  bool margins_only = false;
};

// c (V_k - U / K) moves most if one class of the leaf moves up as far as it can and another down.
double MarginInfluence(const Influence& influence, double classes) {
  const double scale = classes / std::sqrt(classes - 1);
  return scale * 2 * influence.count * (classes - 1) / classes;
}

// Half-way between the middle of the range and an end.
constexpr double kUsualPlace = 0.75;

double MarginNoiseOf(const LocalMechanism& mechanism, bool is_number_alone) {
  if (is_number_alone) return mechanism.MarginVariance(kUsualPlace);
  std::vector<NoiseVariance> noise;
  for (uint32_t k = 0; k < mechanism.domain().classes; ++k) noise.push_back(mechanism.Variance(k));
  return MarginNoise(noise);
}

StatusOr<TreeCost> CostOfTree(MechanismKind kind, const Budget& epsilon, const Domain& domain,
                              bool is_number_alone) {
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<LocalMechanism> mechanism,
                           MakeLocalMechanism(kind, epsilon, domain));
  if (mechanism->window() && !is_number_alone) {
    return InvalidArgumentError(StrCat(MechanismName(kind), " hides numbers alone"));
  }
  return TreeCost{.margin_noise = MarginNoiseOf(*mechanism, is_number_alone),
                  .payload_bytes = mechanism->payload_bytes(),
                  .margin_influence = MarginInfluence(mechanism->MaxInfluence(), domain.classes),
                  .two_sided_mass = mechanism->TwoSidedMass(),
                  .margins_only = mechanism->margins_only()};
}

// Ranks by noise beyond the slack, then bytes, then a liar's influence, then noise; less is better.
bool IsBetter(const MechanismCost& a, const MechanismCost& b, double least_noise) {
  const bool a_fine = a.margin_noise <= kSlack * least_noise;
  const bool b_fine = b.margin_noise <= kSlack * least_noise;
  if (a_fine != b_fine) return a_fine;
  if (a_fine && a.payload_bytes != b.payload_bytes) return a.payload_bytes < b.payload_bytes;
  if (a_fine && a.margin_influence != b.margin_influence) {
    return a.margin_influence < b.margin_influence;
  }
  return a.margin_noise < b.margin_noise;
}

// Up to this epsilon a correction is better off with one bit about the margin, where there is one.
constexpr uint64_t kMostNanosOfOneBit = 1'000'000'000;

bool Serves(const MechanismCost& cost, ReportPurpose purpose, uint32_t classes) {
  if (purpose == ReportPurpose::kMargins) return true;
  const bool wants_bit = classes == 2 && cost.epsilon.nanos() <= kMostNanosOfOneBit;
  return cost.margins_only == wants_bit;
}

std::string Why(const MechanismCost& chosen, const MechanismCost& quietest) {
  std::string why = absl::StrFormat("%s: noise %.3g in a margin and %d byte%s a report",
                                    MechanismName(chosen.kind), chosen.margin_noise,
                                    chosen.payload_bytes, chosen.payload_bytes == 1 ? "" : "s");
  if (chosen.kind == quietest.kind) return StrCat(why, ", the least noise of all that fit");
  return StrCat(why, absl::StrFormat("; the least noise, %.3g, would be %s in %d bytes",
                                     quietest.margin_noise, MechanismName(quietest.kind),
                                     quietest.payload_bytes));
}

}  // namespace

ReportSubject ReportSubject::Of(const ReportForm& form, const Schema& schema,
                                const Forest& forest) {
  return {.forest = form.PayloadForest(forest),
          .outputs = schema.num_outputs(),
          .is_number_alone = form.IsAboutLabelAlone() && schema.target().has_value()};
}

StatusOr<MechanismCost> CostOf(MechanismKind kind, const Budget& epsilon,
                               const ReportSubject& subject) {
  absl::btree_map<uint32_t, TreeCost> by_leaves;  // trees of one size cost the same
  MechanismCost cost{.kind = kind, .epsilon = epsilon};
  for (const Tree& tree : subject.forest) {
    auto known = by_leaves.find(tree.num_leaves());
    if (known == by_leaves.end()) {
      COPPICE_ASSIGN_OR_RETURN(
          const TreeCost of_tree,
          CostOfTree(kind, epsilon, {.leaves = tree.num_leaves(), .classes = subject.outputs},
                     subject.is_number_alone));
      known = by_leaves.emplace(tree.num_leaves(), of_tree).first;
    }
    cost.margin_noise += known->second.margin_noise / static_cast<double>(subject.forest.size());
    cost.payload_bytes = std::max(cost.payload_bytes, known->second.payload_bytes);
    cost.margin_influence = std::max(cost.margin_influence, known->second.margin_influence);
    cost.two_sided_mass = std::max(cost.two_sided_mass, known->second.two_sided_mass);
    cost.margins_only = known->second.margins_only;
  }
  return cost;
}

ReportPurpose PurposeOf(SplitRule rule, bool labels_alone) {
  return rule == SplitRule::kRandomCut && !labels_alone ? ReportPurpose::kCorrection
                                                        : ReportPurpose::kMargins;
}

StatusOr<MechanismChoice> ChooseMechanism(const Budget& epsilon, const ReportSubject& subject,
                                          size_t max_payload_bytes, ReportPurpose purpose) {
  std::vector<MechanismCost> costs;
  size_t smallest = std::numeric_limits<size_t>::max();
  for (const MechanismKind kind : AllMechanismKinds()) {
    const StatusOr<MechanismCost> cost = CostOf(kind, epsilon, subject);
    if (!cost.ok() || !Serves(*cost, purpose, subject.outputs)) continue;
    smallest = std::min(smallest, cost->payload_bytes);
    if (max_payload_bytes == 0 || cost->payload_bytes <= max_payload_bytes) costs.push_back(*cost);
  }
  if (costs.empty()) {
    return InvalidArgumentError(StrCat("no mechanism fits a payload of ", max_payload_bytes,
                                       " bytes; the smallest takes ", smallest));
  }
  const MechanismCost quietest = *std::min_element(
      costs.begin(), costs.end(), [](const MechanismCost& a, const MechanismCost& b) {
        return a.margin_noise < b.margin_noise;
      });
  const MechanismCost chosen = *std::min_element(
      costs.begin(), costs.end(), [&](const MechanismCost& a, const MechanismCost& b) {
        return IsBetter(a, b, quietest.margin_noise);
      });
  return MechanismChoice{.cost = chosen, .why = Why(chosen, quietest)};
}

}  // namespace coppice::curator
