#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

#include "client/cli/central/budget_flags.h"
#include "client/cli/central/commands.h"
#include "client/cli/central/dataset_upload.h"
#include "client/cli/central/row_source.h"
#include "client/cli/tables/input_table.h"
#include "client/cli/terminal/interrupt.h"
#include "client/cli/terminal/output.h"
#include "client/cli/terminal/remote.h"
#include "client/device/grpc/server_call.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/describe/describe.h"
#include "common/describe/text.h"
#include "common/table/read_table.h"
#include "common/table/schema_file.h"
#include "common/wire/proto/convert.h"
#include "coppice/v1/dataset.pb.h"

namespace coppice::cli {
namespace {

constexpr double kMillion = 1e6;

struct FileFlags : RowFlags {
  std::string data_file, schema_file;
};

// Returns --data.
Flag AddFileFlags(const Command& verb, FileFlags& flags) {
  const Flag data =
      verb.Add("--data", flags.data_file,
               "Table, CSV or LIBSVM; the curator sees all of it; - is stdin, read as CSV")
          .Takes("FILE");
  verb.AddSwitch("--strict", flags.strict,
                 "Refuse values outside the schema's bounds instead of clamping them");
  verb.AddSwitch("--unlabelled", flags.unlabelled,
                 "Accept rows without a class; they count where no class is needed");
  return data;
}

// What to do about an upload that was cut off.
std::string WayOn(const std::string& dataset, const FileFlags& flags) {
  if (flags.data_file.empty()) {
    return StrCat(
        "a query may give its rows in another order the next time, so nothing can be added: "
        "`coppice dataset delete --dataset ",
        dataset, " --yes`, and create it anew");
  }
  return StrCat("what was stored is kept: continue with `coppice dataset upload --dataset ",
                dataset, " --data ", flags.data_file, flags.schema_file.empty() ? "" : " --schema ",
                flags.schema_file, flags.strict ? " --strict" : "",
                flags.unlabelled ? " --unlabelled" : "", "`");
}

Status UploadRows(const Remote& remote, const RowSource& source, v1::Dataset& dataset) {
  Progress progress("rows", source.rows);
  const UploadHooks hooks{.progress = [&](uint64_t rows) { progress.Show(rows); },
                          .stop = Interrupted};
  RowUpload upload(remote, hooks, dataset);
  COPPICE_RETURN_IF_ERROR(source.read([&](const Table& rows) { return upload.Add(rows); }));
  return upload.Finish();
}

// Uploads missing rows and prints the dataset's state afterwards, even after an error.
Status UploadAndPrint(const Remote& remote, const FileFlags& flags, const RowSource& source,
                      bool json, v1::Dataset dataset) {
  CatchInterrupts();
  const Status status = UploadRows(remote, source, dataset);
  PrintObject(DescribeDataset(dataset), json);
  if (status.ok() || dataset.state() != v1::DATASET_STATE_UPLOADING) return status;
  return Status(status.code(), StrCat(status.message(), "; ", WayOn(IdOf(dataset.name()), flags)));
}

// ---- create

struct CreateDatasetFlags : FileFlags {
  QueryFlags query;
  ServerFlags server;
  OutputFlags output;
  std::string dataset;
  std::optional<Budget> epsilon;
  std::string delta = "0";
  // Unspecified: the curator chooses.
  v1::Composition composition = v1::COMPOSITION_UNSPECIFIED;
  v1::Neighbours neighbours = v1::NEIGHBOURS_UNSPECIFIED;
  bool accept_leak = false;
  std::string public_file;
  double reserve = 0;
};

Status Create(const CreateDatasetFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const SchemaFile file, ReadSchema(flags.schema_file));
  COPPICE_ASSIGN_OR_RETURN(const RowSource source,
                           flags.query.from.empty()
                               ? OpenFile(flags.data_file, flags, file.schema, file.format)
                               : OpenQuery(flags.query, flags, file.schema, file.format));
  v1::CreateDatasetRequest request;
  COPPICE_ASSIGN_OR_RETURN(*request.mutable_request_id(), RandomHex(16));
  request.set_dataset_id(flags.dataset);
  *request.mutable_schema() = ToProto(*file.schema);
  request.set_accept_leak(flags.accept_leak);
  if (!flags.public_file.empty()) {
    COPPICE_ASSIGN_OR_RETURN(const Table rows,
                             ReadInputTable(flags.public_file, file.schema,
                                            {.strict = flags.strict, .format = file.format}));
    *request.mutable_public_rows() = BlockOf(rows, 0, rows.num_rows());
  }
  v1::BudgetCap& cap = *request.mutable_cap();
  cap.set_epsilon_nanos(flags.epsilon->nanos());
  cap.set_delta_atto(DeltaOf(flags.delta));
  cap.set_composition(flags.composition);
  cap.set_neighbours(flags.neighbours);
  cap.set_reserve_millionths(static_cast<uint32_t>(std::llround(flags.reserve * kMillion)));
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  COPPICE_ASSIGN_OR_RETURN(auto response, remote.Call<v1::CreateDatasetResponse>(request));
  return UploadAndPrint(remote, flags, source, flags.output.json,
                        std::move(*response.mutable_dataset()));
}

// ---- upload

struct UploadFlags : FileFlags {
  ServerFlags server;
  OutputFlags output;
  std::string dataset;
};

// Reads the format of the file of rows from --schema, whose schema must be `schema`.
StatusOr<TableFormat> UploadFormat(const std::string& schema_file, const Schema& schema) {
  if (schema_file.empty()) return TableFormat();
  COPPICE_ASSIGN_OR_RETURN(const SchemaFile given, ReadSchema(schema_file));
  if (given.schema->IsSameButForUnsaidUnits(schema)) return given.format;
  return InvalidArgumentError(StrCat(
      schema_file, " is not the schema that the dataset was created with; leave --schema out"));
}

Status Upload(const UploadFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  COPPICE_ASSIGN_OR_RETURN(v1::Dataset dataset,
                           GetDataset(remote, MakeName("datasets", flags.dataset)));
  COPPICE_ASSIGN_OR_RETURN(Schema schema, ParseSchema(dataset.schema()));
  COPPICE_ASSIGN_OR_RETURN(const TableFormat format, UploadFormat(flags.schema_file, schema));
  COPPICE_ASSIGN_OR_RETURN(
      const RowSource source,
      OpenFile(flags.data_file, flags, std::make_shared<const Schema>(std::move(schema)), format));
  COPPICE_RETURN_IF_ERROR(CheckTakesRows(dataset));
  return UploadAndPrint(remote, flags, source, flags.output.json, std::move(dataset));
}

}  // namespace

