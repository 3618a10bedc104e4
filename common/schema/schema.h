// What a row looks like: features with public bounds or vocabularies, and what to predict: one of
// several classes, or a number within public bounds (regression).
//
// Everything here is public: names, bounds, vocabularies and classes are public by declaration.
// What was read from private rows all the same is marked, travels with its mark, and is refused
// unless the owner of the rows accepts the leak (CheckNothingFromPrivateRows()). A row is one
// double per feature: a numeric value inside [min, max], whole where the feature is; a category's
// position in `values`, or values.size() for "other"; kMissingValue (a NaN) where it is missing.

#ifndef COPPICE_COMMON_SCHEMA_SCHEMA_H_
#define COPPICE_COMMON_SCHEMA_SCHEMA_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "common/base/status.h"

namespace coppice {

// A row in encoded form, one value per feature (see the file comment). `Row` owns its values,
// `RowView` does not.
using Row = std::vector<double>;
using RowView = absl::Span<const double>;

inline constexpr double kMissingValue = std::numeric_limits<double>::quiet_NaN();
inline bool IsMissing(double value) { return std::isnan(value); }

// The label of a row whose class is not known.
inline constexpr uint32_t kUnlabelled = ~0u;

// A row with what to predict for it: a class, or a number within the target's bounds.
struct LabelledRow {
  Row row;
  uint32_t label = kUnlabelled;
  double number = kMissingValue;
  std::string id{};  // the owner's, if a study asks for it: see Terms::joined_by
};

// A row as its owner keeps it: each column's text by the column's name, the label included.
using TextRow = std::map<std::string, std::string, std::less<>>;

// Maximum number of features and classes of a schema: models, sums and messages grow with them.
inline constexpr size_t kMaxFeatures = 65'536;
inline constexpr size_t kMaxClasses = 4'096;
// Of all features together: a category takes two bytes on the wire and fifty in memory. At twice as
// many, a device would need 100 MiB for a hostile study's schema.
inline constexpr size_t kMaxCategories = size_t{1} << 20;

// A unit is a word next to a number, not a text.
inline constexpr size_t kMaxUnitBytes = 64;

enum class FeatureType { kNumeric, kCategorical };

struct Feature {
  std::string name;
  FeatureType type = FeatureType::kNumeric;
  double min = 0;                   // numeric: public lower bound
  double max = 0;                   // numeric: public upper bound, min < max or min == max
  std::vector<std::string> values;  // categorical: public vocabulary, distinct, not empty
  std::string unit{};               // numeric: "mmHg", for people; empty: not given
  bool integer = false;             // numeric: whole numbers only, and so are its bounds
  bool is_public = false;           // in a study: devices send it in the clear, and hide the rest
  bool from_private_rows =
      false;  // bounds or values were, or may have been, read from private rows

  // The code of a category outside the vocabulary.
  double other() const { return static_cast<double>(values.size()); }

  friend bool operator==(const Feature&, const Feature&) = default;
};

// What encoding had to do to one field. Counted and shown to the owner of the rows, never put into
// a model (a count of private rows is private).
enum class FieldNote { kNone, kClamped, kRounded, kUnknownCategory, kMissing, kUnreadable };

struct EncodedField {
  double value = kMissingValue;
  FieldNote note = FieldNote::kNone;
};

// The cut ("below the cut") that divides whole numbers as `cut` does, moved to where "at most"
// names a whole number. Two cuts between the same whole numbers become one. For |cut| up to 2^53.
double WholeCut(double cut);

// The public bounds of a number to predict.
struct Target {
  double min = 0;
  double max = 0;
  std::string unit{};  // for people; empty: not given

  double span() const { return max - min; }
  friend bool operator==(const Target&, const Target&) = default;
};

// The range from `low` to `high`; low < high.
struct NumberRange {
  double low = 0;
  double high = 0;

  double width() const { return high - low; }
  // The place of `number`, clamped to the range, in it: from 0 to 1.
  double PlaceOf(double number) const {
    return (std::clamp(number, low, high) - low) / (high - low);
  }
  friend bool operator==(const NumberRange&, const NumberRange&) = default;
};

// Parses "LOW:HIGH". InvalidArgument unless these are finite numbers, the lower one first.
StatusOr<NumberRange> ParseNumberRange(std::string_view text);

// Finds a text in a list in as many steps wherever it stands. A device looks its own value up in a
// list that the curator wrote: were the first found sooner than the last, the time of its answer
// would tell the value.
class TextIndex {
 public:
  TextIndex() = default;
  explicit TextIndex(const std::vector<std::string>& texts);

  // The position of `text` in the list that this was made for; the list's size if it is not there.
  size_t Find(const std::vector<std::string>& texts, std::string_view text) const;

  // It follows from the list.
  friend bool operator==(const TextIndex&, const TextIndex&) { return true; }

