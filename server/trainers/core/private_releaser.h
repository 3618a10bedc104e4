// The only way from private rows to released values in a trainer: with noise for a share of the
// budget, or exactly if there is no budget (coppice-lab's comparison without privacy).
//
// Trainers hold rows, and anything that they compute from rows may end up in a model. With one
// door, and a list of what went through it, the certificate cannot leave a release out, and tests
// can run a trainer on two neighbouring tables and compare what it asked for.

#ifndef COPPICE_SERVER_TRAINERS_CORE_PRIVATE_RELEASER_H_
#define COPPICE_SERVER_TRAINERS_CORE_PRIVATE_RELEASER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/coins/coins.h"
#include "common/model/model.h"
#include "common/privacy/budget.h"
#include "common/privacy/concentrated.h"
#include "common/privacy/private_random.h"

namespace coppice::trainers {

// A part of a job's budget: of epsilon, or of rho if the job has a delta; or an explicit request to
// run without privacy.
class BudgetShare {
 public:
  explicit BudgetShare(const Budget& budget) : kind_(Kind::kEpsilon), amount_(budget.nanos()) {}
  explicit BudgetShare(const Rho& rho) : kind_(Kind::kRho), amount_(rho.picos()) {}
  static BudgetShare WithoutPrivacy() { return BudgetShare(); }
  // Returns the share of a whole job: without privacy if `epsilon` is unset.
  static BudgetShare Of(const std::optional<Budget>& epsilon) {
    return epsilon ? BudgetShare(*epsilon) : WithoutPrivacy();
  }

  bool is_private() const { return kind_ != Kind::kNone; }
  bool is_concentrated() const { return kind_ == Kind::kRho; }
  // Only for a share of epsilon.
  Budget budget() const { return *Budget::FromNanos(amount_); }
  // Only for a share of rho.
  Rho rho() const { return *Rho::FromPicos(amount_); }

  // In nano-epsilons or pico-rhos; 0 without privacy.
  uint64_t amount() const { return amount_; }
  // Returns a share of `amount` of the same kind. InvalidArgument if that is nothing.
  StatusOr<BudgetShare> WithAmount(uint64_t amount) const;

 private:
  enum class Kind : uint8_t { kNone, kEpsilon, kRho };

  BudgetShare() = default;

  Kind kind_ = Kind::kNone;
  uint64_t amount_ = 0;
};

// How far one step between neighbours moves all sums together: the sum of the absolute changes, and
// the sum of their squares.
struct Sensitivity {
  uint64_t l1 = 0;
  uint64_t l2_squared = 0;
};

// Noisy sums, and the scale of their noise: of Laplace noise, or of the Laplace noise with the same
// deviation. The scale is public; 0 without privacy.
struct Measurement {
  std::vector<int64_t> sums;
  double scale = 0;
  bool is_gaussian = false;
};
// Beyond this scale the sums say nothing, and with rho the noise cannot be drawn.
inline constexpr double kMaxScale = 0x1p40;
StatusOr<double> NoiseScale(const Sensitivity& sensitivity, const BudgetShare& share);

enum class SelectionRule : uint8_t { kPermuteAndFlip, kExponential };

// Guarantee  each call costs its share, if `range` or `sensitivity` are what common/privacy's
//            selection.h and noisy_sums.h require. Without a share nothing is protected. A trainer
//            has no other source of noise: what it releases went through Release(), in order.
// Errors     as in these; Unavailable if the random source fails.
// Threads    not safe to share.
class PrivateReleaser {
 public:
  PrivateReleaser(SelectionRule rule, PrivateRandom& random)
      : rule_(rule), random_(random), fresh_coins_(random), coins_(&fresh_coins_) {}
  explicit PrivateReleaser(PrivateRandom& random)
      : PrivateReleaser(SelectionRule::kPermuteAndFlip, random) {}
  virtual ~PrivateReleaser() = default;
  PrivateReleaser(const PrivateReleaser&) = delete;
  PrivateReleaser& operator=(const PrivateReleaser&) = delete;

  // Sets the rule of Select() from now on, for shares of epsilon.
  void UseRule(SelectionRule rule) { rule_ = rule; }

  // Returns the place of the chosen candidate; without a share the first of the best, so that runs
  // without noise can be repeated. A share of rho always uses the exponential mechanism: permute
  // and flip costs more rho.
  StatusOr<size_t> Select(absl::Span<const int64_t> scores, const BudgetShare& share,
                          uint64_t range);
  // Only for a share of epsilon, or none: `sensitivity` is in L1.
  StatusOr<std::vector<int64_t>> Sums(absl::Span<const int64_t> sums, uint64_t sensitivity,
                                      const BudgetShare& share);
  virtual StatusOr<Measurement> Measure(absl::Span<const int64_t> sums,
                                        const Sensitivity& sensitivity, const BudgetShare& share);
  // Returns what noise has added to scores that are made of a measurement: `noise`, which follows
  // from released values. A test's releaser knows the sums, and returns what it really added.
  virtual std::vector<OutputNoise> NoiseOf(
      const Measurement& measured,
      const std::function<std::vector<double>(const Measurement&)>& scores,
      const std::function<std::vector<OutputNoise>()>& noise) const;
  // Whether the next so many releases are known already, from a run that was cut short. Then the
  // numbers that they are asked with are not looked at, but for how many there are, and a trainer
  // need not compute them.
  virtual bool KnowsNext(size_t /*releases*/ = 1) const { return false; }
  // Draws a coin that costs nothing, because it does not depend on rows.
  StatusOr<uint64_t> Below(uint64_t bound) { return coins_->UniformBelow(bound); }
  Coins& coins() { return *coins_; }

 protected:
  // Takes coins from `coins`, which must outlive this.
  PrivateReleaser(PrivateRandom& random, Coins& coins)
      : rule_(SelectionRule::kPermuteAndFlip),
        random_(random),
        fresh_coins_(random),
        coins_(&coins) {}

  // What a trainer asks to be released, without the private numbers themselves.
  struct Request {
    enum class Kind : uint8_t { kSelection, kExponentialSelection, kSums };

    Kind kind = Kind::kSums;
    size_t count = 0;  // of candidates or sums
    BudgetShare share = BudgetShare::WithoutPrivacy();
    uint64_t sensitivity = 0;  // of sums, L1 or the square of L2; the range of scores
  };
  using Released = StatusOr<std::vector<int64_t>>;
  // Returns the released sums, or the chosen place alone. Every release for a share passes here
  // once, and `draw` draws it.
  virtual Released Release(const Request& /*request*/, absl::FunctionRef<Released()> draw) {
    return draw();
  }

 private:
  friend class Trainer;  // a trainer without a releaser is given `random_`

  SelectionRule rule_;
  PrivateRandom& random_;
  FreshCoins fresh_coins_;
  Coins* const coins_;
};

}  // namespace coppice::trainers

#endif  // COPPICE_SERVER_TRAINERS_CORE_PRIVATE_RELEASER_H_
