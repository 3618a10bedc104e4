#include "common/export/row_types.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/export/c_parts.h"
#include "common/schema/number.h"

namespace coppice::formats {
namespace {

// ---- names

// Words that one of the languages keeps for itself, or that the generated types use.
constexpr std::string_view kTaken[] = {
    "abstract", "alignas",   "and",       "as",           "asm",        "assert",   "async",
    "auto",     "await",     "bool",      "boolean",      "break",      "byte",     "case",
    "catch",    "char",      "class",     "column",       "concept",    "const",    "continue",
    "def",      "default",   "del",       "delete",       "do",         "double",   "elif",
    "else",     "enum",      "except",    "explicit",     "export",     "extends",  "extern",
    "false",    "final",     "finally",   "float",        "for",        "friend",   "from",
    "function", "global",    "goto",      "if",           "implements", "import",   "in",
    "inline",   "int",       "interface", "is",           "lambda",     "let",      "long",
    "mutable",  "namespace", "native",    "new",          "none",       "nonlocal", "not",
    "null",     "nullptr",   "operator",  "or",           "out",        "package",  "pass",
    "private",  "protected", "public",    "raise",        "register",   "requires", "return",
    "row",      "short",     "signed",    "sizeof",       "static",     "strictfp", "string",
    "struct",   "super",     "switch",    "synchronized", "template",   "text",     "this",
    "throw",    "throws",    "transient", "true",         "try",        "typedef",  "typename",
    "union",    "unsigned",  "using",     "var",          "virtual",    "void",     "volatile",
    "while",    "with",      "xor",       "yield"};

// "a_word" of any text; never empty, never begins with a digit.
std::string Snake(std::string_view text) {
  const std::string word = AsciiStrToLower(CWord(text));
  return IsAsciiDigit(static_cast<unsigned char>(word[0])) ? StrCat("x", word) : word;
}

// "AWord" of "a_word".
std::string Pascal(std::string_view snake) {
  std::string word;
  bool capital = true;
  for (const char c : snake) {
    if (c == '_') {
      capital = true;
      continue;
    }
    word += capital ? static_cast<char>(ToAsciiUpper(static_cast<unsigned char>(c))) : c;
    capital = false;
  }
  return word;
}

std::string Camel(std::string_view snake) {
  std::string word = Pascal(snake);
  word[0] = static_cast<char>(ToAsciiLower(static_cast<unsigned char>(word[0])));
  return word;
}

// Gives each word once, with a number behind it where it was given before.
class Words {
 public:
  Words() {
    for (const std::string_view word : kTaken) taken_.insert(std::string(word));
  }
  std::string Unique(const std::string& wanted) {
    std::string word = wanted;
    // Names that differ in case or underscores alone would meet where languages write them
    // otherwise.
    for (int number = 2; !taken_.insert(AsciiStrToLower(Pascal(word))).second; ++number) {
      word = StrCat(wanted, "_", number);
    }
    return word;
  }

 private:
  StringSet taken_;
};

// ---- what a row has

enum class Kind { kNumber, kCategory, kClass, kTarget, kId };

struct Field {
  Kind kind = Kind::kNumber;
  std::string column;                 // as the schema calls it
  std::string member;                 // "a_word"
  std::vector<std::string> values{};  // of a category or the label
  std::vector<std::string> words{};   // "a_word" for each value
  std::string comment{};
  double min = 0, max = 0;
  bool whole = false;
  std::string unit{};

