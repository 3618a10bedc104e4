#include "common/base/text.h"
#include "common/pages/html.h"
#include "common/pages/pages.h"

namespace coppice::report {
namespace {

// "public_rows" is read as "public rows".
std::string Heading(const std::string& member) { return StrReplaceAll(member, {{"_", " "}}); }

bool IsTable(const Json& value) {
  return value.is_array() && !value.empty() && value.front().is_object();
}

// Formats a member for a cell: a list or an object as its values, separated by commas.
std::string ValueText(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_array() || value.is_object()) {
    std::vector<std::string> parts;
    for (const auto& [name, member] : value.items()) {
      parts.push_back(value.is_object() ? StrCat(Heading(name), " ", ValueText(member))
                                        : ValueText(member));
    }
    return StrJoin(parts, ", ");
  }
  return Plain(value);
}

TableCell ValueCell(const Json& value) {
  return value.is_number() ? NumberCell(Plain(value)) : Cell(ValueText(value));
}

// The members of the first object are the columns.
std::string ObjectsTable(const std::string& caption, const Json& objects) {
  TableData table{.caption = caption, .columns = {}, .rows = {}};
  for (const auto& [name, value] : objects.front().items()) table.columns.push_back(name);
  for (const Json& object : objects) {
    std::vector<TableCell>& cells = table.rows.emplace_back();
    for (const std::string& column : table.columns) {
      cells.push_back(ValueCell(object.is_object() ? object.value(column, Json()) : Json()));
    }
  }
  for (std::string& column : table.columns) column = Heading(column);
  return RenderTable(table);
}

}  // namespace

std::string RecordPage(const std::string& kind, const std::string& title, const Json& record) {
  TableData facts{.caption = "As it is now", .columns = {"what", "is"}, .rows = {}};
  std::string tables;
  for (const auto& [name, value] : record.items()) {
    if (IsTable(value)) {
      StrAppend(&tables, Section(Heading(name), ObjectsTable("One by one", value)));
    } else if (const std::string text = ValueText(value); !value.is_null() && !text.empty()) {
      facts.rows.push_back({Cell(Heading(name)), Cell(text)});
    }
  }
  const std::string body = facts.rows.empty() ? "" : RenderTable(facts);
  return RenderDocument({.kind = kind, .title = title, .lead = "", .body = StrCat(body, tables)});
}

}  // namespace coppice::report
