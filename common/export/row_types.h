// Writes source files with a type for the rows of a schema: enumerations for categories and
// classes, units in comments, what a study sees in the clear apart from the rest. A program that
// sets a column which the schema lacks, or a category which it does not know, then does not
// compile; and a study whose schema has changed is declined by the device, which declares the
// generated schema as its own.
//
// Guarantee  a foreign name cannot break out of a string, a comment or an identifier.
// Errors     InvalidArgument for a name that gives no identifier, for an unknown language, and for
// a
//            package that is malformed or of another language than Java.
// Threads    plain functions.

#ifndef COPPICE_COMMON_EXPORT_ROW_TYPES_H_
#define COPPICE_COMMON_EXPORT_ROW_TYPES_H_

#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/schema/schema.h"

namespace coppice::formats {

// What GenerateRowTypes() takes: c, cpp, ts, java, python.
std::vector<std::string> RowLanguages();

struct RowTypes {
  std::string name;           // of the study or the schema: what the type is called after
  std::string schema_sha256;  // which schema this is, in hexadecimal
  std::string schema_json;    // the schema as a file has it
  std::string joined_by{};    // the id that a study shows in the place of features; empty: none
  std::string package{};      // of a Java class, such as "com.example.app"; empty: none
};

struct SourceFile {
  std::string name;  // "first_row.h", "FirstRow.java"
  std::string text;
};

StatusOr<SourceFile> GenerateRowTypes(const Schema& schema, const RowTypes& types,
                                      std::string_view language);

}  // namespace coppice::formats

#endif  // COPPICE_COMMON_EXPORT_ROW_TYPES_H_
