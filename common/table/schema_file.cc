#include "common/table/schema_file.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "common/base/printable.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/table/text_file.h"
#include "nlohmann/json.hpp"

namespace coppice {
namespace {

using nlohmann::json;

constexpr uint64_t kMaxSchemaBytes = uint64_t{1} << 24;
constexpr size_t kMaxMissingTexts = 100;

using Names = std::vector<std::string>;

const Names& RootMembers() {
  static const Names names = {"label",       "classes", "target_min", "target_max",
                              "features",    "missing", "integer",    "unit",
                              "rows_sha256", "bounds",  "delimiter",  "number_format"};
  return names;
}

const Names& FeatureMembers() {
  static const Names names = {"name",   "type",    "min",  "max",    "values",
                              "public", "integer", "unit", "bounds", "number_format"};
  return names;
}

// Whether `name` differs from `meant` by one letter added, left out or replaced, or by two letters
// swapped. Case is ignored.
bool IsMisspelling(std::string_view name, std::string_view meant) {
  const std::string small = AsciiStrToLower(name);
  std::string_view a = small, b = meant;
  while (!a.empty() && !b.empty() && a.front() == b.front()) a.remove_prefix(1), b.remove_prefix(1);
  while (!a.empty() && !b.empty() && a.back() == b.back()) a.remove_suffix(1), b.remove_suffix(1);
  const bool swapped = a.size() == 2 && b.size() == 2 && a[0] == b[1] && a[1] == b[0];
  return swapped || (a.size() <= 1 && b.size() <= 1);
}

// Parses a schema file to its end, whatever errors it has.
class SchemaParser {
 public:
  StatusOr<SchemaFile> Parse(std::string_view text);
  const Names& errors() const { return errors_; }

 private:
  void Add(std::string error) {
    constexpr size_t kMaxErrors = 100;
    ++count_;
    if (errors_.size() < kMaxErrors) errors_.push_back(std::move(error));
  }
  void Add(const Status& status) {
    if (!status.ok()) Add(std::string(status.message()));
  }
  Status Error() const;

  // `where` begins the message: "the schema", "feature 3".
  void CheckMembers(const json& object, const Names& known, std::string_view where);
  std::string Text(const json& object, const char* name, std::string_view where);
  double Number(const json& object, const char* name, std::string_view where);
  Names Texts(const json& object, const char* name, std::string_view where);

  ColumnNotes Notes(const json& object, bool numeric, std::string_view where);
  std::string RowsHash(const json& root);
  // Reads how the numbers of a column are written, if the object says it.
  void TakeNumberFormat(const json& object, const std::string& column, std::string_view where);
  // Reads a member that is true or false; false if it is absent.
  bool Switch(const json& object, const char* name, std::string_view where);
  std::string Unit(const json& object, std::string_view where);
  TableFormat Format(const json& root);
  void CheckMissing(const Names& missing, const Names& values, std::string_view where);
  void TakeFeature(const json& object);
  void TakeFeatures(const json& root);
  void TakeAnswers(const json& root);
  SchemaFile Finish();

