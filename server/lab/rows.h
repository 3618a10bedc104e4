// Where the rows of one repetition come from: files, split anew each time, or the synthetic pair.

#ifndef COPPICE_SERVER_LAB_ROWS_H_
#define COPPICE_SERVER_LAB_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/data/table.h"
#include "server/lab/synthetic.h"

namespace coppice::lab {

// Says that there are no public rows, or no labels for them.
inline constexpr char kNone[] = "none";

struct LabRows {
  std::shared_ptr<const Table> public_rows;
  std::shared_ptr<const Table> private_rows;
  std::shared_ptr<const Table> test_rows;
};

// The rows for one seed: the same for the same seed. Safe to call from several threads.
using RowSource = std::function<LabRows(uint64_t seed)>;

// The same rows for every seed.
RowSource FixedRows(LabRows rows);

// Holds out `share` of the private rows for the test, rounded up, at random; the rest stays
// private. InvalidArgument unless both sides get a row.
absl::StatusOr<RowSource> HoldOut(std::shared_ptr<const Table> public_rows,
                                  std::shared_ptr<const Table> private_rows, double share);

// Splits one table anew for each seed.
struct SplitOptions {
  size_t public_rows = 0;   // at least 1
  size_t private_rows = 0;  // 0: all that are left
  double holdout = 0.2;     // share for the test, rounded up
  // If set, these are the test rows and nothing is held out.
  std::shared_ptr<const Table> test_rows{};
};
// InvalidArgument unless every part gets a row.
absl::StatusOr<RowSource> SplitRows(std::shared_ptr<const Table> rows, const SplitOptions& options);

// The rows of `rows` as a study of `devices` has them: those to train on are shared out, the test
// rows stay. The public ones are `public_rows` or, where that is null, `public_share` of those to
// train on. InvalidArgument unless there are rows for all.
absl::StatusOr<RowSource> StudyRows(RowSource rows, std::shared_ptr<const Table> public_rows,
                                    double public_share, uint64_t devices);

// What is done to the labels of the public rows, to see what a study makes of bad ones.
enum class PublicLabels { kAsGiven, kFlipped, kRandom };
// "as_given", "flipped" (class k becomes K-1-k), "random" (the same labels in random order).
absl::StatusOr<PublicLabels> ParsePublicLabels(absl::string_view name);
RowSource WithPublicLabels(RowSource rows, PublicLabels labels);

// Public rows of another population: as many, drawn from the given ones, a row in the upper half of
// its first numeric feature four times as often as one in the lower half. Labels stay with their
// rows.
RowSource WithShiftedPublicRows(RowSource rows);

// The same rows with these features public and no others; "all" or "none" alone is what it says.
// InvalidArgument for a name that no feature has.
absl::StatusOr<RowSource> WithPublicFeatures(RowSource rows, const std::vector<std::string>& names);

// Fresh rows for each seed.
RowSource SyntheticRows(const SyntheticOptions& options);

}  // namespace coppice::lab

#endif  // COPPICE_SERVER_LAB_ROWS_H_
