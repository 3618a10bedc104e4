// The interface of every local mechanism: how a device randomizes its value, and how the curator
// estimates counts from the sum of the reports.
//
// A row is one (leaf, label) pair of a public tree with `leaves` leaves, and one of `classes`
// classes. One mechanism object serves one tree, one epsilon, one domain.
//
// Some mechanisms ask each device about only one of columns() public parts of a code. The ticket
// draws the column uniformly; the device neither chooses nor sends it, so a liar cannot push all
// leaves one way, and the report is shorter. The guarantee holds in every column.
//
// Estimate() is unbiased over devices' and tickets' draws. Variance() is its noise for one report,
// in closed form. A payload is packed bits or small integers, never floats; docs/protocol.md
// defines each layout.

#ifndef COPPICE_COMMON_LDP_LOCAL_MECHANISM_H_
#define COPPICE_COMMON_LDP_LOCAL_MECHANISM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/ldp/amplification.h"
#include "common/ldp/payload/contribution.h"
#include "common/privacy/budget.h"
#include "common/privacy/private_random.h"

namespace coppice {

// Stable numbers: they are stored and sent.
enum class MechanismKind : uint8_t {
  kLaplaceSplit = 1,
  kLaplaceJoint = 2,
  kSymmetricUnary = 3,
  kOptimizedUnary = 4,
  kSubsetSelection = 5,
  kDirect = 6,
  kHadamardResponse = 7,
  kLocalHashing = 8,
  kSignedHadamard = 9,
  kWindowResponse = 10,
};

absl::Span<const MechanismKind> AllMechanismKinds();
std::string_view MechanismName(MechanismKind kind);  // "laplace_split", ...
// The InvalidArgument error lists the known names.
StatusOr<MechanismKind> ParseMechanism(std::string_view name);

// What window_response sends: a whole number from -reach to reach. Those at most half_width from
// the row's are more likely than the others.
struct Window {
  uint32_t reach = 0;
  uint32_t half_width = 0;

  friend bool operator==(const Window&, const Window&) = default;
};

// What one report is about.
struct Domain {
  uint32_t leaves = 0;
  uint32_t classes = 0;
  // For window_response alone; without it, the best one for the epsilon.
  std::optional<Window> window{};

  size_t cells() const { return static_cast<size_t>(leaves) * classes; }
  friend bool operator==(const Domain&, const Domain&) = default;
};

// A row as its device sees it. Private.
struct LeafLabel {
  uint32_t leaf = 0;
  uint32_t label = 0;
};

// A row of a study of numbers, as its device sees it: where the number lies between the ends of its
// leaf's range, from 0 to 1. A label is an end, 0 the lower and 1 the upper one. Private.
struct LeafNumber {
  uint32_t leaf = 0;
  double place = 0;
};

// Unbiased estimates of how many reporting rows fall where. Real numbers, possibly negative. If the
// mechanism is margins_only(), leaf is 0 and label is plus (class 1) or minus (class 0) half of the
// margin N(leaf, 1) - N(leaf, 0), so that differences of classes keep their meaning.
struct LeafCounts {
  uint32_t classes = 0;
  std::vector<double> leaf;   // one per leaf
  std::vector<double> label;  // label[leaf * classes + k]

  double at(uint32_t leaf_id, uint32_t k) const { return label[size_t{leaf_id} * classes + k]; }
};

// Variance that the mechanism adds to the estimates of one leaf, for one report. Multiply by the
// number of reports; a node over h leaves has at most h times as much: leaves are independent or,
// if a report names a fixed number of cells, negatively correlated.
struct NoiseVariance {
  double leaf = 0;        // of LeafCounts::leaf
  double label = 0;       // of LeafCounts::label, for the class asked for
  double covariance = 0;  // of leaf and label

