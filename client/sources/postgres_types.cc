#include "client/sources/postgres_types.h"

#include "common/base/text.h"

namespace coppice {
namespace {

struct TypeRule {
  Oid id;         // 0: any type of the category
  char category;  // 0: whatever it is
  TypeReading reading;
};

// The first rule that fits decides; no rule: no place. NaN is missing, as in every table. A text is
// what ::text makes of it: char(8) without the blanks that fill it up.
constexpr TypeRule kRules[] = {
    {20, 0, {ColumnKind::kNumber, "$"}},                   // bigint
    {21, 0, {ColumnKind::kNumber, "$"}},                   // smallint
    {23, 0, {ColumnKind::kNumber, "$"}},                   // integer
    {26, 0, {ColumnKind::kNumber, "$"}},                   // oid
    {700, 0, {ColumnKind::kNumber, "NULLIF($, 'NaN')"}},   // real
    {701, 0, {ColumnKind::kNumber, "NULLIF($, 'NaN')"}},   // double precision
    {1700, 0, {ColumnKind::kNumber, "NULLIF($, 'NaN')"}},  // numeric
    {1082, 0, {ColumnKind::kText, "$::text"}},             // date: 2024-01-31
    {2950, 0, {ColumnKind::kText, "$::text"}},             // uuid
    {0, 'S', {ColumnKind::kText, "$::text"}},              // text, varchar, char, name, citext
    {0, 'E', {ColumnKind::kText, "$::text"}},              // enumerations
    {0, 'B', {ColumnKind::kBoolean, "CASE $ WHEN true THEN 'True' WHEN false THEN 'False' END"}},
};

// What to write in the query instead of a column.
std::string Advice(const PostgresType& type, const std::string& column) {
  const bool is_time = type.category == 'D' || type.category == 'T';
  if (!is_time)
    return StrCat("leave it out, or make it a text or a number, such as ", column, "::text");
  return StrCat("its number depends on a unit, so take extract(epoch from ", column,
                ") for seconds, or ", column, "::date for a category");
}

}  // namespace

StatusOr<TypeReading> ReadingOf(const PostgresType& type, std::string_view column) {
  for (const TypeRule& rule : kRules) {
    if (rule.id == 0 ? rule.category == type.category : rule.id == type.id) return rule.reading;
  }
  return InvalidArgumentError(
      StrCat("column \"", column, "\" has the type ", type.name,
             ", which is neither a number nor a category: ", Advice(type, std::string(column))));
}

}  // namespace coppice
