#include "client/cli/models/model.h"

#include <google/protobuf/util/json_util.h>

#include <cmath>
#include <iostream>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/cli/models/explain.h"
#include "client/cli/models/model_source.h"
#include "client/cli/models/predict.h"
#include "client/cli/models/verify.h"
#include "client/cli/terminal/describe.h"
#include "client/cli/terminal/output.h"
#include "client/cli/terminal/remote.h"
#include "client/cli/terminal/write_file.h"
#include "common/base/status_macros.h"
#include "common/tree/render.h"
#include "common/wire/convert.h"

namespace coppice::cli {
namespace {

struct ModelFlags {
  ServerFlags server;
  OutputFlags output;
  std::string model;
};

void AddModelFlags(CLI::App& verb, ModelFlags& flags) {
  AddIdFlag(verb, "--model", flags.model, "Id of the model");
  AddOutputFlags(verb, flags.output);
  AddServerFlags(verb, flags.server);
}

// ---- build

struct BuildFlags {
  ServerFlags server;
  OutputFlags output;
  std::string study, model;
  std::string estimator;
  std::string lambda = "1";
  std::string evidence = "both";
};

const std::map<std::string, v1::Evidence> kEvidence = {{"both", v1::EVIDENCE_UNSPECIFIED},
                                                       {"reports", v1::EVIDENCE_REPORTS},
                                                       {"public", v1::EVIDENCE_PUBLIC}};

bool ParseLambda(const std::string& text, double& lambda) {
  return absl::SimpleAtod(text, &lambda) && !std::isnan(lambda) && lambda >= 0;
}

std::string CheckLambda(const std::string& text) {
  double lambda = 0;
  return ParseLambda(text, lambda)
             ? ""
             : "wants a number from 0 (private reports only) to inf (public rows only)";
}

absl::Status Build(const BuildFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  v1::BuildModelRequest request;
  request.set_study(MakeName(kStudies, flags.study));
  request.set_model_id(flags.model);
  if (flags.estimator == "prune") {
    request.mutable_prune();
  } else if (flags.estimator == "smooth") {
    request.mutable_smooth()->set_evidence(kEvidence.at(flags.evidence));
  } else {
    double lambda = 0;
    ParseLambda(flags.lambda, lambda);
    request.mutable_weighted()->set_lambda(lambda);
  }
  v1::BuildModelResponse response;
  COPPICE_RETURN_IF_ERROR(remote.Call([&](grpc::ClientContext& context) {
    return remote.models().BuildModel(&context, request, &response);
  }));
  PrintObject(DescribeModel(response.model()), flags.output.json);
  return absl::OkStatus();
}

void AddBuild(CLI::App& noun, Action& action) {
  const auto flags = std::make_shared<BuildFlags>();
  CLI::App* verb = AddVerb(noun, "build", "Turn a study's sums into a model; costs no privacy",
                           "coppice model build --study s-4f2a");
  AddIdFlag(*verb, "--study", flags->study, "Id of the study");
  CLI::Option* estimator =
      verb->add_option("--estimator", flags->estimator,
                       "smooth: all trees as one, nothing to tune (default). The paper's: weighted "
                       "by --lambda (default if that is given), or prune")
          ->check(CLI::IsMember({"weighted", "prune", "smooth"}));
  CLI::Option* lambda =
      verb->add_option("--lambda", flags->lambda,
                       "For weighted: what one public row counts, in private ones; 0 to inf")
          ->check(CLI::Validator(CheckLambda, "NUMBER"))
          ->capture_default_str();
  CLI::Option* evidence =
      verb->add_option("--evidence", flags->evidence,
                       "For smooth: both, reports (the public labels are not to be trusted) or "
                       "public (what there is without reports)")
          ->check(CLI::IsMember({"both", "reports", "public"}))
          ->capture_default_str();
  AddIdFlag(*verb, "--model", flags->model, "Id of the new model (default: the curator's choice)",
            /*required=*/false);
  AddOutputFlags(*verb, flags->output);
  AddServerFlags(*verb, flags->server);
  verb->parse_complete_callback([flags, estimator, lambda, evidence] {
    if (estimator->count() == 0) flags->estimator = lambda->count() > 0 ? "weighted" : "smooth";
    const auto only_for = [&](const std::string& name, const CLI::Option* option) {
      if (flags->estimator != name && option->count() > 0) {
        throw CLI::ValidationError(option->get_name(), "is for --estimator " + name + " only");
      }
    };
    only_for("weighted", lambda);
    only_for("smooth", evidence);
  });
  OnParsed(*verb, action, flags, Build);
}

// ---- list

struct ModelListFlags {
  ServerFlags server;
  OutputFlags output;
  std::string study;
};

absl::Status ListModels(const ModelListFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  std::vector<Json> rows;
  v1::ListModelsRequest request;
  if (!flags.study.empty()) request.set_study(MakeName(kStudies, flags.study));
  do {
    v1::ListModelsResponse page;
    COPPICE_RETURN_IF_ERROR(remote.Call([&](grpc::ClientContext& context) {
      return remote.models().ListModels(&context, request, &page);
    }));
    for (const v1::Model& model : page.models()) rows.push_back(DescribeModelBriefly(model));
    request.set_page_token(page.next_page_token());
  } while (!request.page_token().empty());
  PrintRows(rows, flags.output.json);
  return absl::OkStatus();
}

void AddListModels(CLI::App& noun, Action& action) {
  const auto flags = std::make_shared<ModelListFlags>();
  CLI::App* verb = AddVerb(noun, "list", "List models", "coppice model list --study s-4f2a --json");
  AddIdFlag(*verb, "--study", flags->study, "Only the models of this study", /*required=*/false);
  AddOutputFlags(*verb, flags->output);
  AddServerFlags(*verb, flags->server);
  OnParsed(*verb, action, flags, ListModels);
}

// ---- show

struct ShowFlags : ModelFlags {
  std::string format = "text", output_file;
  size_t tree = 0;
  bool force = false;
};

absl::Status Show(const ShowFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  COPPICE_ASSIGN_OR_RETURN(const v1::Model proto, GetModel(remote, flags.model));
  COPPICE_ASSIGN_OR_RETURN(const Model model, FromProto(proto));
  COPPICE_ASSIGN_OR_RETURN(const RenderFormat format, ParseRenderFormat(flags.format));
  COPPICE_ASSIGN_OR_RETURN(const std::string drawing, Render(model, flags.tree, format));
  Json json = DescribeModel(proto);
  json["tree"] = flags.tree;
  json["format"] = flags.format;
  if (!flags.output_file.empty()) {
    COPPICE_RETURN_IF_ERROR(WriteFileAtomically(flags.output_file, drawing, flags.force));
    json["output"] = flags.output_file;
  } else if (flags.output.json) {
    json["drawing"] = drawing;
  } else {
    std::cout << drawing << std::flush;
    return absl::OkStatus();
  }
  PrintObject(json, flags.output.json);
  return absl::OkStatus();
}

void AddShow(CLI::App& noun, Action& action) {
  const auto flags = std::make_shared<ShowFlags>();
  CLI::App* verb = AddVerb(noun, "show", "Draw a tree of a model",
                           "coppice model show --model m-91c0 --format svg --output tree.svg");
  verb->add_option("--format", flags->format,
                   "text, dot (Graphviz) or svg; votes: a model of lazybb as one table")
      ->check(CLI::IsMember({"text", "dot", "svg", "votes"}))
      ->capture_default_str();
  verb->add_option("--tree", flags->tree, "Which tree of a forest, from 0")->capture_default_str();
  verb->add_option("--output", flags->output_file, "File to write to (default: stdout)");
  verb->add_flag("--force", flags->force, "Replace the file if there is one");
  AddModelFlags(*verb, *flags);
  OnParsed(*verb, action, flags, Show);
}

// ---- predict and evaluate

struct RowsFlags : SourceFlags {
  OutputFlags output;
  std::string data_file;
  bool strict = false;
  double abstain_below = 0.5;  // confidence; 0.5 is that of no knowledge at all
};

// Reads the rows by the model's schema, and has them predicted.
absl::Status PredictRows(const RowsFlags& flags, bool with_labels, ModelSource& source,
                         const OnPrediction& done) {
  constexpr size_t kShowEvery = 1000;
  UpdatingLine progress;
  const absl::StatusOr<ReadNotes> notes = PredictFile(
      flags.data_file, {.strict = flags.strict, .ignore_labels = !with_labels},
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

void AddRowsVerb(CLI::App& noun, Action& action, const std::string& name,
                 const std::string& description, const std::string& data,
                 absl::Status (*run)(const RowsFlags&)) {
  const auto flags = std::make_shared<RowsFlags>();
  CLI::App* verb =
      AddVerb(noun, name, description, "coppice model " + name + " --model m-91c0 --data test.csv");
  verb->add_option("--data", flags->data_file, data)->required();
  verb->add_flag("--strict", flags->strict,
                 "Refuse values outside the schema's bounds instead of clamping them");
  verb->add_option("--abstain-below", flags->abstain_below,
                   "Leave out rows whose label is the most probable one with less confidence than "
                   "this, 0.5 to 1; privacy noise is counted in")
      ->check(CLI::Range(0.5, 1.0))
      ->capture_default_str();
  AddOutputFlags(*verb, flags->output);
  AddSourceFlags(*verb, flags);
  OnParsed(*verb, action, flags, run);
}

// ---- export

struct ExportFlags : ModelFlags {
  std::string output_file;
  bool force = false;
};

absl::StatusOr<std::string> ToJsonText(const v1::Model& model) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = true;
  options.preserve_proto_field_names = true;
  std::string text;
  const auto status = google::protobuf::util::MessageToJsonString(model, &text, options);
  if (!status.ok()) return absl::InternalError("the model cannot be written as JSON");
  return text;
}

absl::Status Export(const ExportFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  COPPICE_ASSIGN_OR_RETURN(const v1::Model model, GetModel(remote, flags.model));
  COPPICE_ASSIGN_OR_RETURN(const std::string text, ToJsonText(model));
  COPPICE_RETURN_IF_ERROR(WriteFileAtomically(flags.output_file, text, flags.force));
  PrintObject({{"model", flags.model}, {"output", flags.output_file}, {"bytes", text.size()}},
              flags.output.json);
  return absl::OkStatus();
}

void AddExport(CLI::App& noun, Action& action) {
  const auto flags = std::make_shared<ExportFlags>();
  CLI::App* verb = AddVerb(noun, "export", "Write a model to a file, complete, as JSON",
                           "coppice model export --model m-91c0 --output model.json");
  verb->add_option("--output", flags->output_file, "File to write")->required();
  verb->add_flag("--force", flags->force, "Replace the file if there is one");
  AddModelFlags(*verb, *flags);
  OnParsed(*verb, action, flags, Export);
}

// ---- delete

absl::Status Delete(const ModelFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  v1::DeleteModelRequest request;
  request.set_name(MakeName(kModels, flags.model));
  v1::DeleteModelResponse response;
  COPPICE_RETURN_IF_ERROR(remote.Call([&](grpc::ClientContext& context) {
    return remote.models().DeleteModel(&context, request, &response);
  }));
  PrintObject({{"model", flags.model}, {"deleted", true}}, flags.output.json);
  return absl::OkStatus();
}

void AddDelete(CLI::App& noun, Action& action) {
  const auto flags = std::make_shared<ModelFlags>();
  CLI::App* verb =
      AddVerb(noun, "delete", "Delete a model that no endpoint serves; what it cost stays spent",
              "coppice model delete --model m-91c0 --yes");
  verb->add_flag(
          "--yes", [](int64_t) {},
          "Say that you mean it: nothing brings the model back; `coppice model export` keeps a "
          "copy")
      ->required();
  AddModelFlags(*verb, *flags);
  OnParsed(*verb, action, flags, Delete);
}

// ---- verify

struct VerifyFlags : ModelFlags {
  std::string file;
};

absl::StatusOr<v1::Model> ModelToVerify(const VerifyFlags& flags) {
  if (!flags.file.empty()) return ReadModelFile(flags.file);
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  return GetModel(remote, flags.model);
}

absl::Status Verify(const VerifyFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const v1::Model model, ModelToVerify(flags));
  Verdict verdict = VerifyModel(model);
  if (!flags.output.json) {
    PrintRows(verdict.json["releases"].get<std::vector<Json>>(), /*json=*/false);
    verdict.json.erase("releases");
    std::cout << "\n";
  }
  PrintObject(verdict.json, flags.output.json);
  return verdict.status;
}

void AddVerify(CLI::App& noun, Action& action) {
  const auto flags = std::make_shared<VerifyFlags>();
  CLI::App* verb = AddVerb(noun, "verify",
                           "List what a model released, and check that it adds up to its epsilon",
                           "coppice model verify --model m-91c0");
  AddIdFlag(*verb, "--model", flags->model, "Id of the model", /*required=*/false);
  CLI::Option* model = verb->get_option("--model");
  CLI::Option* file =
      verb->add_option("--file", flags->file, "Instead: a file that `model export` wrote")
          ->excludes(model);
  AddOutputFlags(*verb, flags->output);
  AddServerFlags(*verb, flags->server);
  CLI::Option* server = verb->get_option("--server")->required(false);
  verb->parse_complete_callback([model, file, server] {
    if (model->count() + file->count() == 0) throw CLI::RequiredError("--model or --file");
    if (model->count() > 0 && server->count() == 0) throw CLI::RequiredError("--server");
  });
  OnParsed(*verb, action, flags, Verify);
}

}  // namespace

void AddModelCommands(CLI::App& app, Action& action) {
  CLI::App* noun =
      app.add_subcommand("model", "Models: built from a study's sums, or trained by a job");
  noun->require_subcommand(1);
  AddBuild(*noun, action);
  AddListModels(*noun, action);
  AddShow(*noun, action);
  AddRowsVerb(*noun, action, "predict", "Predict the class, or the number, of every row of a table",
              "Table with the schema's features, CSV or LIBSVM; labels are not needed, nor looked "
              "at. Read and answered block by block: the output of a file that breaks off ends "
              "before the fault, and the command fails",
              Predict);
  AddRowsVerb(
      *noun, action, "evaluate", "Compare predictions with a table's own labels or numbers",
      "Table with the schema's columns, CSV or LIBSVM; the curator gets to see its features, "
      "not its labels",
      Evaluate);
  AddExplain(*noun, action);
  AddExport(*noun, action);
  AddDelete(*noun, action);
  AddVerify(*noun, action);
}

}  // namespace coppice::cli
