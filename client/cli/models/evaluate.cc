#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/models/commands.h"
#include "client/cli/models/model_source.h"
#include "client/cli/models/predict.h"
#include "client/cli/terminal/output.h"
#include "client/cli/terminal/remote.h"
#include "common/base/status_macros.h"
#include "common/wire/convert.h"
#include "coppice/v1/model.pb.h"

namespace coppice::cli {
namespace {

struct RowsFlags : SourceFlags {
  OutputFlags output;
  std::string data_file;
  std::vector<std::string> missing;
  bool strict = false;
  double abstain_below = 0.5;  // confidence; 0.5 is that of no knowledge at all
};

// Reads the rows by the model's schema, and has them predicted.
absl::Status PredictRows(const RowsFlags& flags, bool with_labels, ModelSource& source,
                         const OnPrediction& done) {
  constexpr size_t kShowEvery = 1000;
  UpdatingLine progress;
  COPPICE_ASSIGN_OR_RETURN(const std::string path, InputFile(flags.data_file));
  const absl::StatusOr<ReadNotes> notes = PredictFile(
      path,
      {.strict = flags.strict, .ignore_labels = !with_labels, .format = {.missing = flags.missing}},
      MakeName(kModels, source.id()), source.schema(),
      [&](const auto& request, auto& response) { return source.Predict(request, response); },
      [&](size_t row, const Table& block, size_t in_block, const v1::Prediction& prediction) {
        done(row, block, in_block, prediction);
        if ((row + 1) % kShowEvery == 0) progress.Show(absl::StrCat("rows predicted ", row + 1));
      });
  if (notes.ok() && !notes->Summary().empty()) Note(notes->Summary());
  return notes.status();
}

absl::Status Predict(const RowsFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<ModelSource> source, ModelSource::Open(flags));
  RowPrinter printer(flags.output.json);
  return PredictRows(
      flags, /*with_labels=*/false, *source,
      [&](size_t row, const Table&, size_t, const v1::Prediction& prediction) {
        printer.Print(DescribePrediction(row, prediction, *source->schema(), flags.abstain_below));
      });
}

// The score of one row more.
void Add(const Table& table, size_t row, const v1::Prediction& prediction, double abstain_below,
         Score& score) {
  if (table.schema().target()) {
    ++score.rows;
    score.squared_error += std::pow(prediction.value() - table.target(row), 2);
  } else if (prediction.confidence() < abstain_below) {
    ++score.abstained;
  } else {
    ++score.rows;
    score.correct += prediction.label() == table.label(row) ? 1 : 0;
  }
}

absl::Status Evaluate(const RowsFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const std::unique_ptr<ModelSource> source, ModelSource::Open(flags));
  Score score;
  COPPICE_RETURN_IF_ERROR(PredictRows(
      flags, /*with_labels=*/true, *source,
      [&](size_t, const Table& block, size_t in_block, const v1::Prediction& prediction) {
        Add(block, in_block, prediction, flags.abstain_below, score);
      }));
  if (score.rows == 0) {
    return absl::InvalidArgumentError("the model abstains on every row: lower --abstain-below");
  }
  Note(
      "An accuracy measured on private rows is itself a release; publish it only for public ones.");
  if (source->schema()->target()) {
    const double mse = score.mean_squared_error();
    PrintObject(
        {{"model", source->id()}, {"mse", mse}, {"rmse", std::sqrt(mse)}, {"rows", score.rows}},
        flags.output.json);
    return absl::OkStatus();
  }
  PrintObject({{"model", source->id()},
               {"accuracy", score.accuracy()},
               {"rows", score.rows},
               {"correct", score.correct},
               {"abstained", score.abstained}},
              flags.output.json);
  return absl::OkStatus();
}

void AddRowsVerb(const Command& noun, const std::string& name, const std::string& description,
                 const std::string& data, absl::Status (*run)(const RowsFlags&)) {
  const auto flags = std::make_shared<RowsFlags>();
  const Command verb = noun.AddCommand(name, description,
                                       "coppice model " + name + " --model m-91c0 --data test.csv");
  verb.Add("--data", flags->data_file, data + "; - is stdin, read as CSV").Takes("FILE").Required();
  verb.Add("--missing", flags->missing,
           "Texts that stand for a missing value besides the empty one, by commas: NA,?")
      .SplitAt(',');
  verb.AddSwitch("--strict", flags->strict,
                 "Refuse values outside the schema's bounds instead of clamping them");
  verb.Add("--abstain-below", flags->abstain_below,
           "Leave out rows whose label is the most probable one with less confidence than "
           "this, 0.5 to 1; privacy noise is counted in")
      .InRange(0.5, 1.0)
      .ShowDefault();
  AddOutputFlags(verb, flags->output);
  AddSourceFlags(verb, flags);
  SetAction(verb, flags, run);
}

}  // namespace

void AddPredict(const Command& model) {
  AddRowsVerb(model, "predict", "Predict the class, or the number, of every row of a table",
              "Table with the schema's features, CSV or LIBSVM; labels are not needed, nor looked "
              "at. Read and answered block by block: the output of a file that breaks off ends "
              "before the fault, and the command fails",
              Predict);
}

void AddEvaluate(const Command& model) {
  AddRowsVerb(
      model, "evaluate", "Compare predictions with a table's own labels or numbers",
      "Table with the schema's columns, CSV or LIBSVM; the curator gets to see its features, "
      "not its labels",
      Evaluate);
}

}  // namespace coppice::cli