  bool is_choice() const { return kind == Kind::kCategory || kind == Kind::kClass; }
  bool is_number() const { return kind == Kind::kNumber || kind == Kind::kTarget; }
  std::string type() const { return Pascal(member); }
};

std::string RangeText(double min, double max, bool whole, const std::string& unit) {
  return StrCat(ReadableNumber(min), " to ", ReadableNumber(max), unit.empty() ? "" : " ",
                CComment(unit), whole ? ", whole" : "");
}

std::vector<std::string> WordsOf(const std::vector<std::string>& values) {
  Words words;
  words.Unique("missing");
  words.Unique("other");
  std::vector<std::string> made;
  for (const std::string& value : values) made.push_back(words.Unique(Snake(value)));
  return made;
}

Field FieldOf(const Feature& feature, Words& members) {
  Field field{.column = feature.name, .member = members.Unique(Snake(feature.name))};
  if (feature.type == FeatureType::kCategorical) {
    field.kind = Kind::kCategory;
    field.values = feature.values;
    field.words = WordsOf(feature.values);
  } else {
    field.min = feature.min;
    field.max = feature.max;
    field.whole = feature.integer;
    field.unit = feature.unit;
    field.comment = RangeText(feature.min, feature.max, feature.integer, feature.unit);
  }
  if (feature.is_public) {
    StrAppend(&field.comment, field.comment.empty() ? "" : "; ", "sent in the clear");
  }
  return field;
}

Field LabelOf(const Schema& schema, Words& members) {
  Field field{.kind = Kind::kClass,
              .column = schema.label(),
              .member = members.Unique(Snake(schema.label())),
              .values = schema.classes(),
              .words = WordsOf(schema.classes()),
              .comment = "what the study is about, which is hidden"};
  if (schema.target().has_value()) {
    field.kind = Kind::kTarget;
    field.min = schema.target()->min;
    field.max = schema.target()->max;
    field.unit = schema.target()->unit;
    StrAppend(&field.comment, "; ", RangeText(field.min, field.max, false, field.unit));
  }
  return field;
}

// Fields in the schema's order, those in the clear last but for the label. A study that is joined
// by an id has the id in their place.
// Types that a generated Java class names, and its own methods: an enumeration of such a name would
// take their place.
constexpr std::string_view kJavaNames[] = {"arrays",     "linked_hash_map", "list",  "map",
                                           "own_column", "own_columns",     "to_map"};

std::vector<Field> FieldsOf(const Schema& schema, const RowTypes& types,
                            std::string_view language) {
  Words members;
  if (language == "java") {
    for (const std::string_view name : kJavaNames) members.Unique(std::string(name));
  }
  std::vector<Field> fields;
  if (types.joined_by.empty()) {
    for (const bool in_the_clear : {false, true}) {
      for (const Feature& feature : schema.features()) {
        if (feature.is_public == in_the_clear) fields.push_back(FieldOf(feature, members));
      }
    }
  } else {
    fields.push_back({.kind = Kind::kId,
                      .column = types.joined_by,
                      .member = members.Unique(Snake(types.joined_by)),
                      .comment = "sent in the clear, as it is"});
  }
  fields.push_back(LabelOf(schema, members));
  return fields;
}

// ---- text that every language shares

std::string Heading(const RowTypes& types) {
  return StrCat(
      "Rows of ", CString(types.name), ", as `coppice schema generate` (", COPPICE_VERSION,
      ") wrote them.\nGenerate them again when the schema changes, and do not edit them.\n",
      "Schema: SHA-256 ", CWord(types.schema_sha256.substr(0, 24)), "...");
}

std::string Lines(const std::string& text, const std::string& before) {
  std::string out;
  for (const std::string_view line : StrSplit(text, '\n')) StrAppend(&out, before, line, "\n");
  return out;
}

// Quoted as in JSON, which is how Java, TypeScript and Python read it too. Java also reads escapes
// outside of strings, so that it gets nothing but ASCII.
std::string Quoted(const std::string& text, bool ascii = false) {
  return nlohmann::json(text).dump(-1, ' ', ascii, nlohmann::json::error_handler_t::replace);
}

std::string Behind(const std::string& mark, const std::string& comment,
                   const std::string& end = "") {
  return comment.empty() ? "" : StrCat("  ", mark, " ", comment, end);
}

// ---- C

class CWriter {
 public:
  CWriter(std::vector<Field> fields, const RowTypes& types)
      : fields_(std::move(fields)),
        types_(types),
        prefix_(Snake(types.name)),
        capitals_(AsciiStrToUpper(prefix_)) {}

  SourceFile Write() const {
    const std::string guard = AsciiStrToUpper(StrCat("coppice_row_", prefix_, "_h_"));
    std::string text = StrCat("/* ", StrReplaceAll(Heading(types_), {{"\n", "\n   "}}), " */\n\n",
                              "#ifndef ", guard, "\n#define ", guard,
                              "\n\n#include <coppice_device.h>\n#include <math.h>\n#include "
                              "<string.h>\n\n#define ",
                              capitals_, "_SCHEMA_SHA256 ", CString(types_.schema_sha256), "\n");
    for (const Field& field : fields_) text += Choice(field);
    StrAppend(&text, "\n", Struct(), "\n", Missing(), "\n", OwnColumns(), Set(), "\n#endif\n");
    return {StrCat(prefix_, "_row.h"), text};
  }

 private:
  std::string Enumerator(const Field& field, std::string_view word) const {
    return AsciiStrToUpper(StrCat(prefix_, "_", field.member, "_", word));
  }

