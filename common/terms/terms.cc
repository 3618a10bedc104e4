#include "common/terms/terms.h"

#include <cmath>
#include <string_view>
#include <utility>

#include "absl/algorithm/container.h"
#include "common/base/printable.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/terms/report_form.h"
#include "common/terms/sha256.h"

namespace coppice {
namespace {

constexpr size_t kMaxIdLength = 63;
constexpr size_t kMaxJoinedByBytes = 64;

Status ValidateEpsilon(const Budget& epsilon) {
  if (epsilon.nanos() < kMinEpsilonNanos || epsilon.nanos() > kMaxStudyEpsilonNanos) {
    return InvalidArgumentError(StrCat("epsilon_nanos: must be ", kMinEpsilonNanos, " to ",
                                       kMaxStudyEpsilonNanos, ", is ", epsilon.nanos()));
  }
  return OkStatus();
}

Status ValidateRounding(const Terms& terms) {
  const std::optional<Target>& target = terms.schema->target();
  if (target.has_value() != terms.rounding.has_value()) {
    return InvalidArgumentError(target.has_value()
                                    ? "rounding: must be set where a number is to be predicted"
                                    : "rounding: is for numbers; this schema has classes");
  }
  return target.has_value() ? CheckRounding(*terms.rounding, *target) : OkStatus();
}

// Whether a name can stand for ids: it must differ from the study's other names and be printable.
Status ValidateJoinedBy(const std::string& name, const Schema& schema) {
  if (name.size() > kMaxJoinedByBytes || Printable(name) != name) {
    return InvalidArgumentError(StrCat("joined_by: must have at most ", kMaxJoinedByBytes,
                                       " bytes without control characters"));
  }
  if (name == schema.label()) {
    return InvalidArgumentError(
        StrCat("joined_by: \"", name, "\" is the label, which a report hides"));
  }
  for (const Feature& feature : schema.features()) {
    if (feature.name == name) {
      return InvalidArgumentError(
          StrCat("joined_by: \"", name, "\" is a feature; take the name of an id"));
    }
    if (!feature.is_public) {
      return InvalidArgumentError(
          StrCat("joined_by: needs a schema whose features are all public (\"public\": "
                 "true), for the curator has them; \"",
                 Printable(feature.name), "\" is private"));
    }
  }
  return OkStatus();
}

Status ValidateWindow(const Terms& terms) {
  COPPICE_ASSIGN_OR_RETURN(const auto mechanism, MakeMechanism(terms, 1));
  if (mechanism->window() == terms.window) return OkStatus();
  return InvalidArgumentError(
      StrCat("window: ", terms.window.has_value() ? "is not for" : "must be set for",
             " the mechanism ", MechanismName(terms.mechanism)));
}

}  // namespace

Status CheckRounding(const NumberRange& rounding, const Target& target) {
  constexpr double kWidest = 1e6;  // times the bounds; a wider range tells nothing
  // Bounds may be so wide that their multiple, and so a width, is infinite.
  const bool is_range = rounding.low < rounding.high && std::isfinite(rounding.width()) &&
                        rounding.width() <= kWidest * target.span();
  if (is_range && rounding.low < target.max && rounding.high > target.min) return OkStatus();
  return InvalidArgumentError(
      StrCat("rounding: must be from a number to a greater one, at most a million times as "
             "wide as the target's bounds, and meet these, ",
             target.min, " to ", target.max, "; is ", rounding.low, " to ", rounding.high));
}

Status ValidateTerms(const Terms& terms) {
  if (!IsValidId(terms.study)) {
    return InvalidArgumentError(
        "study: an id is 1 to 63 of a-z 0-9 - _ and starts with a letter or digit");
  }
  if (terms.schema == nullptr) return InvalidArgumentError("schema: is missing");
  COPPICE_RETURN_IF_ERROR(ValidateEpsilon(terms.epsilon));
  COPPICE_RETURN_IF_ERROR(ValidateRounding(terms));
  if (!absl::c_linear_search(AllMechanismKinds(), terms.mechanism)) {
    return InvalidArgumentError("mechanism: is none that this version knows");
  }
  if (!terms.joined_by.empty()) {
    COPPICE_RETURN_IF_ERROR(ValidateJoinedBy(terms.joined_by, *terms.schema));
  }
  COPPICE_RETURN_IF_ERROR(
      ReportForm::Of(terms).CheckMechanism(terms.mechanism, terms.epsilon, *terms.schema));
  COPPICE_RETURN_IF_ERROR(ValidateWindow(terms));
  if (terms.trees < 1 || terms.trees > kMaxTrees) {
    return InvalidArgumentError(StrCat("trees: must be 1 to ", kMaxTrees, ", are ", terms.trees));
  }
  return OkStatus();
}

namespace {

// Every leaf's range, not only that of a device's own leaf: what a device declines must not depend
// on its row.
Status ValidateCentres(const Terms& terms, const Tree& tree) {
  if (!tree.centres().has_value()) return OkStatus();
  if (!terms.rounding.has_value()) {
    return InvalidArgumentError("centres: are for numbers; this schema has classes");
  }
  if (!terms.joined_by.empty()) {
    return InvalidArgumentError(
        "centres: need the row's leaf; a device that is joined by an id does not look at features");
  }
  for (uint32_t leaf = 0; leaf < tree.num_leaves(); ++leaf) {
    const Status status = CheckRounding(AnswerRange(terms, tree, leaf), *terms.schema->target());
    if (!status.ok()) {
      return InvalidArgumentError(StrCat("centres[", leaf, "]: ", status.message()));
    }
  }
  return OkStatus();
}

}  // namespace

// A Tree was checked when it was created, but possibly with another schema than these terms'.
Status ValidateTree(const Terms& terms, const Tree& tree) {
  COPPICE_RETURN_IF_ERROR(tree.CheckFits(*terms.schema));
  COPPICE_RETURN_IF_ERROR(ValidateCentres(terms, tree));
  const Domain domain{.leaves = tree.num_leaves(), .classes = terms.schema->num_outputs()};
  if (uint64_t{domain.leaves} * domain.classes > kMaxCells) {
    return InvalidArgumentError(StrCat("has ", domain.leaves, " leaves of ", domain.classes,
                                       " classes; at most ", kMaxCells,
                                       " cells fit a report, so grow it less deep"));
  }
  return OkStatus();
}

NumberRange AnswerRange(const Terms& terms, const Tree& tree, uint32_t leaf) {
  return AnswerRange(*terms.rounding, tree, leaf);
}

NumberRange AnswerRange(const NumberRange& of_study, const Tree& tree, uint32_t leaf) {
  const std::optional<LeafCentres>& centres = tree.centres();
  if (!centres.has_value()) return of_study;
  return {.low = centres->of_leaf[leaf] - centres->half_range,
          .high = centres->of_leaf[leaf] + centres->half_range};
}

TreesByIndex AllTrees(Forest forest) {
  TreesByIndex trees;
  for (Tree& tree : forest) trees.emplace(static_cast<uint32_t>(trees.size()), std::move(tree));
  return trees;
}

bool IsValidId(std::string_view id) {
  const auto is_alnum = [](char c) { return IsAsciiLower(c) || IsAsciiDigit(c); };
  return !id.empty() && id.size() <= kMaxIdLength && is_alnum(id.front()) &&
         absl::c_all_of(id, [&](char c) { return is_alnum(c) || c == '-' || c == '_'; });
}

Domain DomainOf(const Terms& terms, uint32_t leaves) {
  return {.leaves = leaves, .classes = terms.schema->num_outputs(), .window = terms.window};
}

StatusOr<std::unique_ptr<LocalMechanism>> MakeMechanism(const Terms& terms, uint32_t leaves) {
  return MakeLocalMechanism(terms.mechanism, terms.epsilon, DomainOf(terms, leaves));
}

StatusOr<std::vector<std::unique_ptr<LocalMechanism>>> MakeMechanisms(const Terms& terms,
                                                                      const Forest& forest) {
  std::vector<std::unique_ptr<LocalMechanism>> mechanisms;
  mechanisms.reserve(forest.size());
  for (const Tree& tree : forest) {
    COPPICE_ASSIGN_OR_RETURN(mechanisms.emplace_back(), MakeMechanism(terms, tree.num_leaves()));
  }
  return mechanisms;
}

Fingerprint FingerprintOf(std::string_view terms_bytes) { return Sha256({terms_bytes}); }

std::string ToHex(const Fingerprint& fingerprint) { return BytesToHexString(AsBytes(fingerprint)); }

}  // namespace coppice
