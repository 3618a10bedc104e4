#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "common/base/status_macros.h"
#include "common/data/read_table.h"
#include "common/data/text_file.h"
#include "nlohmann/json.hpp"

namespace coppice {
namespace {

using nlohmann::json;

constexpr uint64_t kMaxSchemaBytes = uint64_t{1} << 24;

// `where` begins the message: "the schema", "feature 3".
absl::StatusOr<std::string> StringMember(const json& object, const char* name,
                                         absl::string_view where) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string()) {
    return absl::InvalidArgumentError(absl::StrCat(where, " needs the text member \"", name, "\""));
  }
  return found->get<std::string>();
}

absl::StatusOr<double> NumberMember(const json& object, const char* name, absl::string_view where) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number()) {
    return absl::InvalidArgumentError(
        absl::StrCat(where, " needs the number member \"", name, "\""));
  }
  return found->get<double>();
}

absl::StatusOr<std::vector<std::string>> StringsMember(const json& object, const char* name,
                                                       absl::string_view where) {
  const absl::Status error = absl::InvalidArgumentError(
      absl::StrCat(where, " needs the member \"", name, "\", a list of texts"));
  const auto found = object.find(name);
  if (found == object.end() || !found->is_array()) return error;
  std::vector<std::string> strings;
  for (const json& element : *found) {
    if (!element.is_string()) return error;
    strings.push_back(element.get<std::string>());
  }
  return strings;
}

absl::StatusOr<Feature> ToFeature(const json& object, size_t number) {
  std::string where = absl::StrCat("feature ", number);
  if (!object.is_object()) return absl::InvalidArgumentError(where + " must be a JSON object");
  Feature feature;
  COPPICE_ASSIGN_OR_RETURN(feature.name, StringMember(object, "name", where));
  where = absl::StrCat("feature \"", feature.name, "\"");
  COPPICE_ASSIGN_OR_RETURN(const std::string type, StringMember(object, "type", where));
  if (type == "numeric") {
    feature.type = FeatureType::kNumeric;
    COPPICE_ASSIGN_OR_RETURN(feature.min, NumberMember(object, "min", where));
    COPPICE_ASSIGN_OR_RETURN(feature.max, NumberMember(object, "max", where));
    return feature;
  }
  if (type == "categorical") {
    feature.type = FeatureType::kCategorical;
    COPPICE_ASSIGN_OR_RETURN(feature.values, StringsMember(object, "values", where));
    return feature;
  }
  return absl::InvalidArgumentError(where + ": type must be \"numeric\" or \"categorical\"");
}

// What is to be predicted: classes, or a number where there are none.
struct Answers {
  std::vector<std::string> classes;
  std::optional<Target> target;
};

absl::StatusOr<Answers> AnswersOf(const json& root) {
  Answers answers;
  const bool has_target = root.contains("target_min") || root.contains("target_max");
  if (!has_target) {
    COPPICE_ASSIGN_OR_RETURN(answers.classes, StringsMember(root, "classes", "the schema"));
    return answers;
  }
  if (root.contains("classes")) {
    return absl::InvalidArgumentError(
        "the schema needs \"classes\", or \"target_min\" and \"target_max\", not both");
  }
  Target& target = answers.target.emplace();
  COPPICE_ASSIGN_OR_RETURN(target.min, NumberMember(root, "target_min", "the schema"));
  COPPICE_ASSIGN_OR_RETURN(target.max, NumberMember(root, "target_max", "the schema"));
  return answers;
}

}  // namespace

absl::StatusOr<std::shared_ptr<const Schema>> ParseSchema(absl::string_view text) {
  const json root = json::parse(text.begin(), text.end(), /*cb=*/nullptr,
                                /*allow_exceptions=*/false);
  if (root.is_discarded()) return absl::InvalidArgumentError("the schema is not valid JSON");
  if (!root.is_object()) return absl::InvalidArgumentError("the schema must be a JSON object");
  COPPICE_ASSIGN_OR_RETURN(std::string label, StringMember(root, "label", "the schema"));
  COPPICE_ASSIGN_OR_RETURN(Answers answers, AnswersOf(root));
  const auto list = root.find("features");
  if (list == root.end() || !list->is_array()) {
    return absl::InvalidArgumentError("the schema needs the member \"features\", a list");
  }
  std::vector<Feature> features;
  for (const json& element : *list) {
    COPPICE_ASSIGN_OR_RETURN(Feature feature, ToFeature(element, features.size() + 1));
    features.push_back(std::move(feature));
  }
  COPPICE_ASSIGN_OR_RETURN(
      Schema schema,
      answers.target
          ? Schema::CreateRegression(std::move(features), std::move(label), *answers.target)
          : Schema::Create(std::move(features), std::move(label), std::move(answers.classes)));
  return std::make_shared<const Schema>(std::move(schema));
}

absl::StatusOr<std::shared_ptr<const Schema>> ReadSchema(const std::string& path) {
  COPPICE_ASSIGN_OR_RETURN(TextFile file, TextFile::Open(path, kMaxSchemaBytes));
  std::string text;
  while (true) {
    COPPICE_ASSIGN_OR_RETURN(const absl::string_view piece, file.Next());
    if (piece.empty()) break;
    absl::StrAppend(&text, piece);
  }
  absl::StatusOr<std::shared_ptr<const Schema>> schema = ParseSchema(text);
  if (schema.ok()) return schema;
  return absl::Status(schema.status().code(), absl::StrCat(path, ": ", schema.status().message()));
}

absl::StatusOr<std::shared_ptr<const Schema>> ReadClassSchema(const std::string& path) {
  absl::StatusOr<std::shared_ptr<const Schema>> schema = ReadSchema(path);
  if (!schema.ok() || !(*schema)->target()) return schema;
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": a study needs \"classes\"; a number is predicted from a dataset (train submit)"));
}

}  // namespace coppice
