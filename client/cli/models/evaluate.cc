#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/cli/models/commands.h"
#include "client/cli/models/evaluate_private.h"
#include "client/cli/models/model_source.h"
#include "client/cli/models/predict.h"
#include "client/cli/terminal/output.h"
#include "client/cli/terminal/remote.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/pages/pages.h"
#include "common/wire/proto/convert.h"
#include "coppice/v1/model.pb.h"

namespace coppice::cli {
namespace {

struct RowsFlags : SourceFlags {
  OutputFlags output;
  std::string data_file;
  std::vector<std::string> missing;
  bool strict = false;
  bool probabilities = false;
  double abstain_below = 0.5;  // confidence; 0.5 means no knowledge at all
  std::string html_file;       // of evaluate; empty: no page
  bool force = false;
  PrivateFlags on_dataset;  // of evaluate
};

// Reads the rows with the model's schema, and gets their predictions.
Status PredictRows(const RowsFlags& flags, bool with_labels, ModelSource& source,
                   const OnPrediction& done) {
  constexpr size_t kShowEvery = 1000;
  UpdatingLine progress;
  COPPICE_ASSIGN_OR_RETURN(const std::string path, InputFile(flags.data_file));
  const StatusOr<ReadNotes> notes = PredictFile(
      path,
      {.strict = flags.strict, .ignore_labels = !with_labels, .format = {.missing = flags.missing}},
      MakeName(kModels, source.id()), source.schema(),
      [&](const auto& request, auto& response) { return source.Predict(request, response); },
      [&](size_t row, const Table& block, size_t in_block, const v1::Prediction& prediction) {
        done(row, block, in_block, prediction);
        if ((row + 1) % kShowEvery == 0) progress.Show(StrCat("rows predicted ", row + 1));
      });
  if (notes.ok() && !notes->Summary().empty()) Note(notes->Summary());
  return notes.status();
}

Status Predict(const RowsFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<ModelSource> source, ModelSource::Open(flags));
  const Schema& schema = *source->schema();
  if (flags.probabilities && schema.target()) {
    return InvalidArgumentError(
        "--probabilities is for classes, and this model predicts a number; leave it out");
  }
  const bool json = flags.output.json;
  RowPrinter printer(json);
  return PredictRows(flags, /*with_labels=*/false, *source,
                     [&](size_t row, const Table&, size_t, const v1::Prediction& prediction) {
                       Json described =
                           DescribePrediction(row, prediction, schema, flags.abstain_below);
                       if (!json) EmptyMissingLabel(described);
                       if (flags.probabilities)
                         AddProbabilities(prediction, schema, json, described);
                       printer.Print(std::move(described));
                     });
}

// Writes the page, if one is asked for, and prints to stdout unless the page goes there.
Status ShowScores(const RowsFlags& flags, const Json& scores, const std::string& text) {
  Note(
      "An accuracy measured on private rows is itself a release; publish it only for public ones.");
  if (!flags.html_file.empty()) {
    COPPICE_RETURN_IF_ERROR(
        WriteResult(flags.html_file, report::EvaluationPage(scores), flags.force));
    if (flags.html_file == "-") return OkStatus();
  }
  if (flags.output.json) {
    PrintObject(scores, /*json=*/true);
  } else {
    PrintText(text);
  }
  return OkStatus();
}

Status EvaluateNumbers(const RowsFlags& flags, ModelSource& source) {
  const Target& target = *source.schema()->target();
  NumberEvaluation evaluation(target.min, target.max);
  COPPICE_RETURN_IF_ERROR(PredictRows(
      flags, /*with_labels=*/true, source,
      [&](size_t, const Table& block, size_t in_block, const v1::Prediction& prediction) {
        evaluation.Add(prediction.value(), block.target(in_block));
      }));
  const NumberScores scores = evaluation.Scores();
  if (scores.rows == 0) return InvalidArgumentError("there is no row to evaluate on");
  return ShowScores(flags, DescribeScores(source.id(), scores), ScoresText(scores));
}

Status EvaluateClasses(const RowsFlags& flags, ModelSource& source) {
  const Schema& schema = *source.schema();
  ClassEvaluation evaluation(schema.num_classes());
  COPPICE_RETURN_IF_ERROR(PredictRows(
      flags, /*with_labels=*/true, source,
      [&](size_t, const Table& block, size_t in_block, const v1::Prediction& prediction) {
        if (prediction.confidence() < flags.abstain_below) {
          evaluation.AddAbstained();
        } else {
          evaluation.Add(prediction.label(), prediction.probabilities(), block.label(in_block));
        }
      }));
  const ClassScores scores = evaluation.Scores();
  if (scores.rows == 0) {
    return InvalidArgumentError(scores.abstained == 0
                                    ? "there is no row to evaluate on"
                                    : "the model abstains on every row: lower --abstain-below");
  }
  return ShowScores(flags, DescribeScores(source.id(), scores, schema), ScoresText(scores, schema));
}

Status Evaluate(const RowsFlags& flags) {
  if (!flags.on_dataset.dataset.empty()) {
    return EvaluateOnDataset(flags.server, flags.model, flags.on_dataset, flags.output.json);
  }
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<ModelSource> source, ModelSource::Open(flags));
  return source->schema()->target() ? EvaluateNumbers(flags, *source)
                                    : EvaluateClasses(flags, *source);
}

