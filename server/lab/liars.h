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
// Errors     CellWorths(): InvalidArgument for a target that is no class. Create(): InvalidArgument
//            for kGiven on a Laplace mechanism (not simulated), kChosen on one without columns.
// Source     docs/poisoning.md.

#ifndef COPPICE_SERVER_LAB_LIARS_H_
#define COPPICE_SERVER_LAB_LIARS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/ldp/local_mechanism.h"
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

struct LiarOptions {
  Attack attack = Attack::kLabel;
  double share = 0;  // of the devices, from 0 to 1
  // For kGiven and kChosen. kInvert has no target.
  Aim aim = Aim::kLeaves;
  uint32_t target = 1;
};

// Which of `devices` lie: round(share * devices) of them, drawn uniformly.
std::vector<bool> DrawLiars(size_t devices, double share, curator::PublicRandom& random);

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

 private:
  Pusher(const LocalMechanism& mechanism, std::vector<double> worths)
      : mechanism_(mechanism), worths_(std::move(worths)) {}

  std::vector<size_t> BestCells(size_t count, curator::PublicRandom& random) const;
  std::string BestSet(curator::PublicRandom& random) const;

  const LocalMechanism& mechanism_;
  std::vector<double> worths_;
  std::optional<uint32_t> chosen_column_;
};

}  // namespace coppice::lab

#endif  // COPPICE_SERVER_LAB_LIARS_H_
