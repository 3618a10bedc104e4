// Devices that lie, simulated one by one with payloads that the curator accepts.
//
// kLabel     an honest report of the next class. Nobody can tell it from a true one.
// kGiven     tree and column are the ticket's; the payload is the one that pushes most toward the
//            target class, over all leaves of the tree together.
// kChosen    the liar chooses the column too, the one that pushes most: what a study would face if
//            the column were the device's. Tickets prevent it; it is here to show why they do.
// Payloads   of a symbol: the symbol that speaks for more cells of the target class than of the
//            others. Of a set: as many cells of the target class, drawn anew for each liar (any
//            such set pushes the sum as much). Of a unary vector: all cells of the target class, or
//            as many of them as are accepted.
// Errors     Create(): InvalidArgument for a target that is no class, kGiven on a Laplace mechanism
//            (not simulated), kChosen on one without columns.
// Source     docs/poisoning.md.

#ifndef COPPICE_SERVER_LAB_LIARS_H_
#define COPPICE_SERVER_LAB_LIARS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "common/ldp/local_mechanism.h"
#include "server/curator/public_random.h"

namespace coppice {

enum class Attack { kLabel, kGiven, kChosen };
absl::StatusOr<Attack> ParseAttack(absl::string_view name);  // "label", "given", "chosen"
absl::string_view AttackName(Attack attack);

struct LiarOptions {
  Attack attack = Attack::kLabel;
  double share = 0;     // of the devices, from 0 to 1
  uint32_t target = 1;  // the class that kGiven and kChosen push
};

// Which of `devices` lie: round(share * devices) of them, drawn uniformly.
std::vector<bool> DrawLiars(size_t devices, double share, PublicRandom& random);

// What a liar of kGiven or kChosen sends in one tree. Borrows the mechanism.
class Pusher {
 public:
  static absl::StatusOr<Pusher> Create(const LocalMechanism& mechanism, const LiarOptions& options);

  // One liar's report with a ticket's draw of the column, checked and added to the sums.
  absl::Status SendInto(PublicRandom& random, absl::Span<int64_t> sums) const;

 private:
  explicit Pusher(const LocalMechanism& mechanism) : mechanism_(mechanism) {}

  std::string SetOfTarget(PublicRandom& random) const;

  const LocalMechanism& mechanism_;
  uint32_t target_ = 0;
  bool chooses_ = false;
  std::vector<std::string> payloads_;  // the worst one of each column; none for sets
  uint32_t worst_column_ = 0;
};

}  // namespace coppice

#endif  // COPPICE_SERVER_LAB_LIARS_H_
