// Devices that lie, simulated one by one with payloads that the curator accepts.
//
// kLabel     an honest report of the next class. Nobody can tell it from a true one.
// kGiven     tree and column are the ticket's; the payload is the one that pushes most.
// kChosen    the liar chooses the column too, the one that pushes most: what a study would face if
//            the column were the device's. Tickets prevent it; it is here to show why they do.
//
// The push of a payload is what it adds to the counts of cells, each times the cell's worth to the
// liar. Its aim says what a cell is worth; all aims go by public figures. Among symbols a liar
// sends the one that speaks for the most worth; among sets the cells that are worth most, drawn
// anew for each liar among equals; of a unary vector the ones are the cells that are worth
// anything, or as many as are accepted.
//
// In studies with public features a liar also says which public values it has (Claim), and its
// payload is about the leaves that they allow. There a cell's worth is divided by the public rows
// that allow its leaf: reports about a leaf are in proportion to them, and share its estimate. That
// is an approximation. It leaves out what other trees say of the same rows, how far the estimator
// trusts reports at all, and that liars who all choose the same values help each other less and
// less. Where reports are labels, the ticket's tree decides nothing but which values are chosen.
//
// Errors     CellWorths(): InvalidArgument for a target that is no class. Create(): InvalidArgument
//            for kGiven on a Laplace mechanism (not simulated), kChosen on one without columns.
// Source     docs/research/poisoning.md.

#ifndef COPPICE_SERVER_LAB_SIMULATION_LIARS_H_
#define COPPICE_SERVER_LAB_SIMULATION_LIARS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/data/table.h"
#include "common/ldp/local_mechanism.h"
#include "server/curator/estimation/consistent_counts.h"
#include "server/curator/estimation/estimator.h"
#include "server/curator/partition/public_random.h"

namespace coppice::lab {

enum class Attack { kLabel, kGiven, kChosen };
absl::StatusOr<Attack> ParseAttack(absl::string_view name);  // "label", "given", "chosen"
absl::string_view AttackName(Attack attack);

enum class Aim {
  kLeaves,  // the target class, in all leaves alike
  kRows,    // the target class, in each leaf by its public rows
  kInvert,  // in each leaf against the majority of its public rows, by how large it is
};
absl::StatusOr<Aim> ParseAim(absl::string_view name);  // "leaves", "rows", "invert"
absl::string_view AimName(Aim aim);

enum class Claim {
  kOwn,     // the public values of the liar's row
  kChosen,  // those of the public row with which its payload pushes most
};
absl::StatusOr<Claim> ParseClaim(absl::string_view name);  // "own", "chosen"
absl::string_view ClaimName(Claim claim);

struct LiarOptions {
  Attack attack = Attack::kLabel;
  double share = 0;  // of the devices, from 0 to 1
  // For kGiven and kChosen. kInvert has no target.
  Aim aim = Aim::kLeaves;
  uint32_t target = 1;
  Claim claim = Claim::kOwn;  // for kGiven and kChosen, where features are public
};

// Which of `devices` lie: round(share * devices) of them, drawn uniformly.
std::vector<bool> DrawLiars(size_t devices, double share, curator::PublicRandom& random);

// The streams of a study's public seed that who lies, and what liars draw, come from.
inline constexpr uint64_t kLiarStream = 0x6c69617273;
inline constexpr uint64_t kPushStream = kLiarStream + 1;

// Who lies in a study, and how.
class Liars {
 public:
  // None, without options.
  Liars(size_t devices, const std::optional<LiarOptions>& options, uint64_t seed);

  // Whether the device sends what serves it, whatever its row.
  bool Pushes(size_t device) const { return push_ && lies_[device]; }
  // What any other device reports, honestly randomized: its label, or a false one.
  uint32_t LabelOf(size_t device, const Table& rows) const;

 private:
  std::vector<bool> lies_;
  bool push_ = false;
};

// worths[leaf * classes + label] of one tree; those of a leaf add up to 0.
absl::StatusOr<std::vector<double>> CellWorths(const LiarOptions& options,
                                               const curator::PublicCounts& public_counts);

// What a liar of kGiven or kChosen sends in one tree. Borrows the mechanism.
class Pusher {
 public:
  static absl::StatusOr<Pusher> Create(const LocalMechanism& mechanism, Attack attack,
                                       std::vector<double> worths);

  // One liar's report with a ticket's draw of the column, checked and added to the sums.
  absl::Status SendInto(curator::PublicRandom& random, absl::Span<int64_t> sums) const;

  uint32_t ColumnFor(uint32_t of_ticket) const { return chosen_column_.value_or(of_ticket); }
  std::string PayloadIn(uint32_t column, curator::PublicRandom& random) const;
  // What the report adds to the counts of cells, each times its worth.
  double PushOf(absl::string_view payload, uint32_t column) const;

 private:
  Pusher(const LocalMechanism& mechanism, std::vector<double> worths)
      : mechanism_(mechanism), worths_(std::move(worths)) {}

  std::vector<size_t> BestCells(size_t count, curator::PublicRandom& random) const;
  std::string BestSet(curator::PublicRandom& random) const;

  const LocalMechanism& mechanism_;
  std::vector<double> worths_;
  std::optional<uint32_t> chosen_column_;
};

// A liar's report in a study with public features.
struct ClaimedReport {
  std::optional<size_t> public_row{};  // whose values are claimed; none: the liar's own
  std::vector<uint32_t> leaves{};      // that the claimed values allow
  uint32_t column = 0;
  std::string payload{};
};

// What a liar of kGiven or kChosen sends in one tree of a study with public features. Borrows the
// counter.
class ConsistentPusher {
 public:
  static absl::StatusOr<ConsistentPusher> Create(const curator::ConsistentCounter& counter,
                                                 const Table& public_rows,
                                                 const curator::PublicCounts& public_counts,
                                                 const LiarOptions& options);

  // `own_leaves` are what the liar's own values allow, `own_column` what its ticket draws for them.
  // InvalidArgument would be a payload that no honest device sends.
  absl::StatusOr<ClaimedReport> Send(absl::Span<const uint32_t> own_leaves, uint32_t own_column,
                                     curator::PublicRandom& random) const;

 private:
  // Values that can be claimed: of all public rows that allow the same leaves.
  struct Choice {
    std::vector<uint32_t> leaves;
    std::vector<size_t> public_rows;
    Pusher pusher;
  };

  ConsistentPusher(const curator::ConsistentCounter& counter, const LiarOptions& options)
      : counter_(counter), options_(options) {}

  absl::StatusOr<Pusher> PusherFor(absl::Span<const uint32_t> leaves) const;
  ClaimedReport BestClaim(curator::PublicRandom& random) const;

  const curator::ConsistentCounter& counter_;
  LiarOptions options_;
  std::vector<double> worths_;  // of all leaves, worths_[leaf * classes + label]
  std::vector<Choice> choices_;
};

// The private rows with the values that devices claim: claims[device] is a public row. Labels stay.
Table ClaimedRows(const Table& public_rows, const Table& private_rows,
                  const std::map<size_t, size_t>& claims);

}  // namespace coppice::lab

#endif  // COPPICE_SERVER_LAB_SIMULATION_LIARS_H_