struct RowsVerb {
  Command verb;
  Flag data;
};

RowsVerb AddRowsVerb(const Command& noun, const std::string& name, const std::string& description,
                     const std::string& data, const std::shared_ptr<RowsFlags>& flags,
                     Status (*run)(const RowsFlags&)) {
  const Command verb = noun.AddCommand(name, description,
                                       "coppice model " + name + " --model m-91c0 --data test.csv");
  const Flag data_flag =
      verb.Add("--data", flags->data_file, data + "; - is stdin, read as CSV").Takes("FILE");
  verb.Add("--missing", flags->missing,
           "Texts that stand for a missing value besides the empty one, by commas: NA,?")
      .SplitAt(',');
  verb.AddSwitch("--strict", flags->strict,
                 "Refuse values outside the schema's bounds instead of clamping them");
  verb.Add("--abstain-below", flags->abstain_below,
           "Abstain on rows where the confidence, privacy noise included, that the label is the "
           "most probable one is below this, 0.5 to 1")
      .InRange(0.5, 1.0)
      .ShowDefault();
  AddOutputFlags(verb, flags->output);
  AddSourceFlags(verb, flags);
  SetAction(verb, flags, run);
  return {.verb = verb, .data = data_flag};
}

}  // namespace

void AddPredict(const Command& model) {
  const auto flags = std::make_shared<RowsFlags>();
  const RowsVerb rows = AddRowsVerb(
      model, "predict", "Predict the class, or the number, of every row of a table",
      "Table with the schema's features, CSV or LIBSVM; labels are neither needed nor "
      "read. Rows are answered block by block: if the file has an error, the output ends "
      "before it and the command fails",
      flags, Predict);
  rows.data.Required();
  rows.verb.AddSwitch("--probabilities", flags->probabilities,
                      "Also write the probability of every class");
}

void AddEvaluate(const Command& model) {
  const auto flags = std::make_shared<RowsFlags>();
  const RowsVerb added = AddRowsVerb(
      model, "evaluate",
      "Compare predictions with a table's own labels or numbers, and with always answering "
      "the most frequent class or the mean; or, with --dataset, measure with noise how good they "
      "are on private rows",
      "Table with the schema's columns, CSV or LIBSVM; the curator sees its features, but not its "
      "labels",
      flags, Evaluate);
  const Command& verb = added.verb;
  verb.Add("--html", flags->html_file, "Write the result as a page too, for people; - is stdout")
      .Takes("FILE");
  verb.AddSwitch("--force", flags->force, "Replace the page if there is one");
  const Flag data = added.data;
  const Flag dataset = AddPrivateFlags(verb, flags->on_dataset).Excludes(data);
  verb.CheckFlags([flags, data, dataset] {
    if (!dataset.IsGiven()) return data.IsGiven() ? OkStatus() : data.MissingError();
    if (flags->model.empty()) {
      return InvalidArgumentError("--dataset needs --model: the curator evaluates a model it has");
    }
    if (flags->on_dataset.epsilon.has_value()) return OkStatus();
    return InvalidArgumentError("--epsilon is required: what the evaluation may cost");
  });
}

}  // namespace coppice::cli