  std::string Choice(const Field& field) const {
    if (!field.is_choice()) return "";
    std::string text = StrCat("\ntypedef enum {\n  ", Enumerator(field, "MISSING"), " = 0,\n");
    for (size_t i = 0; i < field.values.size(); ++i) {
      StrAppend(&text, "  ", Enumerator(field, field.words[i]), ",  /* ", CString(field.values[i]),
                " */\n");
    }
    if (field.kind == Kind::kCategory) StrAppend(&text, "  ", Enumerator(field, "OTHER"), "\n");
    StrAppend(&text, "} ", prefix_, "_", field.member, ";\n\nstatic const char* const ", prefix_,
              "_", field.member, "_values[] = {");
    for (size_t i = 0; i < field.values.size(); ++i) {
      StrAppend(&text, i == 0 ? "" : ", ", CString(field.values[i]));
    }
    return StrCat(text, "};\n");
  }

  std::string TypeOf(const Field& field) const {
    if (field.is_choice()) return StrCat(prefix_, "_", field.member);
    return field.is_number() ? "double" : "const char*";
  }

  std::string Struct() const {
    std::string text = "typedef struct {\n";
    for (const Field& field : fields_) {
      StrAppend(&text, "  ", TypeOf(field), " ", field.member, ";",
                Behind("/*", field.comment, " */"), "\n");
    }
    return StrCat(text, "} ", prefix_, "_row;\n");
  }

  std::string Missing() const {
    std::string text = StrCat("/* A row of which nothing is known yet. */\nstatic inline ", prefix_,
                              "_row ", prefix_, "_row_missing(void) {\n  ", prefix_,
                              "_row row;\n  memset(&row, 0, sizeof(row));\n");
    for (const Field& field : fields_) {
      if (field.is_number()) StrAppend(&text, "  row.", field.member, " = NAN;\n");
    }
    return StrCat(text, "  return row;\n}\n");
  }

  // A device that answers by an id has no other columns, and a schema has at least one.
  std::string OwnColumns() const {
    if (!types_.joined_by.empty()) return "";
    std::string text = StrCat(
        "/* For coppice_device_options: a study that asks for anything else is declined before a "
        "row "
        "is read. */\nstatic const coppice_own_column ",
        prefix_, "_own_columns[] = {\n");
    for (const Field& field : fields_) text += OwnColumn(field);
    return StrCat(text, "};\nenum { ", capitals_, "_NUM_OWN_COLUMNS = sizeof(", prefix_,
                  "_own_columns) / sizeof(", prefix_, "_own_columns[0]) };\n\n");
  }

  std::string OwnColumn(const Field& field) const {
    const char* const kind = field.kind == Kind::kNumber     ? "NUMBER"
                             : field.kind == Kind::kCategory ? "CATEGORY"
                             : field.kind == Kind::kClass    ? "CLASS"
                                                             : "TARGET";
    const std::string values =
        field.is_choice() ? StrCat(prefix_, "_", field.member, "_values, ", field.values.size())
                          : "NULL, 0";
    return StrCat("    {", CString(field.column), ", ",
                  AsciiStrToUpper(StrCat("coppice_column_", kind)), ", ", ShortestNumber(field.min),
                  ", ", ShortestNumber(field.max), ", ", field.whole ? 1 : 0, ", ",
                  field.unit.empty() ? "NULL" : CString(field.unit), ", ", values, "},\n");
  }

  std::string Set() const {
    std::string text =
        StrCat("/* For coppice_visit_options.read_row. */\nstatic inline void ", prefix_,
               "_row_set(const ", prefix_, "_row* row, coppice_row* out) {\n");
    for (const Field& field : fields_) text += SetField(field);
    return StrCat(text, "}\n");
  }

  std::string SetField(const Field& field) const {
    const std::string column = CString(field.column), member = StrCat("row->", field.member);
    if (field.is_number()) {
      return StrCat("  if (!isnan(", member, ")) coppice_row_set_number(out, ", column, ", ",
                    member, ");\n");
    }
    if (!field.is_choice()) {
      return StrCat("  if (", member, " != NULL) coppice_row_set_text(out, ", column, ", ", member,
                    ", strlen(", member, "));\n");
    }
    const std::string values = StrCat(prefix_, "_", field.member, "_values");
    std::string text =
        StrCat("  if ((int)", member, " > 0 && (int)", member, " <= ", field.values.size(),
               ") {\n    const char* text = ", values, "[(int)", member,
               " - 1];\n    coppice_row_set_text(out, ", column, ", text, strlen(text));\n  }");
    if (field.kind == Kind::kCategory) {
      // A number is no text of a category, so it stands for all others.
      StrAppend(&text, " else if (", member, " == ", Enumerator(field, "OTHER"),
                ") {\n    coppice_row_set_number(out, ", column, ", 0);\n  }");
    }
    return StrCat(text, "\n");
  }

