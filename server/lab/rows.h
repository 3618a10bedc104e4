// The sources of a repetition's rows: files, split anew each time, or the synthetic pair.

#ifndef COPPICE_SERVER_LAB_ROWS_H_
#define COPPICE_SERVER_LAB_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/table/table.h"
#include "server/lab/synthetic.h"

namespace coppice::lab {

// The flag value for no public rows, or no labels for them.
inline constexpr char kNone[] = "none";

struct LabRows {
  std::shared_ptr<const Table> public_rows;
  std::shared_ptr<const Table> private_rows;
  std::shared_ptr<const Table> test_rows;
};

// Returns the rows for a seed, the same at every call. Safe to call from several threads.
using RowSource = std::function<LabRows(uint64_t seed)>;

// Returns the same rows for every seed.
RowSource FixedRows(LabRows rows);

// Holds out a random `share` of the private rows for the test, rounded up; the rest stays private.
// InvalidArgument unless both parts get a row.
StatusOr<RowSource> HoldOut(std::shared_ptr<const Table> public_rows,
                            std::shared_ptr<const Table> private_rows, double share);

// Splits one table anew for each seed.
struct SplitOptions {
  size_t public_rows = 0;   // at least 1
  size_t private_rows = 0;  // 0: all remaining ones
  double holdout = 0.2;     // share for the test, rounded up
  // If set, these are the test rows and nothing is held out.
  std::shared_ptr<const Table> test_rows{};
};
// InvalidArgument unless every part gets a row.
StatusOr<RowSource> SplitRows(std::shared_ptr<const Table> rows, const SplitOptions& options);

// Draws `devices` of the private rows at random; public and test rows stay. InvalidArgument if
// there are fewer.
StatusOr<RowSource> StudyRows(RowSource rows, uint64_t devices);

// Makes some of the private rows public, drawn at random, and takes them away from the private
// ones: so many of them, or a share, rounded up. InvalidArgument unless both parts get a row.
StatusOr<RowSource> WithPublicRows(RowSource rows, size_t taken);
StatusOr<RowSource> WithPublicShare(RowSource rows, double share);

// How to change the labels of the public rows, to see what a study makes of bad ones.
enum class PublicLabels { kAsGiven, kFlipped, kRandom };
// Parses "as_given", "flipped" (class k becomes K-1-k), "random" (the same labels shuffled).
StatusOr<PublicLabels> ParsePublicLabels(std::string_view name);
RowSource WithPublicLabels(RowSource rows, PublicLabels labels);

// Draws the same number of public rows from another population: a given row in the upper half of
// the first numeric feature is drawn four times as often as one in the lower half. Labels stay with
// their rows.
RowSource WithShiftedPublicRows(RowSource rows);

// Returns the same rows with only these features public; "all" or "none" alone means what it says.
// InvalidArgument for a name that no feature has.
StatusOr<RowSource> WithPublicFeatures(RowSource rows, const std::vector<std::string>& names);

// Draws fresh rows for each seed.
RowSource SyntheticRows(const SyntheticOptions& options);

}  // namespace coppice::lab

#endif  // COPPICE_SERVER_LAB_ROWS_H_
