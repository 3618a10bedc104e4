// The rows of `coppice-lab local`: their flags, and the files or distributions that they name.

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/table/read_table.h"
#include "common/table/schema_file.h"
#include "server/curator/partition/from_schema.h"
#include "server/lab/commands.h"
#include "server/lab/rows.h"
#include "server/lab/synthetic.h"

namespace coppice::lab {
namespace {

StatusOr<std::shared_ptr<const Table>> ReadRows(
    const std::string& path, const SchemaFile& schema, ReadOptions options,
    const std::function<void(const std::string&)>& warn) {
  options.format = schema.format;
  COPPICE_ASSIGN_OR_RETURN(TableFile file, ReadTable(path, schema.schema, options));
  const std::string notes = file.notes.Summary();
  if (!notes.empty()) warn(StrCat(path, ": ", notes));
  if (file.table.num_rows() == 0) {
    return InvalidArgumentError(StrCat(path, " has no row"));
  }
  return std::make_shared<const Table>(std::move(file.table));
}

StatusOr<RowSource> RowsAsGiven(const LocalFlags& flags,
                                const std::function<void(const std::string&)>& warn) {
  if (!flags.synthetic.empty()) {
    COPPICE_ASSIGN_OR_RETURN(const SyntheticOptions options,
                             SyntheticOptions::Parse(flags.synthetic));
    return SyntheticRows(options);
  }
  COPPICE_ASSIGN_OR_RETURN(const SchemaFile schema, ReadSchema(flags.schema_file));
  const auto read = [&](const std::string& path) {
    return ReadRows(path, schema, {.strict = flags.strict}, warn);
  };
  std::shared_ptr<const Table> test_rows;
  if (!flags.test_file.empty()) {
    COPPICE_ASSIGN_OR_RETURN(test_rows, read(flags.test_file));
  }
  if (!flags.data_file.empty()) {
    COPPICE_ASSIGN_OR_RETURN(std::shared_ptr<const Table> all, read(flags.data_file));
    return SplitRows(std::move(all), {.public_rows = flags.public_rows,
                                      .private_rows = flags.private_rows,
                                      .holdout = flags.holdout,
                                      .test_rows = std::move(test_rows)});
  }
  LabRows rows{.public_rows = nullptr, .private_rows = nullptr, .test_rows = std::move(test_rows)};
  if (flags.without_rows()) {
    COPPICE_ASSIGN_OR_RETURN(Table standing, curator::RowsFromSchema(schema.schema, flags.seed));
    rows.public_rows = std::make_shared<const Table>(std::move(standing));
  } else {
    COPPICE_ASSIGN_OR_RETURN(
        rows.public_rows,
        ReadRows(flags.public_file, schema,
                 {.strict = flags.strict, .ignore_labels = flags.without_labels()}, warn));
  }
  COPPICE_ASSIGN_OR_RETURN(rows.private_rows, read(flags.private_file));
  if (rows.test_rows != nullptr) return FixedRows(std::move(rows));
  return HoldOut(rows.public_rows, rows.private_rows, flags.holdout);
}

}  // namespace

StatusOr<RowSource> ResolveLocalRows(const LocalFlags& flags,
                                     const std::function<void(const std::string&)>& warn) {
  COPPICE_ASSIGN_OR_RETURN(RowSource rows, RowsAsGiven(flags, warn));
  if (flags.public_shift) rows = WithShiftedPublicRows(std::move(rows));
  if (!flags.public_features.empty()) {
    COPPICE_ASSIGN_OR_RETURN(rows, WithPublicFeatures(std::move(rows), flags.public_features));
  }
  if (flags.without_labels()) return rows;
  COPPICE_ASSIGN_OR_RETURN(const PublicLabels labels, ParsePublicLabels(flags.public_labels));
  return WithPublicLabels(std::move(rows), labels);
}

void AddLocalRowFlags(const Command& command, LocalFlags& flags) {
  const Flag public_file = command.Add(
      "--public", flags.public_file,
      "public rows (CSV, LIBSVM), or none: partitions come from the schema's bounds alone");
  command.Add("--private", flags.private_file, "private rows, one per device");
  command.Add("--schema", flags.schema_file, "schema of all files (JSON)");
  command
      .Add("--synthetic", flags.synthetic,
           "instead of files: gamma=0.5,private=10000,public=50,test=2000, or sine=16 instead of "
           "gamma: numbers")
      .Check([](const std::string& text) {
        return std::string(SyntheticOptions::Parse(text).status().message());
      })
      .Excludes(public_file);
  const Flag data = command.Add("--data", flags.data_file,
                                "one file instead of two, split at random for each repetition");
  data.Excludes(public_file);
  command.Add("--public-rows", flags.public_rows, "with --data: how many rows are public")
      .Needs(data);
  command
      .Add("--private-rows", flags.private_rows,
           "with --data: number of devices (default: all remaining rows)")
      .Needs(data);
  const Flag test = command.Add("--test", flags.test_file, "rows to score on");
  command.Add("--holdout", flags.holdout, "share of the private rows to score on instead")
      .InRange(0.0, 1.0)
      .Excludes(test)
      .ShowDefault();
  command.AddSwitch("--strict", flags.strict, "refuse values outside the schema");
}

Status CheckLocalRowFlags(const LocalFlags& flags) {
  const bool files = flags.data_file.empty()
                         ? !flags.public_file.empty() && !flags.private_file.empty()
                         : flags.private_file.empty() && flags.public_rows > 0;
  if (flags.synthetic.empty() && !(files && !flags.schema_file.empty())) {
    return InvalidArgumentError(
        "--public, --private and --schema are needed together, or --data, --public-rows and "
        "--schema, or --synthetic instead");
  }
  if (!flags.synthetic.empty() && !(flags.data_file.empty() && flags.private_file.empty() &&
                                    flags.schema_file.empty() && flags.test_file.empty())) {
    return InvalidArgumentError("--synthetic takes no file");
  }
  return OkStatus();
}

}  // namespace coppice::lab
