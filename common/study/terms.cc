#include "common/study/terms.h"

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/study/sha256.h"

namespace coppice {
namespace {

constexpr size_t kMaxIdLength = 63;

absl::Status ValidateEpsilon(const Budget& epsilon) {
  if (epsilon.nanos() < kMinEpsilonNanos || epsilon.nanos() > kMaxStudyEpsilonNanos) {
    return absl::InvalidArgumentError(absl::StrCat("epsilon_nanos: must be ", kMinEpsilonNanos,
                                                   " to ", kMaxStudyEpsilonNanos, ", is ",
                                                   epsilon.nanos()));
  }
  return absl::OkStatus();
}

// A Tree is checked when it is made, but maybe for another schema than these terms'.
absl::Status ValidateTree(const Tree& tree, const Schema& schema) {
  const absl::Span<const Node> nodes = tree.nodes();
  COPPICE_RETURN_IF_ERROR(
      Tree::Create(std::vector<Node>(nodes.begin(), nodes.end()), schema).status());
  const Domain domain{.leaves = tree.num_leaves(), .classes = schema.num_classes()};
  if (domain.cells() > kMaxCells) {
    return absl::InvalidArgumentError(absl::StrCat("has ", domain.leaves, " leaves of ",
                                                   domain.classes, " classes; at most ", kMaxCells,
                                                   " cells fit a report, so grow it less deep"));
  }
  return absl::OkStatus();
}

absl::Status ValidateForest(const Forest& forest, const Schema& schema) {
  if (forest.empty() || forest.size() > kMaxTrees) {
    return absl::InvalidArgumentError(
        absl::StrCat("forest: must have 1 to ", kMaxTrees, " trees, has ", forest.size()));
  }
  for (size_t t = 0; t < forest.size(); ++t) {
    const absl::Status status = ValidateTree(forest[t], schema);
    if (!status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("forest.trees[", t, "]: ", status.message()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateTerms(const Terms& terms) {
  if (!IsValidId(terms.study)) {
    return absl::InvalidArgumentError(
        "study: an id is 1 to 63 of a-z 0-9 - _ and starts with a letter or digit");
  }
  if (terms.schema == nullptr) return absl::InvalidArgumentError("schema: is missing");
  COPPICE_RETURN_IF_ERROR(ValidateEpsilon(terms.epsilon));
  if (!absl::c_linear_search(AllMechanismKinds(), terms.mechanism)) {
    return absl::InvalidArgumentError("mechanism: is none that this version knows");
  }
  return ValidateForest(terms.forest, *terms.schema);
}

bool IsValidId(absl::string_view id) {
  const auto is_alnum = [](char c) { return absl::ascii_islower(c) || absl::ascii_isdigit(c); };
  return !id.empty() && id.size() <= kMaxIdLength && is_alnum(id.front()) &&
         absl::c_all_of(id, [&](char c) { return is_alnum(c) || c == '-' || c == '_'; });
}

absl::StatusOr<std::vector<std::unique_ptr<LocalMechanism>>> MakeMechanisms(const Terms& terms) {
  std::vector<std::unique_ptr<LocalMechanism>> mechanisms;
  mechanisms.reserve(terms.forest.size());
  for (const Tree& tree : terms.forest) {
    const Domain domain{.leaves = tree.num_leaves(), .classes = terms.schema->num_classes()};
    COPPICE_ASSIGN_OR_RETURN(std::unique_ptr<LocalMechanism> mechanism,
                             MakeLocalMechanism(terms.mechanism, terms.epsilon, domain));
    mechanisms.push_back(std::move(mechanism));
  }
  return mechanisms;
}

Fingerprint FingerprintOf(absl::string_view terms_bytes) { return Sha256({terms_bytes}); }

std::string ToHex(const Fingerprint& fingerprint) {
  return absl::BytesToHexString(std::string(fingerprint.begin(), fingerprint.end()));
}

}  // namespace coppice