  // What a report from that leaf adds to the three, if of that class (hit) or another (beside).
  struct Hit {
    double leaf = 0;
    double label = 0;
    double covariance = 0;
  };
  Hit hit{};
  Hit beside{};
};

// The most that one accepted report, however it was made, adds to estimates in absolute value.
struct Influence {
  double count = 0;  // to LeafCounts::label of one leaf and class
  double total = 0;  // to all of those together
};

// Guarantee  Randomize() is epsilon-LDP: for any two values and any output the probabilities differ
//            by a factor of at most exp(epsilon). So is RandomizeNumber() for any two numbers, and
//            for a number and a value. Pure; each device is its own data set, and the
//            neighbouring relation is "any value of one row for any other". Exact: the output law
//            is precisely the one of OutputProbability().
// Units      epsilon in nano-epsilons (nats); leaves and labels are zero-based.
// Errors     MakeLocalMechanism(): InvalidArgument. Randomize() and RandomizeNumber():
//            InvalidArgument for a value outside the domain, a place outside 0 to 1, more or fewer
//            classes than ends, or a column that does not exist; Unavailable if the random source
//            fails (nothing may be sent then). Check() and Add(): InvalidArgument for a payload
//            that no honest device sends; sums are untouched.
// Threads    immutable after creation; safe to share when each thread has its own PrivateRandom.
// Source     above each class; derivations in docs/research/mechanisms.md.
class LocalMechanism {
 public:
  virtual ~LocalMechanism() = default;

  MechanismKind kind() const { return kind_; }
  const Budget& epsilon() const { return epsilon_; }
  const Domain& domain() const { return domain_; }

  // How many public columns there are; a ticket draws one of them uniformly.
  virtual uint32_t columns() const { return 1; }
  // If true, only the margin of two classes is estimated: see LeafCounts.
  virtual bool margins_only() const { return false; }
  // The window of a mechanism that hides numbers within it; such a mechanism serves nothing else.
  // Every other one hides at which of two ends a number was rounded.
  virtual std::optional<Window> window() const { return std::nullopt; }

  // The device's half: returns one report's payload, in the column of its ticket.
  StatusOr<std::string> Randomize(LeafLabel value, uint32_t column, PrivateRandom& random) const;
  // As above, but replaces `payload`, which is empty after an error. Allocates nothing if `payload`
  // has room_bytes() reserved, so that free memory reveals nothing about the row.
  Status Randomize(LeafLabel value, uint32_t column, PrivateRandom& random,
                   std::string& payload) const;

  // The same for a number, whose label is an end of the range. Estimates of labels are then
  // unbiased for places: label 1 counts as the place, label 0 as the rest of 1. The place is
  // rounded down to a multiple of 2^-53.
  Status RandomizeNumber(LeafNumber value, uint32_t column, PrivateRandom& random,
                         std::string& payload) const;

  // Bytes of a payload; if that varies, of one with little noise.
  virtual size_t payload_bytes() const = 0;
  // At least as many bytes as any payload has.
  virtual size_t max_payload_bytes() const { return payload_bytes(); }
  // Bytes of room that making a payload needs.
  virtual size_t room_bytes() const { return max_payload_bytes(); }

  // The curator's half, on sums of sum_size() integers. Check() is InvalidArgument for a payload
  // that no honest device sends, whatever the column. AddAll() adds many reports at once, which is
  // several times faster; their payloads must pass Check() and their columns exist. Add() checks
  // and adds one.
  virtual size_t sum_size() const = 0;
  virtual Status Check(std::string_view payload) const = 0;
  virtual void AddAll(absl::Span<const Contribution> reports, absl::Span<int64_t> sums) const = 0;
  Status Add(std::string_view payload, uint32_t column, absl::Span<int64_t> sums) const;

  // Draws a column as a ticket does, then does Randomize() and Add() without the bytes between
  // them: the same law, for simulations.
  virtual Status RandomizeInto(LeafLabel value, PrivateRandom& random,
                               absl::Span<int64_t> sums) const = 0;

  // RandomizeInto() for a whole table, with rows_of[leaf * classes + label] rows of each value. It
  // has the same law, since the order of independent reports does not matter to their sum.
  virtual Status RandomizeAllInto(absl::Span<const uint64_t> rows_of, PrivateRandom& random,
                                  absl::Span<int64_t> sums) const;

