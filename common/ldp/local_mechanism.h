// The one shape of every local mechanism: what a device does to its value, and what the curator
// makes of the sum of the answers.
//
// A row is one (leaf, label) pair of a public tree with `leaves` leaves, and one of `classes`
// classes. One mechanism object serves one tree, one epsilon, one domain.
//
// Some mechanisms ask each device only about one of columns() public parts of a code. The ticket
// draws it, uniformly; the device does not choose it and does not send it, so a liar cannot push
// all leaves one way, and the report shrinks. The guarantee holds in every column.
//
// Estimate() is unbiased over devices' and tickets' draws. Variance() is its noise for one report,
// in closed form. A payload is packed bits or small integers, never floats; docs/protocol.md has
// each layout.

#ifndef COPPICE_COMMON_LDP_LOCAL_MECHANISM_H_
#define COPPICE_COMMON_LDP_LOCAL_MECHANISM_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/amplification/amplification.h"
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
};

absl::Span<const MechanismKind> AllMechanismKinds();
absl::string_view MechanismName(MechanismKind kind);  // "laplace_split", ...
// InvalidArgument lists the names there are.
absl::StatusOr<MechanismKind> ParseMechanism(absl::string_view name);

// What one report is about.
struct Domain {
  uint32_t leaves = 0;
  uint32_t classes = 0;

  size_t cells() const { return static_cast<size_t>(leaves) * classes; }
  friend bool operator==(const Domain&, const Domain&) = default;
};

// A row as its device sees it. Private.
struct LeafLabel {
  uint32_t leaf = 0;
  uint32_t label = 0;
};

// Unbiased estimates of how many reporting rows fall where. Real numbers, possibly negative. From a
// mechanism that is margins_only(): leaf is 0, and label is half of the margin N(leaf, 1) - N(leaf,
// 0) for class 1 and less half of it for class 0, so that differences of classes are as ever.
struct LeafCounts {
  uint32_t classes = 0;
  std::vector<double> leaf;   // one per leaf
  std::vector<double> label;  // label[leaf * classes + k]

  double at(uint32_t leaf_id, uint32_t k) const { return label[size_t{leaf_id} * classes + k]; }
};

// Variance that the mechanism adds to the estimates of one leaf, for one report. Multiply by the
// number of reports; a node over h leaves has h times as much, or less: leaves are independent, or,
// where a report names a fixed number of cells, one is the less likely for another.
struct NoiseVariance {
  double leaf = 0;        // of LeafCounts::leaf
  double label = 0;       // of LeafCounts::label, for the class asked for
  double covariance = 0;  // of the two

  // What a report of that leaf adds to the three: of that very class, and of another class.
  struct Hit {
    double leaf = 0;
    double label = 0;
    double covariance = 0;
  };
  Hit hit{};
  Hit beside{};
};

// The most that one accepted report adds to estimates in absolute value, however it was made.
struct Influence {
  double count = 0;  // to LeafCounts::label of one leaf and class
  double total = 0;  // to all of those together
};

