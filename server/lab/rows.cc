#include "server/lab/rows.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "common/base/public_random.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "server/trainers/curves/training.h"

namespace coppice::lab {
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

StatusOr<RowSource> HoldOut(std::shared_ptr<const Table> public_rows,
                            std::shared_ptr<const Table> private_rows, double share) {
  COPPICE_ASSIGN_OR_RETURN(curves::SplitSource split,
                           curves::HoldOut(std::move(private_rows), share));
  return [public_rows, split = std::move(split)](uint64_t seed) {
    curves::Split rows = split(seed);
    return LabRows{.public_rows = public_rows,
                   .private_rows = std::move(rows.train),
                   .test_rows = std::move(rows.test)};
  };
}

StatusOr<RowSource> SplitRows(std::shared_ptr<const Table> rows, const SplitOptions& options) {
  const size_t all = rows->num_rows();
  const auto held_out =
      options.test_rows != nullptr
          ? size_t{0}
          : static_cast<size_t>(std::ceil(options.holdout * static_cast<double>(all)));
  const size_t left =
      held_out + options.public_rows < all ? all - held_out - options.public_rows : 0;
  if (options.public_rows == 0 || left < std::max<size_t>(options.private_rows, 1) ||
      (options.test_rows == nullptr && held_out == 0)) {
    return InvalidArgumentError(StrCat("the file has ", all, " rows: too few for ",
                                       options.public_rows,
                                       " public ones, the private ones and the test"));
  }
  const size_t private_rows = options.private_rows == 0 ? left : options.private_rows;
  return [=, test_rows = options.test_rows, public_rows = options.public_rows](uint64_t seed) {
    PublicRandom random(seed);
    const std::vector<size_t> order = Permutation(all, random);
    const absl::Span<const size_t> indices(order);
    const auto select = [&](size_t begin, size_t count) {
      return std::make_shared<const Table>(rows->Select(indices.subspan(begin, count)));
    };
    return LabRows{.public_rows = select(held_out, public_rows),
                   .private_rows = select(held_out + public_rows, private_rows),
                   .test_rows = test_rows != nullptr ? test_rows : select(0, held_out)};
  };
}

namespace {

size_t ShareOf(double share, size_t rows) {
  return static_cast<size_t>(std::ceil(share * static_cast<double>(rows)));
}

// Shuffles the private rows: the first `taken` become public, and the next `kept` stay private. If
// `taken` is 0 the public rows stay as they are.
RowSource Divided(RowSource source, size_t taken, size_t kept) {
  return [=, source = std::move(source)](uint64_t seed) {
    LabRows rows = source(seed);
    PublicRandom random(seed, 3);
    const std::vector<size_t> order = Permutation(rows.private_rows->num_rows(), random);
    const absl::Span<const size_t> indices(order);
    if (taken > 0) {
      rows.public_rows =
          std::make_shared<const Table>(rows.private_rows->Select(indices.first(taken)));
    }
    rows.private_rows =
        std::make_shared<const Table>(rows.private_rows->Select(indices.subspan(taken, kept)));
    return rows;
  };
}

}  // namespace

StatusOr<RowSource> StudyRows(RowSource source, uint64_t devices) {
  const size_t all = source(0).private_rows->num_rows();
  if (devices > all) {
    return InvalidArgumentError(StrCat(devices, " devices need as many rows, but there are only ",
                                       all, " to train on that are not public"));
  }
  return Divided(std::move(source), 0, devices);
}

StatusOr<RowSource> WithPublicRows(RowSource rows, size_t taken) {
  const size_t all = rows(0).private_rows->num_rows();
  if (taken == 0 || taken >= all) {
    return InvalidArgumentError(StrCat("the ", all, " rows to train on cannot be divided into ",
                                       taken, " public ones and private ones"));
  }
  return Divided(std::move(rows), taken, all - taken);
}

StatusOr<RowSource> WithPublicShare(RowSource rows, double share) {
  const size_t all = rows(0).private_rows->num_rows();
  return WithPublicRows(std::move(rows), ShareOf(share, all));
}

StatusOr<PublicLabels> ParsePublicLabels(std::string_view name) {
  if (name == "as_given") return PublicLabels::kAsGiven;
  if (name == "flipped") return PublicLabels::kFlipped;
  if (name == "random") return PublicLabels::kRandom;
  return InvalidArgumentError("public labels must be as_given, flipped, random or none");
}

RowSource WithPublicLabels(RowSource source, PublicLabels labels) {
  if (labels == PublicLabels::kAsGiven) return source;
  return [source = std::move(source), labels](uint64_t seed) {
    LabRows rows = source(seed);
    const Table& given = *rows.public_rows;
    PublicRandom random(seed, 1);
    const std::vector<size_t> order = Permutation(given.num_rows(), random);
    auto changed = std::make_shared<Table>(given.shared_schema());
    for (size_t i = 0; i < given.num_rows(); ++i) {
      if (const std::optional<Target>& target = given.schema().target()) {
        changed->AppendTarget(given.row(i), labels == PublicLabels::kFlipped
                                                ? target->min + target->max - given.target(i)
                                                : given.target(order[i]));
        continue;
      }
      changed->Append(given.row(i), labels == PublicLabels::kFlipped
                                        ? given.schema().num_classes() - 1 - given.label(i)
                                        : given.label(order[i]));
    }
    rows.public_rows = std::move(changed);
    return rows;
  };
}

RowSource WithShiftedPublicRows(RowSource source) {
  constexpr uint64_t kOften = 4;
  return [source = std::move(source)](uint64_t seed) {
    LabRows rows = source(seed);
    const Table& given = *rows.public_rows;
    size_t feature = 0;
    while (feature + 1 < given.schema().num_features() &&
           given.schema().features()[feature].type != FeatureType::kNumeric) {
      ++feature;
    }
    const absl::Span<const double> column = given.column(feature);
    std::vector<double> sorted(column.begin(), column.end());
    std::nth_element(sorted.begin(),
                     sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2), sorted.end(),
                     [](double a, double b) { return IsMissing(a) ? !IsMissing(b) : a < b; });
    const double median = sorted[sorted.size() / 2];
    PublicRandom random(seed, 2);
    std::vector<size_t> drawn;
    while (drawn.size() < given.num_rows()) {
      const size_t row = random.Below(given.num_rows());
      if (column[row] >= median || random.Below(kOften) == 0) drawn.push_back(row);
    }
    rows.public_rows = std::make_shared<const Table>(given.Select(drawn));
    return rows;
  };
}

