#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/cli/tables/commands.h"
#include "client/cli/terminal/flags.h"
#include "client/cli/terminal/output.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/schema/number.h"
#include "common/table/number_format.h"
#include "common/table/schema_file.h"
#include "common/table/tables.h"
#include "common/terms/sha256.h"

namespace coppice::cli {
namespace {

// ---- infer

struct InferFlags {
  OutputFlags output;
  std::string data_file, output_file;
  std::vector<std::string> missing, bounds, number_formats;
  std::string rows;  // public, private, or empty: it is not said
  uint32_t max_categories = 100;
  bool force = false;
  InferOptions options;
};

// Parses "age=0:120" or "age=0:120:years".
StatusOr<std::pair<std::string, Target>> ParseBounds(const std::string& text) {
  const size_t equals = text.rfind('=');
  std::vector<std::string> parts = StrSplit(
      text.substr(equals == std::string::npos ? text.size() : equals + 1), MaxSplits(':', 2));
  parts.resize(3);
  const std::optional<double> min = ParseFinite(parts[0]), max = ParseFinite(parts[1]);
  if (equals == std::string::npos || equals == 0 || !min || !max || !(*min < *max)) {
    return InvalidArgumentError(StrCat(
        "needs NAME=MIN:MAX with MIN below MAX, such as age=0:120 or age=0:120:years, not \"", text,
        "\""));
  }
  return std::pair(text.substr(0, equals), Target{*min, *max, parts[2]});
}

// Parses "salary=1,234.5".
StatusOr<std::pair<std::string, NumberFormat>> ParseColumnFormat(const std::string& text) {
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) {
    return InvalidArgumentError(
        StrCat("needs NAME=FORMAT, such as salary=1,234.5, not \"", text, "\""));
  }
  COPPICE_ASSIGN_OR_RETURN(NumberFormat format, ParseNumberFormat(text.substr(equals + 1)));
  return std::pair(text.substr(0, equals), std::move(format));
}

// What the schema says of bounds that are read from the rows.
BoundsOrigin OriginOf(const std::string& rows) {
  if (rows == "public") return BoundsOrigin::kPublicRows;
  return rows == "private" ? BoundsOrigin::kPrivateRows : BoundsOrigin::kUnsaidRows;
}

// SHA-256 of a file, in hexadecimal: says which public rows a schema was read from.
StatusOr<std::string> HashOfFile(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    return InvalidArgumentError(
        StrCat(path, " must be a file for --rows public: it is read twice, once for its hash"));
  }
  std::ifstream file(path, std::ios::binary);
  Sha256Stream hash;
  std::string piece(size_t{1} << 16, '\0');
  while (file.read(piece.data(), static_cast<std::streamsize>(piece.size())) || file.gcount() > 0) {
    hash.Add(std::string_view(piece.data(), static_cast<size_t>(file.gcount())));
  }
  if (!file.eof()) return UnavailableError(StrCat("cannot read ", path));
  const Sha256Digest digest = hash.Finish();
  return BytesToHexString(AsBytes(digest));
}

// What the user has to know of bounds that were read from the rows.
std::string LeakNote(BoundsOrigin origin, const std::string& data_file) {
  if (origin == BoundsOrigin::kPublicRows) return "";
  if (origin == BoundsOrigin::kPrivateRows) {
    return StrCat("warning: what the schema marks \"from private rows\" was read from the rows of ",
                  data_file,
                  ", which leaks: a curator refuses it without --accept-leak. Write down what you "
                  "know without looking at the rows, and mark it \"declared\".");
  }
  return StrCat(
      "warning: a schema is public, and what it marks \"from these rows\" was read from the rows "
      "of ",
      data_file,
      ". Say whether anyone may see those rows: --rows public, or --rows private, in which case "
      "the schema leaks. A curator refuses a schema that does not say.");
}

StatusOr<InferOptions> OptionsOf(const InferFlags& flags) {
  InferOptions options = flags.options;
  options.rows = OriginOf(flags.rows);
  for (const std::string& text : flags.number_formats) {
    COPPICE_ASSIGN_OR_RETURN(auto format, ParseColumnFormat(text));
    if (!options.number_formats.insert(std::move(format)).second) {
      return InvalidArgumentError(StrCat("--number-format ", text, ": the column is named twice"));
    }
  }
  options.max_categories = flags.max_categories;
  if (!flags.missing.empty()) options.missing = flags.missing;
  for (const std::string& text : flags.bounds) {
    COPPICE_ASSIGN_OR_RETURN(auto bounds, ParseBounds(text));
    if (!options.declared_bounds.insert(std::move(bounds)).second) {
      return InvalidArgumentError(StrCat("--bounds ", text, ": the column is named twice"));
    }
  }
  return options;
}

