// Devices that lie, simulated one by one with payloads that the curator accepts.
//
// kLabel     an honest report of the next class. Nobody can tell it from a true one.
// kGiven     tree and column are the ticket's; the payload is the one that pushes most.
// kChosen    the liar also chooses the column, the one that pushes most: what a study would face
//            if devices chose their column. Tickets prevent that; this shows why they do.
//
// The push of a payload is what it adds to the counts of cells, each times the cell's worth to the
// liar. The aim defines a cell's worth; all aims use public figures. Among symbols a liar sends the
// one that adds the most worth; among sets, the cells of most worth, with ties drawn anew for each
// liar; in a unary vector, ones for the cells of positive worth, or as many as are accepted.
//
// In studies with public features a liar also claims public values (Claim), and its payload is
// about the leaves that they allow. A cell's worth is then divided by the number of public rows
// that allow its leaf: reports about a leaf are in proportion to them, and share its estimate. That
// is an approximation: it ignores what other trees say about the same rows, how far the estimator
// trusts reports at all, and that liars who all choose the same values help each other less and
// less. If reports are labels, the ticket's tree only decides which values are chosen.
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
#include <string_view>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "common/base/public_random.h"
#include "common/base/status.h"
#include "common/ldp/local_mechanism.h"
#include "common/table/table.h"
#include "server/curator/estimation/counts/consistent_counts.h"
#include "server/curator/estimation/counts/estimator.h"

namespace coppice::lab {

enum class Attack { kLabel, kGiven, kChosen };
StatusOr<Attack> ParseAttack(std::string_view name);  // "label", "given", "chosen"
std::string_view AttackName(Attack attack);

enum class Aim {
  kLeaves,  // the target class, equally in all leaves
  kRows,    // the target class, in each leaf in proportion to its public rows
  kInvert,  // in each leaf against its public majority, in proportion to that
};
StatusOr<Aim> ParseAim(std::string_view name);  // "leaves", "rows", "invert"
std::string_view AimName(Aim aim);

enum class Claim {
  kOwn,     // the public values of the liar's row
  kChosen,  // those of the public row with which the payload pushes most
};
StatusOr<Claim> ParseClaim(std::string_view name);  // "own", "chosen"
std::string_view ClaimName(Claim claim);

struct LiarOptions {
  Attack attack = Attack::kLabel;
  double share = 0;  // of the devices, from 0 to 1
  // For kGiven and kChosen. kInvert has no target.
  Aim aim = Aim::kLeaves;
  uint32_t target = 1;
  Claim claim = Claim::kOwn;  // for kGiven and kChosen, with public features
};

// Draws which of `devices` lie: round(share * devices) of them, uniformly.
std::vector<bool> DrawLiars(size_t devices, double share, PublicRandom& random);

// The streams of a study's public seed for choosing who lies and for what liars draw.
inline constexpr uint64_t kLiarStream = 0x6c69617273;
inline constexpr uint64_t kPushStream = kLiarStream + 1;

// Decides who lies in a study, and how.
class Liars {
 public:
  // Without options nobody lies.
  Liars(size_t devices, const std::optional<LiarOptions>& options, uint64_t seed);

  // Whether the device sends what pushes most, whatever its row.
  bool Pushes(size_t device) const { return push_ && lies_[device]; }
  // Returns the label that any other device reports, honestly randomized: its own, or a false one.
  uint32_t LabelOf(size_t device, const Table& rows) const;

 private:
  std::vector<bool> lies_;
  bool push_ = false;
};

// Returns worths[leaf * classes + label] of one tree; those of a leaf add up to 0.
StatusOr<std::vector<double>> CellWorths(const LiarOptions& options,
                                         const curator::PublicCounts& public_counts);

// Makes the reports of kGiven and kChosen liars in one tree. `mechanism` must outlive the pusher.
class Pusher {
 public:
  static StatusOr<Pusher> Create(const LocalMechanism& mechanism, Attack attack,
                                 std::vector<double> worths);

  // Draws the column as a ticket does, makes one liar's report, checks it and adds it to the sums.
  Status SendInto(PublicRandom& random, absl::Span<int64_t> sums) const;

  uint32_t ColumnFor(uint32_t of_ticket) const { return chosen_column_.value_or(of_ticket); }
  std::string PayloadIn(uint32_t column, PublicRandom& random) const;
  // Returns what the report adds to the counts of cells, each times its worth.
  double PushOf(std::string_view payload, uint32_t column) const;

 private:
  Pusher(const LocalMechanism& mechanism, std::vector<double> worths)
      : mechanism_(mechanism), worths_(std::move(worths)) {}

  std::vector<size_t> BestCells(size_t count, PublicRandom& random) const;
  std::string BestSet(PublicRandom& random) const;

  const LocalMechanism& mechanism_;
  std::vector<double> worths_;
  std::optional<uint32_t> chosen_column_;
};

// A liar's report in a study with public features.
struct ClaimedReport {
  std::optional<size_t> public_row{};  // the row whose values are claimed; none: the liar's own
  std::vector<uint32_t> leaves{};      // those that the claimed values allow
  uint32_t column = 0;
  std::string payload{};
};

// Makes the reports of kGiven and kChosen liars in one tree of a study with public features.
// `counter` must outlive the pusher.
class ConsistentPusher {
 public:
  static StatusOr<ConsistentPusher> Create(const curator::ConsistentCounter& counter,
                                           const Table& public_rows,
                                           const curator::PublicCounts& public_counts,
                                           const LiarOptions& options);

  // `own_leaves` are those that the liar's own values allow, `own_column` what its ticket draws for
  // them. InvalidArgument would mean a payload that no honest device sends.
  StatusOr<ClaimedReport> Send(absl::Span<const uint32_t> own_leaves, uint32_t own_column,
                               PublicRandom& random) const;

 private:
  // Values that can be claimed: those of all public rows that allow the same leaves.
  struct Choice {
    std::vector<uint32_t> leaves;
    std::vector<size_t> public_rows;
    Pusher pusher;
  };

  ConsistentPusher(const curator::ConsistentCounter& counter, const LiarOptions& options)
      : counter_(counter), options_(options) {}

  StatusOr<Pusher> PusherFor(absl::Span<const uint32_t> leaves) const;
  ClaimedReport BestClaim(PublicRandom& random) const;

  const curator::ConsistentCounter& counter_;
  LiarOptions options_;
  std::vector<double> worths_;  // of all leaves, worths_[leaf * classes + label]
  std::vector<Choice> choices_;
};

// Returns the private rows with the claimed values: claims[device] is a public row. Labels stay.
Table ClaimedRows(const Table& public_rows, const Table& private_rows,
                  const std::map<size_t, size_t>& claims);

}  // namespace coppice::lab

#endif  // COPPICE_SERVER_LAB_SIMULATION_LIARS_H_
