#include "server/trainers/core/private_releaser.h"

#include <algorithm>
#include <cmath>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/privacy/noisy_sums.h"
#include "common/privacy/selection.h"

namespace coppice::trainers {
namespace {

StatusOr<size_t> FirstOfTheBest(absl::Span<const int64_t> scores) {
  if (scores.empty()) return InvalidArgumentError("a selection needs candidates");
  return static_cast<size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

}  // namespace

StatusOr<BudgetShare> BudgetShare::WithAmount(uint64_t amount) const {
  switch (kind_) {
    case Kind::kNone:
      return *this;
    case Kind::kEpsilon: {
      COPPICE_ASSIGN_OR_RETURN(const Budget budget, Budget::FromNanos(amount));
      return BudgetShare(budget);
    }
    case Kind::kRho: {
      COPPICE_ASSIGN_OR_RETURN(const Rho rho, Rho::FromPicos(amount));
      return BudgetShare(rho);
    }
  }
  return InternalError("a share of no kind");
}

StatusOr<double> NoiseScale(const Sensitivity& sensitivity, const BudgetShare& share) {
  if (!share.is_private()) return 0.0;
  if (!share.is_concentrated()) {
    return static_cast<double>(sensitivity.l1) / share.budget().epsilon();
  }
  COPPICE_ASSIGN_OR_RETURN(const uint64_t deviation,
                           share.rho().DeviationFor(sensitivity.l2_squared));
  return static_cast<double>(deviation) / std::sqrt(2.0);
}

StatusOr<size_t> PrivateReleaser::Select(absl::Span<const int64_t> scores, const BudgetShare& share,
                                         uint64_t range) {
  if (!share.is_private()) return FirstOfTheBest(scores);
  const bool exponential = share.is_concentrated() || rule_ == SelectionRule::kExponential;
  const Request request{
      .kind = exponential ? Request::Kind::kExponentialSelection : Request::Kind::kSelection,
      .count = scores.size(),
      .share = share,
      .sensitivity = range};
  COPPICE_ASSIGN_OR_RETURN(
      const std::vector<int64_t> chosen, Release(request, [&]() -> Released {
        const Budget epsilon =
            share.is_concentrated() ? share.rho().ForSelection() : share.budget();
        COPPICE_ASSIGN_OR_RETURN(const size_t place,
                                 exponential ? ExponentialMechanism(scores, epsilon, range, random_)
                                             : PermuteAndFlip(scores, epsilon, range, random_));
        return std::vector<int64_t>{static_cast<int64_t>(place)};
      }));
  return static_cast<size_t>(chosen.front());
}

StatusOr<std::vector<int64_t>> PrivateReleaser::Sums(absl::Span<const int64_t> sums,
                                                     uint64_t sensitivity,
                                                     const BudgetShare& share) {
  if (!share.is_private()) return std::vector<int64_t>(sums.begin(), sums.end());
  if (share.is_concentrated()) {
    return InternalError("a share of rho needs a sensitivity in L2: Measure()");
  }
  return Release({.count = sums.size(), .share = share, .sensitivity = sensitivity},
                 [&] { return ReleaseSums(sums, sensitivity, share.budget(), random_); });
}

StatusOr<Measurement> PrivateReleaser::Measure(absl::Span<const int64_t> sums,
                                               const Sensitivity& sensitivity,
                                               const BudgetShare& share) {
  Measurement measured;
  COPPICE_ASSIGN_OR_RETURN(measured.scale, NoiseScale(sensitivity, share));
  measured.is_gaussian = share.is_concentrated();
  if (share.is_concentrated()) {
    COPPICE_ASSIGN_OR_RETURN(
        measured.sums,
        Release({.count = sums.size(), .share = share, .sensitivity = sensitivity.l2_squared},
                [&] { return ReleaseSums(sums, sensitivity.l2_squared, share.rho(), random_); }));
  } else {
    COPPICE_ASSIGN_OR_RETURN(measured.sums, Sums(sums, sensitivity.l1, share));
  }
  return measured;
}

std::vector<OutputNoise> PrivateReleaser::NoiseOf(
    const Measurement&, const std::function<std::vector<double>(const Measurement&)>&,
    const std::function<std::vector<OutputNoise>()>& noise) const {
  return noise();
}

}  // namespace coppice::trainers
