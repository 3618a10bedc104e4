#include "client/cli/central/row_source.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "client/cli/central/dataset_upload.h"
#include "client/cli/terminal/flags.h"
#include "client/cli/terminal/interrupt.h"
#include "client/cli/terminal/output.h"
#include "client/sources/postgres_query.h"
#include "common/base/printable.h"
#include "common/base/read_file.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/postgres/uri.h"

namespace coppice::cli {
namespace {

ReadOptions OptionsOf(const RowFlags& flags, const TableFormat& format) {
  return {.strict = flags.strict, .allow_unlabelled = flags.unlabelled, .format = format};
}

void TellNotes(const ReadNotes& notes) {
  if (const std::string text = notes.Summary(); !text.empty()) Note(text);
}

// Every column of the schema must be one of the query's, and only one.
Status CheckColumns(const std::vector<QueryColumn>& columns, const Schema& schema) {
  std::vector<std::string> names, wanted = {schema.label()};
  for (const QueryColumn& column : columns) names.push_back(column.name);
  for (const Feature& feature : schema.features()) wanted.push_back(feature.name);
  for (const std::string& name : wanted) {
    const auto found = std::count(names.begin(), names.end(), name);
    if (found == 1) continue;
    if (found > 1) {
      return InvalidArgumentError(StrCat("the query has ", found, " columns \"", name, "\""));
    }
    return InvalidArgumentError(StrCat("column \"", name,
                                       "\" of the schema is none of the query's: ", ListOf(names),
                                       "; rename one with AS"));
  }
  return OkStatus();
}

}  // namespace

StatusOr<RowSource> OpenFile(const std::string& file, const RowFlags& flags,
                             std::shared_ptr<const Schema> schema, const TableFormat& format) {
  COPPICE_ASSIGN_OR_RETURN(const std::string path, InputFile(file, /*again=*/true));
  const ReadOptions options = OptionsOf(flags, format);
  const size_t block_rows = RowsPerBlock(schema->num_features());
  RowSource source;
  const ReadingNote reading(path);
  COPPICE_ASSIGN_OR_RETURN(
      const ReadNotes notes,
      ReadTableInBlocks(path, schema, options, block_rows, [&source](const Table& block) {
        source.rows += block.num_rows();
        return OkStatus();
      }));
  TellNotes(notes);
  source.read = [=](const std::function<Status(const Table&)>& take) {
    return ReadTableInBlocks(path, schema, options, block_rows, take).status();
  };
  return source;
}

Flag AddQueryFlags(const Command& command, QueryFlags& flags) {
  const Flag from =
      command
          .Add("--from", flags.from,
               "PostgreSQL database to read the rows of --query from, "
               "postgresql://USER@HOST/DATABASE; "
               "this command connects, the curator never does. The password is in ~/.pgpass or "
               "PGPASSWORD")
          .Takes("URI");
  command.Add("--query", flags.query, "The rows: one SELECT that names each column of the schema")
      .Takes("SQL");
  command.Add("--query-file", flags.query_file, "The same, from a file; - is stdin").Takes("FILE");
  command
      .Add("--query-timeout", flags.limit_seconds,
           "Seconds that the database lets the query take, its rows included")
      .Positive()
      .ShowDefault();
  return from;
}

Status CheckQueryFlags(const QueryFlags& flags) {
  const bool has_query = !flags.query.empty() || !flags.query_file.empty();
  if (flags.from.empty()) {
    return has_query ? InvalidArgumentError("--query: needs --from, the database") : OkStatus();
  }
  if (flags.query.empty() == flags.query_file.empty()) {
    return InvalidArgumentError("--from: wants --query or --query-file, and only one");
  }
  if (const Status uri = CheckPostgresUri(flags.from); !uri.ok()) {
    return InvalidArgumentError(StrCat("--from: ", uri.message()));
  }
  if (!HoldsPassword(flags.from)) return OkStatus();
  return InvalidArgumentError(
      "--from: wants a URI without a password, which the list of processes would show to everybody "
      "here: put it into ~/.pgpass (PGPASSFILE) or PGPASSWORD");
}

StatusOr<RowSource> OpenQuery(const QueryFlags& query, const RowFlags& flags,
                              std::shared_ptr<const Schema> schema, const TableFormat& format) {
  PostgresQueryOptions asked{.uri = query.from,
                             .query = query.query,
                             .time_limit = absl::Seconds(query.limit_seconds),
                             .stop = Interrupted};
  if (!query.query_file.empty()) {
    COPPICE_ASSIGN_OR_RETURN(const std::string path, InputFile(query.query_file));
    COPPICE_ASSIGN_OR_RETURN(asked.query, ReadTextFile(path));
  }
  COPPICE_ASSIGN_OR_RETURN(std::shared_ptr<PostgresQuery> open,
                           PostgresQuery::Open(std::move(asked)));
  COPPICE_RETURN_IF_ERROR(CheckColumns(open->columns(), *schema));
  ReadOptions options = OptionsOf(flags, format);
  options.format.delimiter = ',';
  options.max_bytes = UINT64_MAX;  // none of the rows is held
  const auto read = [=](const std::function<Status(const Table&)>& take) {
    const TextSource csv{.name = "query",
                         .read = [open](absl::Span<char> buffer) { return open->Read(buffer); }};
    COPPICE_ASSIGN_OR_RETURN(
        const ReadNotes notes,
        ReadTableInBlocks(csv, schema, options, RowsPerBlock(schema->num_features()), take));
    TellNotes(notes);
    return OkStatus();
  };
  return RowSource{.read = read};
}

}  // namespace coppice::cli
