#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <numeric>
#include <utility>

#include "absl/strings/str_format.h"
#include "client/cli/models/commands.h"
#include "client/cli/models/model_source.h"
#include "client/cli/models/predict.h"
#include "common/base/printable.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/model/render_label.h"
#include "common/schema/number.h"
#include "common/table/read_table.h"
#include "common/wire/proto/convert.h"
#include "coppice/v1/model.pb.h"

namespace coppice::cli {
namespace {

using render_internal::CharacterCount;
using render_internal::WithUnit;

constexpr int kMaxExplainedRows = 100;

struct ExplainFlags : SourceFlags {
  OutputFlags output;
  std::string data_file;
  uint32_t row = 0;  // from 1; 0: all
  uint32_t trees = 10;
  std::vector<std::string> missing;
  bool strict = false;
};

std::string UnitText(v1::ContributionUnit unit) {
  switch (unit) {
    case v1::CONTRIBUTION_UNIT_WEIGHT:
      return "weight";
    case v1::CONTRIBUTION_UNIT_SCORE:
      return "score";
    case v1::CONTRIBUTION_UNIT_VALUE:
      return "value";
    default:
      return "probability";
  }
}

std::string LabelText(const Schema& schema, uint32_t label) {
  return label < schema.num_classes() ? Printable(schema.classes()[label]) : "?";
}

// Formats the row's value: a number, a category by name, "other", or "missing". `has` is a step of
// a path or a feature's contribution.
template <typename HasValue>
std::string ValueText(const HasValue& has, const Schema& schema) {
  if (std::isnan(has.value())) return "missing";
  if (has.feature() >= schema.num_features()) return ReadableNumber(has.value());
  const Feature& feature = schema.features()[has.feature()];
  if (feature.type == FeatureType::kNumeric) return ReadableNumber(has.value());
  const bool known = has.value() >= 0 && has.value() < feature.other();
  return known ? Printable(feature.values[static_cast<size_t>(has.value())]) : "other";
}

// "yes 0.83 ± 0.02": the leaf's own answer, if it is a probability.
std::string LeafText(const v1::TreePath& path, v1::ContributionUnit unit,
                     const ModelSource& source) {
  const v1::LeafPrediction& leaf = path.prediction();
  if (unit != v1::CONTRIBUTION_UNIT_PROBABILITY || source.leaves_are_terms()) return "";
  const auto label = static_cast<int>(leaf.label());
  if (label >= leaf.probabilities_size()) return "";
  std::string text = absl::StrFormat("  → %s %.2f", LabelText(*source.schema(), leaf.label()),
                                     std::clamp(leaf.probabilities(label), 0.0, 1.0));
  if (std::isfinite(leaf.standard_error())) {
    absl::StrAppendFormat(&text, " ± %.2f", leaf.standard_error());
  }
  return text;
}

std::string AnswerText(const v1::Prediction& prediction, const Schema& schema) {
  if (schema.target()) {
    std::string text = absl::StrFormat("%s = %.6g", Printable(schema.label()), prediction.value());
    if (std::isfinite(prediction.value_error())) {
      absl::StrAppendFormat(&text, " ± %.3g", prediction.value_error());
    }
    return WithUnit(text, schema.target()->unit);
  }
  std::string text = absl::StrFormat(
      "%s = %s, probability %.3f", Printable(schema.label()), LabelText(schema, prediction.label()),
      prediction.probabilities(static_cast<int>(prediction.label())));
  if (std::isfinite(prediction.standard_error())) {
    absl::StrAppendFormat(&text, " ± %.3f", prediction.standard_error());
  }
  return text;
}

Json DescribeStep(const v1::PathStep& step, const Schema& schema) {
  Json json = {{"condition", step.condition()},
               {"holds", step.holds()},
               {"value", ValueText(step, schema)},
               {"node", step.node()},
               {"feature", step.feature()}};
  if (step.kind() == v1::SPLIT_KIND_NUMERIC) json["threshold"] = step.threshold();
  if (step.kind() == v1::SPLIT_KIND_CATEGORY) json["category"] = step.category();
  if (step.kind() != v1::SPLIT_KIND_MISSING) json["missing_goes_left"] = step.missing_left();
  return json;
}

void DescribeFeatures(const v1::Explanation& explanation, const Schema& schema, Json& json) {
  json["bias"] = explanation.bias();
  json["contributions"] = Json::array();
  for (const v1::FeatureContribution& of_feature : explanation.features()) {
    json["contributions"].push_back({{"feature", Printable(of_feature.name())},
                                     {"value", ValueText(of_feature, schema)},
                                     {"contribution", of_feature.contribution()}});
  }
}

// One object per row: the prediction, what each feature adds, and every tree with its path.
Json DescribeExplanation(size_t row, const v1::Prediction& prediction,
                         const v1::Explanation& explanation, const Schema& schema) {
  Json json = DescribePrediction(row - 1, prediction, schema, 0.5);
  json["unit"] = UnitText(explanation.unit());
  DescribeFeatures(explanation, schema, json);
  json["base"] = explanation.base();
  json["trees"] = Json::array();
  for (const v1::TreePath& path : explanation.trees()) {
    Json tree = {{"tree", path.tree()},
                 {"contribution", path.contribution()},
                 {"leaf", path.leaf()},
                 {"leaf_values", Json::array()},
                 {"leaf_standard_error", path.prediction().standard_error()},
                 {"path", Json::array()}};
    for (const double x : path.prediction().probabilities()) tree["leaf_values"].push_back(x);
    for (const v1::PathStep& step : path.steps()) {
      tree["path"].push_back(DescribeStep(step, schema));
    }
    json["trees"].push_back(std::move(tree));
  }
  return json;
}

// Lists "age = 37" and what that adds, one line each; if there are many features, the first ones.
std::string FeaturesText(const v1::Explanation& explanation, const Schema& schema) {
  constexpr int kShownFeatures = 10;
  const auto& features = explanation.features();
  if (features.empty()) return "";
  const int shown = std::min(features.size(), kShownFeatures);
  std::vector<std::string> names;
  size_t width = 0;
  for (int i = 0; i < shown; ++i) {
    names.push_back(StrCat(Printable(features[i].name()), " = ", ValueText(features[i], schema)));
    width = std::max(width, CharacterCount(names.back()));
  }
  std::string text =
      absl::StrFormat("%s before any split: %.4g; what each feature adds, most first\n",
                      UnitText(explanation.unit()), explanation.bias());
  for (int i = 0; i < shown; ++i) {
    const std::string& name = names[static_cast<size_t>(i)];
    absl::StrAppendFormat(&text, "    %s%s%+.4g\n", name,
                          std::string(width - CharacterCount(name) + 2, ' '),
                          features[i].contribution());
  }
  if (shown == features.size()) return text + "\n";
  const double rest = std::accumulate(
      features.begin() + shown, features.end(), 0.0,
      [](double sum, const v1::FeatureContribution& one) { return sum + one.contribution(); });
  absl::StrAppendFormat(&text, "    %d more features: %+.4g\n\n", features.size() - shown, rest);
  return text;
}

// The explanation for people.
std::string ExplanationText(size_t row, const v1::Prediction& prediction,
                            const v1::Explanation& explanation, const ModelSource& source) {
  const Schema& schema = *source.schema();
  const std::string unit = UnitText(explanation.unit());
  std::string text = absl::StrFormat("row %d: %s\n", row, AnswerText(prediction, schema));
  text += FeaturesText(explanation, schema);
  absl::StrAppendFormat(&text, "%s without any tree: %.4g; what each tree adds, most first\n", unit,
                        explanation.base());
  for (const v1::TreePath& path : explanation.trees()) {
    absl::StrAppendFormat(&text, "\ntree %d  %+.4g%s\n", path.tree(), path.contribution(),
                          LeafText(path, explanation.unit(), source));
    size_t width = 0;
    for (const v1::PathStep& step : path.steps())
      width = std::max(width, CharacterCount(Printable(step.condition())));
    for (const v1::PathStep& step : path.steps()) {
      StrAppend(&text, "    ", Printable(step.condition()),
                std::string(width - CharacterCount(Printable(step.condition())) + 2, ' '),
                step.holds() ? "yes" : "no ", "  (", ValueText(step, schema), ")\n");
    }
    if (path.steps().empty()) StrAppend(&text, "    the same for every row\n");
  }
  return text;
}

// Puts the requested rows into one request.
StatusOr<v1::PredictRequest> RequestFor(const ExplainFlags& flags, const ModelSource& source) {
  v1::PredictRequest request;
  request.set_explain(true);
  request.set_explain_trees(flags.trees);
  uint64_t row = 0;
  COPPICE_ASSIGN_OR_RETURN(const std::string path, InputFile(flags.data_file));
  COPPICE_ASSIGN_OR_RETURN(
      const ReadNotes notes,
      ReadTableInBlocks(
          path, source.schema(),
          {.strict = flags.strict, .ignore_labels = true, .format = {.missing = flags.missing}}, 1,
          [&](const Table& block) {
            ++row;
            if (flags.row == 0 || flags.row == row) {
              *request.add_rows() = ToProto(RowView(block.row(0)));
            }
            return request.rows_size() <= kMaxExplainedRows
                       ? OkStatus()
                       : InvalidArgumentError(StrCat("--data has more than ", kMaxExplainedRows,
                                                     " rows; choose one with --row"));
          }));
  if (!notes.Summary().empty()) Note(notes.Summary());
  if (request.rows_size() > 0) return request;
  return InvalidArgumentError(StrCat("--row ", flags.row, ": the file has ", row, " rows"));
}

Status Explain(const ExplainFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<ModelSource> source, ModelSource::Open(flags));
  COPPICE_ASSIGN_OR_RETURN(const v1::PredictRequest request, RequestFor(flags, *source));
  v1::PredictResponse response;
  COPPICE_RETURN_IF_ERROR(source->Explain(request, response));
  if (response.explanations_size() != request.rows_size() ||
      response.predictions_size() != request.rows_size()) {
    return DataLossError("the curator explained another number of rows than were sent");
  }
  for (int i = 0; i < response.explanations_size(); ++i) {
    const v1::Prediction& prediction = response.predictions(i);
    if (static_cast<uint32_t>(prediction.probabilities_size()) != source->schema()->num_outputs() ||
        prediction.label() >= source->schema()->num_outputs()) {
      return DataLossError("the curator predicted classes that the schema does not have");
    }
    const size_t row = flags.row > 0 ? flags.row : static_cast<size_t>(i) + 1;
    if (flags.output.json) {
      PrintObject(DescribeExplanation(row, prediction, response.explanations(i), *source->schema()),
                  true);
    } else {
      if (i > 0) PrintText("\n");
      PrintText(ExplanationText(row, prediction, response.explanations(i), *source));
    }
  }
  return OkStatus();
}

}  // namespace

void AddExplain(const Command& noun) {
  const auto flags = std::make_shared<ExplainFlags>();
  const Command verb =
      noun.AddCommand("explain", "Show how a model came to its predictions",
                      "coppice model explain --model m-91c0 --data test.csv --row 3");
  verb.Add("--data", flags->data_file,
           "Table with the schema's features, CSV or LIBSVM; labels are not needed; - is stdin, "
           "read as CSV")
      .Takes("FILE")
      .Required();
  verb.Add("--row", flags->row, "Which row of it, from 1 (default: all, at most 100)")
      .InRange(1u, ~0u);
  verb.Add("--trees", flags->trees,
           "Of a forest: at most so many trees, those that contribute most; 0: all")
      .ShowDefault();
  verb.Add("--missing", flags->missing,
           "Texts that stand for a missing value besides the empty one, by commas: NA,?")
      .SplitAt(',');
  verb.AddSwitch("--strict", flags->strict,
                 "Refuse values outside the schema's bounds instead of clamping them");
  AddOutputFlags(verb, flags->output);
  AddSourceFlags(verb, flags);
  SetAction(verb, flags, Explain);
}

}  // namespace coppice::cli