// Summarizes the schema.
Json Summary(const InferredSchema& inferred, const std::string& output_file) {
  const Schema& schema = *inferred.file.schema;
  uint64_t numeric = 0;
  for (const Feature& feature : schema.features()) {
    numeric += feature.type == FeatureType::kNumeric ? 1 : 0;
  }
  std::vector<std::string> left_out = inferred.left_out;
  std::replace(left_out.begin(), left_out.end(), std::string(), std::string("(no name)"));
  Json json = {{"output", output_file}, {"rows", inferred.rows},
               {"numeric", numeric},    {"categorical", schema.num_features() - numeric},
               {"left_out", left_out},  {"label", schema.label()}};
  if (schema.target()) {
    json["target_min"] = schema.target()->min;
    json["target_max"] = schema.target()->max;
    if (!schema.target()->unit.empty()) json["unit"] = schema.target()->unit;
  } else {
    json["classes"] = schema.classes();
  }
  return json;
}

Status Infer(const InferFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const InferOptions options, OptionsOf(flags));
  COPPICE_ASSIGN_OR_RETURN(InferredSchema inferred, InferSchema(flags.data_file, options));
  if (options.rows == BoundsOrigin::kPublicRows) {
    COPPICE_ASSIGN_OR_RETURN(inferred.file.rows_sha256, HashOfFile(flags.data_file));
  }
  const std::string text = ToText(inferred.file);
  if (!flags.output_file.empty()) {
    COPPICE_RETURN_IF_ERROR(WriteResult(flags.output_file, text, flags.force));
  }
  for (const std::string& warning : inferred.warnings) Note(StrCat("warning: ", warning));
  if (const std::string leak = LeakNote(options.rows, flags.data_file); !leak.empty()) Note(leak);
  if (flags.output.json) {
    PrintObject({{"schema", Json::parse(text)},
                 {"output", flags.output_file.empty() ? Json() : Json(flags.output_file)},
                 {"rows", inferred.rows},
                 {"left_out", inferred.left_out},
                 {"warnings", inferred.warnings}},
                /*json=*/true);
  } else if (flags.output_file.empty()) {
    PrintText(text);
  } else {
    PrintObject(Summary(inferred, flags.output_file), /*json=*/false);
  }
  return OkStatus();
}

void AddInfer(const Command& noun) {
  const auto flags = std::make_shared<InferFlags>();
  const Command verb =
      noun.AddCommand("infer", "Write the schema that suits the rows of a CSV file",
                      "coppice schema infer --data public.csv --rows public --label income "
                      "--output schema.json");
  InferOptions& options = flags->options;
  verb.Add("--data", flags->data_file, "Table, CSV with a header line").Required().Takes("FILE");
  verb.Add("--rows", flags->rows,
           "public: anyone may see these rows, and the schema records their hash. private: bounds "
           "and values read from them leak, and a curator refuses the schema without "
           "--accept-leak. If you do not say, a curator refuses it as well")
      .OneOf({"public", "private"});
  const Flag label =
      verb.Add("--label", options.label, "The column of the classes that are to be predicted")
          .Takes("NAME");
  verb.Add("--target", options.target, "The column of the number that is to be predicted")
      .Takes("NAME")
      .Excludes(label);
  verb.Add("--output", flags->output_file, "File to write to (default: stdout)").Takes("FILE");
  verb.AddSwitch("--force", flags->force, "Replace the file if there is one");
  verb.Add("--bounds", flags->bounds,
           "Bounds that are known without looking at the rows, NAME=MIN:MAX or, with a unit, "
           "NAME=MIN:MAX:UNIT; may be repeated")
      .Check(
          [](const std::string& text) { return std::string(ParseBounds(text).status().message()); },
          "NAME=MIN:MAX");
  verb.Add("--number-format", flags->number_formats,
           "How the numbers of a column are written where not as plain decimals, NAME=FORMAT with "
           "1234.5 as it is written there, such as salary=1,234.5 or price=1.234,5 EUR or "
           "share=1234.5%; may be repeated")
      .Check(
          [](const std::string& text) {
            return std::string(ParseColumnFormat(text).status().message());
          },
          "NAME=FORMAT");
  verb.Add("--categorical", options.categorical,
           "Columns of categories, whatever their texts look like, by commas: codes, versions, "
           "dates")
      .SplitAt(',')
      .Takes("NAMES");
  verb.Add("--leave-out", options.leave_out,
           "Columns that are not features, such as ids, separated by commas")
      .SplitAt(',')
      .Takes("NAMES");
  verb.Add("--missing", flags->missing,
           "Texts that stand for a missing value, by commas (default: NA, ?, null and the like "
           "where they occur)")
      .SplitAt(',')
      .Takes("TEXTS");
  verb.Add("--max-categories", flags->max_categories,
           "Leave out columns with more distinct texts than this")
      .InRange(uint32_t{1}, uint32_t{4096})
      .ShowDefault();
  AddOutputFlags(verb, flags->output);
  SetAction(verb, flags, Infer);
}

// ---- check

struct CheckFlags {
  OutputFlags output;
  std::string schema_file, data_file;
  uint64_t max_problems = 20;
  CheckOptions options;
};

// One line per problem: "rows.csv:7: column "age" is outside [0, 120]; readers clamp it".
std::string Describe(const TableProblem& problem, const std::string& path) {
  if (problem.line == 0) return problem.what;
  return StrCat(path, ":", problem.line, ": ",
                problem.column.empty() ? "" : StrCat("column \"", problem.column, "\" "),
                problem.what);
}

