// Reads and writes schema files: JSON with a schema, and with what is not part of it: how the files
// of its rows are written, and where bounds come from. docs/schema.md defines the members.

#ifndef COPPICE_COMMON_TABLE_SCHEMA_FILE_H_
#define COPPICE_COMMON_TABLE_SCHEMA_FILE_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"
#include "common/table/read_table.h"

namespace coppice {

// Where a column's bounds, values or classes come from.
enum class BoundsOrigin {
  kDeclared,
  kPublicRows,
  kPrivateRows,
  kUnsaidRows,  // "from these rows", which may be private ones
};

// How files say it, in the order of BoundsOrigin.
absl::Span<const char* const> BoundsOriginTexts();

// Whether the schema must be marked (Feature::from_private_rows).
inline bool MayLeak(BoundsOrigin origin) {
  return origin == BoundsOrigin::kPrivateRows || origin == BoundsOrigin::kUnsaidRows;
}

// Notes of a schema file about a column, for people and for checks. They are not part of terms,
// manifests and models, but for a mark in the schema where MayLeak().
struct ColumnNotes {
  bool integer = false;  // only for targets: whole numbers only; for features the schema says it
  BoundsOrigin bounds = BoundsOrigin::kDeclared;

  friend bool operator==(const ColumnNotes&, const ColumnNotes&) = default;
};

struct SchemaFile {
  std::shared_ptr<const Schema> schema;
  TableFormat format = {};
  std::vector<ColumnNotes> features = {};  // in the schema's order
  ColumnNotes label = {};
  // SHA-256, in hexadecimal, of the public file that bounds "from public rows" were read from;
  // empty if it is not given.
  std::string rows_sha256 = {};
};

// Ignores unknown members, but refuses those that look like misspellings of known ones.
//
// Errors     InvalidArgument with the first error and the number of further ones; ReadSchema() also
//            as TextFile.
StatusOr<SchemaFile> ReadSchema(const std::string& path);
StatusOr<SchemaFile> ParseSchema(std::string_view json);

// Returns all errors of a schema file, one sentence each, at most a hundred; empty if there are
// none. The status reports whether the file could be read.
StatusOr<std::vector<std::string>> FindSchemaErrors(const std::string& path);

// Returns the text of a schema file, one line per column, which parses to the same.
std::string ToText(const SchemaFile& file);

}  // namespace coppice

#endif  // COPPICE_COMMON_TABLE_SCHEMA_FILE_H_
