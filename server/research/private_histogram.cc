// phist: by the paper's split Laplace mechanism, each device reports which cell of an even grid on
// the public box contains its row, and its class there; a cell answers with its noisy class shares.
//
// The noise is discrete Laplace of the paper's scale 4 / epsilon per device, exact. Only the sums
// that a test row needs are drawn: noises are independent, so this is the law of all sums. The
// authors' program instead adds one draw of Laplace noise, sqrt(n) times as wide, to each sum,
// reuses the draws in each repetition, and answers class 0 outside the box; here rows outside are
// clamped.
//
// Source     Berrett, Butucea 2019, as Ma, Yang 2024, section 7.2, use it.
// Guarantee  epsilon-LDP: two rows differ in at most two counts of cells, and in two counts of
//            cells with a class.

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/ldp/laplace_noise.h"
#include "server/research/features.h"
#include "server/research/method.h"

namespace coppice::research {
namespace {

constexpr uint64_t kSensitivity = 4;
constexpr double kMaxGridCells = 1 << 30;  // as in the authors' program

bool IsRunnable(const Schema& schema, double splits) {
  return splits >= 1 && splits <= 64 &&
         std::pow(splits, static_cast<double>(schema.num_features())) <= kMaxGridCells;
}

std::vector<uint32_t> FindCells(const Points& points, double splits) {
  std::vector<uint32_t> cells(points.size());
  const auto each = static_cast<uint32_t>(splits);
  for (size_t i = 0; i < cells.size(); ++i) {
    for (const double x : points.of(i)) {
      cells[i] = cells[i] * each + std::min(static_cast<uint32_t>(x * splits), each - 1);
    }
  }
  return cells;
}

// The sums of one cell: over all classes, then for each class but the first.
using CellSums = std::vector<int64_t>;

absl::flat_hash_map<uint32_t, CellSums> CountRows(const std::vector<uint32_t>& asked,
                                                  const std::vector<uint32_t>& cells,
                                                  const Table& devices) {
  absl::flat_hash_map<uint32_t, CellSums> sums;
  for (const uint32_t cell : asked) sums[cell].resize(devices.schema().num_classes());
  for (size_t i = 0; i < cells.size(); ++i) {
    const auto found = sums.find(cells[i]);
    if (found == sums.end()) continue;
    ++found->second[0];
    if (devices.label(i) > 0) ++found->second[devices.label(i)];
  }
  return sums;
}

// All classes are equally probable in a cell without a positive noisy count.
void ShareOut(const CellSums& sums, absl::Span<double> probabilities) {
  int64_t first = sums[0];
  for (size_t k = 1; k < sums.size(); ++k) first -= sums[k];
  double total = 0;
  for (size_t k = 0; k < sums.size(); ++k) {
    probabilities[k] = static_cast<double>(std::max<int64_t>(k == 0 ? first : sums[k], 0));
    total += probabilities[k];
  }
  for (double& p : probabilities) {
    p = total > 0 ? p / total : 1 / static_cast<double>(sums.size());
  }
}

class PrivateHistogram final : public Method {
 public:
  const MethodInfo& info() const override {
    static const MethodInfo kInfo = {
        .name = "phist",
        .summary = "noisy class counts of an even grid on the public box",
        .source = "Berrett, Butucea 2019",
        .protects = "a row",
        .neighbours = "any row of a device for any other",
        .guarantee = "epsilon-LDP",
        .sampler = "exact: discrete Laplace",
        .setting = "splits",
        .default_setting = 2,
        .paper_settings = {1, 2, 3, 4, 5, 6}};
    return kInfo;
  }

  bool Fits(const Schema& schema, double setting) const override {
    return IsRunnable(schema, setting);
  }

  StatusOr<Answers> Fit(const lab::LabRows& rows, const FitOptions& options, PublicRandom&,
                        PrivateRandom& noise) const override {
    const Schema& schema = rows.test_rows->schema();
    const double splits = options.setting;
    if (!IsRunnable(schema, splits)) {
      return InvalidArgumentError(
          "phist takes 1 to 64 splits, and at most 2^30 cells; ask for fewer splits");
    }
    COPPICE_ASSIGN_OR_RETURN(const LaplaceNoise law,
                             LaplaceNoise::Create(*options.epsilon, kSensitivity));
    const Scaling scaling(*rows.public_rows);
    const Table& devices = *rows.private_rows;
    COPPICE_RETURN_IF_ERROR(CheckLabelled(devices));
    const std::vector<uint32_t> asked = FindCells(scaling.ScaleToBox(*rows.test_rows), splits);
    auto sums = CountRows(asked, FindCells(scaling.ScaleToBox(devices), splits), devices);
    for (auto& [cell, of_cell] : sums) {
      for (int64_t& sum : of_cell) {
        COPPICE_ASSIGN_OR_RETURN(const int64_t drawn, law.SumOf(devices.num_rows(), noise));
        sum += drawn;
      }
    }
    Answers answers(schema.num_classes(), asked.size());
    for (size_t i = 0; i < asked.size(); ++i) ShareOut(sums[asked[i]], answers.of(i));
    return answers;
  }
};

}  // namespace

const Method& Phist() {
  static const PrivateHistogram kMethod;
  return kMethod;
}

}  // namespace coppice::research
