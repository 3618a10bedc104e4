// Schema files: JSON with a schema, and with what is no part of it: how the files of its rows are
// written, and where bounds come from. docs/schema.md says what stands in one.

#ifndef COPPICE_COMMON_DATA_SCHEMA_FILE_H_
#define COPPICE_COMMON_DATA_SCHEMA_FILE_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "common/data/read_table.h"

namespace coppice {

// What a schema file says of a column for people and for checks. Neither terms, manifests nor
// models hold it.
struct ColumnNotes {
  bool integer = false;    // a target: whole numbers only; a feature's is in the schema
  bool from_rows = false;  // bounds, values or classes were read off rows, not declared

  friend bool operator==(const ColumnNotes&, const ColumnNotes&) = default;
};

struct SchemaFile {
  std::shared_ptr<const Schema> schema;
  TableFormat format = {};
  std::vector<ColumnNotes> features = {};  // in the schema's order
  ColumnNotes label = {};
};

// Members that no schema file has are ignored, but refused where they look like a misspelling of
// one that it has.
//
// Errors     InvalidArgument with the first thing that is wrong and how many more there are;
//            ReadSchema() also as TextFile.
absl::StatusOr<SchemaFile> ReadSchema(const std::string& path);
absl::StatusOr<SchemaFile> ParseSchema(absl::string_view json);

// Everything that is wrong with a schema file, a sentence each; empty if nothing is. The first
// hundred things, of a file that has more. The status is that of reading the file.
absl::StatusOr<std::vector<std::string>> FindSchemaErrors(const std::string& path);

// The text of a schema file, a line a column, which reads back to the same.
std::string ToText(const SchemaFile& file);

}  // namespace coppice

#endif  // COPPICE_COMMON_DATA_SCHEMA_FILE_H_
