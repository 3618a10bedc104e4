#include "common/schema/schema.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "absl/algorithm/container.h"
#include "common/base/printable.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/text.h"
#include "common/schema/encode_number.h"
#include "common/schema/number.h"

namespace coppice {
namespace {

// `what` names the list in the message: "class", "category of feature \"odor\"".
Status CheckDistinct(const std::vector<std::string>& names, std::string_view what) {
  std::set<std::string_view> seen;
  for (const std::string& name : names) {
    if (name.empty()) return InvalidArgumentError(StrCat("a ", what, " is empty"));
    if (!seen.insert(name).second) {
      return InvalidArgumentError(StrCat(what, " \"", name, "\" is listed twice"));
    }
  }
  return OkStatus();
}

// `what` names its owner in the message: "feature \"age\"".
Status CheckUnit(const std::string& unit, std::string_view what) {
  if (unit.size() > kMaxUnitBytes) {
    return InvalidArgumentError(StrCat(what, ": its unit has ", unit.size(), " bytes; at most ",
                                       kMaxUnitBytes, " are allowed"));
  }
  if (Printable(unit) == unit) return OkStatus();
  return InvalidArgumentError(
      StrCat(what, ": its unit must be UTF-8 without control or invisible characters"));
}

bool IsBefore(std::string_view a, std::string_view b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

// All whole numbers up to this are doubles.
constexpr double kMaxWhole = 9007199254740992;  // 2^53

constexpr EncodedField kUnreadableField = {kMissingValue, FieldNote::kUnreadable};

bool IsWhole(double number) { return number == std::floor(number); }

bool UnitsAgree(const std::string& a, const std::string& b) {
  return a == b || a.empty() || b.empty();
}

// Being public changes what a study does with a feature, and a mark says where its bounds come
// from: neither changes its values.
bool IsSame(Feature a, const Feature& b) {
  if (!UnitsAgree(a.unit, b.unit)) return false;
  a.unit = b.unit;
  a.is_public = b.is_public;
  a.from_private_rows = b.from_private_rows;
  return a == b;
}

// Whether every value of `own` is a value of `asked`.
bool Suits(Feature own, const Feature& asked) {
  own.integer = own.integer && asked.integer;  // whole numbers are numbers
  return IsSame(std::move(own), asked);
}

bool IsSame(const std::optional<Target>& a, const std::optional<Target>& b) {
  if (!a || !b) return a.has_value() == b.has_value();
  return a->min == b->min && a->max == b->max && UnitsAgree(a->unit, b->unit);
}

Status CheckNumeric(const Feature& feature) {
  if (!feature.values.empty()) {
    return InvalidArgumentError(
        StrCat("feature \"", feature.name, "\" is numeric and must not list values"));
  }
  // The width must be finite too, or no cell could be measured.
  if (!std::isfinite(feature.min) || !std::isfinite(feature.max) ||
      !std::isfinite(feature.max - feature.min)) {
    return InvalidArgumentError(
        StrCat("feature \"", feature.name, "\": min, max and max - min must be finite"));
  }
  if (feature.min > feature.max) {
    return InvalidArgumentError(StrCat("feature \"", feature.name, "\": min must not exceed max"));
  }
  const auto whole = [](double bound) { return IsWhole(bound) && std::abs(bound) <= kMaxWhole; };
  if (feature.integer && !(whole(feature.min) && whole(feature.max))) {
    return InvalidArgumentError(
        StrCat("feature \"", feature.name,
               "\" has whole numbers only: min and max must be whole, and at most 2^53 from "
               "zero"));
  }
  return CheckUnit(feature.unit, StrCat("feature \"", feature.name, "\""));
}

Status CheckCategorical(const Feature& feature) {
  if (feature.integer) {
    return InvalidArgumentError(
        StrCat("feature \"", feature.name, "\" is categorical and must not be integer"));
  }
  if (!feature.unit.empty()) {
    return InvalidArgumentError(
        StrCat("feature \"", feature.name, "\" is categorical and must not have a unit"));
  }
  if (feature.values.empty()) {
    return InvalidArgumentError(
        StrCat("feature \"", feature.name, "\" is categorical and needs at least one value"));
  }
  return CheckDistinct(feature.values, StrCat("category of feature \"", feature.name, "\""));
}

Status CheckFeature(const Feature& feature) {
  switch (feature.type) {
    case FeatureType::kNumeric:
      return CheckNumeric(feature);
    case FeatureType::kCategorical:
      return CheckCategorical(feature);
  }
  return InvalidArgumentError(
      StrCat("feature \"", feature.name, "\" is neither numeric nor categorical"));
}

// `what` names the list in the message: "features".
Status CheckAtMost(size_t most, size_t count, std::string_view what) {
  if (count <= most) return OkStatus();
  return InvalidArgumentError(
      StrCat("a schema has at most ", most, " ", what, ", not ", count, ": leave some out"));
}

std::vector<std::string> NamesOf(const std::vector<Feature>& features) {
  std::vector<std::string> names;
  for (const Feature& feature : features) names.push_back(feature.name);
  return names;
}

Status CheckColumns(const std::vector<Feature>& features, const std::string& label) {
  if (features.empty()) return InvalidArgumentError("a schema needs at least one feature");
  COPPICE_RETURN_IF_ERROR(CheckAtMost(kMaxFeatures, features.size(), "features"));
  size_t categories = 0;
  for (const Feature& feature : features) categories += feature.values.size();
  COPPICE_RETURN_IF_ERROR(CheckAtMost(kMaxCategories, categories, "categories in all"));
  std::vector<std::string> columns = NamesOf(features);
  columns.push_back(label);
  COPPICE_RETURN_IF_ERROR(CheckDistinct(columns, "feature or label name"));
  for (const Feature& feature : features) COPPICE_RETURN_IF_ERROR(CheckFeature(feature));
  return OkStatus();
}

// "[0, 120] whole years", "one of clerk, smith".
std::string Describe(const Feature& feature) {
  if (feature.type == FeatureType::kCategorical) {
    return StrCat("one of ", Printable(ListOf(feature.values)));
  }
  return StrCat("[", ShortestNumber(feature.min), ", ", ShortestNumber(feature.max), "]",
                feature.integer ? " whole" : "", feature.unit.empty() ? "" : " ", feature.unit);
}

// Whether Encode() can return `value`.
bool Fits(const Feature& feature, double value) {
  if (IsMissing(value)) return true;
  if (feature.type == FeatureType::kNumeric) {
    return value >= feature.min && value <= feature.max && (!feature.integer || IsWhole(value));
  }
  return value >= 0 && value <= feature.other() && IsWhole(value);
}

}  // namespace

EncodedField EncodeNumber(const Feature& feature, double number) {
  const double inside = std::clamp(number, feature.min, feature.max);
  if (inside != number) return {inside, FieldNote::kClamped};
  if (!feature.integer || IsWhole(number)) return {number, FieldNote::kNone};
  return {std::round(number) + 0.0, FieldNote::kRounded};  // -0 becomes 0
}

double WholeCut(double cut) {
  return std::nextafter(std::ceil(cut) - 1, std::numeric_limits<double>::infinity());
}

StatusOr<NumberRange> ParseNumberRange(std::string_view text) {
  const std::pair<std::string_view, std::string_view> ends = StrSplit(text, MaxSplits(':', 1));
  const std::optional<double> low = ParseFinite(ends.first), high = ParseFinite(ends.second);
  if (!low || !high || !(*low < *high) || !std::isfinite(*high - *low)) {
    return InvalidArgumentError("must be two numbers, the lower one first: LOW:HIGH");
  }
  return NumberRange{.low = *low, .high = *high};
}

StatusOr<Schema> Schema::Create(std::vector<Feature> features, std::string label,
                                std::vector<std::string> classes) {
  COPPICE_RETURN_IF_ERROR(CheckColumns(features, label));
  if (classes.size() < 2) return InvalidArgumentError("a schema needs at least two classes");
  COPPICE_RETURN_IF_ERROR(CheckAtMost(kMaxClasses, classes.size(), "classes"));
  COPPICE_RETURN_IF_ERROR(CheckDistinct(classes, "class"));
  Schema schema;
  schema.features_ = std::move(features);
  schema.label_ = std::move(label);
  schema.classes_ = std::move(classes);
  schema.IndexTexts();
  schema.FindPublicFeatures();
  return schema;
}

StatusOr<Schema> Schema::CreateRegression(std::vector<Feature> features, std::string label,
                                          Target target) {
  COPPICE_RETURN_IF_ERROR(CheckColumns(features, label));
  if (!std::isfinite(target.min) || !std::isfinite(target.max) || !std::isfinite(target.span()) ||
      !(target.min < target.max)) {
    return InvalidArgumentError(StrCat(
        "target \"", label, "\": min must be less than max, and both and their distance finite"));
  }
  COPPICE_RETURN_IF_ERROR(CheckUnit(target.unit, StrCat("target \"", label, "\"")));
  Schema schema;
  schema.features_ = std::move(features);
  schema.label_ = std::move(label);
  schema.target_ = std::move(target);
  schema.IndexTexts();
  schema.FindPublicFeatures();
  return schema;
}

TextIndex::TextIndex(const std::vector<std::string>& texts) : order_(texts.size()) {
  std::iota(order_.begin(), order_.end(), 0u);
  std::sort(order_.begin(), order_.end(),
            [&](uint32_t a, uint32_t b) { return IsBefore(texts[a], texts[b]); });
}

size_t TextIndex::Find(const std::vector<std::string>& texts, std::string_view text) const {
  size_t first = 0;
  for (size_t left = order_.size(); left > 1;) {  // halves, whatever is compared
    const size_t half = left / 2;
    if (!IsBefore(text, texts[order_[first + half]])) first += half;
    left -= half;
  }
  const bool found = !order_.empty() && texts[order_[first]] == text;
  return found ? order_[first] : texts.size();
}

void Schema::IndexTexts() {
  values_index_.clear();
  for (const Feature& feature : features_) values_index_.emplace_back(feature.values);
  classes_index_ = TextIndex(classes_);
}

void Schema::FindPublicFeatures() {
  public_features_.clear();
  for (uint32_t i = 0; i < features_.size(); ++i) {
    if (features_[i].is_public) public_features_.push_back(i);
  }
}

StatusOr<Schema> Schema::WithPublicFeatures(absl::Span<const std::string> names) const {
  Schema schema = *this;
  for (Feature& feature : schema.features_) feature.is_public = false;
  for (const std::string& name : names) {
    const auto found = absl::c_find_if(
        schema.features_, [&](const Feature& feature) { return feature.name == name; });
    if (found == schema.features_.end()) {
      return InvalidArgumentError(StrCat("there is no feature \"", name, "\""));
    }
    if (found->is_public) {
      return InvalidArgumentError(StrCat("feature \"", name, "\" is named twice"));
    }
    found->is_public = true;
  }
  schema.FindPublicFeatures();
  return schema;
}

Schema Schema::WithAllPublic() const {
  Schema schema = *this;
  for (Feature& feature : schema.features_) feature.is_public = true;
  schema.FindPublicFeatures();
  return schema;
}

Schema Schema::WithAnswersFromPrivateRows() const {
  Schema schema = *this;
  schema.answers_from_private_rows_ = true;
  return schema;
}

std::vector<std::string> Schema::ColumnsFromPrivateRows() const {
  std::vector<std::string> names;
  for (const Feature& feature : features_) {
    if (feature.from_private_rows) names.push_back(feature.name);
  }
  if (answers_from_private_rows_) names.push_back(label_);
  return names;
}

Status Schema::CheckNothingFromPrivateRows() const {
  const std::vector<std::string> columns = ColumnsFromPrivateRows();
  if (columns.empty()) return OkStatus();
  return InvalidArgumentError(
      StrCat("bounds, values or classes of these columns are marked as read from private rows, or "
             "from rows that are not marked public: ",
             Printable(ListOf(columns)),
             ". A schema is public, so they would leak what is in the rows. Declare what you know "
             "without looking at the rows, or infer the schema from public rows (`coppice schema "
             "infer --rows public`). accept_leak (--accept-leak) accepts them as they are, and "
             "certificates then say that no epsilon covers them"));
}

StatusOr<EncodedField> Schema::Encode(size_t feature, std::string_view text) const {
  if (feature >= features_.size()) {
    return InvalidArgumentError(
        StrCat("feature number ", feature, " is not below ", features_.size()));
  }
  const EncodedField field = EncodeOrMissing(feature, text);
  if (field.note != FieldNote::kUnreadable) return field;
  return InvalidArgumentError(
      StrCat("feature \"", features_[feature].name,
             "\" must be a finite decimal number, or empty where it is missing"));
}

EncodedField Schema::EncodeOrMissing(size_t feature, std::string_view text) const {
  if (feature >= features_.size()) return kUnreadableField;
  const Feature& f = features_[feature];
  if (text.empty()) return {kMissingValue, FieldNote::kMissing};
  if (f.type == FeatureType::kCategorical) {
    const size_t found = values_index_[feature].Find(f.values, text);
    const bool is_known = found < f.values.size();
    return {static_cast<double>(found), is_known ? FieldNote::kNone : FieldNote::kUnknownCategory};
  }
  const std::optional<double> number = ParseFinite(text);
  return number.has_value() ? EncodeNumber(f, *number) : kUnreadableField;
}

LabelledRow Schema::EncodeTotally(const TextRow& text) const {
  LabelledRow encoded;
  for (size_t i = 0; i < features_.size(); ++i) {
    const auto column = text.find(features_[i].name);
    encoded.row.push_back(column == text.end() ? kMissingValue
                                               : EncodeOrMissing(i, column->second).value);
  }
  if (const auto column = text.find(label_); column == text.end()) {
    // The row has no label.
  } else if (target_.has_value()) {
    encoded.number = EncodeTargetOrMissing(column->second).value;
  } else {
    encoded.label = ClassOrUnlabelled(column->second);
  }
  return encoded;
}

void Schema::Fit(Row& row) const {
  row.resize(features_.size(), kMissingValue);
  for (size_t i = 0; i < row.size(); ++i) {
    if (!Fits(features_[i], row[i])) row[i] = kMissingValue;
  }
}

std::vector<std::string> Schema::DifferencesFrom(const Schema& own, size_t most) const {
  constexpr char kOwn[] = "this device's own schema";
  std::vector<std::string> found;
  for (const Feature& feature : features_) {
    if (found.size() == most) return found;
    const auto same = std::find_if(own.features_.begin(), own.features_.end(),
                                   [&](const Feature& f) { return f.name == feature.name; });
    if (same == own.features_.end()) {
      found.push_back(StrCat("feature \"", Printable(feature.name), "\" is not in ", kOwn,
                             "; it has: ", Printable(ListOf(NamesOf(own.features_)))));
    } else if (!Suits(*same, feature)) {
      found.push_back(StrCat("feature \"", Printable(feature.name),
                             "\" has a different type, bounds, values or unit: ", Describe(feature),
                             ", and in ", kOwn, " ", Describe(*same)));
    }
  }
  const bool same_label =
      label_ == own.label_ && classes_ == own.classes_ && IsSame(target_, own.target_);
  if (!same_label && found.size() < most) {
    found.push_back(StrCat("label \"", Printable(label_), "\" or its classes (",
                           Printable(ListOf(classes_)), ") are not those of ", kOwn, ", \"",
                           Printable(own.label_), "\" (", Printable(ListOf(own.classes_)), ")"));
  }
  return found;
}

Status Schema::CheckAgreesWith(const Schema& own) const {
  const std::vector<std::string> found = DifferencesFrom(own, /*most=*/1);
  return found.empty() ? OkStatus() : FailedPreconditionError(found.front());
}

bool Schema::IsSameButForUnsaidUnits(const Schema& other) const {
  return label_ == other.label_ && classes_ == other.classes_ && IsSame(target_, other.target_) &&
         std::equal(features_.begin(), features_.end(), other.features_.begin(),
                    other.features_.end(),
                    [](const Feature& a, const Feature& b) { return IsSame(a, b); });
}

uint32_t Schema::ClassOrUnlabelled(std::string_view text) const {
  const size_t found = classes_index_.Find(classes_, text);
  return found == classes_.size() ? kUnlabelled : static_cast<uint32_t>(found);
}

StatusOr<uint32_t> Schema::ClassOf(std::string_view text) const {
  const uint32_t label = ClassOrUnlabelled(text);
  if (label != kUnlabelled) return label;
  return InvalidArgumentError(StrCat("label \"", label_, "\" must be one of the ", classes_.size(),
                                     " classes of the schema: ", ListOf(classes_)));
}

EncodedField Schema::EncodeTargetOrMissing(std::string_view text) const {
  const std::optional<double> number = ParseFinite(text);
  if (!number.has_value()) return kUnreadableField;
  const double inside = std::clamp(*number, target_->min, target_->max);
  return {inside, inside == *number ? FieldNote::kNone : FieldNote::kClamped};
}

StatusOr<EncodedField> Schema::EncodeTarget(std::string_view text) const {
  const EncodedField field = EncodeTargetOrMissing(text);
  if (field.note != FieldNote::kUnreadable) return field;
  return InvalidArgumentError(StrCat("target \"", label_, "\" must be a finite decimal number"));
}

Status Schema::Validate(RowView row) const {
  if (row.size() != features_.size()) {
    return InvalidArgumentError(
        StrCat("a row must have ", features_.size(), " values, not ", row.size()));
  }
  for (size_t i = 0; i < row.size(); ++i) {
    const Feature& f = features_[i];
    if (Fits(f, row[i])) continue;
    return InvalidArgumentError(
        f.type == FeatureType::kNumeric
            ? StrCat("feature \"", f.name, "\" must be missing or ",
                     f.integer ? "a whole number " : "", "in [", ShortestNumber(f.min), ", ",
                     ShortestNumber(f.max), "]")
            : StrCat("feature \"", f.name, "\" must be missing or a category number from 0 ", "to ",
                     f.values.size()));
  }
  return OkStatus();
}

}  // namespace coppice
