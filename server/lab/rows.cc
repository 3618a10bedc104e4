#include "server/lab/rows.h"

#include <cmath>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "server/curator/public_random.h"

namespace coppice {
namespace {

std::vector<size_t> Permutation(size_t size, PublicRandom& random) {
  std::vector<size_t> order(size);
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t i = size; i > 1; --i) std::swap(order[i - 1], order[random.Below(i)]);
  return order;
}

}  // namespace

RowSource FixedRows(LabRows rows) {
  return [rows = std::move(rows)](uint64_t) { return rows; };
}

absl::StatusOr<RowSource> HoldOut(std::shared_ptr<const Table> public_rows,
                                  std::shared_ptr<const Table> private_rows, double share) {
  const size_t rows = private_rows->num_rows();
  const auto held_out = static_cast<size_t>(std::ceil(share * static_cast<double>(rows)));
  if (!(share > 0) || held_out >= rows) {
    return absl::InvalidArgumentError(
        "the holdout must be above 0 and leave at least one private row to train on");
  }
  return [=](uint64_t seed) {
    PublicRandom random(seed);
    const std::vector<size_t> order = Permutation(rows, random);
    const absl::Span<const size_t> all(order);
    return LabRows{
        .public_rows = public_rows,
        .private_rows = std::make_shared<const Table>(private_rows->Select(all.subspan(held_out))),
        .test_rows = std::make_shared<const Table>(private_rows->Select(all.first(held_out)))};
  };
}

RowSource SyntheticRows(const SyntheticOptions& options) {
  return [options, schema = SyntheticSchema()](uint64_t seed) {
    PublicRandom random(seed);
    const auto draw = [&](size_t rows, double gamma) {
      return std::make_shared<const Table>(DrawSynthetic(schema, rows, gamma, random));
    };
    LabRows rows;
    rows.private_rows = draw(options.private_rows, 1);
    rows.public_rows = draw(options.public_rows, options.gamma);
    rows.test_rows = draw(options.test_rows, 1);
    return rows;
  };
}

}  // namespace coppice