// Guarantee  Randomize() is epsilon-LDP: for any two values and any output the probabilities differ
//            by a factor of at most exp(epsilon). Pure; each device is its own data set, and the
//            neighbouring relation is "any value of one row for any other". Exact: the output law
//            is the one OutputProbability() states, up to nothing.
// Units      epsilon in nano-epsilons (nats); leaves and labels are zero-based.
// Errors     MakeLocalMechanism(): InvalidArgument. Randomize(): InvalidArgument for a value
//            outside the domain or a column that there is not, Unavailable if the random source
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
  // If so, only the margin of two classes is estimated: see LeafCounts.
  virtual bool margins_only() const { return false; }

  // The device's half: one report's payload, in the column of its ticket.
  absl::StatusOr<std::string> Randomize(LeafLabel value, uint32_t column,
                                        PrivateRandom& random) const;
  // The same in place of what `payload` says, which is nothing after an error. Takes no memory if
  // `payload` has room_bytes() reserved, so that whether there is any tells nothing of the row.
  absl::Status Randomize(LeafLabel value, uint32_t column, PrivateRandom& random,
                         std::string& payload) const;

  // Bytes of a payload; where it varies, of one with little noise.
  virtual size_t payload_bytes() const = 0;
  // At least as many bytes as any payload has.
  virtual size_t max_payload_bytes() const { return payload_bytes(); }
  // Bytes to make a payload in.
  virtual size_t room_bytes() const { return max_payload_bytes(); }

  // The curator's half, on sums of sum_size() integers. Check() is InvalidArgument for a payload
  // that no honest device sends, whatever the column; AddAll() adds reports whose payloads it lets
  // pass and whose columns there are, many at a time because that is several times as fast; Add()
  // is both for one.
  virtual size_t sum_size() const = 0;
  virtual absl::Status Check(absl::string_view payload) const = 0;
  virtual void AddAll(absl::Span<const Contribution> reports, absl::Span<int64_t> sums) const = 0;
  absl::Status Add(absl::string_view payload, uint32_t column, absl::Span<int64_t> sums) const;

  // A ticket's draw of the column, Randomize() and Add() in one, without the bytes between: the
  // same law, for simulations.
  virtual absl::Status RandomizeInto(LeafLabel value, PrivateRandom& random,
                                     absl::Span<int64_t> sums) const = 0;

  // RandomizeInto() for a whole table: rows_of[leaf * classes + label] rows of each value. The same
  // law in one go, since the order of independent reports does not matter to their sum.
  virtual absl::Status RandomizeAllInto(absl::Span<const uint64_t> rows_of, PrivateRandom& random,
                                        absl::Span<int64_t> sums) const;

  virtual LeafCounts Estimate(absl::Span<const int64_t> sums, uint64_t reports) const = 0;
  virtual NoiseVariance Variance(uint32_t label) const = 0;
  // The variance that one report adds to a sum of several cells is at most this times the sum of
  // NoiseVariance::label over them, hits apart, whatever its row. Above 1 where Variance() is an
  // average over rows (docs/research/mechanisms.md#break-downs).
  virtual double WorstVarianceRatio() const { return 1; }
  virtual Influence MaxInfluence() const = 0;
  // The `a` of docs/research/mechanisms.md#amplification, for the worst pair of rows in the worst
  // column: at most 1 / (exp(epsilon) + 1), which holds for every mechanism. Less says that
  // shuffling buys more.
  virtual double TwoSidedMass() const { return MaxTwoSidedMass(epsilon()); }
  // Laplace noise has no bound and wider tails than its variance says.
  virtual bool adds_laplace_noise() const { return false; }
  // If so, the noise of one report's cells is independent.
  virtual bool has_independent_cells() const { return false; }

  // Natural logarithm of the probability that Randomize(value, column) returns `payload`; minus
  // infinity if it cannot. InvalidArgument for a value, column or payload outside the domain.
  virtual absl::StatusOr<double> LogOutputProbability(LeafLabel value, uint32_t column,
                                                      absl::string_view payload) const = 0;
  absl::StatusOr<double> OutputProbability(LeafLabel value, uint32_t column,
                                           absl::string_view payload) const;

 protected:
  LocalMechanism(MechanismKind kind, Budget epsilon, Domain domain)
      : kind_(kind), epsilon_(epsilon), domain_(domain) {}

  absl::Status CheckValue(LeafLabel value) const;
  absl::Status CheckColumn(uint32_t column) const;
  absl::Status CheckInput(LeafLabel value, uint32_t column) const;
  // The value whose place is `cell` = leaf * classes + label.
  LeafLabel ValueOf(size_t cell) const;

 private:
  // Randomize() for a value and a column that there are; `payload` still says what it said before.
  virtual absl::Status Write(LeafLabel value, uint32_t column, PrivateRandom& random,
                             std::string& payload) const = 0;

  MechanismKind kind_;
  Budget epsilon_;
  Domain domain_;
};

// Bounds of every mechanism. A study refuses more than kMaxStudyEpsilonNanos, above which a report
// protects nothing worth the name; the lab goes on to the papers' 1000.
inline constexpr uint64_t kMinEpsilonNanos = 10'000'000;           // 0.01
inline constexpr uint64_t kMaxStudyEpsilonNanos = 20'000'000'000;  // 20
inline constexpr uint64_t kMaxEpsilonNanos = 1'000'000'000'000;    // 1000
inline constexpr size_t kMaxCells = size_t{1} << 22;

// InvalidArgument: epsilon out of the bounds above, no leaf, fewer than two classes, too many
// cells; more than two classes for a mechanism of margins only.
absl::StatusOr<std::unique_ptr<LocalMechanism>> MakeLocalMechanism(MechanismKind kind,
                                                                   const Budget& epsilon,
                                                                   const Domain& domain);

// The largest TwoSidedMass() of the mechanisms for trees of so many leaves, one entry a tree.
// InvalidArgument as MakeLocalMechanism(), and for no tree.
absl::StatusOr<double> LargestTwoSidedMass(MechanismKind kind, const Budget& epsilon,
                                           absl::Span<const uint32_t> leaves, uint32_t classes);

}  // namespace coppice

#endif  // COPPICE_COMMON_LDP_LOCAL_MECHANISM_H_
