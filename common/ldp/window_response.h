// `window_response`: a number, hidden among whole numbers. Of all mechanisms here it has the least
// noise about a number from an epsilon of about 0.8 on: half of one bit's at epsilon 2, an eighth
// of it at 4. It has no use for classes.
//
// A number is its place x in [-1, 1] between two public ends. It becomes a whole number j between
// -J and J, J = reach - half_width: one of the two nearest to xJ, at random with that mean. With
// probability K / 2^62 the report is uniform from j - half_width to j + half_width, otherwise
// uniform from -reach to reach. Its mean is x J K / 2^62. Numbers near j are thus more likely, and
// none is much more likely than any other.
//
// A payload is one byte, the report plus reach; the only sum is that of the reports. The ends are
// the labels of the domain, which has one leaf: a label is reported as the number at its end.

#ifndef COPPICE_COMMON_LDP_WINDOW_RESPONSE_H_
#define COPPICE_COMMON_LDP_WINDOW_RESPONSE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/ldp/local_mechanism.h"

namespace coppice {

// A payload is one byte. With 31 the variance is a thousandth more at epsilon 3 and 3 % more at 8;
// with 127 it is half a per cent less there.
inline constexpr uint32_t kMaxReach = 63;

// InvalidArgument unless reach is 1 to kMaxReach and half_width is less.
Status CheckWindow(const Window& window);

// The window with the least variance for a number half-way between the middle and an end, averaged
// over how its rounding falls: numbers are cut at the ends, so few lie there.
Window BestWindow(const Budget& epsilon);

// Guarantee  of G = 2 reach + 1 reports, each of the w = 2 half_width + 1 in the window has the
//            probability k / w + (1 - k) / G and each other one (1 - k) / G, k = K / 2^62: the
//            worst ratio is 1 + G K / (w (2^62 - K)), which K = KeepRate() of w kept symbols holds
//            to exp(epsilon). The rounding mixes two such laws. So epsilon-LDP. Neighbours: any
//            number for any other.
// Errors     MakeWindowResponse(): InvalidArgument unless there are one leaf and two classes.
// Source     Li, Wang, Lopuhaa-Zwakenberg, Li and Skoric 2020 (square wave); Wang and others 2019
//            (piecewise); docs/research/mechanisms.md#window_response.
class WindowResponse final : public LocalMechanism {
 public:
  WindowResponse(const Budget& epsilon, const Domain& domain, const Window& window);

  std::optional<Window> window() const override { return window_; }
  size_t payload_bytes() const override { return 1; }
  size_t sum_size() const override { return 1; }
  Status Check(std::string_view payload) const override;
  void AddAll(absl::Span<const Contribution> reports, absl::Span<int64_t> sums) const override;
  Status RandomizeInto(LeafLabel value, PrivateRandom& random,
                       absl::Span<int64_t> sums) const override;
  LeafCounts Estimate(absl::Span<const int64_t> sums, uint64_t reports) const override;
  // For a number at an end, where it is largest or nearly so
  // (docs/research/mechanisms.md#break-downs).
  NoiseVariance Variance(uint32_t label) const override;
  double MarginVariance(double place) const override;
  Influence MaxInfluence() const override;
  // min(w, 2J) / (G + (exp(epsilon) - 1) w).
  double TwoSidedMass() const override;
  StatusOr<double> LogOutputProbability(LeafLabel value, uint32_t column,
                                        std::string_view payload) const override;
  StatusOr<double> NumberProbability(LeafNumber value, uint32_t column,
                                     std::string_view payload) const override;

 private:
  Status Write(LeafLabel value, uint32_t column, PrivateRandom& random,
               std::string& payload) const override;
  Status WriteNumber(LeafNumber value, uint32_t column, PrivateRandom& random,
                     std::string& payload) const override;
  // A report plus reach about j, given as `step` = j + J.
  StatusOr<uint32_t> DrawSymbol(uint32_t step, PrivateRandom& random) const;
  double Probability(uint32_t step, uint32_t symbol) const;

  uint32_t symbols() const { return 2 * window_.reach + 1; }
  uint32_t kept() const { return 2 * window_.half_width + 1; }
  uint32_t steps() const { return 2 * (window_.reach - window_.half_width); }
  uint32_t StepOf(LeafLabel end) const { return end.label == 0 ? 0 : steps(); }
  // What a report counts as: the mean of it is x.
  double PerUnit() const { return 2 / (keep_ * steps()); }

  Window window_;
  uint64_t keep_rate_;
  double keep_, other_;  // keep_rate_ / 2^62, and what is left of 1
};

}  // namespace coppice

#endif  // COPPICE_COMMON_LDP_WINDOW_RESPONSE_H_
