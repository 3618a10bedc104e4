// dp_lr: logistic regression by objective perturbation, as published.
//
// The regularized loss gets a random linear term b w / n, b of density exp(-epsilon' |b| / 2), and
// its minimum is the model. Part of epsilon, log(1 + 2 c / (n penalty) + (c / (n penalty))^2) with
// c = 1/4, pays for how the curvature differs between neighbours; where it would take all of it,
// the penalty is raised until half is left.
//
// The proof speaks of the exact minimum and of real numbers. A solver stops near the minimum, where
// depends on the rows, and the weights are floating-point numbers.
//
// Source     Chaudhuri, Monteleoni, Sarwate 2011, "Differentially private empirical risk
//            minimization", Algorithm 2; rows in one-hot bins as in Salamatian's thesis.
// Guarantee  none is stated (docs/research/mechanisms.md#baselines).

#include <cmath>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "server/research/features.h"
#include "server/research/method.h"
#include "server/research/one_hot.h"
#include "server/research/real_draws.h"
#include "server/trainers/core/ensemble.h"

namespace coppice::research {
namespace {

// What the paper's Algorithm 2 makes of epsilon and the penalty.
struct Perturbation {
  double epsilon = 0;  // for the linear term
  double penalty = 0;
};

Perturbation PerturbationFor(double epsilon, double penalty, double rows) {
  constexpr double kCurvature = 0.25;  // of the logistic loss, at most
  const double c = kCurvature / (rows * penalty);
  const double left = epsilon - std::log(1 + 2 * c + c * c);
  if (left > 0) return {.epsilon = left, .penalty = penalty};
  return {.epsilon = epsilon / 2, .penalty = kCurvature / (rows * std::expm1(epsilon / 4))};
}

// A vector whose density falls as exp(-rate |b|): its length is Gamma(dimension, 1 / rate).
StatusOr<std::vector<double>> DrawTilt(size_t dimension, double rate, PrivateRandom& random) {
  COPPICE_ASSIGN_OR_RETURN(std::vector<double> tilt, DrawGaussians(dimension, random));
  double squares = 0, length = 0;
  for (const double x : tilt) squares += x * x;
  for (size_t i = 0; i < dimension; ++i) {
    COPPICE_ASSIGN_OR_RETURN(const double u, DrawUnit(random));
    length -= std::log(u) / rate;
  }
  for (double& x : tilt) x *= length / std::sqrt(squares);
  return tilt;
}

class ObjectivePerturbation final : public Method {
 public:
  const MethodInfo& info() const override {
    static const MethodInfo kInfo = {
        .name = "dp_lr",
        .summary = "logistic regression with a random linear term in its objective",
        .source = "Chaudhuri, Monteleoni, Sarwate 2011",
        .protects = "a row, its authors say",
        .neighbours = "one row replaced, its authors say",
        .guarantee = kAsPublished,
        .sampler = "floating point",
        .setting = "penalty",
        .default_setting = 0.001,
        .paper_settings = {0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03},
        .whole_settings = false,
        .reason =
            "the proof needs the exact minimum and real numbers; a solver stops near it, at a "
            "place that depends on the rows"};
    return kInfo;
  }

  StatusOr<Answers> Fit(const lab::LabRows& rows, const FitOptions& options, PublicRandom&,
                        PrivateRandom& noise) const override {
    const Table& table = *rows.private_rows;
    COPPICE_RETURN_IF_ERROR(CheckTwoClasses(table.schema()));
    COPPICE_RETURN_IF_ERROR(CheckLabelled(table));
    if (!(options.setting > 0)) return InvalidArgumentError("dp_lr takes a penalty above 0");
    COPPICE_ASSIGN_OR_RETURN(const OneHotRows points, OneHotRows::Create(table));
    const auto n = static_cast<double>(points.size());
    const Perturbation with = PerturbationFor(options.epsilon->epsilon(), options.setting, n);
    LogisticObjective objective{.penalty = with.penalty};
    COPPICE_ASSIGN_OR_RETURN(objective.tilt,
                             DrawTilt(points.dimension(), n * with.epsilon / 2, noise));
    COPPICE_ASSIGN_OR_RETURN(
        const std::vector<double> weights,
        FitLogistic(points, table.labels(), trainers::AllRows(points.size()), objective));
    return AnswerByLogit(*rows.test_rows, weights);
  }
};

}  // namespace

const Method& DpLr() {
  static const ObjectivePerturbation kMethod;
  return kMethod;
}

}  // namespace coppice::research
