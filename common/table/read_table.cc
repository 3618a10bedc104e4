#include "common/table/read_table.h"

#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/table/formats.h"
#include "common/table/row_encoder.h"

namespace coppice {

std::string ReadNotes::Summary() const {
  std::vector<std::string> parts;
  const auto add = [&parts](uint64_t count, std::string_view what) {
    if (count > 0) parts.push_back(StrCat(count, count == 1 ? " field" : " fields", what));
  };
  add(clamped, " clamped to the public bounds");
  add(rounded, " rounded to a whole number");
  add(unknown_categories, " outside the public vocabulary taken as \"other\"");
  add(missing, " missing");
  add(clamped_targets, " to predict clamped to the public bounds");
  add(unreadable, " that cannot be read taken as missing");
  add(unknown_labels, " to predict, of no class or no number, answered by a random one");
  return StrJoin(parts, ", ");
}

bool IsLibsvm(const std::string& path) {
  return EndsWith(path, ".svm") || EndsWith(path, ".libsvm");
}

namespace {

StatusOr<TableFile> Read(const std::string& path, RowEncoder encoder, const ReadOptions& options) {
  if (IsLibsvm(path)) return data_internal::ReadLibsvm(path, std::move(encoder), options);
  COPPICE_ASSIGN_OR_RETURN(TextSource source, OpenTextSource(path));
  return data_internal::ReadCsv(std::move(source), std::move(encoder), options);
}

// Passes each block to `take`, among them what is left at the end. `read` reads all rows with the
// encoder that it is given.
StatusOr<ReadNotes> ReadInBlocks(std::shared_ptr<const Schema> schema, const ReadOptions& options,
                                 size_t block_rows, absl::FunctionRef<Status(const Table&)> take,
                                 absl::FunctionRef<StatusOr<TableFile>(RowEncoder encoder)> read) {
  Status taken;
  const auto take_once = [&](const Table& block) {
    taken = take(block);
    return taken;
  };
  const StatusOr<TableFile> rest =
      read(RowEncoder(std::move(schema), options, block_rows, take_once));
  COPPICE_RETURN_IF_ERROR(taken);  // unchanged, without a line of the file
  COPPICE_RETURN_IF_ERROR(rest.status());
  if (rest->table.num_rows() > 0) COPPICE_RETURN_IF_ERROR(take(rest->table));
  return rest->notes;
}

}  // namespace

StatusOr<TableFile> ReadTable(const std::string& path, std::shared_ptr<const Schema> schema,
                              const ReadOptions& options) {
  return Read(path, RowEncoder(std::move(schema), options), options);
}

Status CheckTableStructure(const std::string& path, const std::string& id_column,
                           const TableFormat& format) {
  // Any schema works: a total reader checks nothing but the structure.
  Feature feature;
  feature.name = "x";
  COPPICE_ASSIGN_OR_RETURN(Schema any, Schema::Create({feature}, "y", {"a", "b"}));
  return ReadTableInBlocks(path, std::make_shared<const Schema>(std::move(any)),
                           {.total = true, .id_column = id_column, .format = format},
                           /*block_rows=*/1000, [](const Table&) { return OkStatus(); })
      .status();
}

StatusOr<ReadNotes> ReadTableInBlocks(const std::string& path, std::shared_ptr<const Schema> schema,
                                      const ReadOptions& options, size_t block_rows,
                                      absl::FunctionRef<Status(const Table&)> take) {
  return ReadInBlocks(std::move(schema), options, block_rows, take,
                      [&](RowEncoder encoder) { return Read(path, std::move(encoder), options); });
}

StatusOr<ReadNotes> ReadTableInBlocks(TextSource csv, std::shared_ptr<const Schema> schema,
                                      const ReadOptions& options, size_t block_rows,
                                      absl::FunctionRef<Status(const Table&)> take) {
  return ReadInBlocks(std::move(schema), options, block_rows, take, [&](RowEncoder encoder) {
    return data_internal::ReadCsv(std::move(csv), std::move(encoder), options);
  });
}

}  // namespace coppice
