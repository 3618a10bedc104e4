// Whole trainers, walked through every branch on every tiny table: no pair of neighbours can be
// told apart by more than epsilon, by anything in the model. Noise is one branch (walked_noise.cc).
//
// A trainer joins by one line in AllTrainers().

#include "server/trainers/split_choosers.h"
#include "tests/privacy/enumeration.h"
#include "tests/privacy/trainer_releases.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using namespace ::coppice::testing;  // NOLINT: the suites' vocabulary is all of this file's.

constexpr Neighbours kRow = Neighbours::kAddOrRemoveRow;
constexpr Neighbours kLabel = Neighbours::kChangeLabel;

std::vector<WalkedRelease> WalkedTrainers() {
  return {
      {"spe", "6", kRow, 2, 1e-6, 0.4, WalkTrainer("spe", OneNumber(), {})},
      {"rdt", "3", kRow, 2, 1e-6, 0.4, WalkTrainer("rdt", OneNumber(), {})},
      {"maxtree", "6", kRow, 2, 1e-6, 0.4, WalkTrainer("maxtree", OneNumber(), {})},
      {"dpdf", "6", kRow, 2, 1e-6, 0.4, WalkTrainer("dpdf", OneNumber(), {})},
      {"sspe1", "3", kRow, 2, 1e-6, 0.4, WalkTrainer("sspe1", OneNumber(), {{"labelled", "0.5"}})},
      {"sspe2", "3", kLabel, 2, 1e-6, 0.4,
       WalkTrainer("sspe2", OneNumber(), {{"labelled", "1"}, {"min_leaf", "0"}})},
      {"diprime", "8", kRow, 2, 1e-6, 0.4,
       WalkTrainer("diprime", TwoNumbers(), {{"features", "2"}})},
  };
}

class TrainerEnumerationTest : public ::testing::TestWithParam<WalkedRelease> {};

INSTANTIATE_TEST_SUITE_P(All, TrainerEnumerationTest, ::testing::ValuesIn(WalkedTrainers()),
                         [](const auto& test) { return NameOf(test.param); });

TEST_P(TrainerEnumerationTest, NoNeighboursAreToldApartByMoreThanClaimed) {
  ExpectAsPrivateAsClaimed(GetParam());
}

}  // namespace
}  // namespace coppice
