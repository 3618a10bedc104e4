// Private evaluations: their figures with intervals, and what they cost.

#include <string>

#include "common/base/text.h"
#include "common/describe/describe.h"
#include "common/describe/text.h"
#include "coppice/v1/training.pb.h"

namespace coppice {
namespace {

void AddEstimate(const std::string& name, const std::string& interval, const v1::Estimate& estimate,
                 Description& json) {
  json[name] = estimate.value();
  json[interval] = Description::array({estimate.low(), estimate.high()});
}

// The first figure's interval is called "interval", as in other evaluations.
void AddScores(const v1::PrivateScores& scores, Description& json) {
  if (scores.has_accuracy()) AddEstimate("accuracy", "interval", scores.accuracy(), json);
  if (scores.has_auc()) AddEstimate("auc", "auc_interval", scores.auc(), json);
  if (scores.has_rmse()) AddEstimate("rmse", "interval", scores.rmse(), json);
  if (scores.has_mae()) AddEstimate("mae", "mae_interval", scores.mae(), json);
  if (scores.recall_size() > 0) {
    json["recall"] = Description::array();
    json["recall_intervals"] = Description::array();
    for (const v1::Estimate& recall : scores.recall()) {
      json["recall"].push_back(recall.value());
      json["recall_intervals"].push_back({recall.low(), recall.high()});
    }
  }
  json["noisy_rows"] = scores.rows();
}

// Why no interval covers what the model is worth on other rows; empty: it does.
std::string CaveatOf(const v1::Evaluation& evaluation) {
  if (evaluation.trained_on_these_rows()) {
    return "the model was trained on these rows: this is how well it fits them, and no interval "
           "covers what it is worth on others";
  }
  if (evaluation.after_earlier_results()) {
    return "results of these rows were released before the model was made, and may have shaped it: "
           "the intervals claim no coverage";
  }
  return "";
}

}  // namespace

Description DescribeEvaluation(const v1::Evaluation& evaluation) {
  Description json = {{"evaluation", IdOf(evaluation.name())},
                      {"model", IdOf(evaluation.spec().model())},
                      {"dataset", IdOf(evaluation.spec().dataset())},
                      {"state", EnumText(evaluation.state())}};
  if (evaluation.has_scores()) AddScores(evaluation.scores(), json);
  json.update(DescribeCost(evaluation.cost()));
  json["account"] = EnumText(evaluation.account());
  json["covers"] = CaveatOf(evaluation).empty();
  if (!CaveatOf(evaluation).empty()) json["caveat"] = CaveatOf(evaluation);
  if (!evaluation.reason().empty()) json["reason"] = evaluation.reason();
  if (!evaluation.spec().by().empty()) {
    json["by"] = evaluation.spec().by();
    json["groups"] = Description::array();
    for (const v1::PrivateScores& group : evaluation.groups()) {
      Description one = {{"group", group.group()}};
      AddScores(group, one);
      json["groups"].push_back(std::move(one));
    }
  }
  if (evaluation.confusion_size() > 0) {
    json["noisy_confusion"] = Description::array();
    for (const v1::ConfusionRow& row : evaluation.confusion()) {
      json["noisy_confusion"].push_back(row.predicted());
    }
  }
  return json;
}

Description DescribeEvaluationPreview(const v1::PreviewEvaluationResponse& preview) {
  Description json = {{"fits", preview.fits()}};
  if (!preview.fits()) json["reason"] = preview.reason();
  json.update(DescribeCost(preview.cost()));
  json["account"] = EnumText(preview.account());
  json["half_width"] = preview.half_width();
  json["releases"] = Description::array();
  for (const v1::Release& release : preview.releases()) {
    json["releases"].push_back(DescribeRelease(release));
  }
  return json;
}

}  // namespace coppice
