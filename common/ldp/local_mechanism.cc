#include "common/ldp/local_mechanism.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/ldp/mechanisms.h"
#include "common/ldp/randomized_rounding.h"

namespace coppice {
absl::Span<const MechanismKind> AllMechanismKinds() {
  static constexpr std::array kKinds = [] {
    std::array<MechanismKind, kMechanisms.size()> kinds{};
    for (size_t i = 0; i < kinds.size(); ++i) kinds[i] = kMechanisms[i].kind;
    return kinds;
  }();
  return kKinds;
}

std::string_view MechanismName(MechanismKind kind) {
  for (const MechanismEntry& entry : kMechanisms) {
    if (entry.kind == kind) return entry.name;
  }
  return "unknown";
}

StatusOr<MechanismKind> ParseMechanism(std::string_view name) {
  for (const MechanismEntry& entry : kMechanisms) {
    if (entry.name == name) return entry.kind;
  }
  return InvalidArgumentError(StrCat(
      "there is no mechanism \"", name, "\"; there are ",
      StrJoin(kMechanisms, ", ",
              [](std::string* out, const MechanismEntry& entry) { StrAppend(out, entry.name); })));
}

StatusOr<std::unique_ptr<LocalMechanism>> MakeLocalMechanism(MechanismKind kind,
                                                             const Budget& epsilon,
                                                             const Domain& domain) {
  if (epsilon.nanos() < kMinEpsilonNanos || epsilon.nanos() > kMaxEpsilonNanos) {
    return InvalidArgumentError(StrCat("epsilon ", epsilon.ToString(),
                                       " is out of range: a local mechanism takes "
                                       "from 0.01 to 1000"));
  }
  if (domain.leaves < 1 || domain.classes < 2 ||
      uint64_t{domain.leaves} * domain.classes > kMaxCells) {
    return InvalidArgumentError(StrCat(
        "a mechanism needs at least one leaf and two classes and at most ", kMaxCells,
        " (leaf, class) pairs, not ", domain.leaves, " leaves and ", domain.classes, " classes"));
  }
  for (const MechanismEntry& entry : kMechanisms) {
    if (entry.kind == kind) return entry.make(epsilon, domain);
  }
  return InvalidArgumentError("unknown mechanism");
}

StatusOr<double> LargestTwoSidedMass(MechanismKind kind, const Budget& epsilon,
                                     absl::Span<const uint32_t> leaves, uint32_t classes) {
  if (leaves.empty()) return InvalidArgumentError("a forest needs a tree");
  double largest = 0;
  for (const uint32_t of_tree : std::set<uint32_t>(leaves.begin(), leaves.end())) {
    COPPICE_ASSIGN_OR_RETURN(
        const auto mechanism,
        MakeLocalMechanism(kind, epsilon, {.leaves = of_tree, .classes = classes}));
    largest = std::max(largest, mechanism->TwoSidedMass());
  }
  return largest;
}

StatusOr<std::string> LocalMechanism::Randomize(LeafLabel value, uint32_t column,
                                                PrivateRandom& random) const {
  std::string payload;
  payload.reserve(payload_bytes());
  COPPICE_RETURN_IF_ERROR(Randomize(value, column, random, payload));
  return payload;
}

Status LocalMechanism::Randomize(LeafLabel value, uint32_t column, PrivateRandom& random,
                                 std::string& payload) const {
  Status status = CheckInput(value, column);
  if (status.ok()) status = Write(value, column, random, payload);
  if (!status.ok()) payload.clear();
  return status;
}

Status LocalMechanism::RandomizeNumber(LeafNumber value, uint32_t column, PrivateRandom& random,
                                       std::string& payload) const {
  Status status = CheckNumber(value, column);
  if (status.ok()) status = WriteNumber(value, column, random, payload);
  if (!status.ok()) payload.clear();
  return status;
}

// A mixture of two laws that are within epsilon of each other.
Status LocalMechanism::WriteNumber(LeafNumber value, uint32_t column, PrivateRandom& random,
                                   std::string& payload) const {
  COPPICE_ASSIGN_OR_RETURN(const uint32_t end, RoundToAnEnd(value.place, random));
  return Write({.leaf = value.leaf, .label = end}, column, random, payload);
}

Status LocalMechanism::Add(std::string_view payload, uint32_t column,
                           absl::Span<int64_t> sums) const {
  COPPICE_RETURN_IF_ERROR(CheckColumn(column));
  COPPICE_RETURN_IF_ERROR(Check(payload));
  AddAll({{.payload = payload, .column = column}}, sums);
  return OkStatus();
}

StatusOr<double> LocalMechanism::OutputProbability(LeafLabel value, uint32_t column,
                                                   std::string_view payload) const {
  COPPICE_ASSIGN_OR_RETURN(const double log_probability,
                           LogOutputProbability(value, column, payload));
  return std::exp(log_probability);
}

StatusOr<double> LocalMechanism::NumberProbability(LeafNumber value, uint32_t column,
                                                   std::string_view payload) const {
  COPPICE_RETURN_IF_ERROR(CheckNumber(value, column));
  COPPICE_ASSIGN_OR_RETURN(const double lower, OutputProbability({value.leaf, 0}, column, payload));
  COPPICE_ASSIGN_OR_RETURN(const double upper, OutputProbability({value.leaf, 1}, column, payload));
  return (1 - value.place) * lower + value.place * upper;
}

// The margin of an end is -1 or 1, and the second moment of a mixture that of its parts.
double LocalMechanism::MarginVariance(double place) const {
  const NoiseVariance noise = Variance(1);
  const auto of_end = [&](const NoiseVariance::Hit& hit) {
    return 4 * (noise.label + hit.label) + (noise.leaf + hit.leaf) -
           4 * (noise.covariance + hit.covariance);
  };
  const double mean = 2 * place - 1;
  return (1 - place) * of_end(noise.beside) + place * of_end(noise.hit) + 1 - mean * mean;
}

Status LocalMechanism::RandomizeAllInto(absl::Span<const uint64_t> rows_of, PrivateRandom& random,
                                        absl::Span<int64_t> sums) const {
  for (size_t cell = 0; cell < rows_of.size(); ++cell) {
    const LeafLabel value = ValueOf(cell);
    for (uint64_t row = 0; row < rows_of[cell]; ++row) {
      COPPICE_RETURN_IF_ERROR(RandomizeInto(value, random, sums));
    }
  }
  return OkStatus();
}

LeafLabel LocalMechanism::ValueOf(size_t cell) const {
  return {.leaf = static_cast<uint32_t>(cell / domain_.classes),
          .label = static_cast<uint32_t>(cell % domain_.classes)};
}

Status LocalMechanism::CheckValue(LeafLabel value) const {
  if (value.leaf < domain_.leaves && value.label < domain_.classes) return OkStatus();
  return InvalidArgumentError("the leaf or the label is outside the mechanism's domain");
}

// Not a number is outside, too.
Status LocalMechanism::CheckNumber(LeafNumber value, uint32_t column) const {
  constexpr uint32_t kEnds = 2;
  if (domain_.classes != kEnds) {
    return InvalidArgumentError(
        StrCat("a number lies between two ends; the mechanism has ", domain_.classes, " classes"));
  }
  if (value.leaf < domain_.leaves && value.place >= 0 && value.place <= 1) {
    return CheckColumn(column);
  }
  return InvalidArgumentError("the leaf or the number is outside the mechanism's domain");
}

Status LocalMechanism::CheckColumn(uint32_t column) const {
  if (column < columns()) return OkStatus();
  return InvalidArgumentError(
      StrCat("there is no column ", column, ": the mechanism has ", columns()));
}

Status LocalMechanism::CheckInput(LeafLabel value, uint32_t column) const {
  COPPICE_RETURN_IF_ERROR(CheckValue(value));
  return CheckColumn(column);
}

}  // namespace coppice
