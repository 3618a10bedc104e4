// Which columns of a PostgreSQL query can be features, and how their values become text.

#ifndef COPPICE_CLIENT_SOURCES_POSTGRES_TYPES_H_
#define COPPICE_CLIENT_SOURCES_POSTGRES_TYPES_H_

#include <libpq-fe.h>

#include <string>
#include <string_view>

#include "common/base/status.h"

namespace coppice {

// A type as the server's catalogue has it.
struct PostgresType {
  Oid id = 0;
  char category = 0;  // pg_type.typcategory
  std::string name = {};
};

// What a column's values are, once they are text.
enum class ColumnKind { kNumber, kText, kBoolean };

struct TypeReading {
  ColumnKind kind;
  // SQL for a value of the column $: a plain decimal, a text, True or False, or NULL for a missing
  // value.
  std::string_view expression;
};

// InvalidArgument, saying what to write in the query instead, for a type that is neither a number
// nor a category here, such as a time stamp, an array or JSON.
StatusOr<TypeReading> ReadingOf(const PostgresType& type, std::string_view column);

}  // namespace coppice

#endif  // COPPICE_CLIENT_SOURCES_POSTGRES_TYPES_H_
