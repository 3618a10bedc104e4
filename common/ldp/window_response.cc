#include "common/ldp/window_response.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "absl/numeric/int128.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/ldp/keep_rate.h"
#include "common/ldp/mechanisms.h"
#include "common/ldp/randomized_rounding.h"
#include "common/privacy/exp_bound.h"

namespace coppice {
namespace {

constexpr uint32_t kEnds = 2;

uint32_t ByteOf(std::string_view payload) { return static_cast<unsigned char>(payload[0]); }

// exp(epsilon) - 1, rounded down; the same on all machines.
double GainOf(const Budget& epsilon) {
  const absl::uint128 bound = ExpLowerBound(epsilon, 1);
  const double scaled = std::ldexp(static_cast<double>(absl::Uint128High64(bound)), 64) +
                        static_cast<double>(absl::Uint128Low64(bound));
  return std::ldexp(scaled, -kExpBits) - 1;
}

// The variance of a uniform whole number from -most to most.
double UniformVariance(double most) { return most * (most + 1) / 3; }

// The variance of a report about xJ between two whole numbers, the share `fraction` of the way, in
// units of x. Its second moment is keep (x^2 J^2 + f (1 - f)) and that of the two uniform draws.
double VarianceOf(double keep, double other, const Window& window, double x, double rounding) {
  const double steps = window.reach - window.half_width;
  const double noise =
      keep * UniformVariance(window.half_width) + other * UniformVariance(window.reach);
  const double of_draw = keep * other * x * x * steps * steps + keep * rounding + noise;
  return of_draw / (keep * keep * steps * steps);
}

}  // namespace

Status CheckWindow(const Window& window) {
  if (window.reach >= 1 && window.reach <= kMaxReach && window.half_width < window.reach) {
    return OkStatus();
  }
  return InvalidArgumentError(StrCat("window: reach must be 1 to ", kMaxReach,
                                     " and half_width less than it, are ", window.reach, " and ",
                                     window.half_width));
}

Window BestWindow(const Budget& epsilon) {
  constexpr double kPlace = 0.5;
  constexpr double kMeanRounding = 1.0 / 6;  // of f (1 - f) for a uniform f
  const double gain = GainOf(epsilon);
  Window best;
  double least = std::numeric_limits<double>::infinity();
  for (uint32_t reach = 1; reach <= kMaxReach; ++reach) {
    for (uint32_t half_width = 0; half_width < reach; ++half_width) {
      const double kept = gain * (2 * half_width + 1);
      const double all = kept + (2 * reach + 1);
      const Window window = {.reach = reach, .half_width = half_width};
      const double variance =
          VarianceOf(kept / all, (2 * reach + 1) / all, window, kPlace, kMeanRounding);
      if (variance >= least) continue;
      least = variance;
      best = window;
    }
  }
  return best;
}

WindowResponse::WindowResponse(const Budget& epsilon, const Domain& domain, const Window& window)
    : LocalMechanism(MechanismKind::kWindowResponse, epsilon, domain),
      window_(window),
      keep_rate_(KeepRate(epsilon, kept(), symbols())),
      keep_(std::ldexp(static_cast<double>(keep_rate_), -kKeepRateBits)),
      other_(std::ldexp(static_cast<double>(kKeepAlways - keep_rate_), -kKeepRateBits)) {}

// Proved: window_response_is_private in tests/proofs/statements.v.
//
// Makes both draws whichever is sent: they take different times, which would tell them apart.
StatusOr<uint32_t> WindowResponse::DrawSymbol(uint32_t step, PrivateRandom& random) const {
  COPPICE_ASSIGN_OR_RETURN(const bool is_kept, random.Bernoulli(keep_rate_, kKeepAlways));
  COPPICE_ASSIGN_OR_RETURN(const uint64_t in_window, random.UniformBelow(kept()));
  COPPICE_ASSIGN_OR_RETURN(const uint64_t any, random.UniformBelow(symbols()));
  return static_cast<uint32_t>(is_kept ? step + in_window : any);
}

Status WindowResponse::Write(LeafLabel value, uint32_t /*column*/, PrivateRandom& random,
                             std::string& payload) const {
  COPPICE_ASSIGN_OR_RETURN(const uint32_t symbol, DrawSymbol(StepOf(value), random));
  payload.assign(1, static_cast<char>(symbol));
  return OkStatus();
}

Status WindowResponse::WriteNumber(LeafNumber value, uint32_t /*column*/, PrivateRandom& random,
                                   std::string& payload) const {
  COPPICE_ASSIGN_OR_RETURN(const uint32_t step, RoundToAStep(value.place, steps(), random));
  COPPICE_ASSIGN_OR_RETURN(const uint32_t symbol, DrawSymbol(step, random));
  payload.assign(1, static_cast<char>(symbol));
  return OkStatus();
}

Status WindowResponse::Check(std::string_view payload) const {
  if (payload.size() != payload_bytes()) {
    return InvalidArgumentError("the payload is not the one byte of a number");
  }
  if (ByteOf(payload) >= symbols()) {
    return InvalidArgumentError("the payload is a number that no honest device sends");
  }
  return OkStatus();
}

void WindowResponse::AddAll(absl::Span<const Contribution> reports,
                            absl::Span<int64_t> sums) const {
  for (const Contribution& report : reports) {
    sums[0] += int64_t{ByteOf(report.payload)} - window_.reach;
  }
}

Status WindowResponse::RandomizeInto(LeafLabel value, PrivateRandom& random,
                                     absl::Span<int64_t> sums) const {
  COPPICE_RETURN_IF_ERROR(CheckValue(value));
  COPPICE_ASSIGN_OR_RETURN(const uint32_t symbol, DrawSymbol(StepOf(value), random));
  sums[0] += int64_t{symbol} - window_.reach;
  return OkStatus();
}

LeafCounts WindowResponse::Estimate(absl::Span<const int64_t> sums, uint64_t reports) const {
  const auto rows = static_cast<double>(reports);
  const double margin = static_cast<double>(sums[0]) * PerUnit();
  return {.classes = kEnds, .leaf = {rows}, .label = {(rows - margin) / 2, (rows + margin) / 2}};
}

NoiseVariance WindowResponse::Variance(uint32_t /*label*/) const {
  return {.leaf = 0, .label = MarginVariance(1) / 4, .covariance = 0};
}

double WindowResponse::MarginVariance(double place) const {
  const double step = place * steps();
  const double fraction = step - std::floor(step);
  return VarianceOf(keep_, other_, window_, 2 * place - 1, fraction * (1 - fraction));
}

Influence WindowResponse::MaxInfluence() const {
  const double margin = window_.reach * PerUnit();  // at least 1
  return {.count = (1 + margin) / 2, .total = margin};
}

double WindowResponse::TwoSidedMass() const {
  const double gain = std::expm1(epsilon().epsilon());
  return kMassRoundingUp * std::min(kept(), steps()) / (symbols() + gain * kept());
}

double WindowResponse::Probability(uint32_t step, uint32_t symbol) const {
  const bool is_in_window = symbol >= step && symbol < step + kept();
  return (is_in_window ? keep_ / kept() : 0) + other_ / symbols();
}

StatusOr<double> WindowResponse::LogOutputProbability(LeafLabel value, uint32_t column,
                                                      std::string_view payload) const {
  COPPICE_RETURN_IF_ERROR(CheckInput(value, column));
  COPPICE_RETURN_IF_ERROR(Check(payload));
  return std::log(Probability(StepOf(value), ByteOf(payload)));
}

StatusOr<double> WindowResponse::NumberProbability(LeafNumber value, uint32_t column,
                                                   std::string_view payload) const {
  COPPICE_RETURN_IF_ERROR(CheckNumber(value, column));
  COPPICE_RETURN_IF_ERROR(Check(payload));
  const double at = value.place * steps();
  const auto step = static_cast<uint32_t>(at);
  const double fraction = at - step;
  const double lower = Probability(step, ByteOf(payload));
  return (1 - fraction) * lower + fraction * Probability(step + 1, ByteOf(payload));
}

MechanismOr MakeWindowResponse(const Budget& epsilon, const Domain& domain) {
  if (domain.leaves != 1 || domain.classes != kEnds) {
    return InvalidArgumentError(
        StrCat("window_response hides a number between the ends of one range, so it takes 1 leaf "
               "and 2 classes, not ",
               domain.leaves, " and ", domain.classes,
               "; it serves studies of numbers whose features are all public"));
  }
  const Window window = domain.window ? *domain.window : BestWindow(epsilon);
  COPPICE_RETURN_IF_ERROR(CheckWindow(window));
  return std::make_unique<WindowResponse>(epsilon, domain, window);
}

}  // namespace coppice