  virtual LeafCounts Estimate(absl::Span<const int64_t> sums, uint64_t reports) const = 0;
  virtual NoiseVariance Variance(uint32_t label) const = 0;
  // For any row, one report adds to a sum of cells at most this times the sum of their
  // NoiseVariance::label in variance, hits apart. It exceeds 1 if Variance() is an average over
  // rows (docs/research/mechanisms.md#break-downs).
  virtual double WorstVarianceRatio() const { return 1; }
  // The variance of one report's margin, label 1 less label 0, about a number at `place`; its mean
  // is 2 place - 1. For two classes.
  virtual double MarginVariance(double place) const;
  virtual Influence MaxInfluence() const = 0;
  // The `a` of docs/research/mechanisms.md#amplification, for the worst pair of rows in the worst
  // column: at most 1 / (exp(epsilon) + 1), which holds for every mechanism. With a lower value
  // shuffling amplifies more.
  virtual double TwoSidedMass() const { return MaxTwoSidedMass(epsilon()); }
  // True for Laplace noise, which is unbounded and has wider tails than its variance suggests.
  virtual bool adds_laplace_noise() const { return false; }
  // If true, the noise of one report's cells is independent.
  virtual bool has_independent_cells() const { return false; }

  // Natural logarithm of the probability that Randomize(value, column) returns `payload`; minus
  // infinity if it never does. InvalidArgument for a value, column or payload outside the domain.
  virtual StatusOr<double> LogOutputProbability(LeafLabel value, uint32_t column,
                                                std::string_view payload) const = 0;
  StatusOr<double> OutputProbability(LeafLabel value, uint32_t column,
                                     std::string_view payload) const;
  // The probability that RandomizeNumber(value, column) writes `payload`.
  virtual StatusOr<double> NumberProbability(LeafNumber value, uint32_t column,
                                             std::string_view payload) const;

 protected:
  LocalMechanism(MechanismKind kind, Budget epsilon, Domain domain)
      : kind_(kind), epsilon_(epsilon), domain_(domain) {}

  Status CheckValue(LeafLabel value) const;
  Status CheckColumn(uint32_t column) const;
  Status CheckInput(LeafLabel value, uint32_t column) const;
  Status CheckNumber(LeafNumber value, uint32_t column) const;
  // The value at `cell` = leaf * classes + label.
  LeafLabel ValueOf(size_t cell) const;

 private:
  // Randomize() for a checked value and column; `payload` still has its old content.
  virtual Status Write(LeafLabel value, uint32_t column, PrivateRandom& random,
                       std::string& payload) const = 0;
  // The same for a number. Rounds it to an end at random, and hides which.
  virtual Status WriteNumber(LeafNumber value, uint32_t column, PrivateRandom& random,
                             std::string& payload) const;

  MechanismKind kind_;
  Budget epsilon_;
  Domain domain_;
};

// Bounds of every mechanism. A study refuses more than kMaxStudyEpsilonNanos, above which a report
// protects nothing worth mentioning; the lab accepts epsilons up to the papers' 1000.
inline constexpr uint64_t kMinEpsilonNanos = 10'000'000;           // 0.01
inline constexpr uint64_t kMaxStudyEpsilonNanos = 20'000'000'000;  // 20
inline constexpr uint64_t kMaxEpsilonNanos = 1'000'000'000'000;    // 1000
inline constexpr size_t kMaxCells = size_t{1} << 22;

// InvalidArgument: epsilon out of the bounds above, no leaf, fewer than two classes, too many
// cells; more than two classes for a margins-only mechanism; what window_response.h refuses.
StatusOr<std::unique_ptr<LocalMechanism>> MakeLocalMechanism(MechanismKind kind,
                                                             const Budget& epsilon,
                                                             const Domain& domain);

// The largest TwoSidedMass() of the mechanisms for trees with these numbers of leaves, one per
// tree. InvalidArgument as MakeLocalMechanism(), and for no tree.
StatusOr<double> LargestTwoSidedMass(MechanismKind kind, const Budget& epsilon,
                                     absl::Span<const uint32_t> leaves, uint32_t classes);

}  // namespace coppice

#endif  // COPPICE_COMMON_LDP_LOCAL_MECHANISM_H_