StatusOr<RowSource> WithPublicFeatures(RowSource source, const std::vector<std::string>& names) {
  constexpr char kEveryFeature[] = "all";
  const Schema& given = source(0).private_rows->schema();
  const bool none = names == std::vector<std::string>{kNone};
  COPPICE_ASSIGN_OR_RETURN(
      Schema chosen, names == std::vector<std::string>{kEveryFeature}
                         ? given.WithAllPublic()
                         : given.WithPublicFeatures(none ? std::vector<std::string>() : names));
  const auto schema = std::make_shared<const Schema>(std::move(chosen));
  return RowSource([source = std::move(source), schema](uint64_t seed) {
    LabRows rows = source(seed);
    for (std::shared_ptr<const Table>* table :
         {&rows.public_rows, &rows.private_rows, &rows.test_rows}) {
      *table = std::make_shared<const Table>((*table)->WithSchema(schema));
    }
    return rows;
  });
}

namespace {

RowSource SineRows(const SyntheticOptions& options) {
  return [options, schema = SineSchema()](uint64_t seed) {
    PublicRandom random(seed);
    const auto draw = [&](size_t rows) {
      return std::make_shared<const Table>(DrawSine(schema, rows, options.sine, random));
    };
    LabRows rows;
    rows.private_rows = draw(options.private_rows);
    rows.public_rows = draw(options.public_rows);
    rows.test_rows = draw(options.test_rows);
    return rows;
  };
}

}  // namespace

RowSource SyntheticRows(const SyntheticOptions& options) {
  if (options.sine > 0) return SineRows(options);
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

}  // namespace coppice::lab