  const std::vector<Field> fields_;
  const RowTypes& types_;
  const std::string prefix_, capitals_;
};

// ---- C++

std::string CppChoice(const Field& field) {
  if (!field.is_choice()) return "";
  std::string text = StrCat("  enum class ", field.type(), " {\n");
  for (size_t i = 0; i < field.values.size(); ++i) {
    StrAppend(&text, "    k", Pascal(field.words[i]), ",  // ", CString(field.values[i]), "\n");
  }
  if (field.kind == Kind::kCategory) StrAppend(&text, "    kOther,\n");
  return StrCat(text, "  };\n");
}

std::string CppSet(const Field& field) {
  const std::string begin =
      StrCat("    if (", field.member, ".has_value()) text[", CString(field.column), "] = ");
  if (field.is_number()) return StrCat(begin, "coppice::ShortestNumber(*", field.member, ");\n");
  if (!field.is_choice()) return StrCat(begin, "*", field.member, ";\n");
  std::string values = "{";
  for (size_t i = 0; i < field.values.size(); ++i) {
    StrAppend(&values, i == 0 ? "" : ", ", CString(field.values[i]));
  }
  // A text that is none of the values stands for all others.
  if (field.kind == Kind::kCategory) StrAppend(&values, ", \"\\377\"");
  return StrCat("    if (", field.member,
                ".has_value()) {\n      static constexpr const char* kValues[] = ", values,
                "};\n      text[", CString(field.column), "] = kValues[static_cast<int>(*",
                field.member, ")];\n    }\n");
}

SourceFile WriteCpp(const std::vector<Field>& fields, const RowTypes& types) {
  const std::string name = Snake(types.name);
  const std::string guard = AsciiStrToUpper(StrCat("coppice_row_", name, "_hpp_"));
  std::string text = StrCat(
      Lines(Heading(types), "// "), "\n#ifndef ", guard, "\n#define ", guard,
      "\n\n#include <optional>\n#include <string>\n\n#include \"common/schema/number.h\"\n#include "
      "\"common/schema/schema.h\"\n\nstruct ",
      Pascal(name),
      "Row {\n  static constexpr char kSchemaSha256[] = ", CString(types.schema_sha256), ";\n\n");
  for (const Field& field : fields) text += CppChoice(field);
  for (const Field& field : fields) {
    const std::string type = field.is_choice()   ? field.type()
                             : field.is_number() ? "double"
                                                 : "std::string";
    StrAppend(&text, "  std::optional<", type, "> ", field.member, ";", Behind("//", field.comment),
              "\n");
  }
  StrAppend(&text, "\n  // What a device reads: `terms.schema->EncodeTotally(row.ToTextRow())`.\n",
            "  coppice::TextRow ToTextRow() const {\n    coppice::TextRow text;\n");
  for (const Field& field : fields) text += CppSet(field);
  StrAppend(&text, "    return text;\n  }\n};\n\n#endif\n");
  return {StrCat(name, "_row.hpp"), text};
}

// ---- TypeScript

SourceFile WriteTs(const std::vector<Field>& fields, const RowTypes& types) {
  const std::string name = Snake(types.name), type = StrCat(Pascal(name), "Row");
  std::string text = StrCat(
      Lines(Heading(types), "// "), "\nexport const SCHEMA_SHA256 = ", Quoted(types.schema_sha256),
      ";\nexport const SCHEMA_JSON = ", Quoted(types.schema_json),
      ";\n\n/** A value of a category that the schema does not name. */\nexport const OTHER = "
      "Symbol(\"other\");\n\n");
  for (const Field& field : fields) {
    if (!field.is_choice()) continue;
    StrAppend(&text, "export type ", field.type(), " =");
    for (const std::string& value : field.values) StrAppend(&text, "\n  | ", Quoted(value));
    StrAppend(&text, field.kind == Kind::kCategory ? "\n  | typeof OTHER" : "", ";\n\n");
  }
  StrAppend(&text, "/** What is left out is missing. */\nexport interface ", type, " {\n");
  for (const Field& field : fields) {
    StrAppend(&text, "  ", Camel(field.member), "?: ",
              field.is_choice()   ? field.type()
              : field.is_number() ? "number"
                                  : "string",
              ";", Behind("//", field.comment), "\n");
  }
  StrAppend(
      &text,
      "}\n\n/** The columns by their names, as a device reads them. */\nexport function "
      "encode(row: ",
      type,
      "): Record<string, string | number> {\n  const out: Record<string, string | number> = {};\n");
  for (const Field& field : fields) {
    const std::string member = StrCat("row.", Camel(field.member));
    // A number is no text of a category, so it stands for all others.
    StrAppend(&text, "  if (", member, " !== undefined) out[", Quoted(field.column), "] = ",
              field.kind == Kind::kCategory ? StrCat(member, " === OTHER ? 0 : ", member) : member,
              ";\n");
  }
  return {StrCat(name, "_row.ts"), StrCat(text, "  return out;\n}\n")};
}

// ---- Java

std::string JavaChoice(const Field& field) {
  if (!field.is_choice()) return "";
  std::string text = StrCat("  public enum ", field.type(), " {\n");
  for (size_t i = 0; i < field.values.size(); ++i) {
    StrAppend(&text, i == 0 ? "" : ",\n", "    ", AsciiStrToUpper(field.words[i]), "(",
              Quoted(field.values[i], /*ascii=*/true), ")");
  }
  // A number is no text of a category, so it stands for all others.
  if (field.kind == Kind::kCategory) StrAppend(&text, ",\n    OTHER(0)");
  return StrCat(text, ";\n\n    private final Object value;\n\n    ", field.type(),
                "(Object value) {\n      this.value = value;\n    }\n  }\n\n");
}

std::string JavaList(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  for (const std::string& text : texts) quoted.push_back(Quoted(text, /*ascii=*/true));
  return StrCat("Arrays.asList(", StrJoin(quoted, ", "), ")");
}

std::string JavaOwnColumn(const Field& field) {
  const std::string name = Quoted(field.column, /*ascii=*/true);
  if (field.is_choice()) {
    return StrCat("OwnColumn.", field.kind == Kind::kCategory ? "category(" : "classes(", name,
                  ", ", JavaList(field.values), ")");
  }
  // The suffix makes a number of a double whose digits are too many for an int.
  return StrCat("OwnColumn.", field.kind == Kind::kNumber ? "number(" : "target(", name, ", ",
                ShortestNumber(field.min), "d, ", ShortestNumber(field.max), "d)",
                field.whole ? ".whole()" : "",
                field.unit.empty() ? "" : StrCat(".unit(", Quoted(field.unit, true), ")"));
}

// Empty for a study that is joined by an id, whose devices do not have its columns.
std::string JavaOwnColumns(const std::vector<Field>& fields, const RowTypes& types) {
  if (!types.joined_by.empty()) return "";
  std::vector<std::string> columns;
  for (const Field& field : fields) columns.push_back(JavaOwnColumn(field));
  return StrCat(
      "\n  /** For DeviceOptions.ownColumns(): a study that asks for anything else is declined "
      "before a row is read. */\n  public static List<OwnColumn> ownColumns() {\n    return "
      "Arrays.asList(\n        ",
      StrJoin(columns, ",\n        "), ");\n  }\n");
}

SourceFile WriteJava(const std::vector<Field>& fields, const RowTypes& types) {
  const std::string type = StrCat(Pascal(Snake(types.name)), "Row");
  std::string text =
      StrCat(Lines(Heading(types), "// "),
             types.package.empty() ? "" : StrCat("\npackage ", types.package, ";\n"),
             types.joined_by.empty()
                 ? "\nimport coppice.device.OwnColumn;\nimport java.util.Arrays;\nimport "
                   "java.util.LinkedHashMap;\nimport java.util.List;\nimport java.util.Map;\n"
                 : "\nimport java.util.LinkedHashMap;\nimport java.util.Map;\n",
             "\n/** What is null is missing. */\npublic final class ", type,
             " {\n  public static final String SCHEMA_SHA256 = ", Quoted(types.schema_sha256, true),
             ";\n\n");
  for (const Field& field : fields) text += JavaChoice(field);
  for (const Field& field : fields) {
    StrAppend(&text, "  public ",
              field.is_choice()   ? field.type()
              : field.is_number() ? "Double"
                                  : "String",
              " ", Camel(field.member), ";", Behind("//", field.comment), "\n");
  }
  StrAppend(&text,
            "\n  /** The columns by their names, as a device reads them. */\n  public Map<String, "
            "Object> "
            "toMap() {\n    Map<String, Object> out = new LinkedHashMap<>();\n");
  for (const Field& field : fields) {
    const std::string member = Camel(field.member);
    StrAppend(&text, "    if (", member, " != null) {\n      out.put(", Quoted(field.column, true),
              ", ", member, field.is_choice() ? ".value" : "", ");\n    }\n");
  }
  return {StrCat(type, ".java"),
          StrCat(text, "    return out;\n  }\n", JavaOwnColumns(fields, types), "}\n")};
}

// Words with dots between them; a compiler knows which words are none of a package's.
bool IsJavaPackage(std::string_view text) {
  for (const std::string_view word : StrSplit(text, '.')) {
    const bool is_word =
        !word.empty() && !IsAsciiDigit(word[0]) &&
        std::all_of(word.begin(), word.end(), [](char c) { return IsAsciiAlnum(c) || c == '_'; });
    if (!is_word) return false;
  }
  return true;
}

// ---- Python

std::string PythonChoice(const Field& field) {
  if (!field.is_choice()) return "";
  std::string text = StrCat("class ", field.type(), "(enum.Enum):\n");
  for (size_t i = 0; i < field.values.size(); ++i) {
    StrAppend(&text, "    ", AsciiStrToUpper(field.words[i]), " = ", Quoted(field.values[i]), "\n");
  }
  if (field.kind == Kind::kCategory) {
    StrAppend(
        &text,
        "    OTHER = 0.0  # a number is no text of a category, so it stands for all others\n");
  }
  return StrCat(text, "\n\n");
}

SourceFile WritePython(const std::vector<Field>& fields, const RowTypes& types) {
  const std::string name = Snake(types.name), type = StrCat(Pascal(name), "Row");
  std::string text = StrCat(
      Lines(Heading(types), "# "),
      "\nfrom __future__ import annotations\n\nimport dataclasses\nimport enum\nfrom typing "
      "import Optional, Union\n\nSCHEMA_SHA256 = ",
      Quoted(types.schema_sha256),
      "\n# For coppice.Policy(own_schema=coppice.Schema.from_json(SCHEMA_JSON)): a study that asks "
      "for anything else is\n# declined before a row is read.\nSCHEMA_JSON = ",
      Quoted(types.schema_json), "\n\n\n");
  for (const Field& field : fields) text += PythonChoice(field);
  StrAppend(&text, "@dataclasses.dataclass\nclass ", type,
            ":\n    \"\"\"What is None is missing.\"\"\"\n\n");
  for (const Field& field : fields) {
    StrAppend(&text, "    ", field.member, ": Optional[",
              field.is_choice()   ? field.type()
              : field.is_number() ? "float"
                                  : "str",
              "] = None", Behind("#", field.comment), "\n");
  }
  StrAppend(
      &text,
      "\n    def columns(self) -> dict[str, Union[str, float]]:\n        \"\"\"Return the columns "
      "by their "
      "names, as a device reads them.\"\"\"\n        out: dict[str, Union[str, float]] = {}\n");
  for (const Field& field : fields) {
    StrAppend(&text, "        if self.", field.member, " is not None:\n            out[",
              Quoted(field.column), "] = self.", field.member, field.is_choice() ? ".value" : "",
              "\n");
  }
  return {StrCat(name, "_row.py"), StrCat(text, "        return out\n")};
}

}  // namespace

std::vector<std::string> RowLanguages() { return {"c", "cpp", "ts", "java", "python"}; }

StatusOr<SourceFile> GenerateRowTypes(const Schema& schema, const RowTypes& types,
                                      std::string_view language) {
  if (!types.package.empty() && (language != "java" || !IsJavaPackage(types.package))) {
    return InvalidArgumentError(
        StrCat("a package is for Java alone, and is written as com.example.app; it is \"",
               types.package, "\""));
  }
  std::vector<Field> fields = FieldsOf(schema, types, language);
  if (language == "c") return CWriter(std::move(fields), types).Write();
  if (language == "cpp") return WriteCpp(fields, types);
  if (language == "ts") return WriteTs(fields, types);
  if (language == "java") return WriteJava(fields, types);
  if (language == "python") return WritePython(fields, types);
  return InvalidArgumentError(
      StrCat("no language \"", language, "\"; there are ", StrJoin(RowLanguages(), ", ")));
}

}  // namespace coppice::formats