Json Describe(const ColumnCounts& column, uint64_t rows) {
  const uint64_t outside = column.clamped + column.rounded + column.unknown + column.unreadable;
  const double share = rows == 0 ? 0 : static_cast<double>(outside) / static_cast<double>(rows);
  return {{"column", column.name},
          {"missing", column.missing},
          {"clamped", column.clamped},
          {"rounded", column.rounded},
          {"unknown", column.unknown},
          {"unreadable", column.unreadable},
          {"share", share}};
}

Json Describe(const TableCheck& check) {
  Json problems = Json::array(), columns = Json::array();
  for (const TableProblem& problem : check.problems) {
    problems.push_back({{"line", problem.line == 0 ? Json() : Json(problem.line)},
                        {"column", problem.column.empty() ? Json() : Json(problem.column)},
                        {"problem", problem.what}});
  }
  for (const ColumnCounts& column : check.columns) columns.push_back(Describe(column, check.rows));
  return {{"rows", check.rows},   {"wrong", check.num_problems}, {"outside", check.num_outside},
          {"problems", problems}, {"columns", columns},          {"warnings", check.warnings}};
}

void PrintCheck(const TableCheck& check, const CheckFlags& flags) {
  if (flags.output.json) return PrintObject(Describe(check), /*json=*/true);
  for (const TableProblem& problem : check.problems) {
    PrintText(Describe(problem, flags.data_file) + "\n");
  }
  if (check.num_problems > check.problems.size()) {
    PrintText(StrCat("and ", check.num_problems - check.problems.size(), " more\n"));
  }
  std::vector<Json> rows;
  for (const ColumnCounts& column : check.columns) rows.push_back(Describe(column, check.rows));
  if (check.rows > 0) PrintRows(rows, /*json=*/false);
}

// Reports errors in the schema itself; the rows are then not checked.
Status ReportSchemaErrors(const std::vector<std::string>& errors, const CheckFlags& flags) {
  Json problems = Json::array();
  for (const std::string& error : errors) {
    problems.push_back({{"line", nullptr}, {"column", nullptr}, {"problem", error}});
    if (!flags.output.json) PrintText(StrCat(flags.schema_file, ": ", error, "\n"));
  }
  if (flags.output.json) {
    PrintObject({{"wrong", errors.size()}, {"problems", problems}}, /*json=*/true);
  }
  return InvalidArgumentError(StrCat(flags.schema_file, ": ", errors.size(),
                                     errors.size() == 1 ? " thing is" : " things are",
                                     " wrong with the schema"));
}

Status Check(const CheckFlags& flags) {
  COPPICE_ASSIGN_OR_RETURN(const std::vector<std::string> errors,
                           FindSchemaErrors(flags.schema_file));
  if (!errors.empty()) return ReportSchemaErrors(errors, flags);
  COPPICE_ASSIGN_OR_RETURN(const SchemaFile schema, ReadSchema(flags.schema_file));
  if (flags.data_file.empty()) {
    PrintObject({{"features", schema.schema->num_features()}, {"wrong", 0}}, flags.output.json);
    return OkStatus();
  }
  CheckOptions options = flags.options;
  options.max_problems = flags.max_problems;
  COPPICE_ASSIGN_OR_RETURN(const TableCheck check, CheckTable(flags.data_file, schema, options));
  PrintCheck(check, flags);
  for (const std::string& warning : check.warnings) Note(StrCat("warning: ", warning));
  if (check.num_problems == 0) return OkStatus();
  return InvalidArgumentError(StrCat(
      flags.data_file, ": ", check.num_problems,
      check.num_problems == 1 ? " thing is" : " things are", " wrong under ", flags.schema_file,
      check.num_outside == 0 ? ""
                             : StrCat(" (outside its bounds and values: ", check.num_outside,
                                      "; --lenient only counts those)")));
}

void AddCheck(const Command& noun) {
  const auto flags = std::make_shared<CheckFlags>();
  const Command verb = noun.AddCommand(
      "check", "List everything that is wrong with a schema, and with a CSV file read with it",
      "coppice schema check --schema schema.json --data private.csv");
  verb.Add("--schema", flags->schema_file, "Schema, JSON").Required().Takes("FILE");
  verb.Add("--data", flags->data_file, "Table, CSV with a header line").Takes("FILE");
  verb.AddSwitch("--lenient", flags->options.lenient,
                 "Count values that would be clamped, rounded or taken as \"other\" without "
                 "calling them wrong");
  verb.AddSwitch("--unlabelled", flags->options.unlabelled, "Accept empty labels");
  verb.Add("--max-problems", flags->max_problems,
           "List at most this many problems; all are counted")
      .InRange(uint64_t{1}, uint64_t{100'000})
      .ShowDefault();
  AddOutputFlags(verb, flags->output);
  SetAction(verb, flags, Check);
}

}  // namespace

void AddSchemaCommands(CommandLine& line) {
  const Command noun = line.AddGroup(
      "schema", "Schemas: infer one from a table, check one, or write types for its rows");
  AddInfer(noun);
  AddCheck(noun);
  AddGenerate(noun);
}

}  // namespace coppice::cli
