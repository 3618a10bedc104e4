#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "client/cli/studies/commands.h"
#include "client/cli/terminal/output.h"
#include "client/cli/terminal/remote.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/table/read_table.h"
#include "common/table/schema_file.h"
#include "common/terms/public_values.h"
#include "common/wire/proto/convert.h"
#include "coppice/v1/study.pb.h"

namespace coppice::cli {
namespace {

constexpr size_t kMaxJoinRows = 1000;
constexpr size_t kJoinBlockBytes = 1 << 20;

struct JoinFlags {
  ServerFlags server;
  OutputFlags output;
  std::string study, data_file, id_column, schema_file;
  bool strict = false;
};

StatusOr<v1::Study> GetStudy(const Remote& remote, const std::string& study) {
  v1::GetStudyRequest request;
  request.set_name(MakeName(kStudies, study));
  COPPICE_ASSIGN_OR_RETURN(auto response, remote.Call<v1::GetStudyResponse>(request));
  if (response.study().terms().joined_by().empty()) {
    return FailedPreconditionError(
        StrCat("study ", study,
               " is not joined by an id, so its devices send their own features; create one that "
               "is with `coppice study create --join-id`"));
  }
  return std::move(*response.mutable_study());
}

// Reads the table's format from a schema file, which must be this study's.
StatusOr<TableFormat> JoinFormat(const std::string& schema_file, const Schema& schema) {
  if (schema_file.empty()) return TableFormat();
  COPPICE_ASSIGN_OR_RETURN(SchemaFile file, ReadSchema(schema_file));
  COPPICE_RETURN_IF_ERROR(schema.CheckAgreesWith(*file.schema));
  return std::move(file.format);
}

// Reads all rows before any is sent.
StatusOr<TableFile> ReadRows(const JoinFlags& flags, const v1::Terms& terms) {
  COPPICE_ASSIGN_OR_RETURN(Schema schema, ParseSchema(terms.schema()));
  COPPICE_ASSIGN_OR_RETURN(const TableFormat format, JoinFormat(flags.schema_file, schema));
  COPPICE_ASSIGN_OR_RETURN(const std::string path, InputFile(flags.data_file));
  const ReadingNote reading(path);
  COPPICE_ASSIGN_OR_RETURN(
      TableFile file,
      ReadTable(path, std::make_shared<const Schema>(std::move(schema)),
                {.strict = flags.strict,
                 .ignore_labels = true,
                 .id_column = flags.id_column.empty() ? terms.joined_by() : flags.id_column,
                 .format = format}));
  for (size_t row = 0; row < file.ids.size(); ++row) {
    const Status status = CheckJoinId(file.ids[row]);
    if (status.ok()) continue;
    return Status(status.code(), StrCat(path, ": row ", row + 1, ": ", status.message()));
  }
  return file;
}

// Each call may be repeated, and so may the whole upload.
StatusOr<uint64_t> Upload(const Remote& remote, const std::string& name, const TableFile& file) {
  const size_t row_bytes = 8 * file.table.schema().num_features() + kMaxJoinIdBytes;
  const size_t step = std::clamp<size_t>(kJoinBlockBytes / row_bytes, 1, kMaxJoinRows);
  const size_t all = file.table.num_rows();
  Progress progress("rows", all);
  uint64_t rows = 0;
  for (size_t begin = 0; begin < all; begin += step) {
    v1::AddJoinRowsRequest request;
    request.set_name(name);
    const size_t end = std::min(begin + step, all);
    for (size_t row = begin; row < end; ++row) {
      v1::JoinRow& added = *request.add_rows();
      added.set_id(file.ids[row]);
      *added.mutable_row() = ToProto(RowView(file.table.row(row)));
    }
    COPPICE_ASSIGN_OR_RETURN(const auto response,
                             remote.CallPatiently<v1::AddJoinRowsResponse>(request));
    rows = response.rows();
    progress.Show(end);
  }
  return rows;
}

Status Join(const JoinFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const Remote remote, Remote::Connect(flags.server));
  COPPICE_ASSIGN_OR_RETURN(const v1::Study study, GetStudy(remote, flags.study));
  COPPICE_ASSIGN_OR_RETURN(const TableFile file, ReadRows(flags, study.terms()));
  const std::string notes = file.notes.Summary();
  if (!notes.empty()) Note(notes);
  COPPICE_ASSIGN_OR_RETURN(const uint64_t rows, Upload(remote, study.name(), file));
  PrintObject({{"study", flags.study}, {"rows", rows}}, flags.output.json);
  return OkStatus();
}

}  // namespace

void AddStudyJoin(const Command& study) {
  const auto flags = std::make_shared<JoinFlags>();
  const Command verb = study.AddCommand(
      "join",
      "Upload the features of a study that is joined by an id; devices then show their id and send "
      "only the label, randomized. Run it again to add rows",
      "coppice study join --study s-4f2a --data customers.csv --id-column customer");
  AddIdFlag(verb, "--study", flags->study, "Id of the study");
  verb.Add("--data", flags->data_file,
           "Table of features, CSV, read by the study's own schema; no label is read or sent. - is "
           "stdin")
      .Takes("FILE")
      .Required();
  verb.Add("--id-column", flags->id_column,
           "Column of the ids, 1 to 64 bytes each (default: the name that the study gives them)");
  verb.Add("--schema", flags->schema_file,
           "Schema file that says how the table is written, such as its texts for missing values")
      .ExistingFile();
  verb.AddSwitch("--strict", flags->strict,
                 "Refuse values outside the schema's bounds instead of clamping them");
  SetRemoteAction(verb, flags, Join);
}

}  // namespace coppice::cli
