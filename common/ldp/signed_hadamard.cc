#include <bit>
#include <memory>
#include <vector>

#include "common/base/status.h"
#include "common/base/text.h"
#include "common/ldp/mechanisms.h"
#include "common/ldp/symbol_response.h"
#include "common/ldp/walsh_hadamard.h"

namespace coppice {
namespace {

constexpr uint32_t kClasses = 2;

// `signed_hadamard`, for two classes: one bit, the sign of the label times the leaf's entry in the
// ticket's column of a Hadamard matrix. It estimates only the margin N(leaf, 1) - N(leaf, 0), which
// is enough to decide a label, and does so with the least noise of all mechanisms here up to an
// epsilon of about 1. It tells nothing about how many rows a leaf has.
//
// The symbol is 0 for +, 1 for -; a label of 1 counts +. There are as many columns as the least
// power of two that is not below the number of leaves.
//
// Guarantee  epsilon-LDP by symbol_response.h, with two symbols.
// Errors     MakeSignedHadamard(): InvalidArgument unless there are two classes.
// Source     Bassily and Smith 2015 (one public random sign per report); Nguyen and others 2016
//            (the Hadamard matrix); docs/research/mechanisms.md#signed_hadamard.
class SignedHadamard final : public SymbolResponse {
 public:
  SignedHadamard(const Budget& epsilon, const Domain& domain);

  bool margins_only() const override { return true; }
  uint32_t SymbolOf(uint32_t column, size_t cell) const override;
  LeafCounts Estimate(absl::Span<const int64_t> sums, uint64_t reports) const override;
  NoiseVariance Variance(uint32_t label) const override;
  Influence MaxInfluence() const override;
};

SignedHadamard::SignedHadamard(const Budget& epsilon, const Domain& domain)
    : SymbolResponse(MechanismKind::kSignedHadamard, epsilon, domain,
                     {.columns = std::bit_ceil(domain.leaves), .symbols = 2}) {}

// Proved: signed_hadamard_is_private in tests/proofs/statements.v.
uint32_t SignedHadamard::SymbolOf(uint32_t column, size_t cell) const {
  const bool first_class = cell % kClasses == 0;
  return first_class != IsNegativeEntry(column, cell / kClasses) ? 1 : 0;
}

LeafCounts SignedHadamard::Estimate(absl::Span<const int64_t> sums, uint64_t /*reports*/) const {
  std::vector<int64_t> margins(columns());
  for (size_t j = 0; j < margins.size(); ++j) margins[j] = sums[2 * j] - sums[2 * j + 1];
  WalshHadamard(absl::MakeSpan(margins));
  LeafCounts counts{.classes = kClasses,
                    .leaf = std::vector<double>(domain().leaves),
                    .label = std::vector<double>(domain().cells())};
  for (size_t leaf = 0; leaf < counts.leaf.size(); ++leaf) {
    const double half = static_cast<double>(margins[leaf]) / (2 * keep());
    counts.label[kClasses * leaf] = -half;
    counts.label[kClasses * leaf + 1] = half;
  }
  return counts;
}

NoiseVariance SignedHadamard::Variance(uint32_t /*label*/) const {
  // Each report adds +-1 / keep to each margin, with mean +-1 for that of its own leaf.
  const double margin = 1 / (keep() * keep());
  const NoiseVariance::Hit own = {.leaf = 0, .label = -1.0 / 4, .covariance = 0};
  return {.leaf = 0, .label = margin / 4, .covariance = 0, .hit = own, .beside = own};
}

Influence SignedHadamard::MaxInfluence() const {
  return {.count = 1 / (2 * keep()), .total = domain().leaves / keep()};
}

}  // namespace

MechanismOr MakeSignedHadamard(const Budget& epsilon, const Domain& domain) {
  if (domain.classes != kClasses) {
    return InvalidArgumentError(
        StrCat("signed_hadamard estimates the margin of two classes, so it takes 2 classes, "
               "not ",
               domain.classes));
  }
  return std::make_unique<SignedHadamard>(epsilon, domain);
}

}  // namespace coppice
