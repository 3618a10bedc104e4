// Adaptive releases from the two parts of a table, walked through every branch on every tiny table:
// if each part is charged epsilon, the whole tells no two neighbours apart by more than epsilon,
// although it costs epsilon twice. Twins that read both parts for one charge, or whose parts depend
// on other rows, are found out.

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/privacy/selection.h"
#include "tests/privacy/enumeration.h"
#include "tests/privacy/tiny_tables.h"
#include "tests/support/status_matchers.h"

namespace coppice {
namespace {

using namespace ::coppice::testing;  // NOLINT: most names in this file are the suites'.

using Parts = std::array<TinyTable, 2>;  // training, reserve

// A coin of each row's own, as at upload.
StatusOr<Parts> DivideByCoins(const TinyTable& table, PrivateRandom& random) {
  Parts parts;
  for (const TinyRow& row : table) {
    COPPICE_ASSIGN_OR_RETURN(const uint64_t coin, random.UniformBelow(4));
    parts[coin == 0 ? 1 : 0].push_back(row);
  }
  return parts;
}

// Whether a part has a row of this label. One row moves both scores, in opposite directions.
StatusOr<size_t> Ask(const TinyTable& part, uint32_t about, const Budget& epsilon,
                     PrivateRandom& random) {
  int64_t found = 0;
  for (const TinyRow& row : part) found += row.y == about % 2 ? 1 : 0;
  return PermuteAndFlip({found > 0 ? 1 : 0, found > 0 ? 0 : 1}, epsilon, 2, random);
}

// Trains, evaluates what the training asks for, and trains again by the result: the training
// account pays half of epsilon twice, the reserve all of it.
StatusOr<std::string> TrainEvaluateTrain(const Parts& parts, const Budget& epsilon,
                                         PrivateRandom& random) {
  COPPICE_ASSIGN_OR_RETURN(const Budget half, epsilon.Share(2));
  COPPICE_ASSIGN_OR_RETURN(const size_t first, Ask(parts[0], 0, half, random));
  COPPICE_ASSIGN_OR_RETURN(const size_t score,
                           Ask(parts[1], static_cast<uint32_t>(first), epsilon, random));
  COPPICE_ASSIGN_OR_RETURN(const size_t second,
                           Ask(parts[0], static_cast<uint32_t>(score), half, random));
  return StrCat(first, score, second);
}

StatusOr<std::string> WithCoins(const TinyTable& table, const Budget& epsilon,
                                PrivateRandom& random) {
  COPPICE_ASSIGN_OR_RETURN(const Parts parts, DivideByCoins(table, random));
  return TrainEvaluateTrain(parts, epsilon, random);
}

TEST(TwoAccountsTest, TheLargerAccountIsThePromise) {
  ExpectAsPrivateAsClaimed({"two accounts", "2", kRow, 3, 1e-6, 0.3, WithCoins});
  ExpectAsPrivateAsClaimed(
      {"two accounts, labels", "2", Neighbours::kChangeLabel, 2, 1e-6, 0.3, WithCoins});
}

TEST(TwoAccountsTest, ReadingBothPartsForOneChargeIsFoundOut) {
  ExpectFoundOut({"both parts, charged to one", "2", kRow, 2, 1e-6, 1,
                  [](const TinyTable& table, const Budget& epsilon, PrivateRandom& random) {
                    return TrainEvaluateTrain({table, table}, epsilon, random);
                  }});
}

// Every fourth row in the order of the table, as a reserve "of exactly a quarter" would be: another
// row more moves those after it from part to part.
TEST(TwoAccountsTest, PartsThatDependOnOtherRowsAreFoundOut) {
  ExpectFoundOut({"a reserve of an exact share", "2", kRow, 2, 1e-6, 1,
                  [](const TinyTable& table, const Budget& epsilon, PrivateRandom& random) {
                    Parts parts;
                    for (size_t i = 0; i < table.size(); ++i) parts[i % 2].push_back(table[i]);
                    return TrainEvaluateTrain(parts, epsilon, random);
                  }});
}

}  // namespace
}  // namespace coppice