  Names errors_;
  size_t count_ = 0;
  std::string label_;
  Names classes_;
  std::optional<Target> target_;
  std::vector<Feature> features_;
  SchemaFile file_;
};

Status SchemaParser::Error() const {
  if (count_ == 1) return InvalidArgumentError(errors_[0]);
  return InvalidArgumentError(StrCat(errors_[0], " (", count_ - 1,
                                     " more: `coppice schema check --schema FILE` lists them)"));
}

void SchemaParser::CheckMembers(const json& object, const Names& known, std::string_view where) {
  for (const auto& member : object.items()) {
    const std::string& name = member.key();
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const auto meant = std::find_if(known.begin(), known.end(), [&](const std::string& candidate) {
      return IsMisspelling(name, candidate);
    });
    if (meant == known.end()) continue;
    Add(StrCat(where, " has the member \"", name, "\"; did you mean \"", *meant,
               "\"? There are: ", ListOf(known)));
  }
}

std::string SchemaParser::Text(const json& object, const char* name, std::string_view where) {
  const auto found = object.find(name);
  if (found != object.end() && found->is_string()) return found->get<std::string>();
  Add(StrCat(where, " needs the text member \"", name, "\""));
  return "";
}

double SchemaParser::Number(const json& object, const char* name, std::string_view where) {
  const auto found = object.find(name);
  if (found != object.end() && found->is_number()) return found->get<double>();
  Add(StrCat(where, " needs the number member \"", name, "\""));
  return 0;
}

Names SchemaParser::Texts(const json& object, const char* name, std::string_view where) {
  Names texts;
  const auto found = object.find(name);
  bool good = found != object.end() && found->is_array();
  for (size_t i = 0; good && i < found->size(); ++i) {
    good = (*found)[i].is_string();
    if (good) texts.push_back((*found)[i].get<std::string>());
  }
  if (!good) Add(StrCat(where, " needs the member \"", name, "\", a list of texts"));
  return texts;
}

ColumnNotes SchemaParser::Notes(const json& object, bool numeric, std::string_view where) {
  ColumnNotes notes;
  for (const char* name : {"integer", "unit", "number_format"}) {
    if (object.contains(name) && !numeric) {
      Add(StrCat(where, " has the member \"", name, "\", which is for numbers alone"));
    }
  }
  if (const auto found = object.find("bounds"); found != object.end()) {
    const absl::Span<const char* const> origins = BoundsOriginTexts();
    const auto origin = std::find(origins.begin(), origins.end(), *found);
    if (origin == origins.end()) {
      Add(StrCat(where, ": \"bounds\" must be \"", StrJoin(origins, "\" or \""), "\""));
    } else {
      notes.bounds = static_cast<BoundsOrigin>(origin - origins.begin());
    }
  }
  return notes;
}

std::string SchemaParser::RowsHash(const json& root) {
  constexpr size_t kDigits = 64;
  const auto found = root.find("rows_sha256");
  if (found == root.end()) return "";
  std::string hash = found->is_string() ? found->get<std::string>() : "";
  const bool good = hash.size() == kDigits &&
                    std::all_of(hash.begin(), hash.end(), [](char c) { return IsAsciiXdigit(c); });
  if (!good) Add("the schema: \"rows_sha256\" must be a SHA-256 of 64 hexadecimal digits");
  return hash;
}

void SchemaParser::TakeNumberFormat(const json& object, const std::string& column,
                                    std::string_view where) {
  if (!object.contains("number_format")) return;
  const StatusOr<NumberFormat> format = ParseNumberFormat(Text(object, "number_format", where));
  if (format.ok()) {
    file_.format.numbers[column] = *format;
  } else {
    Add(StrCat(where, ": \"number_format\": ", format.status().message()));
  }
}

bool SchemaParser::Switch(const json& object, const char* name, std::string_view where) {
  const auto found = object.find(name);
  if (found == object.end()) return false;
  if (!found->is_boolean()) {
    Add(StrCat(where, ": \"", name, "\" must be true or false"));
  }
  return *found == true;
}

std::string SchemaParser::Unit(const json& object, std::string_view where) {
  return object.contains("unit") ? Text(object, "unit", where) : "";
}

void SchemaParser::CheckMissing(const Names& missing, const Names& values, std::string_view where) {
  for (const std::string& text : missing) {
    if (std::find(values.begin(), values.end(), text) == values.end()) continue;
    Add(StrCat("\"missing\" lists \"", text, "\", which ", where,
               " lists too: it can be missing or a value, not both"));
  }
}

TableFormat SchemaParser::Format(const json& root) {
  TableFormat format;
  if (const auto found = root.find("delimiter"); found != root.end()) {
    if (*found == "," || *found == ";" || *found == "\t") {
      format.delimiter = found->get<std::string>()[0];
    } else {
      Add(R"(the schema: "delimiter" must be "," or ";" or "\t" (a tab))");
    }
  }
  if (!root.contains("missing")) return format;
  format.missing = Texts(root, "missing", "the schema");
  if (format.missing.size() > kMaxMissingTexts) {
    Add(StrCat("\"missing\" lists ", format.missing.size(), " texts; ", kMaxMissingTexts,
               " are the most"));
    format.missing.resize(kMaxMissingTexts);
  }
  for (auto text = format.missing.begin(); text != format.missing.end(); ++text) {
    if (text->empty())
      Add("\"missing\" lists the empty text, which is always missing: leave it out");
    if (std::find(format.missing.begin(), text, *text) != text) {
      Add(StrCat("\"missing\" lists \"", *text, "\" twice"));
    }
  }
  return format;
}

void SchemaParser::TakeFeature(const json& object) {
  std::string where = StrCat("feature ", features_.size() + 1);
  Feature feature;
  features_.push_back(feature);
  file_.features.emplace_back();
  if (!object.is_object()) return Add(where + " must be a JSON object");
  const size_t errors_before = count_;
  feature.name = Text(object, "name", where);
  if (!feature.name.empty()) where = StrCat("feature \"", feature.name, "\"");
  CheckMembers(object, FeatureMembers(), where);
  feature.is_public = Switch(object, "public", where);
  if (object.contains("missing") && !object["missing"].is_number()) {
    Add(where + ": \"missing\" is declared once for all features, beside \"features\"");
  }
  const std::string type = Text(object, "type", where);
  if (type == "numeric") {
    feature.min = Number(object, "min", where);
    feature.max = Number(object, "max", where);
    feature.unit = Unit(object, where);
    feature.integer = Switch(object, "integer", where);
    TakeNumberFormat(object, feature.name, where);
  } else if (type == "categorical") {
    feature.type = FeatureType::kCategorical;
    feature.values = Texts(object, "values", where);
    CheckMissing(file_.format.missing, feature.values, where);
  } else if (!type.empty()) {
    Add(StrCat(where, ": type must be \"numeric\" or \"categorical\", not \"", type, "\""));
  }
  file_.features.back() = Notes(object, type != "categorical", where);
  feature.from_private_rows = MayLeak(file_.features.back().bounds);
  features_.back() = feature;
  if (count_ > errors_before) return;
  // Checks the feature's own rules, in a schema of its own.
  Add(Schema::Create({feature}, feature.name + " label", {"a", "b"}).status());
}

void SchemaParser::TakeFeatures(const json& root) {
  const auto list = root.find("features");
  if (list == root.end() || !list->is_array()) {
    return Add("the schema needs the member \"features\", a list");
  }
  for (const json& element : *list) {
    if (features_.size() <= kMaxFeatures) TakeFeature(element);  // one more is refused later
  }
}

// Reads what to predict: classes, or a number if there are none.
void SchemaParser::TakeAnswers(const json& root) {
  const size_t errors_before = count_;
  label_ = Text(root, "label", "the schema");
  const bool has_target = root.contains("target_min") || root.contains("target_max");
  file_.label = Notes(root, has_target, "the schema");
  if (has_target && root.contains("classes")) {
    return Add("the schema needs \"classes\", or \"target_min\" and \"target_max\", not both");
  }
  const Feature any{.name = label_ + " feature", .values = {}};
  if (has_target) {
    Target& target = target_.emplace();
    target.min = Number(root, "target_min", "the schema");
    target.max = Number(root, "target_max", "the schema");
    target.unit = Unit(root, "the schema");
    file_.label.integer = Switch(root, "integer", "the schema");
    TakeNumberFormat(root, label_, "the schema");
    if (count_ == errors_before) Add(Schema::CreateRegression({any}, label_, target).status());
    return;
  }
  classes_ = Texts(root, "classes", "the schema");
  CheckMissing(file_.format.missing, classes_, "\"classes\"");
  if (count_ == errors_before) Add(Schema::Create({any}, label_, classes_).status());
}

SchemaFile SchemaParser::Finish() {
  StatusOr<Schema> schema =
      target_ ? Schema::CreateRegression(std::move(features_), std::move(label_), *target_)
              : Schema::Create(std::move(features_), std::move(label_), std::move(classes_));
  Add(schema.status());
  if (!schema.ok()) return std::move(file_);
  if (MayLeak(file_.label.bounds)) schema = schema->WithAnswersFromPrivateRows();
  file_.schema = std::make_shared<const Schema>(*std::move(schema));
  return std::move(file_);
}

// Says where the JSON parser fails, and why.
std::string JsonError(std::string_view text) {
  constexpr std::string_view kWhat = "the schema is not valid JSON";
  try {
    const json unused = json::parse(text.begin(), text.end());
  } catch (const json::parse_error& error) {
    const std::string_view read = text.substr(0, error.byte > 0 ? error.byte - 1 : 0);
    const auto line = std::count(read.begin(), read.end(), '\n') + 1;
    const size_t column = read.size() - (read.rfind('\n') + 1) + 1;
    const std::string_view what = error.what();
    const size_t reason = what.rfind("; ");
    return StrCat(kWhat, " at line ", line, ", column ", column,
                  reason == std::string_view::npos ? "" : what.substr(reason, 100));
  } catch (const json::exception&) {
    return StrCat(kWhat, ": a number in it is too large");
  }
  return std::string(kWhat);
}

StatusOr<SchemaFile> SchemaParser::Parse(std::string_view text) {
  const json root = json::parse(text.begin(), text.end(), /*cb=*/nullptr,
                                /*allow_exceptions=*/false);
  if (root.is_discarded()) {
    Add(JsonError(text));
    return Error();
  }
  if (!root.is_object()) {
    Add("the schema must be a JSON object");
    return Error();
  }
  CheckMembers(root, RootMembers(), "the schema");
  file_.format = Format(root);
  file_.rows_sha256 = RowsHash(root);
  TakeAnswers(root);
  TakeFeatures(root);
  if (count_ > 0) return Error();
  SchemaFile file = Finish();
  if (count_ > 0) return Error();
  return file;
}

StatusOr<std::string> ReadText(const std::string& path) {
  COPPICE_ASSIGN_OR_RETURN(TextFile file, TextFile::Open(path, kMaxSchemaBytes));
  std::string text;
  while (true) {
    COPPICE_ASSIGN_OR_RETURN(const std::string_view piece, file.Next());
    if (piece.empty()) return text;
    StrAppend(&text, piece);
  }
}

}  // namespace

StatusOr<SchemaFile> ParseSchema(std::string_view text) { return SchemaParser().Parse(text); }

StatusOr<SchemaFile> ReadSchema(const std::string& path) {
  COPPICE_ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  StatusOr<SchemaFile> file = ParseSchema(text);
  if (file.ok()) return file;
  return Status(file.status().code(), StrCat(path, ": ", file.status().message()));
}

StatusOr<std::vector<std::string>> FindSchemaErrors(const std::string& path) {
  COPPICE_ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  SchemaParser parser;
  (void)parser.Parse(text);
  return parser.errors();
}

}  // namespace coppice