 private:
  // Positions by length, then by bytes: texts of another length are told apart without a look at
  // them, so that a long common prefix costs no more than the text's own length a step.
  std::vector<uint32_t> order_;
};

// Threads    immutable after Create(); safe to share.
class Schema {
 public:
  // InvalidArgument for no feature, fewer than two classes, more than kMaxFeatures or kMaxClasses,
  // a duplicate or empty name, non-finite or reversed bounds, bounds of an integer feature that are
  // not whole or above 2^53, an empty or repeated vocabulary, a unit that is longer than
  // kMaxUnitBytes or not printable, a categorical feature with a unit or `integer`. The message
  // names the feature.
  static StatusOr<Schema> Create(std::vector<Feature> features, std::string label,
                                 std::vector<std::string> classes);
  // InvalidArgument also for target bounds that are not finite or do not increase.
  static StatusOr<Schema> CreateRegression(std::vector<Feature> features, std::string label,
                                           Target target);

  const std::vector<Feature>& features() const { return features_; }
  // Name of the column to predict.
  const std::string& label() const { return label_; }
  // Empty for regression.
  const std::vector<std::string>& classes() const { return classes_; }
  // Set for regression only.
  const std::optional<Target>& target() const { return target_; }
  size_t num_features() const { return features_.size(); }
  uint32_t num_classes() const { return static_cast<uint32_t>(classes_.size()); }
  // The positions of the public features, in ascending order.
  const std::vector<uint32_t>& public_features() const { return public_features_; }
  // Whether the classes, or the bounds of the target, were or may have been read from private rows.
  bool answers_from_private_rows() const { return answers_from_private_rows_; }
  Schema WithAnswersFromPrivateRows() const;
  // The names of the columns whose bounds, values or classes are so marked; the label's comes last.
  std::vector<std::string> ColumnsFromPrivateRows() const;
  // InvalidArgument, naming the columns, if there are any: whoever publishes a model of this schema
  // would publish the rows' extremes and rarest values, which no epsilon covers.
  Status CheckNothingFromPrivateRows() const;
  // If true, a study protects the label alone.
  bool all_public() const { return public_features_.size() == features_.size(); }
  // This schema with exactly these public features, given by name. InvalidArgument for a name that
  // no feature has, or one that occurs twice.
  StatusOr<Schema> WithPublicFeatures(absl::Span<const std::string> names) const;
  Schema WithAllPublic() const;
  // How many probabilities a prediction has: one per class, or two for the ends of the target's
  // range, between which a number is a mixture (model.h).
  uint32_t num_outputs() const { return target_ ? 2 : num_classes(); }

  // Encodes one text field: empty is missing, a number outside its bounds is clamped, one that is
  // not whole is rounded to the nearest if the feature is whole (halves away from zero), an unknown
  // category becomes "other". InvalidArgument when a numeric field is not a finite number.
  StatusOr<EncodedField> Encode(size_t feature, std::string_view text) const;

  // The same, but total: what Encode(), ClassOf() and EncodeTarget() refuse becomes missing or
  // kUnlabelled. For rows whose owner's errors must not be observable; see
  // docs/threat-model.md#silence. They allocate nothing, whatever the text.
  EncodedField EncodeOrMissing(size_t feature, std::string_view text) const;
  uint32_t ClassOrUnlabelled(std::string_view text) const;
  EncodedField EncodeTargetOrMissing(std::string_view text) const;

  // Encodes any row as one that fits this schema; columns that it lacks are missing. A label that
  // is none of the classes becomes kUnlabelled, a target that is not a number kMissingValue. Never
  // fails.
  LabelledRow EncodeTotally(const TextRow& text) const;

  // Makes every value missing that Validate() would refuse. Never fails, and allocates nothing if
  // `row` has a value for each feature.
  void Fit(Row& row) const;

  // FailedPrecondition, naming the first difference, unless a device that declared `own` rows can
  // answer with this schema: each of its features is one of theirs with the same type, bounds and
  // values, and label and classes are theirs. Units conflict only if both give one; a feature that
  // is whole here must be whole there. What is public is for Policy (client/device/policy.h).
  Status CheckAgreesWith(const Schema& own) const;

  // All such differences, but no more than `most`: for people who change a schema that devices
  // know.
  std::vector<std::string> DifferencesFrom(const Schema& own, size_t most) const;

  // Whether the schemas differ only in units that one of them does not give. Rows of one are then
  // rows of the other. Where bounds come from does not count.
  bool IsSameButForUnsaidUnits(const Schema& other) const;

  // The number of the class called `text`. InvalidArgument if there is none.
  StatusOr<uint32_t> ClassOf(std::string_view text) const;

  // The number to predict that `text` says, clamped to the target's bounds; never missing.
  // InvalidArgument if it is not a finite number. Regression only.
  StatusOr<EncodedField> EncodeTarget(std::string_view text) const;

  // InvalidArgument unless `row` has one value per feature, each one that Encode() could return.
  Status Validate(RowView row) const;

  friend bool operator==(const Schema&, const Schema&) = default;

 private:
  Schema() = default;
  void FindPublicFeatures();  // fills public_features_ from features_
  void IndexTexts();          // fills values_index_ and classes_index_

  std::vector<Feature> features_;
  std::vector<uint32_t> public_features_;
  std::vector<TextIndex> values_index_;  // per feature
  TextIndex classes_index_;
  std::string label_;
  std::vector<std::string> classes_;
  std::optional<Target> target_;
  bool answers_from_private_rows_ = false;
};

}  // namespace coppice

#endif  // COPPICE_COMMON_SCHEMA_SCHEMA_H_