void AddDatasetCreate(const Command& noun) {
  const auto flags = std::make_shared<CreateDatasetFlags>();
  const Command verb =
      noun.AddCommand("create", "Upload a table under a privacy budget",
                      "coppice dataset create --data private.csv --schema schema.json "
                      "--epsilon-total 4");
  const Flag data = AddFileFlags(verb, *flags);
  const Flag from = AddQueryFlags(verb, flags->query);
  from.Excludes(data);
  verb.Add("--schema", flags->schema_file,
           "Schema, JSON; its bounds, categories and classes are public")
      .Takes("FILE")
      .Required();
  AddBudgetFlag(verb, "--epsilon-total", flags->epsilon,
                "What all jobs on it may cost together, ever")
      .Required();
  const Flag delta = AddDeltaFlag(verb, "--delta-total", flags->delta,
                                  "The same for delta; 0: pure differential privacy only")
                         .ShowDefault();
  AddChoice<v1::Composition>(
      verb, "--composition", flags->composition,
      {{"basic", v1::COMPOSITION_BASIC}, {"zcdp", v1::COMPOSITION_ZERO_CONCENTRATED}},
      "How the costs of jobs add up: basic sums their epsilons; zcdp allows more small jobs, and "
      "needs a --delta-total such as 1e-6 (default: the curator's choice)");
  AddChoice<v1::Neighbours>(
      verb, "--neighbours", flags->neighbours,
      {{"add_or_remove_row", v1::NEIGHBOURS_ADD_OR_REMOVE_ROW},
       {"change_label", v1::NEIGHBOURS_CHANGE_LABEL}},
      "What is hidden: add_or_remove_row, whether a row is there at all; change_label, only the "
      "label of a row, so that features count as public (default: the curator's choice, which "
      "protects more)");
  verb.Add("--public", flags->public_file,
           "Public rows that jobs start from unless they say otherwise, CSV or LIBSVM, kept with "
           "the dataset. Nothing protects them: every model may contain them. Choose them without "
           "looking at --data; - is stdin")
      .Takes("FILE");
  verb.Add("--reserve", flags->reserve,
           "Keep this share of the rows for evaluations, such as 0.1: a coin decides for each row, "
           "training never reads them, and what evaluations cost is charged to an account of their "
           "own, also of --epsilon-total")
      .Takes("SHARE")
      .InRange(1 / kMillion, 1 - 1 / kMillion);
  AddAcceptLeakFlag(verb, flags->accept_leak);
  AddIdFlag(verb, "--dataset", flags->dataset,
            "Id of the new dataset (default: the curator's choice)", /*required=*/false);
  AddOutputFlags(verb, flags->output);
  AddServerFlags(verb, flags->server);
  verb.CheckFlags([flags, delta, data] {
    if (flags->data_file.empty() && flags->query.from.empty()) return data.MissingError();
    COPPICE_RETURN_IF_ERROR(CheckQueryFlags(flags->query));
    const bool fits =
        flags->composition != v1::COMPOSITION_ZERO_CONCENTRATED || DeltaOf(flags->delta) > 0;
    if (fits) return OkStatus();
    return InvalidArgumentError(StrCat(delta.name(), ": must be above 0 for --composition zcdp"));
  });
  SetAction(verb, flags, Create);
}

void AddDatasetUpload(const Command& noun) {
  const auto flags = std::make_shared<UploadFlags>();
  const Command verb =
      noun.AddCommand("upload", "Continue an upload that was interrupted, with the same file",
                      "coppice dataset upload --dataset d-7b1e --data private.csv");
  AddIdFlag(verb, "--dataset", flags->dataset, "Id of the dataset");
  AddFileFlags(verb, *flags).Required();
  verb.Add("--schema", flags->schema_file,
           "Refuse unless the dataset has this schema (default: take the dataset's); its file "
           "also says which texts are missing values")
      .Takes("FILE");
  SetRemoteAction(verb, flags, Upload);
}

}  // namespace coppice::cli
