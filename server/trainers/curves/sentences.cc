#include <cmath>
#include <utility>

#include "absl/strings/str_format.h"
#include "common/base/text.h"
#include "server/trainers/curves/curve.h"
#include "server/trainers/curves/mean.h"

namespace coppice::curves {
namespace {

constexpr double kErrors = 2;       // standard errors that a difference must exceed
constexpr double kShown = 0.0005;   // half of the last digit shown
constexpr double kChanceAuc = 0.5;  // the AUC of random guessing

// By how much some scores are better, and the standard error of that.
struct Advantage {
  double value = 0;
  double error = 0;
};

// The advantage of `more` over `less`, repetition by repetition.
Advantage AdvantageOf(const std::vector<double>& more, const std::vector<double>& less) {
  std::vector<double> differences;
  for (size_t r = 0; r < more.size(); ++r) differences.push_back(more[r] - less[r]);
  const Mean mean = MeanOf(differences);
  return {.value = mean.value, .error = mean.error()};
}

bool IsBetter(const Advantage& advantage) {
  return advantage.value >= kShown && advantage.value > kErrors * advantage.error;
}
bool IsWorse(const Advantage& advantage) {
  return IsBetter({.value = -advantage.value, .error = advantage.error});
}

std::string Amount(const Advantage& advantage) {
  return absl::StrFormat("%.3f", std::abs(advantage.value));
}

// Walks up the epsilons of a series, and names each step that gains over the last one that did.
class Steps {
 public:
  Steps(const Curve& curve, const CurveSeries& series)
      : curve_(curve), series_(series), last_(&curve.baseline) {}

  std::string Say() {
    for (const CurvePoint& point : series_.points) Take(point);
    const bool bought = last_ != &curve_.baseline;
    if (!bought && parts_.empty()) {
      parts_.push_back(StrCat("no ε here gains anything over ", curve_.BaselineName()));
    } else if (!bought) {
      parts_.push_back("none gains anything over it");
    }
    TakeNonPrivate();
    return StrCat(series_.Name(), ": ", StrJoin(parts_, "; "), ".");
  }

  // The last epsilon that bought something; 0 if none did.
  double last_epsilon() const { return last_epsilon_; }

 private:
  Advantage OverLast(const CurveScores& scores) const {
    Advantage advantage =
        curve_.numbers ? AdvantageOf(*last_, scores.measure) : AdvantageOf(scores.measure, *last_);
    if (last_ == &curve_.baseline) advantage.error = std::hypot(advantage.error, scores.row_error);
    return advantage;
  }

  void Take(const CurvePoint& point) {
    const Advantage advantage = OverLast(point.scores);
    const std::string epsilon = absl::StrFormat("ε = %g", point.epsilon);
    const bool first = last_ == &curve_.baseline;
    if (IsBetter(advantage)) {
      parts_.push_back(StrCat(epsilon, " buys ", Amount(advantage),
                              first ? StrCat(" over ", Baseline()) : " more"));
      last_ = &point.scores.measure;
      last_epsilon_ = point.epsilon;
    } else if (first && IsWorse(advantage)) {
      parts_.push_back(StrCat(epsilon, " is ", Amount(advantage), " worse than ", Baseline()));
    }
  }

  void TakeNonPrivate() {
    if (!series_.non_private) return;
    const Advantage advantage = OverLast(*series_.non_private);
    const bool bought = last_ != &curve_.baseline;
    if (IsBetter(advantage)) {
      parts_.push_back(
          StrCat("without privacy ", Amount(advantage), bought ? " more" : " over it"));
    } else {
      parts_.push_back(bought ? "without privacy no more" : "nor would doing without privacy");
    }
  }

  std::string Baseline() {
    return std::exchange(is_baseline_named_, true) ? "it" : curve_.BaselineName();
  }

  const Curve& curve_;
  const CurveSeries& series_;
  const std::vector<double>* last_;  // the scores of the last step
  double last_epsilon_ = 0;
  bool is_baseline_named_ = false;
  std::vector<std::string> parts_;
};

// Says up to which epsilon the AUC still gains after the measure stopped gaining at `from` (0: at
// no knowledge): the order of the rows may improve when answers do not. "" if it does not.
std::string RankSentence(const CurveSeries& series, double from) {
  const CurvePoint* last = nullptr;
  const std::vector<double> chance(series.points[0].scores.auc.size(), kChanceAuc);
  for (const CurvePoint& point : series.points) {
    if (point.scores.auc.empty()) return "";
    const auto& before = last == nullptr ? chance : last->scores.auc;
    const bool is_step = IsBetter(AdvantageOf(point.scores.auc, before));
    if (point.epsilon <= from ? point.epsilon == from : is_step) last = &point;
  }
  if (last == nullptr || last->epsilon <= from) return "";
  return absl::StrFormat("%s: the order of its probabilities gains up to ε = %g, an AUC of %.3f%s.",
                         series.Name(), last->epsilon, MeanOf(last->scores.auc).value,
                         from > 0 ? "" : "; a threshold of your own may serve you");
}

}  // namespace

std::vector<std::string> CurveSentences(const Curve& curve) {
  std::vector<std::string> sentences;
  for (const CurveSeries& series : curve.series) {
    if (series.points.empty()) continue;
    Steps steps(curve, series);
    sentences.push_back(steps.Say());
    const double last = steps.last_epsilon();
    if (last > 0 && last < series.points.back().epsilon) {
      sentences.push_back(absl::StrFormat(
          "%s: above ε = %g no further gain can be told from chance.", series.Name(), last));
    }
    const std::string rank = RankSentence(series, last);
    if (!rank.empty()) sentences.push_back(rank);
  }
  if (curve.baseline.size() == 1) {
    sentences.push_back(
        "One split cannot tell a gain from chance: give --repeats 10 or more before you rely on "
        "it.");
  }
  return sentences;
}

}  // namespace coppice::curves
